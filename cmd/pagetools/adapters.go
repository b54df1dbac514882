package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
)

// adapters reads those of a target: of the command line, and of the file. A page in which a person
// is going to log in has none.
func (p *program) adapters(pl plan, t *target, o *session.SiteOptions) ([]*adapter.Adapter, error) {
	if pl.pages == entered {
		return nil, nil
	}
	if t.adapters == nil {
		all, err := p.readAdapters(pl, t)
		if err != nil {
			return nil, err
		}
		t.adapters = all
	}
	for _, a := range t.adapters {
		if pl.locked != nil {
			if err := pl.locked.HasAdapter(t.Target, a.Adapter, text.Line(a.File)); err != nil {
				return nil, err
			}
		}
		p.warnOfAdapter(t, a, o)
	}
	return t.adapters, nil
}

// readAdapters reads the files that are named for a target.
func (p *program) readAdapters(pl plan, t *target) (all []*adapter.Adapter, err error) {
	for _, named := range t.config.Adapters {
		file := config.Beside(p.conf.File, named.File)
		a, err := adapter.Read(file)
		if err == nil && named.SHA256 != "" && named.SHA256 != a.SHA256 {
			err = fmt.Errorf("%s has the SHA-256 %s, and must have %s: read what changed, then write "+
				"the new one", text.Line(file), a.SHA256, named.SHA256)
		}
		if err != nil {
			return nil, terminal.Usage("%s:%d: adapters: %w", p.conf.File, named.Line, err)
		}
		all = append(all, a)
	}
	if p.ofCommandLine(pl, t) {
		for _, file := range p.conf.Adapters {
			a, err := adapter.Read(file)
			if err != nil {
				return nil, terminal.Usage("--adapter: %w", err)
			}
			all = append(all, a)
		}
	}
	if err := adapter.Check(all); err != nil {
		return nil, terminal.Usage("%s: adapters: %w", t.Name, err)
	}
	for _, a := range all {
		if !slices.ContainsFunc(p.originsOf(t), a.Reaches) && t.Folder == "" {
			p.say("warning: the adapter %s runs in no page of %s: none of its lines @match fits", a, t.Origin)
		}
	}
	return all, nil
}

// originsOf lists the origins of a target's own pages.
func (p *program) originsOf(t *target) []string {
	all := []string{t.Origin}
	for _, o := range slices.Concat(p.conf.AllowOrigins, t.config.AllowOrigins) {
		all = append(all, string(o))
	}
	return all
}

// ofCommandLine reports whether --adapter is for a target: for the one of the command line, or the
// only one.
func (p *program) ofCommandLine(pl plan, t *target) bool { return t.named || len(pl.targets) == 1 }

// adaptersFit refuses --adapter with several sites. Several pages of one are one TARGET.
func (p *program) adaptersFit(pl plan) error {
	sites := map[string]bool{}
	for _, t := range pl.targets {
		if p.ofCommandLine(pl, t) {
			sites[t.Folder+t.Origin] = true
		}
	}
	if len(p.conf.Adapters) > 0 && len(sites) != 1 && len(pl.targets) > 0 {
		return terminal.Usage("--adapter is for one TARGET, and there are %d: in a configuration file, "+
			"each site has its own list adapters", max(len(sites), len(pl.targets)))
	}
	return nil
}

// seenName is the file that remembers with which logins adapters were started.
const seenName = "adapters.seen"

// warnOfAdapter says once for each file that it acts with a stored login.
func (p *program) warnOfAdapter(t *target, a *adapter.Adapter, o *session.SiteOptions) {
	if o.Login == nil && len(o.Profiles) == 0 && p.conf.UserDataDir == "" && !p.conf.AutoConnect || !p.newLogin(t.Origin, a) {
		return
	}
	p.say("warning: %s (adapter %s) is new, and acts with your login at %s: read it",
		text.Line(a.File), a, t.Origin)
}

// newLogin reports whether an adapter was never started with the login at an origin, and remembers
// it. What cannot be remembered is new.
func (p *program) newLogin(origin string, a *adapter.Adapter) bool {
	line := origin + " " + a.SHA256 + "\n"
	dir, err := dataFolder(p.conf)
	if err == nil {
		err = files.MakePrivate(dir)
	}
	if err != nil {
		return true
	}
	path := filepath.Join(dir, seenName)
	seen, err := os.ReadFile(path)
	if err == nil && slices.Contains(strings.SplitAfter(string(seen), "\n"), line) {
		return false
	}
	const most = 64 << 10 // the oldest are forgotten
	if len(seen) > most {
		_, rest, _ := strings.Cut(string(seen[len(seen)-most:]), "\n")
		seen = []byte(rest)
	}
	if err := files.Write(path, append(seen, line...), 0o600); err != nil {
		p.log.Warn("adapters: what was started is not remembered", "error", err)
	}
	return true
}

// servedAdapter is an adapter as serve says it.
type servedAdapter struct {
	bridge.Adapter
	File string `json:"file"`
}

// shortDigest sets how much of a digest people compare.
const shortDigest = 12

func (a servedAdapter) String() string {
	return fmt.Sprintf("adapter %s sha256:%s… %s", a.Adapter, a.SHA256[:shortDigest], text.Line(a.File))
}

func servedAdapters(t *target) (all []servedAdapter) {
	for _, a := range t.adapters {
		all = append(all, servedAdapter{a.Adapter, a.File})
	}
	return all
}
