package run

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// step runs one step, without its looks at the page.
func (t *attempt) step(ctx context.Context, s *scenario.Step) *report.Failure {
	began := time.Now()
	var f *report.Failure
	switch s.Kind() {
	case scenario.DoCall:
		return t.call(ctx, s)
	case scenario.DoParallel:
		return t.parallel(ctx, s)
	case scenario.DoTools:
		f = t.list(ctx, s)
	case scenario.DoOpen:
		f = t.navigate(ctx, s)
	case scenario.DoReload:
		f = t.went(ctx, s, t.on.app.Manager.Goto(ctx, t.ref, ""))
	case scenario.DoWait:
		f = t.wait(ctx, s)
	default:
		return nil
	}
	if took := time.Since(began); f == nil && s.Within > 0 && took > s.Within {
		f = late(s, took)
	}
	return f
}

func late(s *scenario.Step, took time.Duration) *report.Failure {
	return failed(s, fmt.Sprintf("it took %s, and must end within %s", took.Round(time.Millisecond),
		s.Within))
}

func (t *attempt) call(ctx context.Context, s *scenario.Step) *report.Failure {
	with := json.RawMessage("{}")
	want := s.Expect
	if !want.Exists() {
		want = s.ExpectError
	}
	want, err := t.scope.Expand(want)
	if err == nil && s.With.Exists() {
		var v scenario.Value
		if v, err = t.scope.Expand(s.With); err == nil {
			with, err = v.JSON()
		}
	}
	if err != nil {
		return failed(s, err.Error())
	}
	after, err := t.touches(ctx, s)
	if err != nil {
		return failed(s, said(ctx, err))
	}
	shown := t.hide(s.Call, with)
	began := time.Now()
	r, err := t.way.call(ctx, s.Call, with)
	took := time.Since(began)
	t.tracing.called(s, shown, &r, err)
	if errors.Is(err, errNotWaited) {
		t.halt(lack(s.Line, err.Error()))
	}
	if err != nil || ctx.Err() != nil {
		return failed(s, said(ctx, err))
	}
	wrong, waited := t.person.complaints()
	took = max(took-waited, 0) // without the time of the person
	if r.err == nil || code(r.err) != bridge.WebtoolNotFound {
		t.on.tools.ran(s.Call)
	}
	f := t.compare(s, &r, want)
	switch {
	case wrong != "" && f != nil:
		f.Message = wrong + "; then " + f.Message
	case wrong != "":
		f = failed(s, wrong)
	case f == nil && s.Within > 0 && took > s.Within:
		f = late(s, took)
	case f == nil:
		f = after(ctx)
	}
	if f != nil {
		return f
	}
	t.scope.Keep(s.Ref(), r.text())
	t.writing.Lock()
	defer t.writing.Unlock()
	t.made = append(t.made, made{step: s, got: r, want: want})
	return nil
}

func (t *attempt) compare(s *scenario.Step, r *result, want scenario.Value) *report.Failure {
	if r.left && want.Exists() {
		t.cannotTell(lack(want.Position().Line, "the page's own executeTool does not pass on what "+
			"becomes of a form in a frame"))
		return nil
	}
	if f := r.ended(s, s.ExpectError.Exists()); f != nil {
		if r.err == nil {
			f.Expected = want.String()
		}
		return f
	}
	var m *scenario.Mismatch
	var actual json.RawMessage
	what := "the result"
	switch {
	case r.err == nil:
		t.prefer(s, r)
		r.forms, m = scenario.MatchAny(want, r.forms)
		actual = r.forms[0]
	case r.silent:
		told, more := want.Only("code", "outcome") // of the rest the page is not told
		m, actual, what = scenario.Match(told, r.err), r.err, "the error"
		if more {
			t.cannotTell(lack(want.Position().Line, "the page's own executeTool does not pass on why a "+
				"tool failed"))
		}
	default:
		m, actual, what = scenario.Match(want, r.err), r.err, "the error"
	}
	if m == nil {
		return nil
	}
	if t.o.Accept != nil {
		if t.door == decides(t.c) {
			t.on.tools.changed(want, actual, t.secrets.concealer())
		}
		return nil
	}
	return mismatched(s, what, want.Position(), m)
}

