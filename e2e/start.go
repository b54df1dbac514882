package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/run"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Options name the web app under test: Dir, or URL, or Serve and URL. Tests whose options are equal
// share the app and its browser.
type Options struct {
	// Dir is a folder to serve, relative to the folder of the test.
	Dir string
	// URL is the address of the app; beside Dir it is the path of its first page, which is
	// /index.html without it.
	URL string
	// Serve is a command of the shell that starts the app under URL, a loopback address. It is
	// waited for, and ended with all that it started.
	Serve string
	// Config changes the pages, as config does in a scenario: locale, timezone,
	// viewport, cookies, localStorage, storageState and others. Nil changes nothing.
	Config map[string]any
	// Adapters are files with scripts that add tools to the pages, relative to the folder of the
	// test; [WithAdapter] adds one.
	Adapters []string
}

// Option changes Options.
type Option func(*Options)

// WithAdapter adds a file with a script that adds tools to the pages, relative to the folder of the
// test.
func WithAdapter(path string) Option {
	return func(o *Options) { o.Adapters = append(slices.Clone(o.Adapters), path) }
}

// App is a web app with a browser that opens its pages. It is safe for concurrent use.
type App struct {
	stand *run.Stand
	name  string // the folder, or the address
	// folder is the folder that is served; "" is none.
	folder string
}

const (
	mostPages = 256 // as far as there is memory for them
	idle      = 8 * time.Hour
)

// questionTime sets how long a question stays open that nobody answers.
const questionTime = 5 * time.Second

// Start starts the app and a browser, or returns those of another test that still uses the same
// options. They end with the last test that uses them, or, in a package whose TestMain is [Main],
// after all tests.
//
// It ends the test when the app cannot be opened. Where there is no browser, the test is skipped;
// it fails where the variable CI is set.
func Start(tb testing.TB, o Options, with ...Option) *App {
	tb.Helper()
	for _, change := range with {
		change(&o)
	}
	a, err := apps.use(tb, o)
	if err != nil {
		notOpened(tb, "e2e.Start", err)
	}
	return a
}

// notOpened ends a test whose app did not open.
func notOpened(tb testing.TB, what string, err error) {
	tb.Helper()
	none := errors.Is(err, app.ErrNoBrowser) || errors.Is(err, app.ErrNoShell)
	root := errors.Is(err, app.ErrRoot)
	text := what + ": " + plain(err)
	switch {
	case none:
		text += ". Install one: " + app.HowToInstall(runtime.GOOS) + ". Or name one with " +
			"PAGETOOLS_EXECUTABLE_PATH"
	case root:
		text += ". Run the tests as another user, or set PAGETOOLS_NO_SANDBOX=1, if you trust the pages"
	}
	if (none || root) && !inCI() {
		tb.Skip(text)
	}
	tb.Fatal(text)
}

// inCI reports whether nobody would notice a test that is skipped.
func inCI() bool { return os.Getenv("CI") != "" && os.Getenv("CI") != "false" }

// plain is an error without the places in a file that is none, on a line that a terminal does not
// obey: parts of it may be texts of a page.
func plain(err error) string {
	if p, ok := errors.AsType[*scenario.Problems](err); ok {
		var all []string
		for _, one := range p.List {
			all = append(all, one.Message)
		}
		return strings.Join(all, "; ")
	}
	return text.EscapeLine(err.Error())
}

// Main runs the tests of a package, and ends the apps after the last one, so that tests that run one
// after another share them. All apps of the package share one browser then. It defines the flag -update of go test, unless the package has one. Call
// it from TestMain:
//
//	func TestMain(m *testing.M) { e2e.Main(m) }
func Main(m *testing.M) {
	if flag.Lookup("update") == nil {
		flag.Bool("update", false, "write what the tests compare with, such as lock files")
	}
	apps.keep()
	m.Run()
	apps.close()
}

// updating reports whether the flag -update is set, whoever defined it, and whether anybody did.
// A package that imports this one may define its own after us, which is why we do it no sooner than
// in Main.
func updating() (set, defined bool) {
	f := flag.Lookup("update")
	if f == nil {
		return false, false
	}
	set, err := strconv.ParseBool(f.Value.String())
	return set && err == nil, true
}

var apps = &shared{all: map[string]*started{}}

type shared struct {
	mu   sync.Mutex
	all  map[string]*started // by their options
	kept bool                // whether they outlive the tests that use them
	// browsers serve all apps when kept, by the settings of the environment.
	browsers map[string]*app.Browsers
}

