package run

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// mostTurns bounds the calls of a model that does not come to an end.
const mostTurns = 50

// converse lets a model make the calls, and judges them.
func (t *attempt) converse(ctx context.Context) *report.Failure {
	wrong := func(why string) *report.Failure {
		return &report.Failure{Step: "model", Line: t.c.Line, Message: why}
	}
	messages := append([]scenario.Message{}, t.c.Eval.Messages...)
	var calls []scenario.ModelCall
	for {
		tools, err := t.toolsNow(ctx)
		var next *scenario.ModelCall
		if err == nil {
			next, err = t.o.Model(ctx, &scenario.ModelRequest{Messages: messages, Tools: tools})
		}
		if err != nil {
			return wrong("the model: " + said(ctx, err))
		}
		if next == nil {
			break
		}
		if len(calls) == mostTurns {
			return wrong(fmt.Sprintf("the model called more than %d times", mostTurns))
		}
		s := &scenario.Step{Position: t.c.Position, Call: next.Name}
		response, f := t.played(ctx, s, next)
		if f != nil {
			return f
		}
		calls = append(calls, *next)
		messages = append(messages, scenario.Message{Role: "model", Type: "functioncall",
			Name: next.Name, Arguments: next.Arguments}, scenario.Message{Role: "user",
			Type: "functionresponse", Name: next.Name, Response: response})
	}
	if m := t.c.Eval.Judge(calls); m != nil {
		f := wrong("the model: " + m.Why)
		f.Path, f.Expected, f.Actual = m.Path, m.Expected, m.Actual
		return f
	}
	if t.c.Eval.Tools != nil {
		s := scenario.Step{Position: t.c.Position, Tools: &scenario.Tools{Position: t.c.Position,
			Include: t.c.Eval.Tools, Eventually: scenario.Eventually(scenario.DefaultWait)}}
		if f := t.list(ctx, &s); f != nil {
			return f
		}
	}
	return t.leftOver()
}

// played makes a call of the model, and returns what the model is told of it: the result, or the
// error. A question without an answer is a failure.
func (t *attempt) played(ctx context.Context, s *scenario.Step, call *scenario.ModelCall,
) (json.RawMessage, *report.Failure) {
	t.remember(ctx)
	began := time.Now()
	t.tracing.begin(s, nil, s.Title(), t.on.file.Name, s.Line)
	defer t.tracing.over(s, nil)
	shown := t.hide(call.Name, call.Arguments)
	r, err := t.way.call(ctx, call.Name, call.Arguments)
	t.tracing.called(s, shown, &r, err)
	if err != nil || ctx.Err() != nil {
		return nil, failed(s, said(ctx, err))
	}
	if wrong, _ := t.person.complaints(); wrong != "" {
		return nil, failed(s, wrong)
	}
	t.finished = append(t.finished, report.Step{Name: s.Title(), Line: s.Line, Status: report.Passed,
		Took: time.Since(began)})
	if r.err != nil {
		return r.err, nil
	}
	t.on.tools.ran(call.Name)
	call.Result = r.forms[0]
	return call.Result, nil
}

func (t *attempt) toolsNow(ctx context.Context) ([]scenario.ModelTool, error) {
	names, err := t.way.names(ctx)
	if err != nil {
		return nil, err
	}
	c, err := t.on.app.Manager.Catalog(t.ref)
	if err != nil {
		return nil, err
	}
	all := []scenario.ModelTool{}
	for _, tool := range c.Tools() {
		if slices.Contains(names, tool.Name()) {
			all = append(all, scenario.ModelTool{Name: tool.Name(),
				Description: tool.Description(), InputSchema: tool.InputSchema()})
		}
	}
	return all, nil
}
