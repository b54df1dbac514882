package bridge

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
)

// Frame is a page as a person sees it at one moment.
type Frame struct {
	// JPEG is the picture.
	JPEG []byte
	// Width and Height are its size in CSS pixels, the coordinates of Input.
	Width, Height float64
}

// InputType names an action with mouse or keyboard. The names follow UI Events.
type InputType string

// The types of Input.
const (
	MouseMove InputType = "mousemove"
	MouseDown InputType = "mousedown"
	MouseUp   InputType = "mouseup"
	Wheel     InputType = "wheel"
	KeyDown   InputType = "keydown"
	KeyUp     InputType = "keyup"
	Text      InputType = "text" // typed, pasted or composed, without its keys
	Back      InputType = "back" // to the document before, and
	Reload    InputType = "reload"
)

// Input is one thing that a person does in a page.
type Input struct {
	Type InputType `json:"type"`
	// X and Y say where the mouse is, in CSS pixels from the top left corner of
	// the viewport.
	X float64 `json:"x"`
	Y float64 `json:"y"`
	// Button is left, middle or right; empty means none. Clicks counts those that
	// belong together: 2 is a double click.
	Button string `json:"button"`
	Clicks int    `json:"clicks"`
	// DX and DY say how far to scroll, in CSS pixels.
	DX float64 `json:"dx"`
	DY float64 `json:"dy"`
	// Key and Code are as in a KeyboardEvent. Text holds the characters that a key writes, or that
	// type Text inserts.
	Key  string `json:"key"`
	Code string `json:"code"`
	Text string `json:"text"`
	// Modifiers are the keys that are held: 1 Alt, 2 Control, 4 Meta, 8 Shift.
	Modifiers int `json:"modifiers"`
}

// The bounds of an Input.
const (
	maxPixels  = 1 << 15
	maxKeyName = 32
	maxTyped   = 16 << 10
	maxClicks  = 3
)

// ofMouse says which types there are, and which are of the mouse.
var ofMouse = map[InputType]bool{MouseMove: true, MouseDown: true, MouseUp: true, Wheel: true,
	KeyDown: false, KeyUp: false, Text: false, Back: false, Reload: false}

// check refuses what no mouse and no keyboard does.
func (in Input) check() *Error {
	mouse, known := ofMouse[in.Type]
	far := func(v float64) bool { return math.IsNaN(v) || math.Abs(v) > maxPixels }
	switch {
	case !known:
		return badInput("type is not one of mousemove, mousedown, mouseup, wheel, keydown, keyup, text, back and reload.")
	case far(in.X) || far(in.Y) || far(in.DX) || far(in.DY):
		return badInput("a length is out of bounds.")
	case in.Button != "" && in.Button != "left" && in.Button != "middle" && in.Button != "right":
		return badInput("button is not one of left, middle and right.")
	case in.Clicks < 0 || in.Clicks > maxClicks || in.Modifiers < 0 || in.Modifiers > 15:
		return badInput("clicks or modifiers are out of bounds.")
	case len(in.Key) > maxKeyName || len(in.Code) > maxKeyName || len(in.Text) > maxTyped:
		return badInput("key, code or text is too long.")
	case !mouse && in.Key == "" && in.Text == "" && in.Type != Back && in.Type != Reload:
		return badInput("key or text is missing.")
	}
	return nil
}

func badInput(what string) *Error { return Errorf(SchemaError, "", NotRun, "input: %s", what) }

// View is a page that one person sees.
type View interface {
	// Frames returns the newest picture; a slow reader misses those before it. A
	// page that does not change sends none. It is closed when the page is gone,
	// when its lease is released, and by Close.
	Frames() <-chan Frame
	// Act does something in the page, in the order of the calls, and does not
	// wait for what comes of it. Errors are *Error.
	Act(ctx context.Context, in Input) error
	// Text returns the text that is selected in the page, or else that of the whole document at the
	// top, at most 65,536 characters. Errors are *Error.
	Text(ctx context.Context) (string, error)
	// Close ends the view. It is idempotent.
	Close()
}

// Live is an operator's view of the page of one call, from a question of it until
// the call ends. Of all persons who watch a call one holds the pen: only what that person
// does reaches the page, and only while the page waits for a person to act in it. It is
// safe for concurrent use.
type Live struct {
	run      *Run
	by       Caller
	view     View
	question string // the only one that it acts for; empty means any
}