// started is an app that one test starts, while others that want it wait.
type started struct {
	once  sync.Once
	app   *App
	err   error
	end   context.CancelFunc
	users int
}

// use returns the app of some options until the end of a test.
func (s *shared) use(tb testing.TB, o Options) (*App, error) {
	tb.Helper()
	key, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("config has a value that JSON does not have: %w", err)
	}
	s.mu.Lock()
	a := s.all[string(key)]
	if a == nil {
		a = &started{}
		s.all[string(key)] = a
	}
	a.users++
	s.mu.Unlock()
	tb.Cleanup(func() { s.leave(string(key)) })
	a.once.Do(func() { a.start(o) })
	return a.app, a.err
}

func (s *shared) leave(key string) {
	s.mu.Lock()
	a := s.all[key]
	a.users--
	last := a.users == 0 && (!s.kept || a.err != nil)
	if last {
		delete(s.all, key)
	}
	s.mu.Unlock()
	if last {
		a.close()
	}
}

func (s *shared) keep() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept, s.browsers = true, map[string]*app.Browsers{}
}

// lent returns the browsers for an app that starts with these settings, or nil.
func (s *shared) lent(settings string) *app.Browsers {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept && s.browsers[settings] == nil {
		s.browsers[settings] = &app.Browsers{}
	}
	return s.browsers[settings]
}

// close ends all apps, when no test runs any more.
func (s *shared) close() {
	s.mu.Lock()
	all, browsers := s.all, s.browsers
	s.all, s.kept, s.browsers = map[string]*started{}, false, nil
	s.mu.Unlock()
	for _, a := range all {
		a.close()
	}
	for _, b := range browsers {
		_ = b.Close() // the process ends: nobody is left to be told
	}
}

func (a *started) start(o Options) {
	f := &scenario.File{Site: scenario.Site{Dir: o.Dir, URL: o.URL, Serve: o.Serve, Adapter: o.Adapters}}
	if f.Site.Config, a.err = o.config(); a.err != nil {
		return
	}
	if a.err = o.check(); a.err != nil {
		return
	}
	ctx, end := context.WithCancel(context.Background()) // it outlives the test that starts it
	a.end = end
	stand, err := run.Open(ctx, f, run.Options{Open: opener(questionTime), Env: os.LookupEnv})
	if err != nil {
		a.err = err
		return
	}
	a.app = &App{stand: stand, name: cmp.Or(o.Dir, o.URL), folder: o.Dir}
}

func (a *started) close() {
	if a.app != nil {
		a.app.stand.Close()
	}
	if a.end != nil {
		a.end()
	}
}

func (o *Options) check() error {
	switch {
	case o.Dir == "" && o.URL == "":
		return errors.New("Options name no app: give Dir, or URL, or Serve and URL")
	case o.Serve != "" && o.Dir != "":
		return errors.New("Options have Dir and Serve, which both name the app: give one of them")
	case o.Serve != "" && o.URL == "":
		return errors.New("Options have Serve without URL: give the address under which the command " +
			"serves the app")
	}
	return nil
}

func (o *Options) config() (scenario.Value, error) {
	if o.Config == nil {
		return scenario.Value{}, nil
	}
	text, err := json.Marshal(o.Config)
	if err != nil {
		return scenario.Value{}, err
	}
	return scenario.Config(text)
}

// opener starts a browser for an app, where questions stay open for so long; 0 is the usual time.
// The test is the consent to what it calls.
func opener(question time.Duration) func(context.Context, *app.Target, func(*app.Options),
) (*app.App, error) {
	return func(ctx context.Context, to *app.Target, complete func(*app.Options)) (*app.App, error) {
		site := app.Site{Target: to}
		site.Tools.Approval = policy.Operator{Mode: policy.ModeAuto}
		o := app.Options{Sites: []app.Site{site}}
		var err error
		if o.Local, err = app.LocalBrowser(); err != nil {
			return nil, err
		}
		o.Limits.Question, o.Browsers = question, apps.lent(fmt.Sprintf("%+v", o.Local))
		// A page is open until its test ends, however long that waits or is debugged.
		o.Manager.MaxSessions, o.Manager.FirstIdle, o.Manager.Idle = mostPages, idle, idle
		complete(&o)
		return app.Start(ctx, o)
	}
}
