package schema

import (
	"encoding/json"
	"sync"
	"weak"
)

// Text is JSON that can be written again. It is kept until garbage is collected: who asks often
// gets what there is, and what nobody asks for takes no memory. Safe for concurrent use.
type Text struct {
	mu   sync.Mutex
	last weak.Pointer[json.RawMessage]
}

// Get returns what write wrote last, or writes it again. It must not be changed.
func (t *Text) Get(write func() json.RawMessage) json.RawMessage {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.last.Value(); last != nil {
		return *last
	}
	text := write()
	t.last = weak.Make(&text)
	return text
}
