package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp/wire"
	"github.com/pagetools/pagetools/shim"
)

// The pictures of a view.
const (
	viewQuality = 70
	viewSide    = 1600 // pixels at most, in both directions
	// viewPace is the least time between two pictures.
	viewPace = 40 * time.Millisecond
)

// maxUnanswered bounds what a person does before the page has taken it. A page
// that shows a dialog takes nothing.
const maxUnanswered = 64

var _ session.Watchable = (*tab)(nil)

// view is the page as one person sees it, over a session of its own: what is
// started in it ends with it, and nobody else's pictures come there.
type view struct {
	tab    *tab
	target *wire.Session
	frames chan bridge.Frame
	acts   chan (<-chan wire.Reply) // in the order in which they were sent
	turn   chan struct{}            // held by who sends one
	done   chan struct{}
	once   sync.Once
	ended  sync.WaitGroup
}

func (t *tab) View(ctx context.Context) (bridge.View, error) {
	v, err := t.openView(ctx)
	if err != nil {
		return nil, t.unread(ctx, err, "The page did not show itself in time.",
			"This page cannot be watched.")
	}
	return v, nil
}

func (t *tab) openView(ctx context.Context) (*view, error) {
	attached, err := cdp.Call(ctx, t.browser.root, cdptarget.AttachToTarget,
		cdptarget.AttachToTargetParams{TargetID: t.id, Flatten: new(true)})
	if err != nil {
		return nil, err
	}
	v := &view{tab: t, target: t.browser.conn.Open(attached.SessionID),
		frames: make(chan bridge.Frame, 1),
		acts:   make(chan (<-chan wire.Reply), maxUnanswered), turn: make(chan struct{},
			1), done: make(chan struct{})}
	v.ended.Go(v.show)
	v.ended.Go(v.collect)
	err = errors.Join(
		v.target.Call(ctx, page.CommandEnable, nil, nil),
		v.target.Call(ctx, page.CommandStartScreencast, screencast(), nil))
	if err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

func screencast() page.StartScreencastParams {
	return page.StartScreencastParams{Format: page.StartScreencastFormatJpeg, Quality: new(int64(viewQuality)), MaxWidth: viewSide, MaxHeight: viewSide,
		EveryNthFrame: 1, MaxFramesInFlight: 1, SendLastFrame: new(true)}
}

func (v *view) Frames() <-chan bridge.Frame { return v.frames }

// show takes the pictures, and asks for the next when it is due. It ends with the
// view.
func (v *view) show() {
	defer close(v.frames)
	pace := time.NewTimer(0)
	defer pace.Stop()
	for {
		select {
		case msg := <-v.target.Events():
			if to, ok := wire.Decode[page.EventFrameNavigated](msg); msg.Method == cdproto.EventPageFrameNavigated && ok && to.Frame != nil && to.Frame.ParentID == "" {
				v.begin()
				continue
			}
			ev, ok := wire.Decode[page.EventScreencastFrame](msg)
			if msg.Method != cdproto.EventPageScreencastFrame || !ok || ev.Metadata == nil {
				continue
			}
			v.put(bridge.Frame{JPEG: ev.Data, Width: ev.Metadata.DeviceWidth,
				Height: ev.Metadata.DeviceHeight})
			if !v.acknowledge(ev.SessionID, pace) {
				return
			}
		case <-v.tab.target.Gone():
			return
		case <-v.target.Gone():
			return
		case <-v.done:
			return
		}
	}
}

// put makes f the newest picture.
func (v *view) put(f bridge.Frame) {
	select {
	case <-v.frames: // nobody has taken the one before
	default:
	}
	v.frames <- f // only show puts one there
}

// begin asks for pictures of a new document: its first one can be lost with what was acknowledged of the old
// one, and then none would follow.
func (v *view) begin() {
	bounded, cancel := farewell()
	defer cancel()
	_, _ = v.target.Send(bounded, page.CommandStartScreencast, screencast()) // a page that has gone shows nothing
}

// acknowledge asks for the next picture, not too soon after the last. The browser
// keeps the newest one meanwhile, and has none when nothing changes.
func (v *view) acknowledge(number int64, pace *time.Timer) bool {
	select {
	case <-pace.C:
	case <-v.done:
		return false
	}
	pace.Reset(viewPace)
	bounded, cancel := farewell()
	defer cancel()
	ack, err := v.target.Send(bounded, page.CommandScreencastFrameAck,
		page.ScreencastFrameAckParams{SessionID: number})
	if err != nil {
		return false
	}
	select {
	case <-ack:
		return true
	case <-v.done:
		return false
	}
}

func (v *view) Act(ctx context.Context, in bridge.Input) error {
	select {
	case v.turn <- struct{}{}:
		defer func() { <-v.turn }()
	case <-ctx.Done():
		return late(ctx, "The page takes no input now.")
	}
	select {
	case <-v.done:
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun,
			"The page is not watched any more.")
	default:
	}
	if len(v.acts) == cap(v.acts) { // only who has the turn adds to it
		return bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "The page takes no input now.")
	}
	bounded, cancel := farewell()
	defer cancel()
	c, refused := v.command(bounded, in)
	if refused != nil {
		return refused
	}
	taken, err := v.target.Send(bounded, c.Method, c.Params)
	if err != nil {
		return goneError(err, bridge.NotRun)
	}
	v.acts <- taken
	return nil
}

