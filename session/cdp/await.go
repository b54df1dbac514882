package cdp

import (
	"context"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// awaiter reports when the document at the top fulfils the conditions of
// session.Await. Only the owner uses it.
type awaiter struct {
	session.Await

	page    *wire.Session
	watcher *watcher
	tasks   tasks

	frame cdp.FrameID
	doc   *document
	stop  context.CancelFunc // ends the look for the element
	found bool
	idle  bool
}

// start begins anew with another document.
func (a *awaiter) start(d *document) {
	a.stop()
	ctx, cancel := context.WithCancel(context.Background())
	a.doc, a.stop, a.found, a.idle = d, cancel, a.Selector == "", false
	if a.Selector != "" {
		go a.find(ctx, d)
	}
}

// find waits for the element in a world of its own, where the page changes nothing. It
// ends with ctx or with the page; a selector that is not one never matches.
func (a *awaiter) find(ctx context.Context, d *document) {
	params := page.CreateIsolatedWorldParams{FrameID: a.frame}
	world, err := cdp.Call(ctx, a.page, page.CreateIsolatedWorld, params)
	if err != nil {
		return // the document went away
	}
	found, err := cdp.Call(ctx, a.page, runtime.Evaluate, runtime.EvaluateParams{
		Expression: shim.WaitFor(a.Selector), ContextID: world.ExecutionContextID,
		AwaitPromise: new(true), ReturnByValue: new(true), Silent: new(true),
	})
	if err != nil || found.ExceptionDetails != nil {
		return
	}
	a.tasks.add(ctx, 0, func() {
		if d == a.doc {
			a.found = true
			a.settle()
		}
	})
}

// lifecycle takes the event that the network is idle.
func (a *awaiter) lifecycle(msg *cdproto.Message) {
	ev, ok := wire.Decode[page.EventLifecycleEvent](msg)
	if ok && ev.Name == "networkIdle" && a.doc != nil && string(ev.LoaderID) == a.doc.id {
		a.idle = true
		a.settle()
	}
}

// settle reports when all that is awaited of the document holds.
func (a *awaiter) settle() {
	if a.found && (a.idle || !a.Idle) {
		a.watcher.after(session.Ready{Document: a.doc.id})
	}
}
