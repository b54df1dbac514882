package bridge

import (
	"context"
	"encoding/json"
	"maps"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/text"
)

// This file is about answers that say more than yes or no: the arguments with which a call may run,
// and why it may not. They are an operator's: neither elicitation nor a card nor config.answer has
// them.

// maxReason bounds the reason of a refusal, in characters.
const maxReason = 200

// Amendment adds to an operator's answer to a question for consent.
type Amendment struct {
	// Input replaces the arguments of a call that may run, which is an object; a Value that does not
	// exist leaves them.
	Input Value
	// Reason tells the caller why the call may not run, in the person's words. It is made one line.
	Reason string
}

// Changed says that a person changed the arguments of a call before it ran.
type Changed struct {
	// By names the person, and Input has the arguments with which the call ran.
	By    string          `json:"by"`
	Input json.RawMessage `json:"input"`
}

// detailChanged is the detail of an error that has the Changed of its call, and detailReason that of
// a refusal with its reason.
const detailChanged, detailReason = "changed", "reason"

// ChangedOf returns how a person changed the arguments of a call that failed, or nil.
func (e *Error) ChangedOf() *Changed {
	c, _ := e.Details[detailChanged].(*Changed)
	return c
}

// AnswerWith is Bridge.Answer with more than yes or no. Its further errors are *Error: SCHEMA_ERROR
// for arguments that the call could not have come with, with their places in details.errors; for
// what does not go with the answer or the question; and for a reason of more than 200 characters.
// The question then stays open.
func AnswerWith(b *Bridge, by Caller, id string, a Answer, more Amendment) error {
	a.input, a.reason = more.Input, text.Line(more.Reason)
	if !by.Can(MayAnswer) {
		return mayNotAnswer()
	}
	r, who, known := b.runs.asking(id)
	switch {
	case r != nil && by.Sees(r.pass.call.Site):
		e := checkAmended(r, id, a)
		if e == nil {
			e = r.answer(id, &a, by.Name)
		}
		if e == nil || e.Code != Conflict {
			return asPlain(e)
		}
		_, who, _ = b.runs.asking(id)
	case !known:
		return Errorf(WebtoolNotFound, "", NotRun, "There is no such question.")
	}
	e := Errorf(Conflict, "", NotRun,
		"The question is not open any more: it expired, or its page took it back.")
	if who != nobody {
		e.Message = "The question was answered already, by " + text.Brief(who, 64) + "."
	}
	return e.Detail("answeredBy", who)
}

// amendable lets a person change the arguments of a call that asks for consent.
type amendable struct {
	schema json.RawMessage    // of the arguments
	check  func(Value) *Error // what the call's own would be refused for
}

// amendable returns how the arguments may be changed, or nil: where the reply could not say so, and
// where nobody is shown all of them, because the tool takes secrets or files.
func (r *passage) amendable() *amendable {
	if !r.call.TellsChanges || r.tool.secrets || r.tool.files {
		return nil
	}
	of := passage{bridge: r.bridge, call: r.call, site: r.site, tool: r.tool, pinned: r.pinned, settings: r.settings}
	return &amendable{r.tool.input.JSON(), func(in Value) *Error {
		changed := of
		changed.consent = &Answer{OK: true, input: in}
		return of.bridge.pipe.checkInput(&Run{pass: changed})
	}}
}

// checkAmended refuses what an answer to the open question adds and may not. Who comes too late hears
// that from answer.
func checkAmended(r *Run, id string, a Answer) *Error {
	r.mu.Lock()
	p := r.pause
	r.mu.Unlock()
	if p == nil || p.Question.ID != id || !a.input.Exists() {
		return nil
	}
	if e := p.Question.check(a); e != nil {
		return e
	}
	if p.amendable == nil {
		return Errorf(SchemaError, "", NotRun, "The arguments of this call cannot be changed: they have files or secrets, "+
			"or its caller could not be told.")
	}
	return p.amendable.check(a.input)
}

// checkAdded refuses what goes with another answer, or another question.
func (q *Question) checkAdded(a Answer) *Error {
	switch {
	case a.input.Exists() && (q.Kind != Approve || !a.OK || a.Always):
		return Errorf(SchemaError, "", NotRun, "Changed arguments go with consent to one call: with ok, and without always.")
	case a.reason != "" && (q.Kind != Approve || a.OK):
		return Errorf(SchemaError, "", NotRun, "A reason goes with a call that is refused before it runs.")
	case utf8.RuneCountInString(a.reason) > maxReason:
		return Errorf(SchemaError, "", NotRun, "The reason has more than %d characters.", maxReason)
	}
	return nil
}

// ArgumentsSchema returns the schema of the arguments that a question is about, for whoever changes
// them, and nil where they cannot be changed. Errors are *Error: those of Bridge.Answer.
func ArgumentsSchema(b *Bridge, by Caller, id string) (json.RawMessage, error) {
	if !by.Can(MayAnswer) {
		return nil, mayNotAnswer()
	}
	r, _, _ := b.runs.asking(id)
	if r == nil || !by.Sees(r.pass.call.Site) {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no such question.")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if p := r.pause; p != nil && p.Question.ID == id && p.amendable != nil {
		return p.amendable.schema, nil
	}
	return nil, nil
}

// given returns the arguments of the call: those of its caller, or those with which a person let it
// run.
func (r *passage) given() Value {
	if r.consent != nil && r.consent.OK && r.consent.input.Exists() {
		return r.consent.input
	}
	return r.call.Input
}

// changed says how a person changed the arguments, or is nil.
func (r *passage) changed() *Changed {
	if r.consent == nil || !r.consent.OK || !r.consent.input.Exists() {
		return nil
	}
	return &Changed{r.consent.by, r.consent.input.Text()}
}

// validateAmended is validate for arguments that a person changed: they did fit, so that the tool, or
// what the operator wants of it, is another one now.
func (pl *pipeline) validateAmended(ctx context.Context, r *Run, next handler) Step {
	if e := pl.checkInput(r); e != nil {
		return Errorf(VersionMismatch, ToolChanged, NotRun, "A person changed the arguments of %q, and the tool changed meanwhile: they do not "+
			"fit any more. Nothing ran.", r.pass.tool.name).With(e).Step()
	}
	return next(ctx, r)
}

// tellChanged adds to the end of a call that a person changed its arguments.
func (r *passage) tellChanged(s Step) Step {
	c := r.changed()
	switch {
	case c == nil || s.Pause != nil:
	case s.Err == nil:
		s.Changed = c
	case s.Err.ChangedOf() == nil:
		own := *s.Err
		own.Details = maps.Clone(own.Details)
		s.Err = own.Detail(detailChanged, c)
	}
	return s
}

// bytes counts what is kept of an outcome.
func (s *Step) bytes() int64 {
	n := int64(len(s.Data))
	if s.Changed != nil {
		n += int64(len(s.Changed.Input))
	}
	return n
}

// slim returns the answer without what is long; nil of nil.
func (a *Answer) slim() *Answer {
	if a == nil || !a.input.Exists() {
		return a
	}
	small := *a
	small.input = Value{}
	return &small
}
