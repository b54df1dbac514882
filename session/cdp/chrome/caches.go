package chrome

import (
	"cmp"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// OfSystem is a Path of Options that means the browsers of the system, and none of a cache.
const OfSystem = "auto-system"

// machine says where a system keeps things.
type machine struct {
	os, arch string                 // as in GOOS and GOARCH
	env      func(string) string    // of a variable
	dir      func() (string, error) // of the user's home
}

func thisMachine() machine { return machine{runtime.GOOS, runtime.GOARCH, os.Getenv, os.UserHomeDir} }

// usualPlaces lists where packages put the real binaries of whole browsers. They come before
// $PATH, because some distributions put a wrapper script there that adds flags.
func (m machine) usualPlaces() (all []string) {
	switch m.os {
	case "darwin":
		return []string{
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
			"/Applications/Chromium.app/Contents/MacOS/Chromium",
			"/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
		}
	case "windows":
		for _, below := range []string{"Google/Chrome/Application/chrome.exe", "Chromium/Application/chrome.exe",
			"Microsoft/Edge/Application/msedge.exe"} {
			for _, variable := range []string{"ProgramFiles", "ProgramFiles(x86)", "LOCALAPPDATA"} {
				if dir := m.env(variable); dir != "" {
					all = append(all, filepath.Join(dir, filepath.FromSlash(below)))
				}
			}
		}
		return all
	}
	return []string{
		"/opt/google/chrome/chrome",
		"/usr/lib/chromium/chromium",
		"/usr/lib/chromium-browser/chromium-browser",
		"/opt/microsoft/msedge/msedge",
		"/snap/bin/chromium",
	}
}

// usualShells lists where packages put headless shells. On Windows such a place would be a folder
// that each user may make.
func (m machine) usualShells() []string {
	if m.os != "linux" {
		return nil
	}
	return []string{"/usr/lib/chromium/chromium-headless-shell"}
}

// cache is a folder where a library of browser automation keeps its browsers.
type cache struct {
	// name is for people, such as "Playwright's cache".
	name, dir string
	// of a kind of browser are folders of its versions, as patterns below dir.
	of map[Kind]string
}

// caches lists the folders of Playwright and Puppeteer. Some may not be there.
func (m machine) caches() (all []cache) {
	home, err := m.dir()
	if err != nil {
		home = ""
	}
	playwright := m.env("PLAYWRIGHT_BROWSERS_PATH")
	if playwright == "" || playwright == "0" { // 0 is a folder of each project
		base := filepath.Join(home, ".cache")
		switch m.os {
		case "darwin":
			base = filepath.Join(home, "Library", "Caches")
		case "windows":
			base = cmp.Or(m.env("LOCALAPPDATA"), filepath.Join(home, "AppData", "Local"))
		default:
			base = cmp.Or(m.env("XDG_CACHE_HOME"), base)
		}
		playwright = filepath.Join(base, "ms-playwright")
	}
	all = []cache{
		{"Playwright's cache", playwright, map[Kind]string{Shell: "chromium_headless_shell-*", Chromium: "chromium-*"}},
		{"Puppeteer's cache", cmp.Or(m.env("PUPPETEER_CACHE_DIR"), filepath.Join(home, ".cache", "puppeteer")),
			map[Kind]string{Shell: "chrome-headless-shell/*", Chromium: "chrome/*"}},
	}
	return slices.DeleteFunc(all, func(c cache) bool { return !filepath.IsAbs(c.dir) })
}

// binaries returns where a version of a kind of browser has its program, below its folder.
func (m machine) binaries(kind Kind) []string {
	switch {
	case kind == Shell && m.os == "windows":
		return []string{"*/chrome-headless-shell.exe", "*/headless_shell.exe"}
	case kind == Shell:
		return []string{"*/chrome-headless-shell", "*/headless_shell"}
	case m.os == "windows":
		return []string{"*/chrome.exe"}
	case m.os == "darwin":
		return []string{"*/*.app/Contents/MacOS/Google Chrome for Testing", "*/*.app/Contents/MacOS/Chromium"}
	}
	return []string{"*/chrome"}
}

// cached lists the browsers of a kind in caches, the newest of each cache first.
func (m machine) cached(kind Kind) (all []string) {
	for _, c := range m.caches() {
		versions, _ := filepath.Glob(filepath.Join(quoted(c.dir), filepath.FromSlash(c.of[kind]))) // the pattern is a good one
		versions = slices.DeleteFunc(versions, func(v string) bool { return !m.runs(filepath.Base(v)) })
		slices.SortStableFunc(versions, func(a, b string) int {
			return slices.Compare(numbers(filepath.Base(b)), numbers(filepath.Base(a)))
		})
		for _, v := range versions {
			for _, below := range m.binaries(kind) {
				found, _ := filepath.Glob(filepath.Join(quoted(v), filepath.FromSlash(below)))
				all = append(all, found...)
			}
		}
	}
	return all
}

// runs reports whether a version is for this kind of machine: Puppeteer's are called by it, as
// "linux_arm-131.0.6778".
func (m machine) runs(version string) bool {
	platform, _, _ := strings.Cut(version, "-")
	switch platform {
	case "linux_arm", "mac_arm":
		return m.arch == "arm64"
	case "linux":
		return m.arch != "arm64"
	}
	return true
}

// quoted makes a pattern of a path that matches that path only. On Windows, where patterns have no
// such characters, an odd name matches nothing.
func quoted(path string) string {
	if runtime.GOOS == "windows" {
		return path
	}
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(path)
}

// numbers returns those of a version in a name, such as 131, 0 and 6778 of "linux-131.0.6778": what
// comes behind the last dash.
func numbers(name string) (all []int) {
	for part := range strings.SplitSeq(name[strings.LastIndexByte(name, '-')+1:], ".") {
		n, _ := strconv.Atoi(part) // another text is older than any number
		all = append(all, n)
	}
	return all
}

// Cache returns the name of the cache that a browser is in, such as "Playwright's cache", or "".
func Cache(path string) string { return thisMachine().cacheOf(path) }

func (m machine) cacheOf(path string) string {
	for _, c := range m.caches() {
		if way, err := filepath.Rel(c.dir, path); err == nil && filepath.IsLocal(way) {
			return c.name
		}
	}
	return ""
}

// HowToInstall says how a browser is installed on a system, by its GOOS: a headless shell, or a
// whole one. Where it is not the system's own, the next start finds it in Puppeteer's cache.
func HowToInstall(goos string, whole bool) string {
	debian, name, folder, rest := "chromium-headless-shell", "chrome-headless-shell", "~/.cache/puppeteer", ""
	if whole {
		debian, name = "chromium", "chrome"
	}
	if goos == "windows" {
		folder, rest = `"%USERPROFILE%\.cache\puppeteer"`, " (Edge, which is part of Windows, does as well)"
	}
	npx := "npx -y @puppeteer/browsers install " + name + "@stable --path " + folder + rest
	if goos == "linux" {
		return "apt-get install " + debian + " (Debian), or " + npx + " (elsewhere)"
	}
	return npx
}
