package chrome

import (
	"errors"
	"os"
	"sync"

	"github.com/pagetools/pagetools/bridge/text"
)

// Options configures browsers that are started here. The zero value finds a
// browser, runs it headless and sandboxed, with a profile of its own.
type Options struct {
	// Path is the browser's binary; empty means that Find looks for one.
	Path string
	// Kind says which kind of browser runs; empty means Auto.
	Kind Kind
	// NoSandbox adds --no-sandbox. Nothing else ever does: as root a browser
	// does not start without it.
	NoSandbox bool
	// Headful shows windows.
	Headful bool
	// Windows lets pages open windows. Auto then prefers a whole browser, which blocks
	// windows that no person asked for; a headless shell blocks all or none.
	Windows bool
	// AcceptInsecureCerts accepts any certificate.
	AcceptInsecureCerts bool
	// ProxyServer is host:port of the proxy for everything that the browser does in the network,
	// loopback addresses as well; empty means none.
	ProxyServer string
	// Width and Height are the window's size in pixels; zero means 1280 x 720 without
	// windows, and the browser's own with them.
	Width, Height int
	// UserDataDir is a profile that the operator keeps; empty means one of our
	// own that never survives us. One browser has it at a time, and always the same kind.
	UserDataDir string
	// Args are further flags. They cannot open a port or move the profile.
	Args []string
	// ProfileDir says where our own profiles go; empty means os.TempDir(), or /tmp
	// when the path of that is too long for a browser.
	ProfileDir string
	// WebMCP turns the browser's own WebMCP on.
	WebMCP bool
	// Words words errors for whoever chose the options.
	Words text.Words
}

// ErrRoot means that a browser cannot start because this process runs as root
// and NoSandbox is not set.
var ErrRoot = errors.New("as root the browser needs NoSandbox; set it only when every site is trusted")

// Launcher starts browsers with the same options. It is safe for concurrent use.
type Launcher struct {
	options Options
	path    string
	kind    Kind

	mu   sync.Mutex
	last *Process // that has the operator's profile, or had it
}

// NewLauncher finds the browser and checks the options. It fails when they cannot
// work: as Find does, with ErrRoot, or for a flag that is not allowed.
func NewLauncher(o Options) (*Launcher, error) {
	path, kind, err := Find(o)
	if err != nil {
		return nil, err
	}
	if err := o.checkArgs(); err != nil {
		return nil, err
	}
	if os.Geteuid() == 0 && !o.NoSandbox {
		return nil, ErrRoot
	}
	if !o.Headful && (o.Width <= 0 || o.Height <= 0) {
		o.Width, o.Height = usualWidth, usualHeight
	}
	return &Launcher{options: o, path: path, kind: kind}, nil
}

// usualWidth and usualHeight are the size of a page that nobody sees, in pixels: both kinds
// of browsers have another one of their own.
const usualWidth, usualHeight = 1280, 720

// Kind returns the kind of the browser that Start starts.
func (l *Launcher) Kind() Kind { return l.kind }

// View says how a page looks that nobody sees.
type View struct {
	Width, Height int    // pixels
	Languages     string // as in "de-CH,de"
}

// View returns how pages look, or nil when they have windows, which people size.
func (l *Launcher) View() *View {
	if l.options.Headful {
		return nil
	}
	return &View{l.options.Width, l.options.Height, l.options.Languages()}
}