// command returns what the browser is told for an input.
func (v *view) command(ctx context.Context, in bridge.Input) (wire.Command, error) {
	switch in.Type { //nolint:exhaustive // the others are mouse and keys
	case bridge.Reload:
		return wire.Command{Method: page.CommandReload, Params: page.ReloadParams{}}, nil
	case bridge.Back:
		past, err := cdp.Call(ctx, v.target, page.GetNavigationHistory, cdp.Empty{})
		if err != nil {
			return wire.Command{}, v.tab.unread(ctx, err, "The page takes no input now.", "The page does not go back.")
		}
		at := int(past.CurrentIndex) - 1
		if at < 0 || at >= len(past.Entries) || past.Entries[at].URL == "about:blank" { // as which the tab began
			return wire.Command{}, bridge.Errorf(bridge.Conflict, "", bridge.NotRun, "There is no document before this one.")
		}
		return wire.Command{Method: page.CommandNavigateToHistoryEntry,
			Params: page.NavigateToHistoryEntryParams{EntryID: past.Entries[at].ID}}, nil
	}
	return inputCommand(in), nil
}

// copyWorld is the name of the world in which texts are read: the page changes nothing there.
const copyWorld = "pagetools copy"

// Text implements bridge.View.
func (v *view) Text(ctx context.Context) (string, error) {
	const late, other = "The page did not tell its text in time: a dialog may be open in it.", "The text of the page cannot be read."
	world, err := cdp.Call(ctx, v.target, page.CreateIsolatedWorld,
		page.CreateIsolatedWorldParams{FrameID: cdp.FrameID(v.tab.id), WorldName: copyWorld})
	if err != nil {
		return "", v.tab.unread(ctx, err, late, other)
	}
	found, err := cdp.Call(ctx, v.target, runtime.Evaluate, runtime.EvaluateParams{Expression: shim.Selected(),
		ContextID: world.ExecutionContextID, ReturnByValue: new(true), Silent: new(true)})
	if err != nil || found.Result == nil {
		return "", v.tab.unread(ctx, err, late, other)
	}
	var said string
	var seen session.Element
	if json.Unmarshal(found.Result.Value, &said) != nil || json.Unmarshal([]byte(said), &seen) != nil {
		return "", v.tab.unread(ctx, err, late, other)
	}
	return seen.Text, nil
}

// collect waits for the page to take what was sent. It ends with the view.
func (v *view) collect() {
	for {
		select {
		case taken := <-v.acts:
			select {
			case <-taken:
			case <-v.done:
				return
			}
		case <-v.done:
			return
		}
	}
}

func (v *view) Close() {
	v.once.Do(func() {
		close(v.done)
		v.target.Fail(errOurs)
		bounded, cancel := farewell()
		defer cancel()
		_, _ = cdp.Call(bounded, v.tab.browser.root, cdptarget.DetachFromTarget,
			cdptarget.DetachFromTargetParams{SessionID: v.target.ID()})
	})
	v.ended.Wait()
}

var _ session.Photographer = (*tab)(nil)

