package chrome

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Kind says how a browser is built.
type Kind string

const (
	// Auto leaves the kind to Find; the zero value does the same.
	Auto Kind = "auto"
	// Shell is Chromium's headless shell: the same pages without anything that a person
	// would see.
	Shell Kind = "shell"
	// Chromium is a whole browser: Chromium, Chrome or Edge.
	Chromium Kind = "chromium"
)

// String names the kind for people.
func (k Kind) String() string {
	if k == Shell {
		return "headless shell"
	}
	return "whole browser"
}

// ErrNoBrowser means that no browser was found.
var ErrNoBrowser = errors.New("no Chrome, Chromium or Edge was found")

// ErrNoShell means that a headless shell was asked for and none was found.
var ErrNoShell = errors.New("no headless shell was found")

// namesInPath are the commands of whole browsers that are looked for in $PATH, and
// shellsInPath those of headless shells.
var (
	namesInPath = []string{
		"google-chrome-stable", "google-chrome", "chromium", "chromium-browser",
		"microsoft-edge", "microsoft-edge-stable", "chrome", "msedge",
	}
	shellsInPath = []string{
		"chrome-headless-shell", "headless_shell", "headless-shell", "chromium-headless-shell",
	}
)

// KindOf tells the kind of a binary by its name.
func KindOf(path string) Kind {
	name := strings.ReplaceAll(filepath.Base(path), "_", "-")
	if strings.Contains(name, "headless-shell") {
		return Shell
	}
	return Chromium
}

// Find returns the browser that the options mean, and its kind: the binary that they name,
// or the first of the usual places, $PATH and the caches of Playwright and Puppeteer that fits.
// Without a kind a browser without windows is a headless shell where there is one, unless pages may
// open windows or a whole browser wrote the profile; any other is a whole browser. The error wraps
// ErrNoBrowser or ErrNoShell when there is none, and is another one when the options contradict
// each other.
func Find(o Options) (path string, kind Kind, err error) {
	m := thisMachine()
	switch o.Path {
	case "":
		return o.find(m.usualPlaces(), m.usualShells(), m.cached)
	case OfSystem:
		return o.find(m.usualPlaces(), m.usualShells(), func(Kind) []string { return nil })
	}
	return o.named()
}

// named returns the binary that the options name.
func (o *Options) named() (path string, kind Kind, err error) {
	found, err := exec.LookPath(o.Path)
	if err != nil {
		return "", "", fmt.Errorf("%w at %s", ErrNoBrowser, o.Path)
	}
	// The browser runs in a folder of its own.
	if found, err = filepath.Abs(found); err != nil {
		return "", "", fmt.Errorf("looking for %s: %w", o.Path, err)
	}
	found = realBinary(found)
	kind = KindOf(found)
	if asked := cmp.Or(o.Kind, Auto); asked != Auto && asked != kind {
		return "", "", fmt.Errorf("%s %s and %s %s contradict each other, because that is a %s by "+
			"its name: leave one of them out", o.Words.Of("Kind"), asked, o.Words.Of("Path"), o.Path, kind)
	}
	if kind == Shell && o.Headful {
		return "", "", fmt.Errorf("%s needs a whole browser, and %s %s is a headless shell: name "+
			"another one", o.Words.Of("Headful"), o.Words.Of("Path"), o.Path)
	}
	return found, kind, o.fits(kind)
}

func (o *Options) find(places, shells []string, cached func(Kind) []string) (path string, kind Kind, err error) {
	kind = cmp.Or(o.Kind, Auto)
	if kind == Shell && o.Headful {
		return "", "", fmt.Errorf("%s shell has no windows to show, and %s asks for them: leave one "+
			"of them out", o.Words.Of("Kind"), o.Words.Of("Headful"))
	}
	wrote := writtenBy(o.UserDataDir)
	if kind == Auto && o.Headful {
		kind = Chromium
	}
	if kind == Auto && wrote != "" {
		kind = wrote
	}
	if err := o.fits(kind); err != nil {
		return "", "", err
	}
	order := []Kind{Shell, Chromium}
	switch {
	case kind != Auto:
		order = []Kind{kind}
	case o.Windows:
		order = []Kind{Chromium, Shell}
	}
	usual := map[Kind][]string{Shell: shells, Chromium: places}
	names := map[Kind][]string{Shell: shellsInPath, Chromium: namesInPath}
	for _, k := range order {
		if path := first(usual[k], names[k]); path != "" {
			return path, k, nil
		}
	}
	for _, k := range order {
		if path := first(cached(k), nil); path != "" {
			return path, k, nil
		}
	}
	if kind == Shell {
		return "", "", o.without(ErrNoShell, wrote)
	}
	return "", "", o.without(ErrNoBrowser, wrote)
}

// without says which profile needs the browser that is missing, when it does.
func (o *Options) without(missing error, wrote Kind) error {
	if o.UserDataDir == "" || wrote == "" {
		return missing
	}
	return fmt.Errorf("%w, and the profile %s was written by a %s", missing, o.UserDataDir, wrote)
}

// fits refuses a profile that the other kind of browser wrote: both would keep what pages
// stored where the other does not look, or damage it.
func (o *Options) fits(kind Kind) error {
	wrote := writtenBy(o.UserDataDir)
	if wrote == "" || kind == Auto || wrote == kind {
		return nil
	}
	w := o.Words
	return fmt.Errorf("the profile %s was written by a %s, and a %s must not open it: leave out "+
		"what asks for that (%s, %s, %s), or name another folder with %s", o.UserDataDir, wrote, kind,
		w.Of("Kind"), w.Of("Path"), w.Of("Headful"), w.Of("UserDataDir"))
}

// first returns the first of the places that is a program, or of the names in $PATH.
func first(places, names []string) string {
	if i := slices.IndexFunc(places, executable); i >= 0 {
		return places[i]
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return realBinary(found)
		}
	}
	return ""
}

// realBinary looks past a distribution's wrapper: the wrapper adds flags and
// loads extensions.
func realBinary(found string) string {
	resolved, err := filepath.EvalSymlinks(found)
	if err != nil {
		return found
	}
	real := "/usr/lib/chromium/chromium"
	if KindOf(resolved) == Shell {
		real = "/usr/lib/chromium/chromium-headless-shell"
	}
	if strings.HasPrefix(resolved, "/usr/bin/chromium") && executable(real) {
		return real
	}
	return found
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && (info.Mode()&0o111 != 0 || runtime.GOOS == "windows")
}
