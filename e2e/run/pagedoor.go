package run

import (
	"context"
	"encoding/json"
	"slices"
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
}

func (d *pageDoor) close() {}

func (d *pageDoor) names(ctx context.Context) ([]string, error) { return d.probe.Names(ctx) }

func (d *pageDoor) call(ctx context.Context, tool string, with json.RawMessage) (result, error) {
	names, err := d.probe.Names(ctx)
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
	return resultOfPage(step), nil
}

// resultOfPage returns the result of executeTool: a string, null for a form that left the page,
// or an error without words.
func resultOfPage(step bridge.Step) result {
	if e := step.Err; e != nil {
		return result{err: failure(e), silent: e.Code == bridge.ToolError}
	}
	var text *string
	if json.Unmarshal(step.Data, &text) != nil || text == nil {
		return result{forms: []json.RawMessage{json.RawMessage("null")}, left: true}
	}
	return result{forms: formsOfText(*text)}
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
		case e.On.Kind == string(bridge.Approve), e.On.Kind == string(bridge.Interact):
			return lack(e.Line, "the page's own executeTool asks no question of the kind "+e.On.Kind)
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
