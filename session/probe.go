package session

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Probe looks at a page for those who test it, through three ports and the page's own. Tabs that
// were opened with TabOptions.Record have one. It is safe for concurrent use, and disturbs no call
// that runs in the page. Errors are *bridge.Error.
type Probe struct {
	Inspector
	Driver
	Observer
	Photographer
	Watchable
}

// Inspector reads the document at the top.
type Inspector interface {
	// Evaluate runs an expression, awaits it, and returns the JSON of its value, "null" for
	// undefined. An exception is a TOOL_ERROR with its message.
	Evaluate(ctx context.Context, expression string) (json string, err error)
	// Look returns what the elements that match a CSS selector show. A selector that is not one
	// is a SCHEMA_ERROR.
	Look(ctx context.Context, selector string) (Element, error)
	// Accepts says of each of some inputs why the form of a tool does not take it, "" where it
	// does; nothing when the document has no such form. Nothing of the page changes.
	Accepts(ctx context.Context, tool string, inputs []json.RawMessage) ([]string, error)
	// Names lists the tools that the page itself can run.
	Names(ctx context.Context) ([]string, error)
	// Record returns what was noted in the document, and of the frames in it.
	Record(ctx context.Context) (*Record, error)
}

// Driver acts in a page as its own script or a person does.
type Driver interface {
	// Execute runs a tool by the page's own executeTool. The result is the string that the page
	// gets, as JSON, or null. Dialogs meanwhile are pauses, as in Tab.Invoke. What the tool says
	// when it fails is not in the error, because pages are not told either.
	Execute(ctx context.Context, tool string, input json.RawMessage) bridge.Step
	// Reload loads the document again. It does not wait for it.
	Reload(ctx context.Context) error
	// Asked waits until a tool that Execute runs asks a person to act in the page, and names the
	// tool. Two that wait at once get each one question.
	Asked(ctx context.Context) (tool string, err error)
	// Aim brings the element that a person acts on into view, and says where it is, or why a person
	// cannot do that with it.
	Aim(ctx context.Context, a Aim) (Target, error)
	// Act does something as a person's mouse or keyboard does, and returns when the page has taken
	// it, or ctx ends.
	Act(ctx context.Context, in bridge.Input) error
}

// Aim names what a person means to do with the element that a CSS selector finds: "click", "fill"
// or "choose". "focused" selects the text of a field that was clicked, and "filled" and "chosen"
// look at what became of it.
type Aim struct {
	Do, Selector string
	// Text holds the words to type, or the text or the value of an option.
	Text string
}

// Target says where a person meets an element.
type Target struct {
	// Fault says in words why a person cannot do it, and what to write instead; "" means that
	// nothing is in the way.
	Fault string `json:"fault"`
	// Final is true when no time changes that.
	Final bool `json:"final"`
	// X and Y are as in [bridge.Input].
	X float64 `json:"x"`
	Y float64 `json:"y"`
	// Down says how many enabled options are before the one that is chosen, in a list that drops
	// down; -1 means that it is chosen by a click at the place of the option.
	Down int `json:"down"`
	// Chosen is true when the option is chosen already, and Several when others stay chosen.
	Chosen  bool `json:"chosen"`
	Several bool `json:"several"`
	// Control is the key that adds a choice, as in [bridge.Input.Modifiers].
	Control int `json:"control"`
	// Empty is true of a field that has no text.
	Empty bool `json:"empty"`
	// Picks is true of a field with a picker, such as a date, and File of one that takes files.
	Picks bool `json:"picks"`
	File  bool `json:"file"`
}

// Observer tells what happened in a page, also when it is gone.
type Observer interface {
	// Mark returns the moment now.
	Mark(ctx context.Context) (Mark, error)
	// Since returns what happened in the page since a moment. With quiet it waits, from now on,
	// until no request that began since then was under way and nothing happened for so long, at
	// most for three seconds.
	Since(ctx context.Context, m Mark, quiet time.Duration) (*Activity, error)
	// Traced returns what the page said and asked for in its life until now; nothing of a tab that
	// was opened without TabOptions.Trace.
	Traced(ctx context.Context) *Traced
}

// Traced holds the messages and requests of a page, its frames and its workers, in order: the
// first 2,000 messages and the first 2,000 requests, of 4 MiB each.
type Traced struct {
	Messages []Message
	Requests []TracedRequest
	// Cut is true when there were more.
	Cut bool
}

// Message is one of the console, or an exception that nobody caught.
type Message struct {
	Said
	// Level is log, info, warning, error or debug.
	Level string
	At    time.Time
}

