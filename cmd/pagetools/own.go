package main

import (
	"path/filepath"
	"slices"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/cdp"
)

// ownBrowser says how the browser of --auto-connect is used; nil without it. It refuses what cannot be
// had there.
func ownBrowser(p *program, pl plan) (*cdp.OwnOptions, error) {
	c := p.conf
	if !c.AutoConnect {
		return nil, nil //nolint:nilnil // another browser is used
	}
	if pl.pages == watched {
		return nil, terminal.Usage("--auto-connect uses one tab of your browser, and a test needs pages of its own: leave it out")
	}
	for _, t := range pl.targets {
		if t.Folder != "" {
			return nil, terminal.Usage("%s is a folder, which no login of your browser is for: leave out --auto-connect", text.Line(t.Text))
		}
		if err := t.config.CheckOwn(c); err != nil {
			return nil, terminal.Usage("%w", err)
		}
	}
	for _, pattern := range c.Attach {
		if len(pl.targets) > 0 && !slices.ContainsFunc(pl.targets, func(t *target) bool {
			return slices.ContainsFunc(append(pageOptions(c, pl, t).Origins, t.Origin), func(of string) bool { return cdp.Applies(pattern, of) })
		}) {
			return nil, terminal.Usage("--attach %s can match no address of %s: it must match a whole address, as %s/* does",
				text.Line(pattern), text.Line(pl.targets[0].Text), pl.targets[0].Origin)
		}
	}
	o := &cdp.OwnOptions{Attach: c.Attach, Say: func(line string) { p.say("%s", line) }}
	if c.UserDataDir != "" {
		dir, err := filepath.Abs(c.UserDataDir)
		if err != nil {
			return nil, terminal.Usage("--user-data-dir: %w", err)
		}
		o.Dir = dir
	}
	return o, nil
}

// sayOwn warns of what pages may do in the browser of --auto-connect.
func (p *program) sayOwn() {
	if p.conf.AutoConnect {
		p.say("warning: pages act as you, with the logins of your browser, and reach what it reaches")
	}
}
