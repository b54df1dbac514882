package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/endpoint"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

var (
	_ session.Reattacher = (*Engine)(nil)
	_ session.Detachable = (*tab)(nil)
)

// handle names a tab that outlives the process that uses it. Name is a secret of the page's owners.
type handle struct {
	Endpoint string               `json:"endpoint,omitempty"`
	Context  cdp.BrowserContextID `json:"context"`
	Target   cdptarget.ID         `json:"target"`
	Name     string               `json:"name"` // of the page script
}

func readHandle(text []byte) (h handle, err error) {
	if err = json.Unmarshal(text, &h); err == nil && (h.Context == "" || h.Target == "" || !shim.IsName(h.Name)) {
		err = errors.New("it names no tab")
	}
	return h, err
}

// keeps reports whether a tab outlives this process.
func (b *instance) keeps(o session.TabOptions) bool { return b.reattaches && o.Owner.Epoch > 0 }

// ownerOf returns the owner of a tab that outlives this process.
func (b *instance) ownerOf(o session.TabOptions) (owner session.Owner) {
	if b.keeps(o) {
		owner = o.Owner
	}
	return owner
}

// placeOf makes a place for a tab, or attaches to the one that there is. After an error, there may be one all the
// same.
func (b *instance) placeOf(ctx context.Context, o session.TabOptions, h *handle) (at place, name string, err error) {
	if h == nil {
		at, err = b.newTarget(ctx, o)
		return at, shim.NewName(), err
	}
	at = place{in: h.Context, id: h.Target}
	at.target, err = b.attachTo(ctx, h.Target)
	return at, h.Name, err
}

// Reattaches reports whether tabs with an owner may outlive this process.
func (e *Engine) Reattaches() bool {
	for _, s := range e.slots {
		if s.reattach {
			return true
		}
	}
	return false
}

// Attach goes on with a tab of a process that ended. It takes no longer than a page may take to say that it
// lives, once its browser is there.
func (e *Engine) Attach(ctx context.Context, text []byte, o session.TabOptions) (session.Tab, error) {
	h, err := readHandle(text)
	if err != nil {
		return nil, openError(ctx, fmt.Errorf("reading what was kept of a tab: %w", err))
	}
	b, err := e.at(ctx, h.Endpoint, true)
	if err != nil {
		return nil, openError(ctx, err)
	}
	return e.open(ctx, b, o, &h)
}

// Dispose closes a tab that no process has.
func (e *Engine) Dispose(ctx context.Context, text []byte) error {
	h, err := readHandle(text)
	if err != nil {
		return err
	}
	b, err := e.at(ctx, h.Endpoint, false)
	if err != nil {
		return err
	}
	if err = b.dispose(ctx, place{in: h.Context}); isProtocol(err) { // it is not there
		return nil
	}
	return err
}

// disposeLost closes a tab whose connection ended before it: its browser may live.
func (e *Engine) disposeLost(t *tab) {
	if t.owned.Epoch == 0 || t.browser.alive() || !t.owned.Holds() {
		return
	}
	handle := t.Handle()
	go func() { // ends within the bound
		ctx, cancel := context.WithTimeout(e.life, startTime)
		defer cancel()
		if err := e.Dispose(ctx, handle); err != nil && ctx.Err() == nil {
			e.log.Warn("browser: a page that is not used any more may be left in it", append(t.browser.slot.named(), "error", err)...)
		}
	}()
}

// Handle returns what another process needs to go on with the tab.
func (t *tab) Handle() []byte {
	if t.owned.Epoch == 0 {
		return nil
	}
	text, err := json.Marshal(handle{Endpoint: t.browser.slot.name, Context: t.context, Target: t.id, Name: t.name})
	if err != nil {
		panic("encoding texts: " + err.Error())
	}
	return text
}

// Detach ends the tab here. Calls in flight go on in the page.
func (t *tab) Detach(ctx context.Context) error {
	t.closed.Do(func() {
		t.target.Fail(errOurs)
		if t.browser.alive() {
			t.closeErr = t.browser.detach(ctx, t.target)
		}
		t.reaching.end()
		t.saver.close()
		t.onClose(t)
	})
	return t.closeErr
}

// detach ends a session of ours. One that is not there has ended with its page.
func (b *instance) detach(ctx context.Context, s *wire.Session) error {
	_, err := cdp.Call(ctx, b.root, cdptarget.DetachFromTarget, cdptarget.DetachFromTargetParams{SessionID: s.ID()})
	if isProtocol(err) {
		return nil
	}
	return err
}

