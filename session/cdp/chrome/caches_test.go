package chrome

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
)

// fakeMachine is one of a system with a home in dir and these variables.
func fakeMachine(goos, arch, dir string, env map[string]string) machine {
	return machine{goos, arch, func(name string) string { return env[name] },
		func() (string, error) { return dir, nil }}
}

// TestCaches: the browsers of Playwright and Puppeteer are found where each system has them, the
// newest first, and are called by their cache.
func TestCaches(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		os, arch string
		env      map[string]string
		there    []string // below home
		shells   []string // what is found of them
		wholes   []string
	}{
		"linux": {
			os: "linux", arch: "amd64",
			there: []string{
				".cache/ms-playwright/chromium-1148/chrome-linux/chrome",
				".cache/ms-playwright/chromium-1208/chrome-linux64/chrome",
				".cache/ms-playwright/chromium_headless_shell-999/chrome-linux/headless_shell",
				".cache/ms-playwright/chromium_headless_shell-1208/chrome-headless-shell-linux64/chrome-headless-shell",
				".cache/ms-playwright/firefox-1490/firefox/firefox",
				".cache/ms-playwright/chromium_tip_of_tree-1300/chrome-linux/chrome",
				".cache/puppeteer/chrome/linux-99.0.4844.16/chrome-linux64/chrome",
				".cache/puppeteer/chrome/linux-131.0.6778.204/chrome-linux64/chrome",
				".cache/puppeteer/chrome/linux_arm-140.0.1.2/chrome-linux-arm64/chrome",
				".cache/puppeteer/chrome-headless-shell/linux-131.0.6778.9/chrome-headless-shell-linux64/chrome-headless-shell",
				".cache/puppeteer/chrome-headless-shell/linux-131.0.6778.204/chrome-headless-shell-linux64/chrome-headless-shell",
			},
			shells: []string{
				".cache/ms-playwright/chromium_headless_shell-1208/chrome-headless-shell-linux64/chrome-headless-shell",
				".cache/ms-playwright/chromium_headless_shell-999/chrome-linux/headless_shell",
				".cache/puppeteer/chrome-headless-shell/linux-131.0.6778.204/chrome-headless-shell-linux64/chrome-headless-shell",
				".cache/puppeteer/chrome-headless-shell/linux-131.0.6778.9/chrome-headless-shell-linux64/chrome-headless-shell",
			},
			wholes: []string{
				".cache/ms-playwright/chromium-1208/chrome-linux64/chrome",
				".cache/ms-playwright/chromium-1148/chrome-linux/chrome",
				".cache/puppeteer/chrome/linux-131.0.6778.204/chrome-linux64/chrome",
				".cache/puppeteer/chrome/linux-99.0.4844.16/chrome-linux64/chrome",
			},
		},
		"linux, elsewhere": {
			os: "linux", arch: "arm64",
			env: map[string]string{"PLAYWRIGHT_BROWSERS_PATH": "/HOME/pw [1]", "PUPPETEER_CACHE_DIR": "/HOME/pp", "XDG_CACHE_HOME": "/HOME/xdg"},
			there: []string{
				"pw [1]/chromium-1/chrome-linux/chrome", "xdg/ms-playwright/chromium-2/chrome-linux/chrome",
				"pp/chrome/linux_arm-140.0.1.2/chrome-linux-arm64/chrome", "pp/chrome/linux-141.0.1.2/chrome-linux64/chrome",
			},
			wholes: []string{"pw [1]/chromium-1/chrome-linux/chrome", "pp/chrome/linux_arm-140.0.1.2/chrome-linux-arm64/chrome"},
		},
		"linux, with a cache of its own": {
			os: "linux", arch: "amd64",
			env:    map[string]string{"PLAYWRIGHT_BROWSERS_PATH": "0", "XDG_CACHE_HOME": "/HOME/xdg"},
			there:  []string{"xdg/ms-playwright/chromium-2/chrome-linux/chrome", ".cache/ms-playwright/chromium-3/chrome-linux/chrome"},
			wholes: []string{"xdg/ms-playwright/chromium-2/chrome-linux/chrome"},
		},
		"a folder that depends on where we are": {
			os: "linux", arch: "amd64", env: map[string]string{"PLAYWRIGHT_BROWSERS_PATH": "pw", "PUPPETEER_CACHE_DIR": "."},
			there: []string{"pw/chromium-1/chrome-linux/chrome"},
		},
		"darwin": {
			os: "darwin", arch: "arm64",
			there: []string{
				"Library/Caches/ms-playwright/chromium-1148/chrome-mac/Chromium.app/Contents/MacOS/Chromium",
				"Library/Caches/ms-playwright/chromium-1208/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
				"Library/Caches/ms-playwright/chromium_headless_shell-1148/chrome-mac/headless_shell",
				".cache/puppeteer/chrome/mac_arm-131.0.6778.204/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
				".cache/puppeteer/chrome-headless-shell/mac_arm-131.0.6778.204/chrome-headless-shell-mac-arm64/chrome-headless-shell",
			},
			shells: []string{
				"Library/Caches/ms-playwright/chromium_headless_shell-1148/chrome-mac/headless_shell",
				".cache/puppeteer/chrome-headless-shell/mac_arm-131.0.6778.204/chrome-headless-shell-mac-arm64/chrome-headless-shell",
			},
			wholes: []string{
				"Library/Caches/ms-playwright/chromium-1208/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
				"Library/Caches/ms-playwright/chromium-1148/chrome-mac/Chromium.app/Contents/MacOS/Chromium",
				".cache/puppeteer/chrome/mac_arm-131.0.6778.204/chrome-mac-arm64/Google Chrome for Testing.app/Contents/MacOS/Google Chrome for Testing",
			},
		},
		"windows": {
			os: "windows", arch: "amd64", env: map[string]string{"LOCALAPPDATA": "/HOME/AppData/Local"},
			there: []string{
				"AppData/Local/ms-playwright/chromium-1148/chrome-win/chrome.exe",
				"AppData/Local/ms-playwright/chromium_headless_shell-1148/chrome-win/headless_shell.exe",
				"AppData/Local/ms-playwright/chromium_headless_shell-1208/chrome-headless-shell-win64/chrome-headless-shell.exe",
				".cache/puppeteer/chrome/win64-131.0.6778.204/chrome-win64/chrome.exe",
				".cache/puppeteer/chrome-headless-shell/win64-131.0.6778.204/chrome-headless-shell-win64/chrome-headless-shell.exe",
			},
			shells: []string{
				"AppData/Local/ms-playwright/chromium_headless_shell-1208/chrome-headless-shell-win64/chrome-headless-shell.exe",
				"AppData/Local/ms-playwright/chromium_headless_shell-1148/chrome-win/headless_shell.exe",
				".cache/puppeteer/chrome-headless-shell/win64-131.0.6778.204/chrome-headless-shell-win64/chrome-headless-shell.exe",
			},
			wholes: []string{
				"AppData/Local/ms-playwright/chromium-1148/chrome-win/chrome.exe",
				".cache/puppeteer/chrome/win64-131.0.6778.204/chrome-win64/chrome.exe",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			env := map[string]string{}
			for k, v := range row.env {
				env[k] = strings.ReplaceAll(v, "/HOME", home)
			}
			for _, path := range row.there {
				program(t, filepath.Join(home, filepath.FromSlash(path)))
			}
			m := fakeMachine(row.os, row.arch, home, env)
			for kind, want := range map[Kind][]string{Shell: row.shells, Chromium: row.wholes} {
				got := m.cached(kind)
				for i, path := range got {
					got[i] = filepath.ToSlash(strings.TrimPrefix(path, home+string(filepath.Separator)))
					if KindOf(path) != kind || m.cacheOf(path) == "" {
						t.Errorf("%s is a %s of %q", path, KindOf(path), m.cacheOf(path))
					}
				}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("of the %ss it finds\n%s\nwant\n%s", kind, strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
			}
		})
	}
}

