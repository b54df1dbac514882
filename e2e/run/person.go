package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/hosts"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// person is asked in one attempt: it answers by the script of the case, wherever the
// answer is given. It is safe for concurrent use.
type person struct {
	humans  scenario.Humans
	bridge  *bridge.Bridge
	ref     bridge.Ref // whose questions they are
	host    *hosts.Host
	tracing *tracing // of its attempt; nil without one
	secrets *secrets // those too
	hand    session.Driver
	from    *scenario.File // whose person it is: files that it chooses are beside it

	deciding sync.Mutex // guards the rest
	decided  map[string]scenario.Answer
	wrong    []string
	took     time.Duration
}

func (p *person) question(id string) *bridge.Question {
	for _, run := range p.bridge.Waiting(p.ref) {
		if q := run.Asks(); q != nil && q.ID == id {
			return q
		}
	}
	return nil
}

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

func (p *person) complain(format string, args ...any) {
	p.deciding.Lock()
	defer p.deciding.Unlock()
	p.wrong = append(p.wrong, text.EscapeLine(fmt.Sprintf(format, args...)))
}

// complaints returns what was noted, and how long the person took, since it was called last.
func (p *person) complaints() (wrong string, took time.Duration) {
	p.deciding.Lock()
	defer p.deciding.Unlock()
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
func (p *person) decide(ctx context.Context, q *bridge.Question) (a scenario.Answer) {
	p.deciding.Lock()
	a, known := p.decided[q.ID]
	p.deciding.Unlock()
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
	defer func() {
		if value, err := a.Value.JSON(); a.Value.Exists() && err == nil {
			p.secrets.add(q.Schema, value)
		}
	}()
	asked := scenario.Question{Kind: q.Kind, Tool: q.Tool, Title: q.Title, Message: q.Detail}
	a, err := p.humans.Next(asked)
	for err == nil && a.Act == scenario.Refused {
		p.refused(q)
		a, err = p.humans.Next(asked)
	}
	if err != nil {
		p.complain("%s", err.Error())
		a = scenario.Answer{Act: scenario.Decline}
	}
	if value, err := a.Value.JSON(); err == nil && q.Kind == bridge.Prompt && !scenario.ReadAgain(value).IsString() {
		p.complain("line %d: the page asks for a text by prompt(), and the answer is another value",
			a.Value.Position().Line)
		a = scenario.Answer{Act: scenario.Decline}
	}
	p.deciding.Lock()
	p.decided[q.ID] = a
	p.took += a.After
	p.deciding.Unlock()
	if a.After > 0 && a.Act != scenario.Ignore && a.Act != scenario.Late {
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
func silent(a *scenario.Answer) bool { return a.Act == scenario.Ignore || a.Act == scenario.Late }

// outlast waits until a question has ended without an answer. An answer that is late must be
// refused then.
func (p *person) outlast(ctx context.Context, q *bridge.Question, a scenario.Answer) {
	began := time.Now()
	err := p.over(ctx, q.ID)
	p.deciding.Lock()
	p.took += time.Since(began)
	p.deciding.Unlock()
	if err == nil && a.Act == scenario.Late {
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
func (p *person) operate(q *bridge.Question, a scenario.Answer) {
	err := p.bridge.Answer(operator(), q.ID, answerTo(q, &a))
	if err != nil {
		p.complain("the answer to %s %s was refused: %s", q.Kind, scenario.Quoted(q.Detail),
			bridge.AsError(err).Message)
		_ = p.bridge.Answer(operator(), q.ID, bridge.Answer{}) // so that the call goes on
	}
	if err == nil && a.Act == scenario.Twice {
		p.again(q, "given twice")
	}
}

// answerTo is the answer in the words of the bridge.
func answerTo(q *bridge.Question, a *scenario.Answer) bridge.Answer {
	out := bridge.Answer{OK: a.Act != scenario.Decline && !silent(a)}
	switch {
	case !out.OK:
	case a.Value.Exists():
		out.Value, _ = a.Value.JSON() // expanded, and without matchers
	case a.Act == scenario.Fill && len(q.Schema) > 0:
		out.Value = filled(q.Schema)
	}
	return out
}

// filled is a value that fits the schema of a question, as far as one can be made.
func filled(s json.RawMessage) json.RawMessage {
	all := schema.Samples(s, false)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Input
}