// Live shows the page that asks a question, until Close. Errors are *Error:
// WEBTOOL_NOT_FOUND for a question that is not open or whose page cannot be seen,
// FORBIDDEN for a credential without the right to answer.
func (b *Bridge) Live(ctx context.Context, by Caller, id string) (*Live, error) {
	r, page, e := pageThatAsks(b, by, id)
	if e != nil {
		return nil, e
	}
	ctx, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	view, err := page.View(ctx)
	if err != nil {
		return nil, AsError(err)
	}
	return &Live{run: r, by: by, view: view}, nil
}

// Frames is View.Frames.
func (l *Live) Frames() <-chan Frame { return l.view.Frames() }

// Watch reports how the call is: its question, who holds the pen, and its end. Mine
// reports whether this Live holds it.
func (l *Live) Watch(ctx context.Context) <-chan Event {
	return l.run.pass.bridge.Watch(ctx, Interest{run: l.run})
}

// Mine reports whether this Live holds the pen.
func (l *Live) Mine() bool {
	l.run.mu.Lock()
	defer l.run.mu.Unlock()
	return l.run.pen == l
}

// Take takes the pen, and reports whether nobody else holds it.
func (l *Live) Take() bool { return l.pass(nil, l) }

// Drop lays the pen down, if this Live holds it.
func (l *Live) Drop() { l.pass(l, nil) }

// pass passes the pen on from one to another, nil being nobody, and reports whether
// the other has it now.
func (l *Live) pass(from, to *Live) bool {
	l.run.mu.Lock()
	passed := l.run.pen == from
	if passed {
		l.run.pen = to
	}
	has := l.run.pen == to
	l.run.mu.Unlock()
	if passed {
		l.run.pass.bridge.watchers.watched(l.run)
	}
	return has
}

// Act does in the page what its person did. Errors are *Error: SCHEMA_ERROR for
// what no mouse and no keyboard does, CONFLICT without the pen, or when the page
// does not wait for a person to act in it.
func (l *Live) Act(ctx context.Context, in Input) error {
	if e := in.check(); e != nil {
		return e
	}
	if e := l.mayAct(); e != nil {
		return e
	}
	return l.view.Act(ctx, in)
}

// Text returns the text that is selected in the page, or else all of it, without what cannot be seen.
// Whoever looks may read it. Errors are *Error.
func (l *Live) Text(ctx context.Context) (string, error) { return textOf(ctx, l.view, l.by) }

// textTime bounds how long a page may take to tell its text: with a dialog it does not.
const textTime = 3 * time.Second

// textOf returns the text of a page for somebody who looks at it.
func textOf(ctx context.Context, view View, by Caller) (string, error) {
	if by.IsRevoked() {
		return "", mayNotAnswer()
	}
	ctx, cancel := context.WithTimeout(ctx, textTime)
	defer cancel()
	said, err := view.Text(ctx)
	if err != nil {
		return "", AsError(err)
	}
	said, _ = text.Visible(said)
	return said, nil
}

// mayAct refuses a person who may not act now, and notes who acts.
func (l *Live) mayAct() *Error {
	r := l.run
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case l.by.IsRevoked():
		return mayNotAnswer()
	case r.pen != l:
		return Errorf(Conflict, "", NotRun, "Take the pen first.")
	case r.pause == nil || r.pause.Question.Kind != Interact,
		l.question != "" && l.question != r.pause.Question.ID:
		return Errorf(Conflict, "", NotRun, "The page does not wait for a person to act in it.")
	}
	r.actor = l.by.Name
	tookPart(r, r.actor)
	return nil
}

// whoActed returns the name of the person who acted last in the page that asks.
func (r *Run) whoActed() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.actor
}

const (
	// betweenPersons separates names, which have no space but before "via card".
	betweenPersons = ", "
	andOthers      = "and others"
	// maxPersons bounds the names of those who took part in a call, in bytes: the audit would cut a
	// longer text, and "ada via card" is not "ada".
	maxPersons = 512 - len(betweenPersons+andOthers)
)

// tookPart notes for the audit that a person answered or acted, with r.mu held.
func tookPart(r *Run, name string) {
	all := strings.Split(r.persons, betweenPersons)
	if name == nobody || slices.Contains(all, name) || slices.Contains(all, andOthers) {
		return
	}
	between := betweenPersons
	if r.persons == "" {
		between = ""
	}
	if len(r.persons)+len(between)+len(name) > maxPersons {
		name = andOthers
	}
	r.persons += between + name
}

// whoTookPart returns the names of all who answered or acted.
func whoTookPart(r *Run) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.persons
}

// Close ends the view.
func (l *Live) Close() {
	l.Drop()
	l.view.Close()
}
