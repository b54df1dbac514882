package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

const changelogFile = "CHANGELOG.md"

var (
	unreleased  = regexp.MustCompile(`(?m)^## Unreleased[ \t]*$`)
	nextSection = regexp.MustCompile(`(?m)^## `)
	entryLine   = regexp.MustCompile(`(?m)^[ \t]*[-*] \S|^[^#\s]`)
)

// section returns what stands below a heading, up to the next one of its level.
func section(text string, heading *regexp.Regexp) (body string, start, end int) {
	at := heading.FindStringIndex(text)
	if at == nil {
		return "", -1, -1
	}
	end = len(text)
	if next := nextSection.FindStringIndex(text[at[1]:]); next != nil {
		end = at[1] + next[0]
	}
	return strings.Trim(text[at[1]:end], "\n"), at[0], end
}

func headingOf(version string) *regexp.Regexp {
	return regexp.MustCompile(`(?m)^## ` + regexp.QuoteMeta(version) + `( \(\d{4}-\d\d-\d\d\))?[ \t]*$`)
}

// notes prints the section of a version: the notes of its release.
func notes(root, version string, out io.Writer) error {
	text, err := os.ReadFile(filepath.Join(root, changelogFile))
	if err != nil {
		return err
	}
	body, _, _ := section(string(text), headingOf(version))
	if !entryLine.MatchString(body) {
		return fmt.Errorf("%s has no section %q, or nothing in it: make cut VERSION=%s makes one of what is unreleased",
			changelogFile, "## "+version, version)
	}
	_, err = fmt.Fprintln(out, body)
	return err
}

// released returns the text with what is unreleased as the section of a version.
func released(text, version string, at time.Time) (string, error) {
	if headingOf(version).MatchString(text) {
		return "", fmt.Errorf("%s has a section %q already", changelogFile, "## "+version)
	}
	body, start, end := section(text, unreleased)
	switch {
	case start < 0:
		return "", fmt.Errorf("%s has no section %q", changelogFile, "## Unreleased")
	case !entryLine.MatchString(body):
		return "", fmt.Errorf("nothing is below %q in %s: there is nothing to release", "## Unreleased", changelogFile)
	}
	cut := fmt.Sprintf("## Unreleased\n\n## %s (%s)\n\n%s\n", version, at.UTC().Format(time.DateOnly), body)
	if rest := text[end:]; rest != "" {
		cut += "\n" + rest
	}
	return text[:start] + cut, nil
}

// cut makes what is unreleased the section of a version, as a commit of its own.
func cut(ctx context.Context, root, version string, at time.Time, out io.Writer) error {
	path := filepath.Join(root, changelogFile)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	changed, err := released(string(text), version, at)
	if err != nil {
		return err
	}
	if status, err := git(ctx, root, "status", "--porcelain"); err != nil || status != "" {
		return errors.Join(err, fmt.Errorf("the working tree is not clean; commit first:\n%s", status))
	}
	if err := os.WriteFile(path, []byte(changed), 0o644); err != nil { //nolint:gosec // a file of the repository
		return err
	}
	if _, err := git(ctx, root, "commit", "--quiet", "-m", "release: "+version, "--", changelogFile); err != nil {
		return errors.Join(err, os.WriteFile(path, text, 0o644)) //nolint:gosec // as above
	}
	_, err = fmt.Fprintf(out, "%s has a section %q now, committed. Next: git tag -a v%s -m v%s, and make release VERSION=%s\n",
		changelogFile, "## "+version, version, version, version)
	return err
}
