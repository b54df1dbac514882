package session

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// Engine opens tabs. It is safe for concurrent use.
type Engine interface {
	// Open makes a tab in a browser context of its own, showing about:blank.
	// It starts a browser when none runs. Errors are *bridge.Error.
	Open(ctx context.Context, o TabOptions) (Tab, error)
	// Close ends every tab and the browsers that the engine started.
	Close() error
}

// TabOptions configures a tab. The zero value is a plain tab.
type TabOptions struct {
	// Await says what Ready reports.
	Await Await
	// Windows says what becomes of windows that the page opens.
	Windows Windows
	// Origin is the site's, such as "https://shop.example".
	Origin string
	// Origins are further ones whose documents count as the site's own.
	Origins []string
	// Adapters are the operator's scripts for the site's own documents at the top, and for frames
	// of the same origin where they say so.
	Adapters []*adapter.Adapter
	// Config holds a call's changes to the page, checked for Origin; nil means none. Open
	// fails with CONFIG_ERROR when the browser does not take it.
	Config *pageconfig.Config
	// Reach limits what the tab's documents may reach in the network, as far as the engine
	// confines them; nil confines nothing, and is for pages that can be trusted.
	Reach *policy.Reach
	// Pass is a cookie of the origin that the site's own server asks for; nil means none. It
	// is part of no login: StorageState leaves it out.
	Pass *pageconfig.Cookie
	// Record lets the page note what it does with its tools, and the tab be looked at by a Probe:
	// for pages under test.
	Record bool
	// Trace keeps what Observer.Traced returns, with Record.
	Trace bool
	// Network stands between the tab and the network; nil is nothing. Where the tab records, too,
	// service workers do not answer its requests.
	Network Network
	// Surface limits the interface that a page which records is shown; nil shows all of
	// it.
	Surface *Surface
	// Downloads lets calls have the files that the page saves in them, in a browser that the engine
	// starts. Without it, and between calls, the browser denies them.
	Downloads bool
	// Bytes counts what the tab's documents declare, until the tab is gone; see Declared.
	// Nil counts nothing.
	Bytes *policy.Account
	// Owner lets another process go on with the tab when this one has ended, where the engine can; see
	// Reattacher. The zero value makes a tab that ends with this process.
	Owner Owner
}

// Owner owns a tab that outlives its process.
type Owner struct {
	// Epoch counts the owners of the tab, from 1; 0 is none. What an owner of an earlier epoch says to the
	// page does nothing.
	Epoch int64
	// Holds reports whether the tab is still this process's. Where it is not, Tab.Close leaves it as it
	// is, because another process may have it.
	Holds func() bool
	// By names the process that makes a tab, for Reattacher.Sweep; "" is no name.
	By string
}

// OtherOwner returns the error of what an owner before the newest asks of a tab: nothing happened.
func OtherOwner() *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun, "Another node of pagetools has this session by now. Nothing ran.")
	e.Retry = bridge.QuorumRetry
	return e
}

// Surface is the interface that pages meet in another host: what is not in it is hidden.
type Surface struct {
	// Objects carry modelContext: document, navigator.
	Objects []string `json:"objects"`
	// Methods lists the methods of modelContext; none means all.
	Methods []string `json:"methods"`
	// Frozen makes it an object with these methods alone, which cannot be changed.
	Frozen bool `json:"frozen"`
}

// Windows says what becomes of windows that a page opens. A page has at most
// MaxWindows of them; further ones are closed.
type Windows int

const (
	// CloseWindows closes them.
	CloseWindows Windows = iota
	// ReportWindows leaves them open and reports them.
	ReportWindows
	// BridgeWindows offers their tools too, as those of frames. An engine that
	// cannot reach a window before its scripts run reports it.
	BridgeWindows
)

// MaxWindows bounds the windows of a page.
const MaxWindows = 4

