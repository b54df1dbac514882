package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/hosts"
)

const dialog = "dialog"

// Humans is the person of one run of a case. For each question it takes the first entry that fits
// and is not used up. It is safe for concurrent use.
type Humans struct {
	mu      sync.Mutex
	entries []Entry
	used    []int
}

// NewHumans returns the person that answers by these entries, with their references expanded in
// this scope. The error names the first reference that stands for nothing.
func NewHumans(entries []Entry, scope *Scope) (*Humans, error) {
	h := &Humans{entries: slices.Clone(entries), used: make([]int, len(entries))}
	for i := range h.entries {
		e := &h.entries[i]
		for _, v := range []*Value{&e.Title, &e.Message, &e.On.Title, &e.On.Tool, &e.Answer.Value} {
			var err error
			if *v, err = scope.Expand(*v); err != nil {
				return nil, fmt.Errorf("line %d: human: %w", e.Line, err)
			}
		}
	}
	return h, nil
}

// Add adds answers at the end.
func (h *Humans) Add(entries ...Entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, entries...)
	h.used = append(h.used, make([]int, len(entries))...)
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
		quoted(q.Tool), quoted(q.Title), quoted(q.Message))
	advice := "write an answer for it under human"
	if len(why) > 0 {
		advice = "of human, " + strings.Join(why[:min(len(why), 5)], "; ")
	}
	return Answer{}, fmt.Errorf("%s; %s", visible(asked), visible(advice))
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

// person is who is asked in one attempt: it answers by the script of the case, wherever the
// answer is given. It is safe for concurrent use.
type person struct {
	humans *Humans
	bridge *bridge.Bridge
	caller string // whose questions they are
	host   *hosts.Host

	mu      sync.Mutex
	open    []bridge.OpenQuestion
	changes bridge.Changes // of open
	decided map[string]Answer
	busy    map[string]bool // questions that a client shows now
	wrong   []string
	took    time.Duration

	tracing *tracing // of its attempt; nil without one
}

func newPerson(humans *Humans, b *bridge.Bridge, caller string) *person {
	return &person{humans: humans, bridge: b, caller: caller,
		decided: map[string]Answer{}, busy: map[string]bool{}}
}

// watch follows the questions of the caller until ctx ends.
func (p *person) watch(ctx context.Context) {
	var in bridge.Inbox
	for ev := range p.bridge.Watch(ctx, bridge.Interest{Caller: operator(), Runs: true}) {
		if !in.Take(ev) {
			continue
		}
		mine := slices.DeleteFunc(in.Questions(), func(q bridge.OpenQuestion) bool {
			return q.Caller != p.caller
		})
		p.mu.Lock()
		p.open = mine
		p.changes.Signal()
		p.mu.Unlock()
	}
}

