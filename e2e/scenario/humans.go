package scenario

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

const dialog = "dialog"

// Humans is the person of one run of a case. For each question it takes the first entry that fits
// and is not used up. The zero value answers nothing. It is safe for concurrent use.
type Humans struct {
	mu      sync.Mutex
	entries []Entry
	used    []int
}

// Add adds answers at the end, with their references expanded in this scope. The error names the
// first reference that stands for nothing.
func (h *Humans) Add(scope *Scope, entries ...Entry) error {
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		e.Answer.Gestures = slices.Clone(e.Answer.Gestures)
		values := []*Value{&e.Title, &e.Message, &e.On.Title, &e.On.Tool, &e.Answer.Value}
		for i := range e.Answer.Gestures {
			values = append(values, &e.Answer.Gestures[i].With)
		}
		for _, v := range values {
			var err error
			if *v, err = scope.Expand(*v); err != nil {
				return fmt.Errorf("line %d: human: %w", e.Line, err)
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entries...)
	h.used = append(h.used, make([]int, len(entries))...)
	return nil
}

// Next returns what the person does with a question. The error says that no entry is left for it,
// which fails the case: the question counts as declined then.
func (h *Humans) Next(q Question) (Answer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var why []string
	for i, e := range h.entries {
		reason := "is used up"
		if h.used[i] < e.Times {
			if reason = e.unfit(q); reason == "" {
				h.used[i]++
				return e.Answer, nil
			}
		}
		why = append(why, fmt.Sprintf("line %d %s", e.Line, reason))
	}
	asked := fmt.Sprintf("a question was asked that nobody answers: %s by %s: %s %s", q.Kind,
		Quoted(q.Tool), Quoted(q.Title), Quoted(q.Message))
	advice := "write an answer for it under human"
	if len(why) > 0 {
		advice = "of human, " + strings.Join(why[:min(len(why), 5)], "; ")
	}
	return Answer{}, fmt.Errorf("%s; %s", text.EscapeLine(asked), text.EscapeLine(advice))
}

// Acts reports whether the person does something in the page.
func (h *Humans) Acts() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.entries, func(e Entry) bool { return len(e.Answer.Gestures) > 0 })
}

// Left returns the entries that were used fewer than their times, in order: answers to questions
// that were never asked, which fail the case.
func (h *Humans) Left() []Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	var left []Entry
	for i, e := range h.entries {
		if h.used[i] < e.Times {
			left = append(left, e)
		}
	}
	return left
}

// unfit says why an entry is not for a question, or returns "".
func (e *Entry) unfit(q Question) string {
	kind := string(q.Kind)
	isDialog := q.Kind == bridge.Confirm || q.Kind == bridge.Prompt
	if e.On.Kind != "" && e.On.Kind != kind && (e.On.Kind != dialog || !isDialog) {
		return "is for the kind " + e.On.Kind
	}
	if len(e.Answer.Gestures) > 0 && q.Kind != bridge.Interact {
		return "is done in the page, which a question of the kind " + kind + " does not let a person do"
	}
	if e.Answer.Value.Exists() && (q.Kind == bridge.Approve || q.Kind == bridge.Confirm) {
		return "has a value, and the kind " + kind + " takes none"
	}
	for _, c := range []struct {
		name string
		want Value
		got  string
	}{
		{"tool", e.On.Tool, q.Tool}, {"title", e.On.Title, q.Title}, {"title", e.Title, q.Title},
		{"message", e.Message, q.Message},
	} {
		if !c.want.Exists() {
			continue
		}
		text := schema.AppendString(nil, strings.ToValidUTF8(c.got, "\uFFFD"))
		if m := Match(c.want, text); m != nil {
			return "is for another " + c.name + ": " + strings.TrimSuffix(m.Why, ".")
		}
	}
	return ""
}
