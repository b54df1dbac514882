package chrome

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFind: the usual places come before $PATH, and a shell before a whole browser where
// nothing asks for one.
func TestFind(t *testing.T) {
	dir := t.TempDir()
	inPath, usual := filepath.Join(dir, "bin"), filepath.Join(dir, "opt")
	t.Setenv("PATH", inPath)
	places, shells := []string{filepath.Join(usual, "first"), filepath.Join(usual, "second")},
		[]string{filepath.Join(usual, "shell")}
	finds := func(o Options, want string, kind Kind) {
		t.Helper()
		got, found, err := o.find(places, shells, noCache)
		if err != nil {
			got, found = err.Error(), ""
		}
		if got != want || found != kind {
			t.Errorf("%+v finds %s (%s), want %s (%s)", o, got, found, want, kind)
		}
	}
	finds(Options{}, ErrNoBrowser.Error(), "")
	finds(Options{Kind: Shell}, ErrNoShell.Error(), "")
	edge := program(t, filepath.Join(inPath, "microsoft-edge"))
	finds(Options{}, edge, Chromium)
	chromium := program(t, filepath.Join(inPath, "chromium"))
	finds(Options{Kind: Auto}, chromium, Chromium)
	finds(Options{Kind: Shell}, ErrNoShell.Error(), "")
	if err := os.MkdirAll(places[0], 0o700); err != nil { // a folder is not a browser
		t.Fatal(err)
	}
	second := program(t, places[1])
	finds(Options{}, second, Chromium)
	named := program(t, filepath.Join(inPath, "headless_shell"))
	finds(Options{}, named, Shell)
	shell := program(t, shells[0])
	finds(Options{}, shell, Shell)
	finds(Options{Kind: Shell}, shell, Shell)
	finds(Options{Kind: Chromium}, second, Chromium)
	finds(Options{Headful: true}, second, Chromium)
	finds(Options{Windows: true}, second, Chromium)
	finds(Options{Windows: true, Kind: Shell}, shell, Shell)
	if _, _, err := (&Options{Kind: Shell, Headful: true}).find(places, shells, noCache); err == nil ||
		!strings.Contains(err.Error(), "Headful") {
		t.Errorf("a shell with windows: %v", err)
	}
}

// TestFindNamed: a binary that is named is taken, and its kind told by its name.
func TestFindNamed(t *testing.T) {
	dir := t.TempDir()
	inPath, given := filepath.Join(dir, "bin"), filepath.Join(dir, "given")
	t.Setenv("PATH", inPath)
	chromium := program(t, filepath.Join(inPath, "chromium"))
	if err := os.WriteFile(filepath.Join(dir, "text"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(given, "chrome"))
	shell := program(t, filepath.Join(given, "chrome-headless-shell"))
	t.Chdir(given)
	for path, want := range map[string]string{
		filepath.Join(given, "chrome"): filepath.Join(given, "chrome"), "./chrome": filepath.Join(given, "chrome"),
		"../given/chrome": filepath.Join(given, "chrome"), "chromium": chromium,
		"chrome": "", filepath.Join(dir, "text"): "", dir: "", filepath.Join(dir, "none"): "", shell: shell,
	} {
		got, kind, err := Find(Options{Path: path})
		if got != want || errors.Is(err, ErrNoBrowser) != (want == "") {
			t.Errorf("%s: found %s, %v; want %q", path, got, err, want)
		}
		if err == nil && (kind == Shell) != (path == shell) {
			t.Errorf("%s is a %s", path, kind)
		}
	}
	for _, o := range []Options{{Path: shell, Kind: Chromium}, {Path: chromium, Kind: Shell}, {Path: shell, Headful: true}} {
		if _, _, err := Find(o); err == nil || !strings.Contains(err.Error(), "Path") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for name, want := range map[string]Kind{"headless_shell": Shell, "/x/headless-shell": Shell, "chromium-headless-shell": Shell,
		"/headless-shell/chrome": Chromium, "chromium": Chromium, "google-chrome": Chromium} {
		if got := KindOf(name); got != want {
			t.Errorf("%s is a %s", name, got)
		}
	}
}

// TestFindForProfile: a profile is opened by the kind that wrote it, and by no other.
func TestFindForProfile(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	whole, shell := program(t, filepath.Join(dir, "whole")), program(t, filepath.Join(dir, "headless-shell"))
	profile := func(name, file, text string) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ours, theirs := profile("ours", kindName, "shell\n"), profile("theirs", "Local State", "{}")
	marked := profile("marked", kindName, "chromium\n")
	fresh := profile("fresh", kindName, "something else")
	for _, row := range []struct {
		o    Options
		want string // "" means that it is refused
	}{
		{Options{UserDataDir: ours}, shell}, {Options{UserDataDir: ours, Kind: Shell}, shell},
		{Options{UserDataDir: ours, Kind: Chromium}, ""}, {Options{UserDataDir: ours, Headful: true}, ""},
		{Options{UserDataDir: theirs}, whole}, {Options{UserDataDir: theirs, Kind: Shell}, ""},
		{Options{UserDataDir: marked}, whole}, {Options{UserDataDir: marked, Kind: Shell}, ""},
		{Options{UserDataDir: theirs, Headful: true}, whole},
		{Options{UserDataDir: fresh}, shell}, {Options{UserDataDir: filepath.Join(dir, "new")}, shell},
		{Options{UserDataDir: ours, Path: whole}, ""}, {Options{UserDataDir: theirs, Path: shell}, ""},
		{Options{UserDataDir: theirs, Path: whole}, whole},
	} {
		var got string
		var err error
		if row.o.Path != "" {
			got, _, err = Find(row.o)
		} else {
			got, _, err = row.o.find([]string{whole}, []string{shell}, noCache)
		}
		refused := err != nil && strings.Contains(err.Error(), row.o.UserDataDir) && strings.Contains(err.Error(), "was written by a")
		if row.want != "" && (got != row.want || err != nil) || row.want == "" && !refused {
			t.Errorf("%+v finds %s, %v; want %q", row.o, got, err, row.want)
		}
	}
	missing := Options{UserDataDir: ours}
	if _, _, err := missing.find([]string{whole}, nil, noCache); !errors.Is(err, ErrNoShell) || !strings.Contains(err.Error(), ours) {
		t.Errorf("a profile of a shell that is not there: %v", err)
	}
}

func noCache(Kind) []string { return nil }
