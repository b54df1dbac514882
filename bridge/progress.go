package bridge

import (
	"encoding/json"
	"math"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Progress counts the parts of a result that arrives in parts: what a tool of a page yields, or a
// stream of an API.
type Progress struct {
	Parts int
	// Last is the last of the parts, as the site sent it. One that is longer than maxLast is
	// replaced by a part of which Told says the same.
	Last json.RawMessage
}

// maxLast bounds what is held of a part, and maxTold what is told of it, in bytes.
const maxLast, maxTold = 8 << 10, 1 << 10

// maxNumber bounds the numbers of parts, so that a larger one always follows.
const maxNumber = 1 << 50

// Told holds what a part says of the progress, in the page's own words.
type Told struct {
	Message string   `json:"message,omitempty"`  // one line, cleaned, of at most 1 KiB
	At      *float64 `json:"progress,omitempty"` // nil when the part does not say
	Total   *float64 `json:"total,omitempty"`    // the same
}

// Told reads the last part. A string is its message; an object of message, progress and total, or
// of some of them, says what they are; of anything else the message is its JSON.
func (p Progress) Told() Told {
	if whole, err := schema.WellFormed(p.Last); err == nil {
		p.Last = whole
	}
	v, err := schema.Read(p.Last, maxInputDepth*2)
	if err != nil {
		return Told{Message: line(string(p.Last))}
	}
	if v.IsString() {
		return Told{Message: line(v.String())}
	}
	var said Told
	known := 0
	if message := v.Get("message"); message.IsString() {
		said.Message, known = line(message.String()), known+1
	}
	for name, into := range map[string]**float64{"progress": &said.At, "total": &said.Total} {
		if n, ok := number(v.Get(name)); ok {
			*into, known = &n, known+1
		}
	}
	if known == 0 || known < v.Len() {
		return Told{Message: line(string(p.Last))}
	}
	return said
}

func number(v Value) (n float64, ok bool) {
	if json.Unmarshal(v.Text(), &n) != nil || v.IsNull() {
		return 0, false
	}
	return n, math.Abs(n) <= maxNumber
}

// line returns a stranger's text as a message.
func line(s string) string {
	clean := text.Line(text.Bytes(s, maxLast))
	if len(clean) <= maxTold {
		return clean
	}
	return text.Bytes(clean, maxTold-len("…")) + "…"
}

// Progress returns how far a result has come that arrives in parts, nil before the first of them,
// and a channel that is closed when there are more.
func (r *Run) Progress() (p *Progress, more <-chan struct{}) {
	more = r.parted.Next()
	return r.progress.Load(), more
}

// brief returns the progress with a last part that says the same, and is no longer than it must be.
func (p Progress) brief() *Progress {
	said := p.Told()
	if p.Last = schema.MustEncode(said.Message); said.At != nil || said.Total != nil {
		p.Last = schema.MustEncode(said)
	}
	return &p
}

// progressed takes how far the result has come.
func (r *Run) progressed(p Progress) {
	now := &p
	if len(p.Last) > maxLast {
		now = p.brief()
	}
	r.progress.Store(now)
	r.mu.Lock()
	r.tally.count(r.pass.bridge.pipe.now())
	r.mu.Unlock()
	r.parted.Signal()
	if of := r.pass.recording; of != nil {
		of.Progressed(p)
	}
}
