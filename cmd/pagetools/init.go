package main

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

	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/files"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// workflowName is where GitHub looks for the workflow.
var workflowName = filepath.Join(".github", "workflows", "webtools.yml")

func initCommand(p *program) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use:   "init [TARGET]",
		Short: "Write first tests of a site's tools, and a workflow that runs them",
		Long: "Opens the page, and writes a scenario with a case for each tool that only reads, " +
			lockName + ",\nand " + filepath.ToSlash(workflowName) + " for GitHub Actions. What is " +
			"there stays, unless you give --force.\nWithout a TARGET it opens this folder.",
		RunE: func(cmd *cobra.Command, args []string) error {
			switch len(args) {
			case 0:
				args = []string{"."}
			case 1:
			default:
				return usage("init takes one TARGET, and %q is too much", terminal.Plain(args[1]))
			}
			return initialize(cmd.Context(), p, args[0], force)
		},
	}
	c.Flags().BoolVar(&force, "force", false, "write also files that are there")
	return c
}

// initialize writes what is missing. Nothing is written before the page was opened and all texts
// were made.
func initialize(ctx context.Context, p *program, arg string, force bool) error {
	wanted, err := parseTarget(arg)
	if err != nil {
		return err
	}
	if err := nameAll(wanted); err != nil {
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
		if keep && !force {
			kept = append(kept, name)
		}
	}
	if len(kept) == len(names) {
		return usage("%s are there: --force writes them again", strings.Join(names, ", "))
	}
	t, tools, err := p.toolsOf(ctx, arg)
	if err != nil {
		return err
	}
	if len(tools) == 0 {
		return &exitError{exitFindings, errors.New(noTools(nil, p.conf, t))}
	}
	draft := scenario.Draft{Lock: lockName, Tools: inOrder(tools), Sample: effects.Sample}
	if draft.Dir = lockKey(t.Text); t.Folder == "" {
		draft.Dir, draft.URL = "", t.URL
	}
	text, err := draft.Text()
	if err != nil {
		return err
	}
	write := []func() error{
		func() error { return replace(names[0], text) },
		func() error { return lockOnly(t, tools) },
		func() error { return replace(names[2], workflow(t)) },
	}
	for i, name := range names {
		if slices.Contains(kept, name) {
			fmt.Fprintf(p.stdout, "kept   %s (--force writes it again)\n", filepath.ToSlash(name))
			continue
		}
		if err := write[i](); err != nil {
			return err
		}
		fmt.Fprintf(p.stdout, "wrote  %s\n", filepath.ToSlash(name))
	}
	fmt.Fprintf(p.stdout, "Commit them. Next: pagetools test\n")
	return p.stdout.Err()
}

// isThere reports whether a file is there, or in the lock file this target: others can be added.
func isThere(name string, t *target) (bool, error) {
	switch _, err := os.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, usage("%w", err)
	case name != lockName:
		return true, nil
	}
	l, err := readLock()
	if err != nil {
		return false, err
	}
	_, there := l.entry(t)
	return there, nil
}

// canBeWritten reports why an address cannot stand in files that are committed.
func canBeWritten(t *target) error {
	switch u, err := url.Parse(t.Text); {
	case terminal.Plain(t.Text) != t.Text || strings.Contains(t.Text, "${{"):
		return usage("%q cannot be written into a workflow: give a TARGET without invisible "+
			"characters and ${{", terminal.Plain(t.Text))
	case err == nil && u.User != nil:
		return usage("init writes the TARGET into files that are committed: give it without user " +
			"and password")
	}
	return nil
}

// shellWord is a target as commands of this folder take it.
func shellWord(t *target) string {
	text := t.Text
	if t.Folder != "" {
		text = lockKey(t.Text)
	}
	word := clients.ShellWord(text)
	if word[0] == '-' {
		word = "-- " + word
	}
	return word
}

// lockOnly puts a target into the lock file; others that are in it stay.
func lockOnly(t *target, tools map[string]lockedTool) error {
	l, err := readLock()
	if errors.Is(err, fs.ErrNotExist) {
		l, err = newLock(), nil
	}
	if err != nil {
		return err
	}
	l.set(t, tools)
	return l.write()
}

// replace writes a file, and makes its folder.
func replace(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // it is committed
		return usage("making the folder of %s: %w", filepath.ToSlash(name), err)
	}
	if err := files.Replace(name, text, 0o644); err != nil {
		return usage("%w", err)
	}
	return nil
}

// workflow is what GitHub runs for every commit.
func workflow(t *target) []byte {
	start := ""
	if t.Folder == "" {
		start = "      # If the app runs in this job, start it here, and wait until it answers.\n"
	}
	return fmt.Appendf(nil, workflowText, start, shellWord(t))
}

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
      - uses: actions/setup-go@v6
        with:
          go-version: stable
      - name: Install pagetools
        run: go install github.com/pagetools/pagetools/cmd/pagetools@latest
      - name: Is there a browser?
        run: pagetools doctor
%s      - name: Are they good declarations?
        run: |
          pagetools check %s
      - name: Do the scenarios pass?
        run: |
          pagetools test --reporter list,github,junit:junit.xml,sarif:webtools.sarif --trace retain-on-failure
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
          pagetools lock --check
      # Breaking on purpose? Add --fail-on never to this commit, and raise the version.
      - name: Did they change for callers?
        if: github.event_name == 'pull_request'
        run: |
          pagetools diff --base "origin/$GITHUB_BASE_REF"
`
