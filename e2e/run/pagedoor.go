package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// pageDoor is the page's own executeTool. The person answers the dialogs of the page.
type pageDoor struct {
	probe  *session.Probe
	person *person
	limit  time.Duration // of a call
	// arrived waits until the page counts as opened where a step left it.
	arrived func(context.Context, bridge.Step) error

	mu    sync.Mutex // guards the rest
	last  bridge.Step
	calls int    // that run
	stop  func() // ends the watch for questions
}

func (d *pageDoor) close() {}

// names lists the tools of a page that is not on its way to another place.
func (d *pageDoor) names(ctx context.Context) ([]string, error) {
	d.mu.Lock()
	last := d.last
	d.mu.Unlock()
	if err := d.arrived(ctx, last); err != nil {
		return nil, err
	}
	return d.probe.Names(ctx)
}

func (d *pageDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	names, err := d.names(ctx)
	if err != nil {
		return result{}, err
	}
	if !slices.Contains(names, tool) {
		near := text.Nearest(tool, names)
		if near != "" {
			near = "; there is " + scenario.Quoted(near)
		}
		return result{err: failure(bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"The page does not offer %s now%s.", scenario.Quoted(tool), near))}, nil
	}
	defer d.attend(ctx)()
	left := d.limit
	running := func() (context.Context, context.CancelFunc) {
		return context.WithTimeoutCause(ctx, left, bridge.TimedOut(d.limit))
	}
	began := time.Now()
	bounded, cancel := running()
	step := d.probe.Execute(bounded, tool, with)
	cancel()
	for asked := 0; step.Pause != nil; asked++ {
		left = max(left-time.Since(began), time.Millisecond)
		answer := d.answer(ctx, step.Pause, tool, asked)
		began = time.Now()
		bounded, cancel := running()
		step = step.Pause.Continue(bounded, answer)
		cancel()
	}
	d.mu.Lock()
	d.last = step
	d.mu.Unlock()
	if step.Err != nil && step.Err.Reason == bridge.AwaitingSubmission {
		return result{}, errNotWaited
	}
	return resultOfPage(step), nil
}

// resultOfPage returns the result of executeTool: a string, or an error without words. A form
// returns its outcome, as in the other doors; null stands for one in a frame, which is not
// followed.
func resultOfPage(step bridge.Step) result {
	if e := step.Err; e != nil {
		return result{err: failure(e), silent: e.Code == bridge.ToolError && e.Reason == ""}
	}
	var text string
	switch {
	case string(step.Data) == "null":
		return result{forms: []json.RawMessage{step.Data}, left: true}
	case json.Unmarshal(step.Data, &text) != nil:
		return result{forms: []json.RawMessage{step.Data}}
	}
	return result{forms: formsOfText(text)}
}

// attend lets the person act in the page whenever a tool that runs asks for that, until the
// function that it returns is called. Nobody attends to a page in whose case the person does
// nothing there.
func (d *pageDoor) attend(ctx context.Context) (leave func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.person.humans.Acts() {
		return func() {}
	}
	if d.calls++; d.calls == 1 {
		watching, end := context.WithCancel(ctx)
		over := make(chan struct{})
		d.stop = func() { end(); <-over }
		go func() {
			defer close(over)
			d.watch(watching)
		}()
	}
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.calls--; d.calls == 0 {
			d.stop()
		}
	}
}

// watch ends with ctx, or with the document, whose tools end then, too.
func (d *pageDoor) watch(ctx context.Context) {
	for {
		tool, err := d.probe.Asked(ctx)
		if err != nil {
			return
		}
		q := bridge.Question{Kind: bridge.Interact, Tool: tool}
		a := d.person.decide(ctx, &q)
		if err := d.person.perform(ctx, a.Gestures); err != nil && ctx.Err() == nil {
			d.person.complain("%s", err.Error())
		}
	}
}

// answer asks the person. It is nil when the page has ended the question.
func (d *pageDoor) answer(ctx context.Context, p *bridge.Pause, tool string, asked int) *bridge.Answer {
	q := p.Question
	q.Tool = tool
	if asked >= mostAsked {
		return &bridge.Answer{}
	}
	a := d.person.decide(ctx, &q)
	select {
	case <-p.Over:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return nil
	}
	answer := answerTo(&q, &a)
	return &answer
}

// errNotWaited ends a case whose form a person has to submit.
var errNotWaited = errors.New("the page's own executeTool does not wait for a person to submit a form")

const fromElicitation = "elicitation"

// lacks says what a case expects that a door does not have, or is "". What a door lacks never
// passes there.
func lacks(s *scenario.Selected) string {
	for i := range s.Case.Human {
		e := &s.Case.Human[i]
		switch {
		case s.Door == scenario.ThroughMCP:
		case s.Door == scenario.ThroughWebtool && e.From != fromElicitation:
		case s.Door == scenario.ThroughWebtool:
			return lack(e.Line, "a webtool does not ask by elicitation")
		case e.Answer.Act == scenario.InPage: // the person acts there, and sees when
		case e.On.Kind == string(bridge.Approve), e.On.Kind == string(bridge.Interact),
			len(e.Answer.Gestures) > 0:
			return lack(e.Line, "the page's own executeTool asks no question of the kind "+
				cmp.Or(e.On.Kind, string(bridge.Interact)))
		case silent(&e.Answer), e.Answer.Act == scenario.Twice, e.Answer.Act == scenario.Refused:
			return lack(e.Line, "a dialog of the page has neither an end nor rights")
		case e.From != "":
			return lack(e.Line, "a dialog of the page is not answered by "+e.From)
		}
	}
	if s.Door != scenario.ThroughPage {
		return ""
	}
	return lackOfSteps(s.Case.Steps)
}

// lackOfSteps looks for errors that only the bridge has.
func lackOfSteps(steps []scenario.Step) string {
	for i := range steps {
		if why := lackOfSteps(steps[i].Parallel); why != "" {
			return why
		}
		if c := steps[i].ErrorCode(); c != "" && c != bridge.ToolError {
			return lack(steps[i].ExpectError.Position().Line, "the page's own executeTool does not "+
				"have the error "+string(c))
		}
	}
	return ""
}