// takeOver makes us the owner of the page of another process, and reports what it shows. A page that does not
// answer, or has not the script, is not taken.
func (t *tab) takeOver(ctx context.Context) error {
	switch said, _, err := t.shown.top.Load().evaluate(ctx, shim.Outcome(t.calls.name, "")); {
	case err != nil:
		return fmt.Errorf("taking over a page: %w", err)
	case said == gonePast:
		return errNewerOwner
	}
	return t.owner.survey(ctx, t.target, true)
}

// isOthers reports whether a tab to which we attach is another process's by now.
func isOthers(h *handle, o session.TabOptions) bool {
	return h != nil && o.Owner.Holds != nil && !o.Owner.Holds()
}

// errNewerOwner says that a page is another process's.
var errNewerOwner = errors.New("the page has a newer owner")

// gonePast answers an owner before the newest.
const gonePast = "gone"

// survey reports the documents that a target shows since before we came: there is no event for them. Of
// the page it says that they have loaded, too.
func (o *owner) survey(ctx context.Context, target *wire.Session, whole bool) error {
	var is page.GetFrameTreeResult
	after, err := target.CallAfter(ctx, page.CommandGetFrameTree, nil, &is)
	if err != nil || is.FrameTree == nil {
		return fmt.Errorf("listing the documents of a page: %w", err)
	}
	done := o.tasks.ask(ctx, after, func() {
		o.found(target, is.FrameTree)
		if d := o.frames.top.doc; whole && d != nil {
			if o.awaiter.idle = true; o.awaiter.Await != (session.Await{}) { // when that was, nobody knows
				o.awaiter.settle()
			}
			o.watcher.after(session.Loaded{Document: d.id})
		}
	})
	if !done {
		return errors.New("the page ended while its documents were listed")
	}
	return nil
}

// found begins the documents of a target that are not known yet.
func (o *owner) found(target *wire.Session, tree *page.FrameTree) {
	if f := o.frames.all[tree.Frame.ID]; f == nil || f.doc == nil || f.doc.id != string(tree.Frame.LoaderID) {
		o.navigated(target, tree.Frame)
	}
	for _, child := range tree.ChildFrames {
		o.found(target, child)
	}
}

// Check connects to the browser of an endpoint, and returns its product, and whether its pages can be
// attached to again when a connection has ended. It has a browser of its own from endpoints that start
// them. Errors say why there is none.
func (e *Engine) Check(ctx context.Context, at endpoint.Endpoint) (version string, reattaches bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, claimTime)
	defer cancel()
	c, err := at.Claim(ctx, e.log)
	if err != nil {
		return "", false, err
	}
	defer c.Release()
	if c.Once || c.Rented { // what another one claims is another browser
		b, err := e.dial(ctx, c)
		if err != nil {
			return "", false, err
		}
		defer b.kill()
		return b.version, false, nil
	}
	return e.reattaches(ctx, c)
}

// dial speaks to the browser of a claim.
func (e *Engine) dial(ctx context.Context, c *endpoint.Claim) (*instance, error) {
	conn, err := c.Dial(ctx)
	if err != nil {
		return nil, err
	}
	return e.speak(ctx, conn, nil)
}

// reattaches makes a page that is to outlive its connection, ends that, and attaches to the page over
// another one.
func (e *Engine) reattaches(ctx context.Context, c *endpoint.Claim) (version string, can bool, err error) {
	first, err := e.dial(ctx, c)
	if err != nil {
		return "", false, err
	}
	version = first.version
	made, err := cdp.Call(ctx, first.root, cdptarget.CreateBrowserContext, cdptarget.CreateBrowserContextParams{DisposeOnDetach: new(false)})
	var page cdptarget.ID
	if err == nil {
		_, page, err = first.newPage(ctx, made.BrowserContextID)
	}
	first.kill()
	if err != nil {
		return version, false, err
	}
	second, err := e.dial(ctx, c)
	if err != nil {
		return version, false, err
	}
	defer second.kill()
	_, err = second.attachTo(ctx, page)
	bounded, cancel := farewell()
	defer cancel()
	_ = second.dispose(bounded, place{in: made.BrowserContextID}) // of another browser it is not there
	return version, err == nil, nil
}
