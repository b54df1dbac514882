package e2e

import (
	"encoding/json"
	"fmt"
	"runtime"
	"slices"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Answer is the person's answer to a question. It fits the questions whose message it has, or
// all with "", and of these the ones of [Answer.To].
type Answer struct {
	act     scenario.Act
	message string
	kind    bridge.Kind
	value   any
	valued  bool
	acts    []Gesture
}

// Gesture is one thing that the person does in the page, where a CSS selector finds one element, in
// open shadow trees, too. "HOST >>> SELECTOR" looks in the shadow tree of a host.
type Gesture struct{ do, selector, with string }

// Click clicks an element.
func Click(selector string) Gesture { return Gesture{do: scenario.DoClick, selector: selector} }

// FillIn types a text in the place of what a field has. Dates and their like are written as HTML
// has them, such as "2026-01-31".
func FillIn(selector, text string) Gesture {
	return Gesture{do: scenario.DoFill, selector: selector, with: text}
}

// Choose chooses an option of a list by its text or its value, or a file, whose path is relative to
// the folder of the test.
func Choose(selector, option string) Gesture {
	return Gesture{do: scenario.DoChoose, selector: selector, with: option}
}

// Act does something in the page that asks with this message, which ends the question by itself; ""
// is any.
func Act(message string, all ...Gesture) Answer {
	return Answer{act: scenario.InPage, message: message, acts: all}
}

// Acting returns the answer with what the person does in the page before it.
func (a Answer) Acting(all ...Gesture) Answer {
	a.acts = slices.Concat(a.acts, all)
	return a
}

// Accept accepts a question with this message, such as "Buy product 42?"; "" is any.
func Accept(message string) Answer { return Answer{act: scenario.Accept, message: message} }

// Decline declines a question with this message; "" is any.
func Decline(message string) Answer { return Answer{act: scenario.Decline, message: message} }

// Fill accepts a question with this message, and fills in a value: a string for prompt(), or a Go
// value that JSON has for what the page asks by requestUserInteraction. With nil the value is made
// from the schema of the question.
func Fill(message string, value any) Answer {
	if value == nil {
		return Answer{act: scenario.Fill, message: message}
	}
	return Answer{act: scenario.Accept, message: message, value: value, valued: true}
}

// Ignore leaves a question with this message unanswered until it ends, after five seconds; "" is
// any.
func Ignore(message string) Answer { return Answer{act: scenario.Ignore, message: message} }

// To returns the answer for questions of one kind only: [bridge.Approve] for consent to a call,
// [bridge.Confirm] and [bridge.Prompt] for dialogs, and [bridge.Interact] for what the page asks by
// requestUserInteraction, and for forms.
func (a Answer) To(kind bridge.Kind) Answer {
	a.kind = kind
	return a
}

// Human says what the person answers who is asked. Each answer is for one question; of those that
// fit a question, the first that is left is taken. The test fails when a question has no answer,
// and when an answer is left at its end.
func (p *Page) Human(answers ...Answer) {
	p.t.Helper()
	_, _, line, _ := runtime.Caller(1)
	for _, a := range answers {
		e, err := a.entry(line)
		if err == nil {
			err = p.visit.Answers(e)
		}
		if err != nil {
			p.t.Fatalf("Human: %s", plain(err))
		}
	}
}

func (a Answer) entry(line int) (e scenario.Entry, err error) {
	if a.act == "" {
		return e, fmt.Errorf("an answer says nothing: use Accept, Decline, Fill or Ignore")
	}
	e = scenario.Entry{Position: scenario.Position{Line: line}, Times: 1}
	e.On.Kind, e.Answer.Act = string(a.kind), a.act
	if a.message != "" {
		if e.Message, err = literal(a.message); err != nil {
			return e, err
		}
	}
	if a.valued {
		e.Answer.Value, err = literal(a.value)
	}
	if len(a.acts) == 0 && a.act == scenario.InPage || len(a.acts) > 0 && a.act == scenario.Ignore {
		return e, fmt.Errorf("an answer says nothing: name what the person does, and use Act, Accept " +
			"or Decline")
	}
	for _, g := range a.acts {
		does := scenario.Gesture{Position: e.Position}
		switch g.do {
		case scenario.DoClick:
			does.Click = g.selector
		case scenario.DoFill:
			does.Fill = g.selector
		default:
			does.Choose = g.selector
		}
		if g.do != scenario.DoClick && err == nil {
			does.With, err = literal(g.with)
		}
		e.Answer.Gestures = append(e.Answer.Gestures, does)
	}
	return e, err
}

func literal(value any) (scenario.Value, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return scenario.Value{}, err
	}
	return scenario.Literal(text)
}

// kindOf says which questions an answer is for.
func kindOf(e *scenario.Entry) string {
	kind := "any question"
	if e.On.Kind != "" {
		kind = "a question of the kind " + e.On.Kind
	}
	if text, err := e.Message.JSON(); err == nil {
		kind += " with the message " + string(text)
	}
	return kind
}