// prefer puts the form of a result first that is of the kind that another door returned.
func (t *attempt) prefer(s *scenario.Step, r *result) {
	for _, other := range t.others {
		for i := range other.made {
			m := &other.made[i]
			if m.step == s && m.got.err == nil {
				r.forms = scenario.LikeFirst(m.got.forms[0], r.forms)
			}
		}
	}
}

// decides is the door whose results are accepted: the one that shows them as files have them.
func decides(c *scenario.Case) scenario.Door {
	for _, door := range []scenario.Door{scenario.ThroughWebtool, scenario.ThroughMCP} {
		if slices.Contains(c.Via, door) {
			return door
		}
	}
	return scenario.ThroughPage
}

func (t *attempt) cannotTell(why string) {
	t.writing.Lock()
	defer t.writing.Unlock()
	t.unheard = why
}

// halt ends the case by cannotTell: the rest depends on this step.
func (t *attempt) halt(why string) {
	t.cannotTell(why)
	t.writing.Lock()
	defer t.writing.Unlock()
	t.halted = true
}

// parallel runs steps at once. The first failure, in the order of the file, counts.
func (t *attempt) parallel(ctx context.Context, s *scenario.Step) *report.Failure {
	failures := make([]*report.Failure, len(s.Parallel))
	var running sync.WaitGroup
	for i := range s.Parallel {
		running.Go(func() { failures[i], _ = t.whole(ctx, &s.Parallel[i], s) })
	}
	running.Wait()
	return cmp.Or(failures...)
}

// Times that something of the page may take that comes after what a step did.
const (
	lookPatience = time.Second
	lookEvery    = 30 * time.Millisecond
)

// eventually tries until there is no mismatch, or patience ends, and returns the last one.
func eventually(ctx context.Context, patience time.Duration, try func() (*scenario.Mismatch, error),
) (*scenario.Mismatch, error) {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		m, err := try()
		if m == nil || err != nil {
			return nil, err
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return m, nil
		case <-ctx.Done():
			return m, context.Cause(ctx)
		}
	}
}

func (t *attempt) list(ctx context.Context, s *scenario.Step) *report.Failure {
	patience := time.Duration(s.Tools.Eventually)
	m, err := eventually(ctx, patience, func() (*scenario.Mismatch, error) {
		names, err := t.way.names(ctx)
		t.on.tools.saw(names...)
		return s.Tools.Match(names), err
	})
	if err != nil {
		return failed(s, said(ctx, err))
	}
	if m != nil {
		return mismatched(s, "the list of tools", s.Tools.Position, m)
	}
	return nil
}

func (t *attempt) navigate(ctx context.Context, s *scenario.Step) *report.Failure {
	address, err := t.scope.Text(s.Open)
	if err != nil {
		return failed(s, err.Error())
	}
	return t.went(ctx, s, t.on.app.Manager.Goto(ctx, t.ref, address))
}

// went notes the tools of another document.
func (t *attempt) went(ctx context.Context, s *scenario.Step, err error) *report.Failure {
	if err != nil {
		return failed(s, said(ctx, err))
	}
	if c, err := t.on.app.Manager.Catalog(t.ref); err == nil {
		for _, tool := range c.Tools() {
			t.on.tools.saw(tool.Name())
		}
	}
	return nil
}

