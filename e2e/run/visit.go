package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// Stand is the site of a file, opened, for those who run its cases one by one, or have none, such
// as tests in Go. It is safe for concurrent use.
type Stand struct{ on *opened }

// Open opens the site of a file. The caller must close the stand, before ctx ends. Errors are those
// of [Files].
func Open(ctx context.Context, f *scenario.File, o Options) (*Stand, error) {
	if err := able([]scenario.Selected{{File: f}}, false); err != nil {
		return nil, err
	}
	on, err := newRunner(o, &report.Run{}).open(ctx, f)
	if err != nil {
		return nil, err
	}
	return &Stand{on}, nil
}

// Close ends all that Open began.
func (s *Stand) Close() { s.on.close() }

// Origin is the origin of the site's pages, such as https://shop.example.
func (s *Stand) Origin() string { return s.on.origin }

// Turns returns the runs of a case of the file, of which there was none yet.
func (s *Stand) Turns() *Turns { return &Turns{on: s.on} }

// Through runs the case through one door, and compares it with the doors before.
func (u *Turns) Through(ctx context.Context, c *scenario.Case, door scenario.Door) report.Case {
	return u.through(ctx, &scenario.Selected{File: u.on.file, Case: c, Door: door})
}

// Judge holds the site's page against the rules and the lock file, as the file asks. The report has
// the cases "lock" and "lint", as far as the file has them, and the findings. It is called once.
func (s *Stand) Judge(ctx context.Context) *report.Run {
	s.on.lint(ctx)
	return s.on.runner.run
}

// Visit is a fresh page in a browser context of its own, whose tools are called as webtools. All
// methods but End are for one goroutine.
type Visit struct {
	t     *attempt
	again func(context.Context) (*Visit, error) // opens the same page
	leave context.CancelCauseFunc

	opened session.Mark
	began  time.Time
	calls  int
	moved  bool // whether it went to another address
	alone  effects.Alone
	idle   *Visit // the same page, left alone
}

// errTooLate is the cause of the end of a visit whose page does not come, or gets no turn.
var errTooLate = errors.New("the page was not there in time")

// Visit opens a path of the site, or its first page with "". The person who is asked answers by
// these entries. The caller must end the visit.
func (s *Stand) Visit(ctx context.Context, path string, human []scenario.Entry) (*Visit, error) {
	t := s.on.attempt(&scenario.Selected{File: s.on.file, Case: &scenario.Case{Human: human},
		Door: scenario.ThroughWebtool})
	if path != "" {
		page := map[string]json.RawMessage{"path": schema.MustEncode(path)}
		for name, value := range of(json.RawMessage(t.ref.Page)).Members() {
			page[name] = value.Text()
		}
		t.ref.Page = string(schema.MustEncode(page))
	}
	life, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	late := time.AfterFunc(s.on.runner.o.CaseTime, func() { leave(errTooLate) })
	defer late.Stop()
	v := &Visit{t: t, leave: leave, began: time.Now()}
	v.again = func(ctx context.Context) (*Visit, error) { return s.Visit(ctx, path, nil) }
	f := t.start(life)
	var err error
	if f != nil {
		err = fmt.Errorf("opening the page: %s", f.Message)
	} else {
		v.opened, err = t.probe.Mark(ctx)
	}
	if err != nil {
		v.End()
		return nil, err
	}
	return v, nil
}

// End closes the page.
func (v *Visit) End() {
	if v.idle != nil {
		v.idle.End()
	}
	v.t.end()
	v.leave(nil)
}

// URL is the address that the page shows.
func (v *Visit) URL() string {
	if shown := v.t.on.app.Manager.Shows(v.t.ref); shown != nil {
		return shown.URL
	}
	return ""
}

// Answers adds what the person answers, after what was there.
func (v *Visit) Answers(entries ...scenario.Entry) error {
	return v.t.person.humans.Add(v.t.scope, entries...)
}

// Left returns the answers that nobody asked for.
func (v *Visit) Left() []scenario.Entry { return v.t.person.humans.Left() }

// Goto opens another address of the site in the page, relative to the one that it shows; "" loads
// that one again.
func (v *Visit) Goto(ctx context.Context, address string) error {
	v.moved = v.moved || address != ""
	return v.t.on.app.Manager.Goto(ctx, v.t.ref, address)
}

// Names lists the tools that are there now, as agents see them.
func (v *Visit) Names(ctx context.Context) ([]string, error) { return v.t.way.names(ctx) }

// Look returns what the page declares now, as [effects.Look] does. After a call, and at another
// address, it is not compared with another load: they may differ.
func (v *Visit) Look(ctx context.Context) (check.Page, error) {
	page, err := effects.LookAt(ctx, v.t.on.app, v.t.ref)
	if v.calls > 0 || v.moved {
		page.Again = nil
	}
	return page, err
}

// Locked returns the tools that are there now, as a lock file has them.
func (v *Visit) Locked(ctx context.Context) (map[string]app.LockedTool, error) {
	return v.t.on.app.LockedTools(ctx, v.t.ref, v.t.on.folder)
}

