package cdp

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/page"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
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

// answer closes the dialog.
func (d *dialog) answer(ok bool, text string) error {
	bounded, cancel := farewell()
	defer cancel()
	_, err := d.target.Send(bounded, page.CommandHandleJavaScriptDialog,
		page.HandleJavaScriptDialogParams{Accept: ok, PromptText: text})
	return err
}

// dialogs are those that a page opens. Only the owner uses it.
type dialogs struct {
	page  *wire.Session
	calls *calls
	out   *outbox
	open  []*dialog // that are questions
	count int       // since calm
	calm  time.Time
}

// opens makes a dialog in a call a question, and answers every other one: no script of
// the page runs while one is open.
func (ds *dialogs) opens(from *wire.Session, ev *page.EventJavascriptDialogOpening) {
	if time.Since(ds.calm) > dialogWindow {
		ds.count, ds.calm = 0, time.Now()
	}
	if ds.count++; ds.count > maxDialogs {
		ds.page.Fail(wire.ErrFlood)
		return
	}
	d := &dialog{message: shortened(ev.Message), text: shortened(ev.DefaultPrompt), target: from,
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
	// The reply is not waited for: the owner goes on reading.
	params := page.HandleJavaScriptDialogParams{Accept: accept}
	if _, err := from.Send(context.Background(), page.CommandHandleJavaScriptDialog,
		params); err != nil {
		return
	}
	ds.out.emit(session.DialogShown{Kind: string(ev.Type), Message: d.message, Accepted: accept})
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

func shortened(text string) string { return cut(text, maxDialogText) }

// cut returns the first bytes of a text that is longer than most.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}
