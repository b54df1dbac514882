package chrome

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// ErrNoBrowser means that no browser was found.
var ErrNoBrowser = errors.New("no Chrome, Chromium or Edge was found")

// usualPlaces are where packages put the real binaries. They come before $PATH,
// because some distributions put a wrapper script there that adds flags.
func usualPlaces() []string {
	switch runtime.GOOS {
	case "darwin":
		return []string{
			"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
			"/Applications/Chromium.app/Contents/MacOS/Chromium",
			"/Applications/Microsoft Edge.app/Contents/MacOS/Microsoft Edge",
		}
	default:
		return []string{
			"/opt/google/chrome/chrome",
			"/usr/lib/chromium/chromium",
			"/usr/lib/chromium-browser/chromium-browser",
			"/opt/microsoft/msedge/msedge",
			"/snap/bin/chromium",
		}
	}
}

// namesInPath are the commands that are looked for in $PATH.
var namesInPath = []string{
	"google-chrome-stable", "google-chrome", "chromium", "chromium-browser", "microsoft-edge", "microsoft-edge-stable",
	"chrome-headless-shell", "headless_shell", "headless-shell", "chrome",
}

// Find returns the browser's binary: path when it is not empty, else the first of
// the usual places and $PATH. The error wraps ErrNoBrowser when there is none.
func Find(path string) (string, error) {
	if path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("%w at %s", ErrNoBrowser, path)
		}
		// The browser runs in a folder of its own.
		if found, err = filepath.Abs(found); err != nil {
			return "", fmt.Errorf("looking for %s: %w", path, err)
		}
		return realBinary(found), nil
	}
	return find(usualPlaces())
}

func find(places []string) (string, error) {
	for _, p := range places {
		if executable(p) {
			return p, nil
		}
	}
	for _, name := range namesInPath {
		if found, err := exec.LookPath(name); err == nil {
			return realBinary(found), nil
		}
	}
	return "", ErrNoBrowser
}

// realBinary looks past a distribution's wrapper: the wrapper adds flags and
// loads extensions.
func realBinary(found string) string {
	resolved, err := filepath.EvalSymlinks(found)
	if err != nil {
		return found
	}
	if strings.HasPrefix(resolved, "/usr/bin/chromium") &&
		executable("/usr/lib/chromium/chromium") {
		return "/usr/lib/chromium/chromium"
	}
	return found
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir() && info.Mode()&0o111 != 0
}