// until waits until ok is true for the questions that are open.
func (p *person) until(ctx context.Context, ok func([]bridge.OpenQuestion) bool) error {
	for {
		p.mu.Lock()
		done, changed := ok(p.open), p.changes.Next()
		p.mu.Unlock()
		if done {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// over waits until a question is not open any more. It looks by itself: who is asked may know of
// the question before watch does.
func (p *person) over(ctx context.Context, id string) error {
	looking, cancel := context.WithCancel(ctx)
	defer cancel()
	var in bridge.Inbox
	for ev := range p.bridge.Watch(looking, bridge.Interest{Caller: operator(), Runs: true}) {
		in.Take(ev)
		if !slices.ContainsFunc(in.Questions(), func(q bridge.OpenQuestion) bool { return q.ID == id }) {
			return nil
		}
	}
	return context.Cause(ctx)
}

// find waits for an open question that fits, which nobody else has found, and returns it. The
// caller lets go of it.
func (p *person) find(ctx context.Context, fits func(*bridge.Question) bool,
) (found bridge.Question, err error) {
	err = p.until(ctx, func(open []bridge.OpenQuestion) bool {
		for _, q := range open {
			if fits(&q.Question) && !p.busy[q.ID] {
				p.busy[q.ID] = true
				found = q.Question
				return true
			}
		}
		return false
	})
	return found, err
}

func (p *person) letGo(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.busy, id)
}

// complain notes something that fails the case.
func (p *person) complain(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wrong = append(p.wrong, visible(fmt.Sprintf(format, args...)))
}

// complaints returns what was noted, and how long the person took, since it was called last.
func (p *person) complaints() (wrong string, took time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if wrong, took = "", p.took; len(p.wrong) > 0 {
		wrong = p.wrong[0]
	}
	if more := len(p.wrong) - 1; more > 0 {
		wrong += fmt.Sprintf("; and %d more like that", more)
	}
	p.wrong, p.took = nil, 0
	return wrong, took
}

// decide says what the person does with a question, always the same, after the time that it takes.
// A question for which nothing is written is declined, and fails the case.
func (p *person) decide(ctx context.Context, q *bridge.Question) (a Answer) {
	p.mu.Lock()
	a, known := p.decided[q.ID]
	p.mu.Unlock()
	if known && q.ID != "" {
		return a
	}
	began := time.Now()
	defer func() { p.tracing.asked(q, &a, began) }()
	if p.host != nil {
		if can, known := p.host.CanAsk(string(q.Kind)); known && !can {
			p.complain("the page asks by %s, which a person cannot be shown by %s", q.Kind, p.host.Name)
		}
	}
	asked := Question{Kind: q.Kind, Tool: q.Tool, Title: q.Title, Message: q.Detail}
	a, err := p.humans.Next(asked)
	for err == nil && a.Act == Refused {
		p.refused(q)
		a, err = p.humans.Next(asked)
	}
	if err != nil {
		p.complain("%s", err.Error())
		a = Answer{Act: Decline}
	}
	if v := a.Value.n; v != nil && q.Kind == bridge.Prompt && v.kind != '"' {
		p.complain("line %d: the page asks for a text by prompt(), and the answer is another value",
			a.Value.Position().Line)
		a = Answer{Act: Decline}
	}
	p.mu.Lock()
	p.decided[q.ID] = a
	p.took += a.After
	p.mu.Unlock()
	if a.After > 0 && a.Act != Ignore && a.Act != Late {
		timer := time.NewTimer(a.After)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	return a
}

// refused answers as somebody who may not: the question must stay open.
func (p *person) refused(q *bridge.Question) {
	stranger := bridge.Caller{Name: "stranger", May: []bridge.Right{bridge.MayCall}}
	err := p.bridge.Answer(stranger, q.ID, bridge.Answer{OK: true})
	if err == nil || bridge.AsError(err).Code != bridge.Forbidden {
		p.complain("an answer of somebody who may not give it was not refused as %s", bridge.Forbidden)
	}
}

// silent reports whether the person does not answer.
func (a *Answer) silent() bool { return a.Act == Ignore || a.Act == Late }

// outlast waits until a question has ended without an answer. An answer that is late must be
// refused then.
func (p *person) outlast(ctx context.Context, q *bridge.Question, a Answer) {
	began := time.Now()
	err := p.over(ctx, q.ID)
	p.mu.Lock()
	p.took += time.Since(began)
	p.mu.Unlock()
	if err == nil && a.Act == Late {
		p.again(q, "after the question had ended")
	}
}

// again answers a question that is over, which must be refused.
func (p *person) again(q *bridge.Question, when string) {
	err := p.bridge.Answer(operator(), q.ID, bridge.Answer{OK: true})
	if err == nil || bridge.AsError(err).Code != bridge.Conflict {
		p.complain("an answer %s was not refused as %s", when, bridge.Conflict)
	}
}

// operate answers where operators do.
func (p *person) operate(q *bridge.Question, a Answer) {
	err := p.bridge.Answer(operator(), q.ID, a.of(q))
	if err != nil {
		p.complain("the answer to %s %s was refused: %s", q.Kind, quoted(q.Detail),
			bridge.AsError(err).Message)
		_ = p.bridge.Answer(operator(), q.ID, bridge.Answer{}) // so that the call goes on
	}
	if err == nil && a.Act == Twice {
		p.again(q, "given twice")
	}
}

// of is the answer in the words of the bridge.
func (a *Answer) of(q *bridge.Question) bridge.Answer {
	out := bridge.Answer{OK: a.Act != Decline && !a.silent()}
	switch {
	case !out.OK:
	case a.Value.Exists():
		out.Value, _ = a.Value.JSON() // expanded, and without matchers
	case a.Act == Fill && len(q.Schema) > 0:
		out.Value = filled(q.Schema)
	}
	return out
}

// filled is a value with everything that the schema of a question has, as far as one can be made.
func filled(s json.RawMessage) json.RawMessage {
	all := schema.Samples(s, false)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Input
}
