package cdp

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// interactionPatience is how long an interaction may go on after a dialog in it
// was answered, before a person is asked to act in it again.
const interactionPatience = 100 * time.Millisecond

// maxDialogText bounds what is told of a page's words in a dialog, in bytes.
const maxDialogText = 4 << 10

// running is a call that was dispatched and has not ended. Whoever waits for it
// reads and writes it, one at a time.
type running struct {
	tab      *tab
	doc      *document
	id       string
	maxBytes int
	ch       <-chan wire.Reply // what the page says next
	dialogs  chan *dialog      // that the page opened in the call
	// interacts is true when the page waits for a person to act in it, as far as
	// we know.
	interacts bool

	// What came while a question was open.
	early *early
	next  *dialog
}

// early is a message of the page that came while a question was open.
type early struct {
	reply wire.Reply
	ok    bool
}

// dialog is a dialog of the page that is open.
type dialog struct {
	kind    bridge.Kind
	message string
	text    string // that a prompt begins with
	target  *wire.Session
	closed  chan struct{}
}

// answer closes the dialog.
func (d *dialog) answer(ok bool, text string) error {
	bounded, cancel := farewell()
	defer cancel()
	_, err := d.target.Send(bounded, page.CommandHandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: ok, PromptText: text})
	return err
}

// calling are the calls of a tab, in the order of their dispatch.
type calling struct {
	mu   sync.Mutex
	list []*running
}

func (c *calling) add(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, r)
}

func (c *calling) remove(r *running) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.list, r); i >= 0 {
		c.list = slices.Delete(c.list, i, i+1)
	}
}

// hand gives a dialog to the call that it belongs to: the last one that was
// dispatched to the documents of its target, or else to the page. It reports
// whether there is one.
func (c *calling) hand(d *dialog) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	var to *running
	for _, r := range c.list {
		if to == nil || r.doc.target == d.target || to.doc.target != d.target {
			to = r
		}
	}
	if to == nil {
		return false
	}
	select {
	case to.dialogs <- d:
		return true
	default:
		return false
	}
}

// ended takes a call from the tab.
func (r *running) ended() {
	r.quiet()
	r.tab.calls.Add(-1)
}

// quiet dismisses the dialogs of a call that nobody waits for any more.
func (r *running) quiet() {
	r.tab.calling.remove(r)
	select {
	case d := <-r.dialogs:
		_ = d.answer(false, "")
	default:
	}
}

// wait waits for what comes next of the call: its end, a question, or ctx's end.
func (r *running) wait(ctx context.Context) bridge.Step {
	var remind <-chan time.Time
	if r.interacts {
		timer := time.NewTimer(interactionPatience)
		defer timer.Stop()
		remind = timer.C
	}
	for {
		select {
		case answer, ok := <-r.ch:
			return r.said(ctx, answer, ok)
		case d := <-r.dialogs:
			return r.askDialog(d)
		case <-remind:
			remind, r.interacts = nil, false
			_, _ = r.doc.send(ctx, shim.Remind(r.tab.name, r.id))
		case <-ctx.Done():
			step := r.tab.giveUp(ctx, r)
			r.ended()
			return step
		}
	}
}

// said takes what the page said.
func (r *running) said(ctx context.Context, answer wire.Reply, ok bool) bridge.Step {
	a := r.tab.replied(ctx, r.doc, answer, ok)
	if a.asks {
		return r.asked(ctx, a.form)
	}
	r.doc.ids.put(r.id)
	r.ended()
	if a.submitted != nil {
		return r.tab.follow(ctx, a.submitted, r.maxBytes)
	}
	return a.Step
}

// answer is what the page said of a call: the step that it came to, or that it
// stopped for a person, or that it submitted a form.
type answer struct {
	bridge.Step

	asks, form bool
	submitted  *submission
}

func failed(e *bridge.Error) answer { return answer{Step: e.Step()} }