// TestFindCached: a cache comes after what the system has, whatever its kind, and not at all where
// only the system's browsers are asked for.
func TestFindCached(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	t.Setenv("PLAYWRIGHT_BROWSERS_PATH", filepath.Join(dir, "pw"))
	t.Setenv("PUPPETEER_CACHE_DIR", filepath.Join(dir, "pp"))
	m := thisMachine()
	m.os, m.arch = "linux", "amd64" // whose names the caches have here
	shell := program(t, filepath.Join(dir, "pw/chromium_headless_shell-1/chrome-linux/headless_shell"))
	whole := program(t, filepath.Join(dir, "pp/chrome/linux-131.0.6778.204/chrome-linux64/chrome"))
	for _, row := range []struct {
		o      Options
		places []string
		want   string
	}{
		{Options{}, nil, shell}, {Options{Kind: Chromium}, nil, whole}, {Options{Windows: true}, nil, whole},
		{Options{Headful: true}, nil, whole}, {Options{Kind: Shell}, []string{whole}, shell},
		{Options{}, []string{program(t, filepath.Join(dir, "opt/chrome"))}, filepath.Join(dir, "opt/chrome")},
	} {
		got, kind, err := row.o.find(row.places, nil, m.cached)
		if err != nil || got != row.want || kind != KindOf(got) {
			t.Errorf("%+v finds %s (%s), %v", row.o, got, kind, err)
		}
	}
	if got := m.cacheOf(shell); got != "Playwright's cache" {
		t.Errorf("the shell is from %q", got)
	}
	if got := m.cacheOf(whole); got != "Puppeteer's cache" {
		t.Errorf("the whole one is from %q", got)
	}
	if got := m.cacheOf(filepath.Join(dir, "pwx", "chrome")); got != "" {
		t.Errorf("one elsewhere is from %q", got)
	}
	none := Options{Path: OfSystem}
	if path, _, err := Find(none); err == nil && Cache(path) != "" || err != nil && !errors.Is(err, ErrNoBrowser) {
		t.Errorf("of the system there is %s, %v", path, err)
	}
}

