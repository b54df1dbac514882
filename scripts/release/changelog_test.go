package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestChangelog cuts a release, and refuses when there is nothing to cut.
func TestChangelog(t *testing.T) {
	t.Parallel()
	const old = "## 1.0.0 (2026-01-02)\n\n- Old.\n"
	for name, test := range map[string]struct{ text, want, err string }{
		"first":        {"# Changelog\n\n## Unreleased\n\n### Added\n\n- A.\n", "# Changelog\n\n## Unreleased\n\n## 1.2.3 (2026-11-27)\n\n### Added\n\n- A.\n", ""},
		"with older":   {"## Unreleased\n\n- A.\n\n" + old, "## Unreleased\n\n## 1.2.3 (2026-11-27)\n\n- A.\n\n" + old, ""},
		"prose":        {"## Unreleased\n\nMore of the same.\n\n" + old, "## Unreleased\n\n## 1.2.3 (2026-11-27)\n\nMore of the same.\n\n" + old, ""},
		"empty":        {"## Unreleased\n\n" + old, "", "nothing is below"},
		"headings":     {"## Unreleased\n\n### Added\n\n" + old, "", "nothing is below"},
		"no section":   {old, "", "has no section"},
		"there is one": {"## Unreleased\n\n- A.\n\n## 1.2.3 (2026-01-02)\n\n- B.\n", "", "already"},
	} {
		got, err := released(test.text, "1.2.3", packedAt)
		if got != test.want || (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
			t.Errorf("%s: %v\n%s", name, err, got)
		}
	}
	dir := t.TempDir()
	for text, want := range map[string]string{
		"## Unreleased\n\n## 1.2.3 (2026-11-27)\n\nWords.\n\n- A.\n\n## 1.2.2 (2026-11-26)\n\n- B.\n": "Words.\n\n- A.\n",
		"## 1.2.3\n\n- A.\n": "- A.\n", "## 1.2.30\n\n- A.\n": "", "## 1.2.3 (2026-11-27)\n\n### Added\n": "",
	} {
		if err := os.WriteFile(filepath.Join(dir, changelogFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := notes(dir, "1.2.3", &out); out.String() != want || (err == nil) != (want != "") {
			t.Errorf("%q has the notes %q (%v)", text, out.String(), err)
		}
	}
}

// TestCutAndRefusals works in a repository of its own: cut makes one commit, build refuses what it
// must.
func TestCutAndRefusals(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@t.example", "-c", "init.defaultBranch=main"}, args...)...)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run("init", "-q")
	run("config", "user.name", "t")
	run("config", "user.email", "t@t.example")
	write(changelogFile, "## Unreleased\n\n- A.\n")
	run("add", ".")
	run("commit", "-qm", "a: b")
	ctx := t.Context()
	o := options{version: "1.2.3", out: filepath.Join(t.TempDir(), "dist"), platforms: allPlatforms[:1]}
	refused := func(want string) {
		t.Helper()
		if err := build(ctx, dir, o, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("build says %v, want %q", err, want)
		}
	}
	refused("make cut VERSION=1.2.3")
	write("left", "over")
	refused("not clean")
	if err := cut(ctx, dir, "1.2.3", packedAt, io.Discard); err == nil || !strings.Contains(err.Error(), "not clean") {
		t.Errorf("cut in a tree that is not clean: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "left")); err != nil {
		t.Fatal(err)
	}
	if err := cut(ctx, dir, "1.2.3", packedAt, io.Discard); err != nil {
		t.Fatal(err)
	}
	if got := run("log", "-1", "--format=%s", "--name-only"); got != "release: 1.2.3\n\nCHANGELOG.md" || run("status", "--porcelain") != "" || run("tag") != "" {
		t.Errorf("the commit is %q", got)
	}
	if err := cut(ctx, dir, "1.2.4", packedAt, io.Discard); err == nil || !strings.Contains(err.Error(), "nothing to release") {
		t.Errorf("cutting twice: %v", err)
	}
	run("tag", "v1.2.3", "HEAD~1")
	refused("is on")
}

// TestSource clones one commit with one tag, whatever else the repository has, and takes its time.
func TestSource(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	commit, err := git(t.Context(), root, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-tags=x")
	t.Setenv("GOAMD64", "v3")
	t.Setenv("SOURCE_DATE_EPOCH", "1")
	s, err := newSource(t.Context(), root, commit, "1.2.3", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	if tags, err := git(t.Context(), s.dir, "tag"); err != nil || tags != "v1.2.3" || s.time.Unix() != 1 {
		t.Errorf("it has the tags %q and the time %v (%v)", tags, s.time, err)
	}
	if slices.Contains(s.env, "GOFLAGS=-tags=x") || slices.Contains(s.env, "GOAMD64=v3") || !slices.Contains(s.env, "GOENV=off") {
		t.Errorf("go gets %q", s.env)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "soon")
	if _, err := newSource(t.Context(), root, commit, "1.2.3", filepath.Join(t.TempDir(), "s")); err == nil {
		t.Error("a time that is not a number is taken")
	}
}

// TestDistFolder keeps what is not a release.
func TestDistFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mine := filepath.Join(dir, "mine")
	if err := os.WriteFile(mine, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newDist(dir); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("a folder with other files: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, checksumsFile), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := newDist(dir); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(mine); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what an older release left stays: %v", err)
	}
}
