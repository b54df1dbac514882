package chrome

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/text"
)

// Endpoint names a running browser that takes connections from programs which control it.
type Endpoint struct {
	File string // that says so
	URL  string // of the WebSocket on this machine; it holds a secret of the browser
	Port int
}

// activePort is the file in which a browser writes down where it takes connections: the port, and
// the path of the WebSocket. It outlives a browser that did not end in order.
const activePort = "DevToolsActivePort"

// maxActivePort bounds what is read of it, in bytes.
const maxActivePort = 1 << 10

// debuggerPath matches the path of a browser's WebSocket.
var debuggerPath = regexp.MustCompile(`^/devtools/browser/[0-9A-Za-z-]{1,64}$`)

// NotAllowedError says that no browser of this user takes connections, as far as their profile folders
// say.
type NotAllowedError struct{ Looked []string }

// Error says where was looked, and what a person does about it.
func (e *NotAllowedError) Error() string {
	return "no running browser has remote debugging allowed: there is no " + activePort + " in " +
		strings.Join(e.Looked, ", ") + ". " + HowToAllow
}

// HowToAllow says how a person lets programs of this machine control a browser that runs.
const HowToAllow = "In Chrome 144 or newer, open chrome://inspect/#remote-debugging and allow remote debugging, once"

// Running lists the endpoints that the profile folder of a running browser names, or, without one,
// those that the usual folders of Chrome and Chromium name, in that order. Whether somebody listens
// there is not known. Errors are a *NotAllowedError where no folder names one, and those of a file
// that cannot be used.
func Running(dir string) ([]Endpoint, error) {
	dirs := []string{dir}
	if dir == "" {
		dirs = profileFolders(runtime.GOOS, os.Getenv)
	}
	var found []Endpoint
	var wrong error
	for _, d := range dirs {
		e, err := readEndpoint(filepath.Join(d, activePort))
		switch {
		case err == nil:
			found = append(found, e)
		case !errors.Is(err, fs.ErrNotExist):
			wrong = errors.Join(wrong, err)
		}
	}
	switch {
	case len(found) > 0:
		return found, nil
	case wrong != nil:
		return nil, wrong
	}
	return nil, &NotAllowedError{Looked: dirs}
}

// readEndpoint reads the file of a profile folder. One that another user wrote is refused: it could
// lead us to a browser of theirs.
func readEndpoint(path string) (Endpoint, error) {
	f, err := os.Open(path)
	if err != nil {
		return Endpoint{}, err
	}
	defer f.Close()
	info, err := os.Lstat(path)
	if err != nil {
		return Endpoint{}, err
	}
	if !info.Mode().IsRegular() || !files.Mine(path) {
		return Endpoint{}, fmt.Errorf("%s is not a file of this user: only a browser that you run yourself is used", text.Line(path))
	}
	data, err := io.ReadAll(io.LimitReader(f, maxActivePort))
	if err != nil {
		return Endpoint{}, fmt.Errorf("reading %s: %w", text.Line(path), err)
	}
	first, rest, _ := strings.Cut(string(data), "\n")
	port, err := strconv.ParseUint(strings.TrimSpace(first), 10, 16)
	at := strings.TrimSpace(rest)
	if err != nil || port == 0 || !debuggerPath.MatchString(at) {
		return Endpoint{}, fmt.Errorf("%s does not say where a browser takes connections: remove it, and start the browser anew", text.Line(path))
	}
	return Endpoint{File: path, Port: int(port), URL: fmt.Sprintf("ws://127.0.0.1:%d%s", port, at)}, nil
}

// Foreign returns an error when another user's program listens at the endpoint: the file of a browser
// that has ended may name a port that anybody has taken since. It is nil where the system does not say.
func (e Endpoint) Foreign() error {
	if !othersListen(e.Port) {
		return nil
	}
	return fmt.Errorf("port %d, which %s names, is another user's of this machine: the browser that wrote the file has ended",
		e.Port, text.Line(e.File))
}

// profileFolders returns the usual profile folders of Chrome and Chromium on a system.
func profileFolders(system string, env func(string) string) []string {
	var base string
	var names []string
	switch system {
	case "windows":
		base = env("LOCALAPPDATA")
		for _, name := range []string{"Google/Chrome", "Google/Chrome Beta", "Google/Chrome Dev", "Google/Chrome SxS", "Chromium"} {
			names = append(names, name+"/User Data")
		}
	case "darwin":
		base = filepath.Join(env("HOME"), "Library", "Application Support")
		names = []string{"Google/Chrome", "Google/Chrome Beta", "Google/Chrome Dev", "Google/Chrome Canary", "Chromium"}
	default:
		base = filepath.Join(env("HOME"), ".config")
		if own := env("XDG_CONFIG_HOME"); filepath.IsAbs(own) {
			base = own
		}
		names = []string{"google-chrome", "google-chrome-beta", "google-chrome-unstable", "chromium"}
	}
	all := make([]string, 0, len(names)+1)
	for _, name := range names {
		all = append(all, filepath.Join(base, filepath.FromSlash(name)))
	}
	if system == "linux" { // as Ubuntu packages it
		all = append(all, filepath.Join(env("HOME"), "snap", "chromium", "common", "chromium"))
	}
	return all
}
