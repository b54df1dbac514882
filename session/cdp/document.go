package cdp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// document is a document of the page, as the browser reports it: the one at the
// top, or one in a frame.
type document struct {
	id       string // the loader's id
	url      string
	frameID  cdp.FrameID
	target   *wire.Session
	gone     chan struct{} // closed when the page no longer shows it
	revision atomic.Int64  // newest that the owner saw
	ids      callIDs
	forms    atomic.Pointer[map[int64]bool] // the tools that are forms

	// object is the browser's handle of the document, through which scripts run
	// in a frame that shares its parent's target. Nil where the document is the
	// top one of its target, or not reached yet.
	object atomic.Pointer[runtime.RemoteObjectID]

	// The rest is the owner's.
	origin   string
	where    session.Frame
	policy   mayOffer
	reported bool // its tools were
	frame    *frame
	began    int64       // events of the page until then
	at       time.Time   // when it began
	failed   bool        // it is the browser's own, in place of one that did not come
	ready    bool        // the page script answered
	state    *shim.State // the newest of the page script
	native   nativeState

	// With the browser's own WebMCP: the tools by id, and the newest revision that
	// was reported.
	tools  atomic.Pointer[map[int64]nativeTool]
	newest atomic.Int64
}

// revisions sets how many changes that only the browser knows of fit between two
// revisions of a page script.
const revisions = 1 << 20

// mayOffer is whether a document may offer tools.
type mayOffer int

const (
	undecided mayOffer = iota
	allowed
	denied
)

// evaluateResult is the part of the results of evaluations that we read. The page script returns
// only strings.
type evaluateResult struct {
	Result struct {
		Type  string       `json:"type"`
		Value jsonv2.Value `json:"value"`
	} `json:"result"`
	Exception *struct {
		Exception struct {
			Description string `json:"description"`
		} `json:"exception"`
	} `json:"exceptionDetails"`
}

// newDocument returns the document that a session shows. began counts the page's events
// before it.
func newDocument(target *wire.Session, f *cdp.Frame, began int64) *document {
	origin := strings.TrimSuffix(f.SecurityOrigin, "/")
	if origin == "" || strings.HasPrefix(origin, ":") {
		origin = "null"
	}
	d := &document{
		id: string(f.LoaderID), url: f.URL, frameID: f.ID, target: target, origin: origin,
		gone: make(chan struct{}), began: began, at: time.Now(), failed: f.UnreachableURL != "",
	}
	d.revision.Store(-1)
	return d
}

// lost returns the end of the document's target as the outcome of a call that used it.
// A frame whose target closes has left the page.
func (d *document) lost(o bridge.Outcome) *bridge.Error {
	reason := d.target.Reason()
	switch {
	case d.target == d.target.Page() || !errors.Is(reason, wire.ErrClosed):
		return goneError(reason, o)
	case o == bridge.NotRun:
		return gone()
	}
	return navigatedError(reason)
}

// commitPatience limits how long a navigation or a crash may take to be reported
// after it failed an evaluation.
const commitPatience = 300 * time.Millisecond

// leftBy explains an evaluation that the browser failed: its document went away, or
// its renderer did. Chromium uses the same words for both, so the event that follows
// decides.
func (d *document) leftBy(ctx context.Context, cause *cdproto.Error) *bridge.Error {
	if strings.Contains(cause.Message, "terminated") { // another call's deadline passed while the page was spinning
		return bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.Unknown,
			"The page did not react and was interrupted during the call.").With(cause)
	}
	if strings.Contains(cause.Message, "Cannot find") { // no context to run in: it was never dispatched
		e := gone()
		e.Err = errors.Join(e.Err, cause)
		return e
	}
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), commitPatience)
	defer cancel()
	select {
	case <-d.gone:
	case <-d.target.Gone():
	case <-bounded.Done():
	}
	if d.target.Reason() != nil {
		return d.lost(bridge.Unknown)
	}
	return navigatedError(cause)
}

// evaluation is the command that runs an expression of the page script in the
// document and awaits it. No debugger breaks into it, and its exceptions are not reported.
func (d *document) evaluation(expression string) (method string, params any) {
	if object := d.object.Load(); object != nil {
		return runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
			FunctionDeclaration: shim.Function(expression), ObjectID: *object,
			AwaitPromise: new(true), ReturnByValue: new(true), Silent: new(true)}
	}
	return runtime.CommandEvaluate, runtime.EvaluateParams{
		Expression: expression, DisableBreaks: new(true),
		AwaitPromise: new(true), ReturnByValue: new(true), Silent: new(true)}
}

// send dispatches an expression to the document.
func (d *document) send(ctx context.Context, expression string) (<-chan wire.Reply, error) {
	method, params := d.evaluation(expression)
	return d.target.Send(ctx, method, params)
}

// evaluate runs an expression of the page script in the document. It returns the
// string that it resolves to, and how many events came before that.
func (d *document) evaluate(ctx context.Context,
	expression string) (text string, after int64, err error) {
	var res evaluateResult
	method, params := d.evaluation(expression)
	after, err = d.target.CallAfter(ctx, method, params, &res)
	if err != nil {
		return "", after, err
	}
	text, err = res.text()
	return text, after, err
}

// scriptError is an exception of an expression of ours.
type scriptError struct{ description string }

func (e *scriptError) Error() string { return "the page script failed: " + e.description }

// missing reports whether the document has no page script under the name, so
// that the expression did nothing. An owner's name is as shim.As returns it.
func (e *scriptError) missing(name string) bool {
	name, _, _ = strings.Cut(name, ".")
	return strings.HasPrefix(e.description, "ReferenceError: "+name+" ")
}

// text returns the string that an evaluation resolved to.
func (r *evaluateResult) text() (string, error) {
	if r.Exception != nil {
		first, _, _ := strings.Cut(r.Exception.Exception.Description, "\n")
		return "", &scriptError{description: first}
	}
	var s string
	if r.Result.Type != "string" || jsonv2.Unmarshal(r.Result.Value, &s) != nil {
		return "", &scriptError{description: "it returned a " + r.Result.Type}
	}
	return s, nil
}

// Evaluate runs an expression in the top-level document of a tab of this engine,
// awaits it, and returns the string that it resolves to. It is the floor of the
// benchmarks: a round trip to the page and nothing else.
func Evaluate(ctx context.Context, of session.Tab, expression string) (string, error) {
	t, ok := of.(*tab)
	if !ok {
		return "", errors.New("not a tab of this engine")
	}
	text, _, err := t.shown.top.Load().evaluate(ctx, expression)
	return text, err
}

// documents are the documents that a page shows now and that may have tools. The owner
// changes it; it is safe for concurrent use.
type documents struct {
	top    atomic.Pointer[document]
	framed atomic.Pointer[map[string]*document] // in frames, by id
}

// find returns a document that the page shows now, or nil.
func (s *documents) find(id string) *document {
	if d := s.top.Load(); d.id == id {
		return d
	}
	if all := s.framed.Load(); all != nil {
		return (*all)[id]
	}
	return nil
}

// each visits the document at the top and those of frames.
func (s *documents) each(visit func(*document)) {
	visit(s.top.Load())
	if all := s.framed.Load(); all != nil {
		for _, d := range *all {
			visit(d)
		}
	}
}
