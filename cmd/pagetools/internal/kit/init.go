package kit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// workflowName says where GitHub looks for the workflow.
var workflowName = filepath.Join(".github", "workflows", "webtools.yml")

func initCommand(p *Program) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init [TARGET]",
		Short: "Write first tests of a site's tools, and a workflow that runs them",
		Long: "Opens the page, and writes a scenario with a case for each tool that only reads, " +
			lockName + ",\nand " + filepath.ToSlash(workflowName) + " for GitHub Actions. What is " +
			"there stays, unless you give --force.\nWithout a TARGET it opens this folder.\n`init --adapter NAME TARGET` writes a first adapter, " +
			"NAME.js, for a site that has no tools, and its scenario.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				args = []string{"."}
			case 1:
			default:
				return terminal.Usage("init takes one TARGET, and %q is too much; another page of the "+
					"site is --page PATH", text.Line(args[1]))
			}
			if name := newAdapter(p.Config().Adapters); name != "" {
				return initAdapter(p, name, args[0], o.force)
			}
			return initialize(cmd.Context(), p, args[0], o)
		},
	}
	c.Flags().BoolVar(&o.force, "force", false, "write also files that are there")
	c.Flags().StringArrayVar(&o.pages, "page", nil, pageHelp)
	return c
}

type initOptions struct {
	force bool
	pages []string
}

// initialize writes what is missing. Nothing is written before the page was opened and all texts
// were made.
func initialize(ctx context.Context, p *Program, arg string, o initOptions) error {
	wanted, err := parseTarget(arg)
	if err != nil {
		return err
	}
	if err := canBeWritten(wanted); err != nil {
		return err
	}
	names := []string{wanted.Name + ".webtool.yaml", lockName, workflowName}
	var kept []string
	for _, name := range names {
		keep, err := isThere(name, wanted)
		if err != nil {
			return err
		}
		if keep && !o.force {
			kept = append(kept, name)
		}
	}
	if len(kept) == len(names) {
		return terminal.Usage("%s are there: --force writes them again", strings.Join(names, ", "))
	}
	pages, err := p.toolsOf(ctx, arg, o.pages...)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(pages, func(x openedPage) bool { return len(x.tools) > 0 }) {
		return terminal.Found("%s", pages[0].none)
	}
	t := pages[0].Target
	draft := p.draft(pages, o.pages)
	text, err := draft.Text()
	if err != nil {
		return err
	}
	write := []func() error{
		func() error { return replace(names[0], text) },
		func() error { return lockOnly(pages) },
		func() error { return replace(names[2], p.workflow(t, names[0], o.pages)) },
	}
	for i, name := range names {
		if slices.Contains(kept, name) {
			fmt.Fprintf(p.Stdout, "kept   %s (--force writes it again)\n", filepath.ToSlash(name))
			continue
		}
		if err := write[i](); err != nil {
			return err
		}
		fmt.Fprintf(p.Stdout, "wrote  %s\n", filepath.ToSlash(name))
	}
	var opened []*app.Target
	for _, x := range pages {
		opened = append(opened, x.Target)
	}
	if words := p.unnamed(ctx, opened); words != "" {
		p.Say("note: %s", words)
	}
	fmt.Fprintf(p.Stdout, "Commit them. Next: pagetools test %s\n", names[0])
	return p.Stdout.Err()
}

// draft returns the first scenario of a site: of its page, and of those at paths.
func (p *Program) draft(pages []openedPage, paths []string) scenario.Draft {
	t := pages[0].Target
	draft := scenario.Draft{Lock: lockName, Adapters: p.adaptersBeside(lockName), Pages: []scenario.DraftPage{{Tools: inOrder(pages[0].tools)}}}
	if draft.Dir = lockKey(t.Text); t.Folder == "" {
		draft.Dir, draft.URL = "", t.URL
	}
	for i, x := range pages[1:] {
		draft.Pages = append(draft.Pages, scenario.DraftPage{Path: paths[i], Tools: inOrder(x.tools)})
		if len(x.tools) == 0 {
			p.Say("note: %s declares no tools, and has no case", text.Line(x.Text))
		}
	}
	return draft
}

// isThere reports whether a file is there, or in the lock file this target: others can be added.
func isThere(name string, t *app.Target) (bool, error) {
	switch _, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, terminal.Usage("%w", err)
	case name != lockName:
		return true, nil
	}
	l, err := ReadLock()
	if err != nil {
		return false, err
	}
	_, there := l.entry(t)
	return there, nil
}