// TracedRequest is a request with what is known of its response, without bodies.
type TracedRequest struct {
	Method, URL string
	At          time.Time
	// Took is zero while it is under way.
	Took time.Duration
	// Status is zero without a response; Failed says why there is none.
	Status     int
	StatusText string
	Failed     string
	// Protocol is such as "h2", MIMEType that of the response, and Size its bytes on the wire.
	Protocol, MIMEType string
	Size               int64
	Headers, Answered  http.Header // of the request, and of the response
}

// Mark is a moment in the life of a page. Only the probe that made it reads it.
type Mark struct {
	// At counts what was seen until then.
	At int
	// Cookies maps names of the browser context's cookies to a text that tells their states
	// apart.
	Cookies map[string]string
}

// Activity lists what happened in a page, its frames and its workers in an interval, in order.
// Texts of the page are cut at their bounds: addresses at 2 KiB, bodies at 64 KiB, what was said
// at 4 KiB.
type Activity struct {
	Requests []Request
	Writes   []Write
	// Navigated are the addresses that another document at the top came from, or should have
	// come from, and Submitted those that forms were sent to, which are not in Navigated. A
	// change of the address within a document is neither.
	Navigated, Submitted []string
	// Windows are the addresses of windows that were opened, and Downloads what was downloaded,
	// had the browser not refused it.
	Windows, Downloads []string
	// Dialogs were opened by scripts.
	Dialogs []Dialog
	// Said are console.error, console.assert, uncaught exceptions and the browser's own errors.
	Said []Said
	// Refused are the addresses that the page was kept from.
	Refused []Refused
	// Cut is true when more happened than is kept: the first 10,000 events of 8 MiB in the
	// page's life, and no more at once than could be read.
	Cut bool
	// Busy is true when the page did not become quiet.
	Busy bool
}

// Request is one that left a page.
type Request struct {
	// By is "document", "worker", or "beacon" for what was sent by sendBeacon or a ping.
	By          string
	Method, URL string
	// Body is the request's; "" also when it is longer than 64 KiB, or comes from files.
	Body string
	// Status is the response's; zero is none. Failed says why there was none; "" while there may
	// be one.
	Status int
	Failed string
}

// Write is a change of what a page keeps.
type Write struct {
	// Area is "cookie", "localStorage", "sessionStorage", "indexedDB" or "cache".
	Area string
	// Key is the cookie's name, the item's key ("" for all of them), database/store, or the name
	// of the cache; "" when a database or a cache only came or went.
	Key string
	// Answered is true for a cookie that a response set.
	Answered bool
}

// Dialog is one that a script of the page opened.
type Dialog struct {
	Kind, Message string // Kind is alert, confirm, prompt or beforeunload
}

// Said is an error that the page or the browser said.
type Said struct {
	// Kind is "console", "exception" or "browser".
	Kind, Text string
	// URL and Line say where; "" and 0 are unknown. Lines count from 1.
	URL  string
	Line int
}

// Element describes what a person sees of the first element that matches a selector.
type Element struct {
	// Text is its text as it is rendered, and Value the value of a field, each of at most 65,536
	// characters.
	Text  string `json:"text"`
	Value string `json:"value"`
	// Count says how many elements match; with zero of them the other fields are empty.
	Count int `json:"count"`
	// Visible is true when it is rendered, and neither hidden nor transparent.
	Visible bool `json:"visible"`
}

// Prober is a Tab that can be looked at.
type Prober interface {
	// Probe returns what looks at the tab; nil when it was not opened for that.
	Probe() *Probe
}

// Probe returns what looks at the page of the caller's session, which is opened when it is not
// there, or at the site's own page when ref names no session. It waits until the page counts as
// opened. The pages of the site must record.
func (m *Manager) Probe(ctx context.Context, ref bridge.Ref) (*Probe, error) {
	s, page, err := m.probed(ctx, ref)
	if err != nil {
		return nil, err
	}
	if v, err := page.opened(ctx); err != nil {
		return nil, page.notOpened(ctx, v)
	}
	return page.probe(s.Name)
}

// probed returns the site and the page that ref names. A session that has a page is not waited for:
// a call may be at work there.
func (m *Manager) probed(ctx context.Context, ref bridge.Ref) (s *site, page *Page, err error) {
	if s, err = m.sites.Load().of(ref); err != nil {
		return nil, nil, err
	}
	if ref.Session == "" {
		page, err = m.catalogPage(ctx, s)
		return s, page, err
	}
	if page, _ = m.sessionPage(ref); page != nil && !page.isDead() {
		return s, page, nil
	}
	options, err := readPageOptions(s, ref)
	if err != nil {
		return nil, nil, err
	}
	l, err := m.acquire(ctx, s, ref, options)
	if err != nil {
		return nil, nil, err
	}
	defer l.Release()
	return s, l.Page, nil
}
