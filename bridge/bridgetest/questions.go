package bridgetest

import (
	"context"
	"encoding/json"

	"github.com/pagetools/pagetools/bridge"
)

// Questions returns the questions that are open now, as an operator sees them.
func Questions(b *bridge.Bridge, operator bridge.Caller) []bridge.OpenQuestion {
	return Await(b, operator, func([]bridge.OpenQuestion) bool { return true })
}

// Await returns the open questions when they are as wanted.
func Await(b *bridge.Bridge, operator bridge.Caller,
	wanted func([]bridge.OpenQuestion) bool) []bridge.OpenQuestion {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var inbox bridge.Inbox
	for ev := range b.Watch(ctx, bridge.Interest{Caller: operator, Runs: true}) {
		if inbox.Take(ev); wanted(inbox.Questions()) {
			break
		}
	}
	return inbox.Questions()
}

// Asks is the step of a tool that asks, and then comes to what next returns.
func Asks(q bridge.Question, next func(*bridge.Answer) bridge.Step) bridge.Step {
	return bridge.Step{Pause: &bridge.Pause{Question: q, Continue: func(_ context.Context, a *bridge.Answer) bridge.Step { return next(a) }}}
}

// Then is a step with this result, whatever the answer was.
func Then(data string) func(*bridge.Answer) bridge.Step {
	return func(*bridge.Answer) bridge.Step { return bridge.Step{Data: json.RawMessage(data)} }
}

// JSON returns a value that a test writes down. It panics when that is not JSON.
func JSON(text string) bridge.Value {
	v, err := bridge.ReadValue("a test's JSON", json.RawMessage(text))
	if err != nil {
		panic(err)
	}
	return v
}
