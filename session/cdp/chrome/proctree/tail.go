package proctree

import (
	"bytes"
	"sync"
)

// Tail keeps the last bytes of what a process says. It is safe for concurrent use.
type Tail struct {
	// Most limits the bytes; zero keeps none.
	Most int

	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, b...)
	t.text = bytes.Clone(t.text[max(0, len(t.text)-t.Most):])
	return len(b), nil
}

// String returns them, without space around them.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(bytes.TrimSpace(t.text))
}