// TestPlacesOfWindows: Chrome comes before Chromium and Edge, wherever it is installed.
func TestPlacesOfWindows(t *testing.T) {
	t.Parallel()
	m := fakeMachine("windows", "amd64", "/home", map[string]string{"ProgramFiles": "/p", "ProgramFiles(x86)": "/x", "LOCALAPPDATA": "/l"})
	got := strings.ReplaceAll(strings.Join(m.usualPlaces(), " "), `\`, "/")
	want := "/p/Google/Chrome/Application/chrome.exe /x/Google/Chrome/Application/chrome.exe /l/Google/Chrome/Application/chrome.exe " +
		"/p/Chromium/Application/chrome.exe /x/Chromium/Application/chrome.exe /l/Chromium/Application/chrome.exe " +
		"/p/Microsoft/Edge/Application/msedge.exe /x/Microsoft/Edge/Application/msedge.exe /l/Microsoft/Edge/Application/msedge.exe"
	if got != want {
		t.Errorf("the places are %s", got)
	}
	if got := m.usualShells(); len(got) != 0 {
		t.Errorf("shells are looked for in %v", got)
	}
	if got := fakeMachine("windows", "amd64", "/home", nil).usualPlaces(); len(got) != 0 {
		t.Errorf("without variables there are %v", got)
	}
}

// TestHowToInstall: each system has a command, whose place the next start looks at.
func TestHowToInstall(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		os    string
		whole bool
		want  string
	}{
		{"linux", false, "apt-get install chromium-headless-shell"}, {"linux", true, "apt-get install chromium "},
		{"linux", false, "npx -y @puppeteer/browsers install chrome-headless-shell@stable --path ~/.cache/puppeteer"},
		{"darwin", false, "npx -y @puppeteer/browsers install chrome-headless-shell@stable --path ~/.cache/puppeteer"},
		{"darwin", true, "install chrome@stable"}, {"windows", false, `--path "%USERPROFILE%\.cache\puppeteer"`},
		{"windows", true, "Edge, which is part of Windows"},
	} {
		if got := HowToInstall(row.os, row.whole); !strings.Contains(got, row.want) {
			t.Errorf("%s: %s", row.os, got)
		}
	}
}