func (t *attempt) wait(ctx context.Context, s *scenario.Step) *report.Failure {
	patience := cmp.Or(s.Within, scenario.DefaultWait)
	w := s.Wait
	if w.Idle {
		return t.idle(ctx, s, patience)
	}
	what := "the tool " + scenario.Quoted(w.Tool)
	m, err := eventually(ctx, patience, func() (*scenario.Mismatch, error) {
		if w.Tool != "" {
			names, err := t.way.names(ctx)
			return (&scenario.Tools{Include: []string{w.Tool}}).Match(names), err
		}
		what = "an element of " + scenario.Quoted(w.Selector)
		e, err := t.probe.Look(ctx, w.Selector)
		if e.Count > 0 {
			return nil, err
		}
		return &scenario.Mismatch{}, err
	})
	switch {
	case err != nil:
		return failed(s, said(ctx, err))
	case m != nil:
		f := failed(s, fmt.Sprintf("%s was not there within %s", text.EscapeLine(what), patience))
		f.Actual = m.Actual
		return f
	}
	return nil
}

// looks compares what the page shows after a step, which may take it a moment.
func (t *attempt) looks(ctx context.Context, s *scenario.Step) *report.Failure {
	for i := range s.Page {
		l := &s.Page[i]
		want, err := t.scope.Expand(l.Matches)
		if err != nil {
			return failed(s, err.Error())
		}
		var actual json.RawMessage
		var found bool
		m, err := eventually(ctx, lookPatience, func() (*scenario.Mismatch, error) {
			if actual, found, err = t.look(ctx, l); err != nil {
				return nil, err
			}
			return scenario.Match(want, actual), nil
		})
		switch {
		case err != nil:
			return failed(s, said(ctx, err))
		case m != nil && !found && l.Count == "":
			f := failed(s, text.EscapeLine("the page: no element matches "+scenario.Quoted(l.Selector())+
				": correct the selector, or let the page show it"))
			f.Line, f.Expected = l.Line, want.String()
			return f
		case m != nil && t.o.Accept != nil && l.Matches.Position() != l.Position:
			if t.door == decides(t.c) {
				t.on.tools.changed(want, actual, t.secrets.concealer())
			}
		case m != nil:
			return mismatched(s, "the page, "+text.EscapeLine(lookedAt(l)), l.Position, m)
		}
	}
	return nil
}

func lookedAt(l *scenario.Look) string {
	kind := "text"
	switch {
	case l.Value != "":
		kind = "value"
	case l.Count != "":
		kind = "count"
	case l.Visible != "":
		kind = "visible"
	}
	return kind + " of " + scenario.Quoted(l.Selector())
}

// look returns what the page shows, and whether an element is there.
func (t *attempt) look(ctx context.Context, l *scenario.Look) (json.RawMessage, bool, error) {
	e, err := t.probe.Look(ctx, l.Selector())
	found := e.Count > 0
	switch {
	case err != nil:
		return nil, false, err
	case l.Count != "":
		return json.RawMessage(strconv.Itoa(e.Count)), found, nil
	case l.Visible != "":
		return json.RawMessage(strconv.FormatBool(e.Visible)), found, nil
	case !found:
		return json.RawMessage("null"), false, nil
	case l.Value != "":
		return schema.AppendString(nil, strings.ToValidUTF8(e.Value, "\uFFFD")), true, nil
	}
	return schema.AppendString(nil, strings.ToValidUTF8(e.Text, "\uFFFD")), true, nil
}

// quietTime sets how long a page sends no request that is idle.
const quietTime = 500 * time.Millisecond

func (t *attempt) idle(ctx context.Context, s *scenario.Step, patience time.Duration) *report.Failure {
	deadline := time.Now().Add(patience)
	for {
		from, err := t.probe.Mark(ctx)
		if err != nil {
			return failed(s, said(ctx, err))
		}
		seen, err := t.probe.Since(ctx, from, quietTime)
		switch {
		case err != nil:
			return failed(s, said(ctx, err))
		case !seen.Busy:
			return nil
		case time.Now().After(deadline):
			return failed(s, fmt.Sprintf("the network was not idle within %s", patience))
		}
	}
}
