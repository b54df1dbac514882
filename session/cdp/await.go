package cdp

import (
	"context"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// awaited is what holds of session.Await for the document at the top.
type awaited struct {
	stop  context.CancelFunc // ends the look for the element
	found bool
	idle  bool
}

// startAwait begins to look for the element in a new document.
func (t *tab) startAwait(s *ownerState, d *document) {
	s.awaited.stop()
	ctx, cancel := context.WithCancel(context.Background())
	s.awaited = awaited{stop: cancel, found: t.await.Selector == ""}
	if t.await.Selector != "" {
		go t.findElement(ctx, d)
	}
}

// findElement waits for the element in a world of its own, where the page changes
// nothing. It ends with ctx or with the page; a selector that is none never
// matches.
func (t *tab) findElement(ctx context.Context, d *document) {
	world, err := cdp.Call(ctx, t.target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(t.id)})
	if err != nil {
		return // the document went away
	}
	yes := true
	found, err := cdp.Call(ctx, t.target, runtime.Evaluate, runtime.EvaluateParams{Expression: shim.WaitFor(t.await.Selector),
		ContextID: world.ExecutionContextID, AwaitPromise: &yes, ReturnByValue: &yes, Silent: &yes})
	if err != nil || found.ExceptionDetails != nil {
		return
	}
	select {
	case t.found <- d:
	case <-ctx.Done():
	case <-t.target.Gone():
	}
}

// elementFound notes that the element is there, if the document still is.
func (t *tab) elementFound(s *ownerState, d *document) {
	if d == t.doc.Load() {
		s.awaited.found = true
		t.mayBeReady(s, d)
	}
}

// lifecycle hears that the network was idle.
func (t *tab) lifecycle(s *ownerState, msg *cdproto.Message) {
	var ev page.EventLifecycleEvent
	d := t.doc.Load()
	if decode(msg, &ev) && ev.Name == "networkIdle" && string(ev.LoaderID) == d.id {
		s.awaited.idle = true
		t.mayBeReady(s, d)
	}
}

// mayBeReady tells when all that is awaited of the document holds.
func (t *tab) mayBeReady(s *ownerState, d *document) {
	if s.awaited.found && (s.awaited.idle || !t.await.Idle) {
		s.emit(session.Ready{Document: d.id})
	}
}