// Called is a call that ended.
type Called struct {
	// Result is what the tool returned, as a webtool has it in data; nil when the call failed. Error
	// is the contract's error object then.
	Result, Error json.RawMessage

	visit  *Visit
	step   *scenario.Step
	from   session.Mark
	began  time.Time
	number int
}

// Call calls a tool, and answers what is asked. An error is trouble with the way to the tool; the
// failure says that a question had no answer, and comes beside what was called.
func (v *Visit) Call(ctx context.Context, tool string, with json.RawMessage,
) (*Called, *report.Failure, error) {
	v.calls++
	c := &Called{visit: v, step: &scenario.Step{Call: tool}, number: v.calls}
	var err error
	if c.from, err = v.t.probe.Mark(ctx); err != nil {
		return nil, nil, err
	}
	c.began = time.Now()
	if v.calls == 1 { // what the page did until now, nobody called
		own, err := v.t.probe.Since(ctx, v.opened, 0)
		if err != nil {
			return nil, nil, err
		}
		v.alone.Add(own)
	}
	v.t.from = &c.from
	r, err := v.t.way.call(ctx, tool, with)
	if err != nil {
		return nil, nil, err
	}
	if r.err == nil {
		c.Result = r.forms[0]
	}
	c.Error = r.err
	wrong, _ := v.t.person.complaints()
	if wrong == "" {
		return c, nil, nil
	}
	return c, v.t.told(ctx, failed(c.step, wrong)), nil
}

// told adds what the page said to a failure.
func (t *attempt) told(ctx context.Context, f *report.Failure) *report.Failure {
	t.explain(ctx, f)
	return f
}

// Failed is the failure of a call that must succeed, or nil.
func (c *Called) Failed(ctx context.Context) *report.Failure {
	if c.Error == nil {
		return nil
	}
	f := failed(c.step, "the call failed: "+visible(errorText(c.Error)))
	f.Actual = scenario.Show(c.Error, "")
	return c.visit.t.told(ctx, f)
}

// Succeeded is the failure of a call that must fail, or nil.
func (c *Called) Succeeded(ctx context.Context) *report.Failure {
	if c.Error != nil {
		return nil
	}
	f := failed(c.step, "the call succeeded, and must fail")
	f.Actual = scenario.Show(c.Result, "")
	return c.visit.t.told(ctx, f)
}

// Match compares the result, or the error of a call that failed, with what is expected. It returns
// nil when it matches. The error is about the value that is expected.
func (c *Called) Match(ctx context.Context, want scenario.Value) (*report.Failure, error) {
	want, err := c.visit.t.scope.Expand(want)
	if err != nil {
		return nil, err
	}
	what, got := "the result", c.Result
	if c.Error != nil {
		what, got = "the error", c.Error
	}
	m := scenario.Match(want, got)
	if m == nil {
		return nil, nil //nolint:nilnil // it matches
	}
	f := mismatched(c.step, what, scenario.Position{}, m)
	if c.number == c.visit.calls { // otherwise the page has said more
		f = c.visit.t.told(ctx, f)
	}
	return f, nil
}

// Effects waits until the page is quiet, and returns what the call touched, without what the page
// does alone: what it did before its first call, and what another page of that address does that is
// opened for that, and left alone. It must be asked before the next call.
func (c *Called) Effects(ctx context.Context) (*check.Effects, error) {
	v := c.visit
	if c.number != v.calls {
		return nil, fmt.Errorf("the page ran another call after %s: ask for the effects before it",
			quoted(c.step.Call))
	}
	all, err := v.t.sinceQuiet(ctx, c.from)
	if err != nil {
		return nil, err
	}
	age := time.Since(v.began)
	if got := touched(all, &v.alone); isNothing(got) {
		return got, nil
	}
	if v.idle == nil {
		if v.idle, err = v.again(ctx); err != nil {
			return nil, err
		}
	}
	if err := v.idle.observe(ctx, &v.alone, age); err != nil {
		return nil, err
	}
	return touched(all, &v.alone), nil
}

func isNothing(e *check.Effects) bool {
	return len(e.Requests)+len(e.Storage)+len(e.Navigated)+len(e.Windows)+len(e.Downloads) == 0
}

// mostIdle is how old a page gets at most that is left alone.
const mostIdle = 5 * time.Second

// observe adds what a page did that was left alone, until it is as old as one that was not: then it
// has done what that did by the clock.
func (v *Visit) observe(ctx context.Context, alone *effects.Alone, age time.Duration) error {
	timer := time.NewTimer(min(age, mostIdle) - time.Since(v.began))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	since, err := v.t.probe.Since(ctx, v.opened, settleTime)
	if err != nil {
		return err
	}
	// What it kept while it was loaded is left out: tools change that later.
	whole, err := v.t.probe.Since(ctx, session.Mark{Cookies: v.opened.Cookies}, 0)
	if err != nil {
		return err
	}
	whole.Writes = nil
	alone.Add(since)
	alone.Add(whole)
	return nil
}

// Mismatch is the failure of a call whose effects are not as they must be.
func (c *Called) Mismatch(ctx context.Context, m *scenario.Mismatch) *report.Failure {
	return c.visit.t.told(ctx, mismatched(c.step, "the effects", scenario.Position{}, m))
}
