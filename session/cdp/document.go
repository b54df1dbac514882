package cdp

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

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
	gone     chan struct{} // closed when the page shows it no more
	revision atomic.Int64  // newest that the owner saw
	ids      callIDs

	// object is the browser's handle of the document, through which scripts run
	// in a frame that shares its parent's target. Nil where the document is the
	// top one of its target, or not reached yet.
	object atomic.Pointer[runtime.RemoteObjectID]

	// The rest is the owner's.
	origin string
	where  session.Frame
	policy policy
	told   bool // its tools were
	frame  *frame
	began  int64 // events of the page until then
	failed bool  // it is the browser's own, in place of one that did not come
	ready  bool  // the page script answered
	native nativeState

	// With the browser's own WebMCP: the tools by id, and the newest revision that
	// was told.
	tools    atomic.Pointer[map[int64]nativeTool]
	reported atomic.Int64
}

// leave says that the page shows the document no more.
func (d *document) leave() {
	if d.gone != nil { // tests make documents without
		close(d.gone)
	}
}

// policy is whether a document may offer tools.
type policy int

const (
	undecided policy = iota
	allowed
	denied
)

// evaluateParams is Runtime.evaluate as we use it: by value, awaited, and
// neither broken into by a debugger nor reported.
type evaluateParams struct {
	Expression    string `json:"expression"`
	AwaitPromise  bool   `json:"awaitPromise"`
	ReturnByValue bool   `json:"returnByValue"`
	Silent        bool   `json:"silent"`
	DisableBreaks bool   `json:"disableBreaks"`
}

// callParams is Runtime.callFunctionOn in the same way.
type callParams struct {
	FunctionDeclaration string                 `json:"functionDeclaration"`
	ObjectID            runtime.RemoteObjectID `json:"objectId"`
	AwaitPromise        bool                   `json:"awaitPromise"`
	ReturnByValue       bool                   `json:"returnByValue"`
	Silent              bool                   `json:"silent"`
}

// evaluateResult is the part of their results that we read. The page script only
// ever gives strings.
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

// evaluation is the command that runs an expression of the page script in the
// document and awaits it.
func (d *document) evaluation(expression string) (method string, params any) {
	if object := d.object.Load(); object != nil {
		return runtime.CommandCallFunctionOn, callParams{FunctionDeclaration: shim.Function(expression), ObjectID: *object,
			AwaitPromise: true, ReturnByValue: true, Silent: true}
	}
	return runtime.CommandEvaluate, evaluateParams{Expression: expression, AwaitPromise: true, ReturnByValue: true, Silent: true, DisableBreaks: true}
}

// send dispatches an expression to the document.
func (d *document) send(ctx context.Context, expression string) (<-chan wire.Reply, error) {
	method, params := d.evaluation(expression)
	return d.target.Send(ctx, method, params)
}

// evaluate runs an expression of the page script in the document, and gives the
// string that it resolves to, and how many events came before it.
func (d *document) evaluate(ctx context.Context, expression string) (text string, after int64, err error) {
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
// that the expression did nothing.
func (e *scriptError) missing(name string) bool {
	return strings.HasPrefix(e.description, "ReferenceError: "+name+" ")
}

// text gives the string that an evaluation resolved to.
func (r *evaluateResult) text() (string, error) {
	if r.Exception != nil {
		first, _, _ := strings.Cut(r.Exception.Exception.Description, "\n")
		return "", &scriptError{description: first}
	}
	var s string
	if r.Result.Type != "string" || jsonv2.Unmarshal(r.Result.Value, &s) != nil {
		return "", &scriptError{description: "it gave a " + r.Result.Type}
	}
	return s, nil
}

// Evaluate runs an expression in the top-level document of a tab of this engine,
// awaits it, and gives the string that it resolves to. It is the floor of the
// benchmarks: a round trip to the page and nothing else.
func Evaluate(ctx context.Context, of session.Tab, expression string) (string, error) {
	t, ok := of.(*tab)
	if !ok {
		return "", errors.New("not a tab of this engine")
	}
	text, _, err := t.doc.Load().evaluate(ctx, expression)
	return text, err
}

// documents are the documents of a page that calls may be dispatched to, by id.
type documents map[string]*document

// document finds a document that the page shows now, or nil.
func (t *tab) document(id string) *document {
	if d := t.doc.Load(); d.id == id {
		return d
	}
	if all := t.framed.Load(); all != nil {
		return (*all)[id]
	}
	return nil
}

// everyDocument visits the top document and those of frames.
func (t *tab) everyDocument(visit func(*document)) {
	visit(t.doc.Load())
	if all := t.framed.Load(); all != nil {
		for _, d := range *all {
			visit(d)
		}
	}
}
