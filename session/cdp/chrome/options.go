package chrome

import (
	"errors"
	"os"
)

// Options configures browsers that are started here. The zero value finds a
// browser, runs it headless and sandboxed, with a profile of its own.
type Options struct {
	// Path is the browser's binary; empty means that Find looks for one.
	Path string
	// NoSandbox adds --no-sandbox. Nothing else ever does: as root a browser
	// does not start without it.
	NoSandbox bool
	// Headful shows windows.
	Headful bool
	// AcceptInsecureCerts accepts any certificate.
	AcceptInsecureCerts bool
	// ProxyServer is host:port of the proxy for everything that the browser does in the network,
	// loopback addresses as well; empty means none.
	ProxyServer string
	// Width and Height are the window's size in pixels; zero means the
	// browser's own.
	Width, Height int
	// UserDataDir is a profile that the operator keeps; empty means one of our
	// own that never survives us.
	UserDataDir string
	// Args are further flags. They cannot open a port or move the profile.
	Args []string
	// ProfileDir is where our own profiles go; empty means os.TempDir(), or /tmp
	// when the path of that is too long for a browser.
	ProfileDir string
	// WebMCP turns the browser's own WebMCP on.
	WebMCP bool
}

// ErrRoot means that a browser cannot start because this process runs as root
// and NoSandbox is not set.
var ErrRoot = errors.New("as root the browser needs --no-sandbox; give it only when every site is trusted")

// Launcher starts browsers with the same options. It is safe for concurrent use.
type Launcher struct {
	options Options
	path    string
}

// NewLauncher finds the browser and checks the options. It fails when they cannot
// work: with ErrNoBrowser, with ErrRoot, or for a flag that is not allowed.
func NewLauncher(o Options) (*Launcher, error) {
	path, err := Find(o.Path)
	if err != nil {
		return nil, err
	}
	if err := checkArgs(o.Args, o.ProxyServer != ""); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 && !o.NoSandbox {
		return nil, ErrRoot
	}
	return &Launcher{options: o, path: path}, nil
}