// asked listens for what the call says next, and asks.
func (r *running) asked(ctx context.Context, form bool) bridge.Step {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortPatience)
	defer cancel()
	ch, err := r.doc.send(bounded, shim.Wait(r.tab.name, r.id, r.doc.revision.Load()))
	if err != nil {
		r.ended()
		return r.tab.lost(r.doc, bridge.Unknown).Step()
	}
	r.ch, r.interacts = ch, true
	q := bridge.Question{Kind: bridge.Interact, Title: "The page waits for a person to act in it.", Origin: r.doc.origin}
	if form {
		q.Title = "A form is filled in. Shall it be submitted?"
	}
	return r.ask(q, nil, func(ctx context.Context, a *bridge.Answer) {
		r.interacts = a == nil
		if a != nil && r.early == nil && r.next == nil {
			_, _ = r.doc.send(ctx, shim.Answer(r.tab.name, r.id, a.OK, a.Value))
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
func (r *running) askDialog(d *dialog) bridge.Step {
	q := bridge.Question{Kind: d.kind, Title: "The page asks for a confirmation.", Detail: d.message, Origin: r.doc.origin}
	if d.kind == bridge.Prompt {
		q.Title, q.Schema = "The page asks for a text.", promptSchema(d.text)
	}
	return r.ask(q, d.closed, func(_ context.Context, a *bridge.Answer) {
		select {
		case <-d.closed:
			return
		default:
		}
		if a == nil {
			_ = d.answer(false, "")
			return
		}
		text := d.text
		if len(a.Value) > 0 {
			_ = json.Unmarshal(a.Value, &text) // a string: the question was checked
		}
		_ = d.answer(a.OK, text)
	})
}

// ask makes the question. tell gives the answer to the page.
func (r *running) ask(q bridge.Question, closed <-chan struct{}, tell func(context.Context, *bridge.Answer)) bridge.Step {
	over, stop, watched := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() { // ends with the question
		defer close(watched)
		select {
		case answer, ok := <-r.ch:
			r.early = &early{answer, ok}
		case d := <-r.dialogs:
			r.next = d
		case <-closed:
		case <-r.doc.target.Gone():
		case <-stop:
			return
		}
		close(over)
	}()
	return bridge.Step{Pause: &bridge.Pause{Question: q, Over: over, Continue: func(ctx context.Context, a *bridge.Answer) bridge.Step {
		close(stop)
		<-watched
		tell(ctx, a)
		return r.goOn(ctx)
	}}}
}

// goOn takes what came while the question was open, and waits for what comes.
func (r *running) goOn(ctx context.Context) bridge.Step {
	if e := r.early; e != nil {
		r.early = nil
		return r.said(ctx, e.reply, e.ok)
	}
	if d := r.next; d != nil {
		r.next = nil
		return r.askDialog(d)
	}
	return r.wait(ctx)
}

// dialogOpens makes a dialog in a call a question, and answers every other one:
// no script of the page runs while one is open.
func (t *tab) dialogOpens(s *ownerState, from *wire.Session, ev *page.EventJavascriptDialogOpening) {
	if time.Since(s.calm) > dialogWindow {
		s.dialogs, s.calm = 0, time.Now()
	}
	if s.dialogs++; s.dialogs > maxDialogs {
		t.target.Fail(wire.ErrFlood)
		return
	}
	d := &dialog{message: shortened(ev.Message), text: shortened(ev.DefaultPrompt), target: from, closed: make(chan struct{})}
	accept := false
	switch ev.Type {
	case page.DialogTypeConfirm:
		d.kind = bridge.Confirm
	case page.DialogTypePrompt:
		d.kind = bridge.Prompt
	default: // alert and beforeunload
		accept = true
	}
	if d.kind != "" && t.calling.hand(d) {
		s.open = append(s.open, d)
		return
	}
	// The reply is not waited for: the owner goes on reading.
	if _, err := from.Send(context.Background(), page.CommandHandleJavaScriptDialog, page.HandleJavaScriptDialogParams{Accept: accept}); err != nil {
		return
	}
	s.emit(session.DialogShown{Kind: string(ev.Type), Message: d.message, Accepted: accept})
}

// dialogCloses ends the question of a dialog of the target.
func (s *ownerState) dialogCloses(from *wire.Session) {
	s.open = slices.DeleteFunc(s.open, func(d *dialog) bool {
		if d.target != from {
			return false
		}
		close(d.closed)
		return true
	})
}

func shortened(text string) string {
	if len(text) <= maxDialogText {
		return text
	}
	return strings.ToValidUTF8(text[:maxDialogText], "") + "…"
}
