package cdp

import (
	"github.com/chromedp/cdproto/input"

	"github.com/pagetools/pagetools/bridge"
)

// mouseTypes are the types of the protocol.
var mouseTypes = map[bridge.InputType]input.DispatchMouseEventType{
	bridge.MouseMove: input.DispatchMouseEventTypeMouseMoved,
	bridge.MouseDown: input.DispatchMouseEventTypeMousePressed,
	bridge.MouseUp:   input.DispatchMouseEventTypeMouseReleased,
	bridge.Wheel:     input.DispatchMouseEventTypeMouseWheel,
}

// buttons are the bits of the buttons that are held.
var buttons = map[string]int64{"left": 1, "right": 2, "middle": 4}

// inputCommand is what a person does, in the words of the protocol.
func inputCommand(in bridge.Input) command {
	switch in.Type {
	case bridge.Text:
		return command{input.CommandInsertText, input.InsertTextParams{Text: in.Text}}
	case bridge.KeyDown, bridge.KeyUp:
		return command{input.CommandDispatchKeyEvent, keyEvent(in)}
	case bridge.MouseMove, bridge.MouseDown, bridge.MouseUp, bridge.Wheel:
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
		return command{input.CommandDispatchMouseEvent, wheelEvent{ev, in.DX, in.DY}}
	}
	return command{input.CommandDispatchMouseEvent, ev}
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
