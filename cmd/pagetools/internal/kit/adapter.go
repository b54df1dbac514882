package kit

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session/adapter"
)

// adaptersBeside names those of the command line relative to a file.
func (p *Program) adaptersBeside(file string) (all []string) {
	for _, name := range p.Config().Adapters {
		if !strings.HasPrefix(name, adapter.Builtin) {
			from, err := filepath.Abs(filepath.Dir(file))
			there, e := filepath.Abs(name)
			if err == nil && e == nil {
				if rel, err := filepath.Rel(from, there); err == nil {
					name = filepath.ToSlash(rel)
				}
			}
		}
		all = append(all, name)
	}
	return all
}

// adapterName is the name of an adapter that init writes; a file has a dot.
var adapterName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}$`)

// newAdapter returns the name of the adapter that init writes, or "" where --adapter names files.
func newAdapter(named []string) string {
	if len(named) != 1 || !adapterName.MatchString(named[0]) {
		return ""
	}
	if info, err := os.Stat(named[0]); err == nil && info.Mode().IsRegular() {
		return ""
	}
	return named[0]
}

// firstAdapter is an adapter with one tool that works in any page: a format with its name, its site
// and the lines of its pages.
//
//go:embed first-adapter.js
var firstAdapter string

// firstScenario tests it.
const firstScenario = `# Tests of an adapter. Each case starts with a fresh page.
site:
  %s
  adapter: %s
cases:
  - name: reads the page
    steps:
      - tools: {include: [page_text]}
      - call: page_text
        with: {words: 5}
        expect: {title: {$type: string}, text: {$type: string}}
`

// initAdapter writes an adapter and its scenario. Nothing is opened.
func initAdapter(p *Program, name, arg string, force bool) error {
	t, err := parseTarget(arg)
	if err != nil {
		return err
	}
	if err := canBeWritten(t); err != nil {
		return err
	}
	script, tests := name+".js", name+".webtool.yaml"
	for _, file := range []string{script, tests} {
		if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) && !force {
			return terminal.Usage("%s is there: --force writes it again", file)
		}
	}
	match, host := "", text.Line(t.Text)
	if t.Folder == "" {
		match, host = "// @match       "+matchOf(t)+"\n", text.Line(t.Origin)
	}
	site, err := siteLine(t)
	if err != nil {
		return err
	}
	for file, words := range map[string]string{script: fmt.Sprintf(firstAdapter, name, host, match),
		tests: fmt.Sprintf(firstScenario, site, script)} {
		if err := replace(file, []byte(words)); err != nil {
			return err
		}
	}
	fmt.Fprintf(p.Stdout, "wrote  %s\nwrote  %s\nNext: pagetools tools %s --adapter %s, and pagetools test %s\n",
		script, tests, shellWord(t), script, tests)
	return p.Stdout.Err()
}

// matchOf is the match pattern of a target's own pages.
func matchOf(t *app.Target) string {
	scheme, rest, _ := strings.Cut(t.Origin, "://")
	if origin.Loopback(strings.Split(rest, ":")[0]) { // a test has another port
		rest = strings.Split(rest, ":")[0]
	}
	return scheme + "://" + rest + "/*"
}

// siteLine names a target in a scenario in this folder.
func siteLine(t *app.Target) (string, error) {
	dir, url, err := siteBeside(t, "x")
	if dir != "" {
		return "dir: " + quoted(dir), err
	}
	return "url: " + quoted(strings.ReplaceAll(url, "${", "$${")), err
}

// quoted is a text as YAML has it.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// scripts returns the adapters of the command line, to be judged without a page. The browser says
// whether they are JavaScript.
func (k *checker) scripts(ctx context.Context) (all []*check.Snapshot, err error) {
	var read []*adapter.Adapter
	for _, name := range k.p.Config().Adapters {
		x, err := adapter.Read(name)
		if err != nil {
			return nil, terminal.Usage("--adapter: %w", err)
		}
		read = append(read, x)
	}
	a, err := k.p.Start(ctx, nil, Opening{})
	if err != nil {
		return nil, err
	}
	defer k.p.End(a)
	for _, x := range read {
		s := scriptOf(x, "")
		if err := a.Parses(ctx, x); err != nil {
			wrong, ok := errors.AsType[*adapter.HeaderError](err)
			if !ok {
				return nil, err
			}
			s.Problem, s.Line = wrong.Message, wrong.Line
		}
		all = append(all, &check.Snapshot{Target: x.File, Adapters: []check.Script{s}})
	}
	return all, nil
}

// scriptOf returns an adapter as the rules read it. origin is the site's; "" is unknown.
func scriptOf(x *adapter.Adapter, origin string) check.Script {
	s := check.Script{Name: x.Name, File: x.File, Source: x.Source(), Origins: x.Origins(),
		Ignored: map[int]string{}}
	if origin != "" {
		s.Origins = append(s.Origins, "^"+regexp.QuoteMeta(origin)+"$")
	}
	for _, key := range x.Ignored {
		s.Ignored[key.Line] = key.Name
	}
	return s
}