// canBeWritten reports why an address cannot stand in files that are committed.
func canBeWritten(t *app.Target) error {
	switch u, err := url.Parse(t.Text); {
	case !text.IsPlain(t.Text) || strings.Contains(t.Text, "${{"):
		return terminal.Usage("%q cannot be written into a workflow: give a TARGET without invisible "+
			"characters and ${{", text.Line(t.Text))
	case err == nil && u.User != nil:
		return terminal.Usage("init writes the TARGET into files that are committed: give it " +
			"without user and password")
	}
	return nil
}

// shellWord is a target as commands of this folder take it.
func shellWord(t *app.Target) string {
	if t.Folder != "" {
		return text.Operand(lockKey(t.Text))
	}
	return text.Operand(t.Text)
}

// lockOnly puts pages into the lock file; others that are in it stay. Only the first page of a
// folder is a TARGET, which lock --check opens.
func lockOnly(pages []openedPage) error {
	l, err := ReadLock()
	if errors.Is(err, fs.ErrNotExist) {
		l, err = newLock(), nil
	}
	if err != nil {
		return err
	}
	for _, x := range pages {
		if len(x.tools) > 0 && x.Path == "" {
			l.set(x.Target, x.tools, x.adapters)
		}
	}
	return l.write()
}

// replace writes a file that is committed, and makes its folder.
func replace(name string, text []byte) error { return place(name, text, 0o644) }

func place(name string, text []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // it is committed
		return terminal.Usage("making the folder of %s: %w", filepath.ToSlash(name), err)
	}
	if err := files.Write(name, text, mode); err != nil {
		return terminal.Usage("%w", err)
	}
	return nil
}

// workflow returns the file of the workflow that GitHub runs for every commit.
func (p *Program) workflow(t *app.Target, scenarios string, pages []string) []byte {
	install := installWithGo
	if p.Released {
		install = fmt.Sprintf(installWithNPM, strings.TrimPrefix(p.Version, "v"))
	}
	start := ""
	if t.Folder == "" {
		start = "      # If the app runs in this job, start it here, and wait until it answers.\n"
	}
	file, target := "", ""
	if unnamed([]string{lockKey(t.Text)}) != nil { // then they must be named
		file, target = " "+text.Operand(scenarios), " "+shellWord(t)
	}
	checked := shellWord(t)
	for _, page := range pages {
		checked += " --page " + text.Operand(page)
	}
	return fmt.Appendf(nil, workflowText, start, checked, file, target, install)
}

// How a job gets pagetools: a release pins itself, with the npm that every runner of GitHub has.
const (
	installWithGo = `      - uses: actions/setup-go@v6
        with:
          go-version: stable
      - name: Install pagetools
        run: go install github.com/pagetools/pagetools/cmd/pagetools@latest
`
	installWithNPM = `      - name: Install pagetools
        run: npm install --global pagetools@%s
`
)

const workflowText = `# Written by pagetools init: holds the tools that the page declares.
name: webtools
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
  security-events: write # for the upload of SARIF
jobs:
  webtools:
    runs-on: ubuntu-latest # it has Chrome; elsewhere install Chrome or Chromium first
    steps:
      - uses: actions/checkout@v5
        with:
          fetch-depth: 0 # diff reads the lock file of the branch that the change goes to
%[5]s      - name: Is there a browser?
        run: pagetools doctor
%[1]s      - name: Are they good declarations?
        run: |
          pagetools check %[2]s
      - name: Do the scenarios pass?
        run: |
          pagetools test%[3]s --reporter list,github,junit:junit.xml,sarif:webtools.sarif --trace retain-on-failure
      # Code scanning shows what failed. Where a repository has none, remove this step.
      - name: Upload SARIF
        if: always() && hashFiles('webtools.sarif') != ''
        uses: github/codeql-action/upload-sarif@v4
        with:
          sarif_file: webtools.sarif
      - name: Keep the report and the traces
        if: failure()
        uses: actions/upload-artifact@v4
        with:
          name: webtools
          path: |
            junit.xml
            test-results
          if-no-files-found: ignore
      - name: Is the lock file that of the page?
        run: |
          pagetools lock --check%[4]s
      # Breaking on purpose? Add --fail-on never to this commit, and raise the version.
      - name: Did they change for callers?
        if: github.event_name == 'pull_request'
        run: |
          pagetools diff --base "origin/$GITHUB_BASE_REF"
`
