package mcp

import (
	"bytes"
	"encoding/json"

	"github.com/go-json-experiment/json/jsontext"
)

// maxID bounds an id that is looked for, in bytes.
const maxID = 1 << 10

// idFinder finds the id of a message that is refused without being read: too long, too
// deep, or with a member twice. A client whose reply has no id waits for it until its
// time is over. It takes the text in parts, and keeps none of it.
type idFinder struct {
	depth         int
	text, escaped bool   // inside of a string, behind a backslash there
	token         []byte // a name or a value of the message
	name          []byte // of the value
	id            []byte
	ids           int
	broken        bool // not an object
}

// Write takes the next part. It never fails.
func (f *idFinder) Write(part []byte) (int, error) {
	for _, c := range part {
		f.next(c)
	}
	return len(part), nil
}

func (f *idFinder) next(c byte) {
	if f.text {
		f.keep(c)
		switch {
		case f.escaped:
			f.escaped = false
		case c == '\\':
			f.escaped = true
		case c == '"':
			f.text = false
		}
		return
	}
	switch c {
	case ' ', '\t', '\r', '\n':
	case '{', '[':
		f.keep(c)
		f.broken = f.broken || f.depth == 0 && c == '['
		f.depth++
	case '}', ']', ',':
		if f.depth == 1 {
			f.end()
		}
		if c != ',' {
			f.depth--
		}
	case ':':
		if f.depth == 1 {
			f.name, f.token = append(f.name[:0], f.token...), f.token[:0]
		}
	default:
		f.text = c == '"'
		f.keep(c)
	}
}

func (f *idFinder) keep(c byte) {
	if f.depth == 1 && len(f.token) <= maxID {
		f.token = append(f.token, c)
	}
}

// end takes a member of the message.
func (f *idFinder) end() {
	if string(f.name) == `"id"` {
		f.id = append(f.id[:0], f.token...)
		f.ids++
	}
	f.name, f.token = f.name[:0], f.token[:0]
}

// found returns the id, or nil: where there is none, or several.
func (f *idFinder) found() json.RawMessage {
	if f.broken || f.ids != 1 || len(f.id) > maxID || !isScalar(f.id) || !jsontext.Value(f.id).IsValid() {
		return nil
	}
	return bytes.Clone(f.id)
}

func findID(text []byte) json.RawMessage {
	var f idFinder
	_, _ = f.Write(text)
	return f.found()
}
