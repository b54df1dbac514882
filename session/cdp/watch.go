package cdp

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// A page that changes its tools all the time is asked again after a pause that
// grows with the work it makes: workShare times the time that reading took. A
// document without the page script is asked again after retryTime, then twice
// that, and so on.
const (
	workShare = 8
	maxPause  = time.Second
	retryTime = 50 * time.Millisecond
)

// watched is what the awaited evaluation brought. The text is "" when it failed,
// which it does when the document goes away.
type watched struct {
	doc   *document
	text  string
	after int64
}

// startWatch keeps one awaited evaluation outstanding on the current document.
// One that belongs to an earlier document is given up.
func (t *tab) startWatch(s *ownerState) { t.watchFrom(s, t.doc.Load().revision.Load()) }

// watchFrom is startWatch with another known revision: -1 is answered at once.
func (t *tab) watchFrom(s *ownerState, revision int64) {
	s.watch()
	s.pause.Stop()
	ctx, cancel := context.WithCancel(context.Background())
	s.watch = cancel
	s.watched = make(chan watched)
	go t.watchOnce(ctx, t.doc.Load(), revision, s.watched)
}

// watchOnce runs the evaluation and hands its text to the owner. It ends with
// ctx or with the target.
func (t *tab) watchOnce(ctx context.Context, d *document, revision int64, to chan<- watched) {
	text, after, err := t.evaluate(ctx, shim.Watch(t.name, revision))
	if err != nil {
		text = ""
	}
	select {
	case to <- watched{d, text, after}:
	case <-ctx.Done():
	case <-t.target.gone:
	}
}

// watchEnded takes what the evaluation brought, and starts the next one.
func (t *tab) watchEnded(s *ownerState, w watched) {
	t.catchUp(s, w.after)
	if t.doc.Load() != w.doc {
		return // the navigation started another
	}
	began := time.Now()
	state, err := shim.DecodeState(w.text)
	if err == nil {
		t.changed(s, pushed{doc: w.doc, state: state})
		s.retry = retryTime
		s.pause.Reset(min(workShare*time.Since(began), maxPause))
	} else {
		// The document is going away, or its script is not there yet. The next
		// navigation starts a new evaluation; this is for when there is none.
		s.pause.Reset(s.retry)
		s.retry = min(2*s.retry, maxPause)
	}
	if s.loading {
		s.loading = false
		s.emit(session.Loaded{Document: w.doc.id})
	}
}

// catchUp handles the events that came before something else that was heard:
// a reply of the next document must not be taken for one of this.
func (t *tab) catchUp(s *ownerState, after int64) {
	for s.handled < after {
		select {
		case msg := <-t.target.events:
			t.handle(s, msg)
		case <-t.target.gone:
			return
		}
	}
}

// changed tells of a newer state of the current document.
func (t *tab) changed(s *ownerState, p pushed) {
	t.catchUp(s, p.after)
	d := t.doc.Load()
	if p.doc != d || p.state.Revision <= d.revision.Load() {
		return
	}
	s.emit(session.ToolsChanged{Document: d.id, Revision: p.state.Revision, Title: p.state.Doc.Title,
		Tools: declarations(d, p.state), Refused: refusals(p.state)})
	d.revision.Store(p.state.Revision)
}

// evaluateParams is Runtime.evaluate as we use it: by value, awaited, and
// neither broken into by a debugger nor reported.
type evaluateParams struct {
	Expression    string `json:"expression"`
	AwaitPromise  bool   `json:"awaitPromise"`
	ReturnByValue bool   `json:"returnByValue"`
	Silent        bool   `json:"silent"`
	DisableBreaks bool   `json:"disableBreaks"`
}

// evaluateResult is the part of its result that we read. The page script only
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

func evaluation(expression string) evaluateParams {
	return evaluateParams{Expression: expression, AwaitPromise: true, ReturnByValue: true, Silent: true, DisableBreaks: true}
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

// evaluate runs an expression of the page script in the top-level document, and
// gives the string that it resolves to, and how many events came before it.
func (t *tab) evaluate(ctx context.Context, expression string) (text string, after int64, err error) {
	var res evaluateResult
	after, err = t.target.call(ctx, runtime.CommandEvaluate, evaluation(expression), &res)
	if err != nil {
		return "", after, err
	}
	text, err = res.text()
	return text, after, err
}

// Evaluate runs an expression in the top-level document of a tab of this engine,
// awaits it, and gives the string that it resolves to. It is the floor of the
// benchmarks: a round trip to the page and nothing else.
func Evaluate(ctx context.Context, of session.Tab, expression string) (string, error) {
	t, ok := of.(*tab)
	if !ok {
		return "", errors.New("not a tab of this engine")
	}
	text, _, err := t.evaluate(ctx, expression)
	return text, err
}
