package cdp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// maxDialogText bounds what is reported of a page's words in a dialog, in bytes.
const maxDialogText = 4 << 10

// A page that opens more than maxDialogs dialogs within dialogWindow is closed:
// each of them stops every frame of it.
const (
	maxDialogs   = 100
	dialogWindow = 5 * time.Second
)

// dialog is a dialog of the page that is open.
type dialog struct {
	of      *calls
	kind    bridge.Kind
	message string
	text    string // that a prompt begins with
	target  *wire.Session
	closed  chan struct{}
	// among counts the calls that it may be of, when there are several, and foreign is
	// true when not all of them are of one caller.
	among   int
	foreign bool
	waiting atomic.Int32 // of these, the ones that have not given it up
}

// isOpen reports whether nobody has answered the dialog, as far as we were told.
func (d *dialog) isOpen() bool {
	select {
	case <-d.closed:
		return false
	default:
		return true
	}
}

// leave gives the dialog up for one of the calls that it may be of. The last one
// dismisses it.
func (d *dialog) leave() {
	if d.isOpen() && d.waiting.Add(-1) <= 0 {
		_ = d.answer(false, "")
	}
}

// answer answers the dialog, unless it is another process's by now.
func (d *dialog) answer(ok bool, text string) error {
	if !d.of.owns() {
		return nil
	}
	bounded, cancel := farewell()
	defer cancel()
	_, err := d.target.Send(bounded, page.CommandHandleJavaScriptDialog,
		page.HandleJavaScriptDialogParams{Accept: ok, PromptText: text})
	return err
}

// dialogs holds the open dialogs of a page. Only the owner uses it.
type dialogs struct {
	page    *wire.Session
	calls   *calls
	out     *outbox
	traffic *traffic
	theirs  bool      // a person uses the tab, and is shown its dialogs
	open    []*dialog // that are questions
	count   int       // since calm
	calm    time.Time
}

// opens makes a dialog in a call a question, and answers every other one: no script of
// the page runs while one is open.
func (ds *dialogs) opens(from *wire.Session, ev *page.EventJavascriptDialogOpening) {
	if !ds.calls.owns() { // it may be a question of the process that has the page
		return
	}
	if ev.Type == page.DialogTypeAlert && ds.calls.placed(ev.Message) {
		ds.close(from, true)
		return
	}
	if ds.theirs && ev.HasBrowserHandler && !ds.calls.atWork() {
		return // it answers what the person did in the page, or our reload of it
	}
	if time.Since(ds.calm) > dialogWindow {
		ds.count, ds.calm = 0, time.Now()
	}
	if ds.count++; ds.count > maxDialogs {
		ds.page.Fail(wire.ErrFlood)
		return
	}
	d := &dialog{of: ds.calls, message: text.Short(ev.Message, maxDialogText),
		text: text.Short(ev.DefaultPrompt, maxDialogText), target: from,
		closed: make(chan struct{})}
	accept := false
	switch ev.Type {
	case page.DialogTypeConfirm:
		d.kind = bridge.Confirm
	case page.DialogTypePrompt:
		d.kind = bridge.Prompt
	default: // alert and beforeunload
		accept = true
	}
	if d.kind != "" && ds.calls.hand(d) {
		ds.open = append(ds.open, d)
		return
	}
	if ev.Type == page.DialogTypeAlert {
		ds.traffic.alert(ev.Message)
	}
	if ds.close(from, accept) {
		ds.out.emit(session.DialogShown{Kind: string(ev.Type), Message: d.message, Accepted: accept})
	}
}

// close answers a dialog at once. The reply is not waited for: the owner goes on reading.
func (ds *dialogs) close(of *wire.Session, accept bool) bool {
	params := page.HandleJavaScriptDialogParams{Accept: accept}
	_, err := of.Send(context.Background(), page.CommandHandleJavaScriptDialog, params)
	return err == nil
}

// closes ends the question of a dialog of the target.
func (ds *dialogs) closes(from *wire.Session) {
	ds.open = slices.DeleteFunc(ds.open, func(d *dialog) bool {
		if d.target != from {
			return false
		}
		close(d.closed)
		return true
	})
}

// asked listens for what the call says next, and asks.
func (c *call) asked(ctx context.Context, form bool) bridge.Step {
	if c.listen(ctx) != nil {
		c.end()
		return c.doc.lost(bridge.Unknown).Step()
	}
	c.interacts = true
	q := bridge.Question{Kind: bridge.Interact, Title: "The page waits for a person to act in it.",
		Origin: c.doc.origin}
	if form {
		q.Title, q.Form = "A form is filled in. Shall it be submitted?", true
	}
	return c.ask(q, nil, func(ctx context.Context, a *bridge.Answer) {
		c.interacts = a == nil
		if a != nil && c.early == nil && c.next == nil {
			_, _ = c.doc.send(ctx, shim.Answer(c.of.name, c.id, a.OK, a.Value))
		}
	})
}

// promptSchema is the value of an answer to a prompt.
func promptSchema(text string) json.RawMessage {
	b, err := json.Marshal(map[string]any{"type": "string", "default": text})
	if err != nil { // a string: cannot happen
		panic("encoding a prompt: " + err.Error())
	}
	return b
}

// askDialog asks what to answer to a dialog.
func (c *call) askDialog(d *dialog) bridge.Step {
	q := bridge.Question{Kind: d.kind, Title: "The page asks for a confirmation.",
		Detail: d.message, Origin: c.doc.origin}
	if d.kind == bridge.Prompt {
		q.Title, q.Schema = "The page asks for a text.", promptSchema(d.text)
	}
	q.Among, q.Foreign = d.among, d.foreign
	if d.among > 0 {
		q.Title = strings.TrimSuffix(q.Title, ".") + fmt.Sprintf(", and %d calls are at work in it. It may be of any of them.", d.among)
	}
	return c.ask(q, d.closed, func(_ context.Context, a *bridge.Answer) {
		switch {
		case !d.isOpen():
			return
		case a == nil:
			c.leave(d)
			return
		}
		text := d.text
		if len(a.Value) > 0 {
			_ = json.Unmarshal(a.Value, &text) // a string: the question was checked
		}
		_ = d.answer(a.OK, text)
	})
}

// ask makes the question. tell passes the answer to the page.
func (c *call) ask(q bridge.Question, closed <-chan struct{},
	tell func(context.Context, *bridge.Answer)) bridge.Step {
	over, stop, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { // ends with the question
		defer close(watched)
		select {
		case r, ok := <-c.ch:
			c.early = &early{r, ok}
		case d := <-c.dialogs:
			c.next = d
		case <-closed:
		case <-c.doc.target.Gone():
		case <-stop:
			return
		}
		close(over)
	}()
	goOn := func(ctx context.Context, a *bridge.Answer) bridge.Step {
		close(stop)
		<-watched
		tell(ctx, a)
		return c.goOn(ctx)
	}
	return bridge.Step{Pause: &bridge.Pause{Question: q, Over: over, Continue: goOn}}
}

// goOn takes what came while the question was open, and waits for what comes.
func (c *call) goOn(ctx context.Context) bridge.Step {
	if e := c.early; e != nil {
		c.early = nil
		if a := c.heard(ctx, e.reply, e.ok); !a.partial {
			return c.said(ctx, a)
		}
	}
	if d := c.next; d != nil {
		c.next = nil
		return c.askDialog(d)
	}
	if c.native != nil {
		return c.native.wait(ctx, c)
	}
	return c.wait(ctx)
}