func (t *tab) Screenshot(ctx context.Context) ([]byte, error) {
	shot, err := cdp.Call(ctx, t.target, page.CaptureScreenshot, page.CaptureScreenshotParams{})
	if err != nil {
		return nil, t.unread(ctx, err, "The page shows nothing now: a dialog may be open in it.",
			"There is no picture of this page.")
	}
	return shot.Data, nil
}

var mouseTypes = map[bridge.InputType]input.DispatchMouseEventType{
	bridge.MouseMove: input.DispatchMouseEventTypeMouseMoved,
	bridge.MouseDown: input.DispatchMouseEventTypeMousePressed,
	bridge.MouseUp:   input.DispatchMouseEventTypeMouseReleased,
	bridge.Wheel:     input.DispatchMouseEventTypeMouseWheel,
}

// buttons are the bits of the buttons that are held.
var buttons = map[string]int64{"left": 1, "right": 2, "middle": 4}

func inputCommand(in bridge.Input) wire.Command {
	switch in.Type {
	case bridge.Text:
		return wire.Command{Method: input.CommandInsertText,
			Params: input.InsertTextParams{Text: in.Text}}
	case bridge.KeyDown, bridge.KeyUp:
		return wire.Command{Method: input.CommandDispatchKeyEvent, Params: keyEvent(in)}
	case bridge.MouseMove, bridge.MouseDown, bridge.MouseUp, bridge.Wheel, bridge.Back, bridge.Reload:
	}
	ev := input.DispatchMouseEventParams{Type: mouseTypes[in.Type], X: in.X, Y: in.Y,
		Modifiers: int64(in.Modifiers), Button: input.MouseButton(in.Button),
		ClickCount: int64(in.Clicks)}
	if in.Button == "" {
		ev.Button = input.MouseButtonNone
	}
	if in.Type != bridge.MouseUp {
		ev.Buttons = buttons[in.Button] // while it is dragged, too
	}
	if in.Type == bridge.Wheel {
		return wire.Command{Method: input.CommandDispatchMouseEvent,
			Params: wheelEvent{ev, in.DX, in.DY}}
	}
	return wire.Command{Method: input.CommandDispatchMouseEvent, Params: ev}
}

// wheelEvent has both distances, also when one is zero: the browser refuses a
// wheel without them.
type wheelEvent struct {
	input.DispatchMouseEventParams

	DeltaX float64 `json:"deltaX"`
	DeltaY float64 `json:"deltaY"`
}

// virtualKeys are the numbers of the keys that do something without a text (UI
// Events, the table of fixed virtual key codes).
var virtualKeys = map[string]int64{
	"Backspace": 8, "Tab": 9, "Enter": 13, "Shift": 16, "Control": 17, "Alt": 18, "Escape": 27, " ": 32, "PageUp": 33, "PageDown": 34, "End": 35, "Home": 36,
	"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Insert": 45, "Delete": 46, "Meta": 91,
	"F1": 112, "F2": 113, "F3": 114, "F4": 115, "F5": 116, "F6": 117, "F7": 118, "F8": 119, "F9": 120, "F10": 121, "F11": 122, "F12": 123,
}

func keyEvent(in bridge.Input) input.DispatchKeyEventParams {
	ev := input.DispatchKeyEventParams{Type: input.DispatchKeyEventTypeKeyUp,
		Modifiers: int64(in.Modifiers), Key: in.Key, Code: in.Code,
		WindowsVirtualKeyCode: virtualKeys[in.Key]}
	if len(in.Key) == 1 && ev.WindowsVirtualKeyCode == 0 {
		switch c := in.Key[0]; {
		case c >= 'a' && c <= 'z':
			ev.WindowsVirtualKeyCode = int64(c - 'a' + 'A')
		case c >= 'A' && c <= 'Z' || c >= '0' && c <= '9':
			ev.WindowsVirtualKeyCode = int64(c)
		}
	}
	if in.Type == bridge.KeyUp {
		return ev
	}
	ev.Type, ev.Text = input.DispatchKeyEventTypeKeyDown, in.Text
	if in.Key == "Enter" && ev.Text == "" {
		ev.Text = "\r"
	}
	if ev.Text == "" {
		ev.Type = input.DispatchKeyEventTypeRawKeyDown
	}
	return ev
}