// Await are conditions of a document at the top. The zero value has none.
type Await struct {
	// Selector is a CSS selector that must match an element.
	Selector string
	// Idle means that there was no network request for half a second.
	Idle bool
}

// Tab is one page. Its methods are shaped after tools, so that every kind of
// engine fits. All are safe for concurrent use.
type Tab interface {
	// Load navigates and returns when the new document is committed. Errors are
	// *bridge.Error: UNREACHABLE, CERTIFICATE, ORIGIN_BLOCKED, PAGE_CRASHED,
	// BROWSER_LOST or TIMEOUT.
	Load(ctx context.Context, url string) error
	// Invoke runs a registered tool once. It returns within the deadline of ctx
	// plus one second (two when a renderer must be killed). A Pause has kind, title,
	// detail, schema and origin of its question; a Continue with a ctx that has ended
	// aborts the call. ErrGone as the cause of an error means that the registration
	// does not exist any more and nothing ran. The step names the state of the page's
	// registry that it has seen: a ToolsChanged at least that new is delivered.
	Invoke(ctx context.Context, inv Invocation) bridge.Step
	// Events returns what happens, in order, to one reader. A reader that is slow
	// makes the tab coalesce tool changes to the newest. The channel is closed
	// after Died.
	Events() <-chan Event
	// Close ends the tab and forgets its browser context. It is idempotent.
	Close(ctx context.Context) error
}

// Reattacher is an Engine some of whose tabs outlive the process that uses them. It is optional, and safe for
// concurrent use.
type Reattacher interface {
	// Reattaches reports whether any of its tabs may.
	Reattaches() bool
	// Attach goes on with a tab as its next owner, o.Owner, whose epoch must be above all before. Detachable.Handle
	// has returned handle, and o is as when the tab was opened: settings are made again, and
	// what the page has stored stays. The tab then reports what it shows, as a new one does. After an error,
	// which is a *bridge.Error, the tab is closed.
	Attach(ctx context.Context, handle []byte, o TabOptions) (Tab, error)
	// Dispose closes a tab that no process has.
	Dispose(ctx context.Context, handle []byte) error
	// Sweep closes the tabs of makers that are over, by Owner.By, but for those of the handles that kept
	// returns, and returns how many it closed. It asks kept after it has found them, and only then.
	Sweep(ctx context.Context, over func(ctx context.Context, by string) bool, kept func(context.Context) ([][]byte, error)) (int, error)
}

// Detachable is a Tab that another process can go on with. It is optional.
type Detachable interface {
	// Handle returns what Reattacher.Attach needs, up to 1 KiB of JSON; nil for a tab that ends with this
	// process.
	Handle() []byte
	// Detach ends the tab here, and leaves it as it is.
	Detach(ctx context.Context) error
}

// Photographer is a Tab that can show what a person would see in it.
type Photographer interface {
	// Screenshot returns the viewport as a PNG. While a dialog is open there is
	// nothing to show: it fails within the deadline of ctx. Errors are
	// *bridge.Error.
	Screenshot(ctx context.Context) ([]byte, error)
}

// Watchable is a Tab that a person can watch and act in.
type Watchable interface {
	// View shows the viewport until it is closed. Errors are *bridge.Error.
	View(ctx context.Context) (bridge.View, error)
}

// StorageExporter is a Tab that can return the login that it holds.
type StorageExporter interface {
	// StorageState returns the cookies that the site's host gets and what its
	// origin keeps in localStorage, as pageconfig.ParseStored reads it. It is
	// secret. The tab needs TabOptions.Origin. Errors are *bridge.Error.
	//
	// Not in it are cookies of one embedding site (CHIPS), sessionStorage and
	// IndexedDB.
	StorageState(ctx context.Context) (json.RawMessage, error)
}

// Invocation is one dispatch to a tab.
type Invocation struct {
	// Document and Tool name the registration.
	Document string
	Tool     int64
	// Caller makes the call. What the page asks may be of any of the calls that are at
	// work in it.
	Caller string
	// Input is a JSON object.
	Input json.RawMessage
	// MaxBytes caps the JSON text of the result before it leaves the page.
	MaxBytes int
	// Once says that the page is closed after the call, when it is settled.
	Once bool
	// Progress is told how far a result has come that arrives in parts; nil means that nobody
	// listens. It returns at once.
	Progress func(bridge.Progress)
	// Files says how many files of the page the call may have; its zero value is none.
	Files bridge.FileRoom
}

// Settler is a Tab that knows what calls with Once have left under way. It is optional.
type Settler interface {
	// Settle waits until no request is under way by which such a call may change something at a
	// site, within ctx. It returns those that are, as "POST https://shop.example/order".
	Settle(ctx context.Context) (open []string)
}

// Event is something that happened to a tab: one of the types below.
type Event interface{ event() }

// Navigated reports that another document is now shown at top level. All
// earlier registrations are gone.
type Navigated struct {
	Document, URL, Origin string
}

// Loaded reports the load event of the document.
type Loaded struct{ Document string }

// Frame locates a document in the page. The zero value is the top of the page.
type Frame struct {
	// Path names the frame, and those that hold it, from the top: "pay/1". A step
	// is the frame's name, or its position among the frames beside it.
	Path string
	// Depth says how many frames hold the document.
	Depth int
}

// Ready reports that the document fulfils the conditions of TabOptions.Await. It
// is not reported when there are none.
type Ready struct{ Document string }

// Moved reports that a call changed the address of the page, or sends it to another document: what
// registers the tools of the place may run later. Over is reported when the document has been calm
// for a while.
type Moved struct {
	Document string    // at the top
	Number   int64     // as bridge.Step.Move
	Since    time.Time // when the call began; without Over
	Over     bool
}

// ToolsChanged reports the whole set that a document registers now: the one at
// the top, or one in a frame that may have tools.
type ToolsChanged struct {
	Document string
	Frame    Frame
	Revision int64
	Title    string
	Icon     string               // an address of the document's own origin; may be empty
	Tools    []bridge.Declaration // Own is not set by engines
	// Findings are declarations that never left the page, and what else went wrong in it.
	Findings []bridge.Finding
}

// FrameGone reports that a document in a frame is not shown any more. That of
// frames of an earlier document at the top is not reported.
type FrameGone struct{ Document string }

// DialogShown reports a JavaScript dialog that was answered at once.
type DialogShown struct {
	Kind, Message string // Kind is alert, confirm, prompt or beforeunload
	Accepted      bool
}

// WindowOpened reports a window that the page opened and that stays open.
type WindowOpened struct{ URL string }

// WindowClosed reports a window that the page opened and that was closed.
type WindowClosed struct{ URL string }

// Refused reports that the page was kept from an address, and why.
type Refused struct{ URL, Why string }

// Recycled reports that the tab's browser opens no more tabs, because another takes its place.
// The tab goes on.
type Recycled struct{}

// Died is the last event: the tab is gone for good.
type Died struct{ Err *bridge.Error }

func (Navigated) event()    {}
func (Loaded) event()       {}
func (ToolsChanged) event() {}
func (Ready) event()        {}
func (Moved) event()        {}
func (FrameGone) event()    {}
func (DialogShown) event()  {}
func (WindowOpened) event() {}
func (WindowClosed) event() {}
func (Refused) event()      {}
func (Recycled) event()     {}
func (Died) event()         {}

// Stopped returns the outcome of a call whose context ended: the deadline's own
// error, or CANCELLED.
func Stopped(ctx context.Context, o bridge.Outcome) *bridge.Error {
	if e, ok := errors.AsType[*bridge.Error](context.Cause(ctx)); ok {
		c := *e
		c.Outcome = o
		return &c
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, o,
			"The tool did not answer in time.")
	}
	return bridge.GaveUp(o).With(context.Cause(ctx))
}
