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

// Open opens the site of a file. The caller must close the stand, before ctx ends. Errors are as in
// [Files].
func Open(ctx context.Context, f *scenario.File, o Options) (*Stand, error) {
	o.Recorded = nil // only Files has cases that all ran
	if err := o.able([]scenario.Selected{{File: f}}); err != nil {
		return nil, err
	}
	return newRunner(o, &report.Run{}).open(ctx, f)
}

// Origin returns the origin of the site's pages, such as https://shop.example.
func (on *Stand) Origin() string { return on.origin }

// Turns returns the runs of a case of the file, of which there was none yet.
func (on *Stand) Turns() *Turns { return &Turns{on: on} }

// Judge holds the site's page against the rules and the lock file, as the file asks. The report has
// the cases "lock" and "lint", as far as the file has them, and the findings. It is called once.
func (on *Stand) Judge(ctx context.Context) *report.Run {
	on.lint(ctx)
	return on.runner.run
}

// Visit is a fresh page in a browser context of its own, whose tools are called as webtools. All
// methods but End are for one goroutine.
type Visit struct {
	t     *attempt
	path  string
	leave context.CancelCauseFunc

	opened session.Mark
	// When it was asked for, and when it was there: a page is at most as old as the first says, and
	// at least as the second.
	began, shown time.Time
	calls        int
	moved        bool // whether it went to another address
	alone        effects.Alone
	idle         *Visit // the same page, left alone
}

// errTooLate is the cause of the end of a visit whose page does not come, or gets no turn.
var errTooLate = errors.New("the page was not there in time")

// Visit opens a path of the site, or its first page with "". The caller must end the visit.
func (on *Stand) Visit(ctx context.Context, path string) (*Visit, error) {
	t := on.attempt(&scenario.Selected{File: on.file, Case: &scenario.Case{},
		Door: scenario.ThroughWebtool})
	if path != "" {
		page := map[string]json.RawMessage{"path": schema.MustEncode(path)}
		for name, value := range scenario.ReadAgain(json.RawMessage(t.ref.Page)).Members() {
			page[name] = value.Text()
		}
		t.ref.Page = string(schema.MustEncode(page))
	}
	life, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	late := time.AfterFunc(on.runner.o.CaseTime, func() { leave(errTooLate) })
	defer late.Stop()
	v := &Visit{t: t, path: path, leave: leave, began: time.Now()}
	var err error
	if f := t.start(life); f != nil {
		err = fmt.Errorf("opening the page: %s", f.Message)
	} else {
		v.shown = time.Now()
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
	visit  *Visit
	step   *scenario.Step
	got    result
	from   session.Mark
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
	if v.calls == 1 { // what the page did until now, nobody called
		own, err := v.t.probe.Since(ctx, v.opened, 0)
		if err != nil {
			return nil, nil, err
		}
		v.alone.Add(own)
	}
	v.t.from = &c.from
	v.t.hide(tool, with)
	if c.got, err = v.t.way.call(ctx, tool, with); err != nil {
		return nil, nil, err
	}
	if wrong, _ := v.t.person.complaints(); wrong != "" {
		return c, v.t.explain(ctx, failed(c.step, wrong)), nil
	}
	return c, nil, nil
}

// JSON returns what the tool returned, as a webtool has it in data, or the contract's error object
// of a call that failed.
func (c *Called) JSON() json.RawMessage { return c.got.text() }

// Ended returns the failure of a call that failed and must not, or the other way round, or nil.
func (c *Called) Ended(ctx context.Context, mustFail bool) *report.Failure {
	return c.visit.t.explain(ctx, c.got.ended(c.step, mustFail))
}

// Match compares the result, or the error of a call that failed, with what is expected. It returns
// nil when it matches. The error is about the value that is expected.
func (c *Called) Match(ctx context.Context, want scenario.Value) (*report.Failure, error) {
	want, err := c.visit.t.scope.Expand(want)
	if err != nil {
		return nil, err
	}
	m := scenario.Match(want, c.got.text())
	if m == nil {
		return nil, nil //nolint:nilnil // it matches
	}
	what := "the result"
	if c.got.err != nil {
		what = "the error"
	}
	f := mismatched(c.step, what, scenario.Position{}, m)
	if c.number == c.visit.calls { // otherwise the page has said more
		c.visit.t.explain(ctx, f)
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
			scenario.Quoted(c.step.Call))
	}
	all, err := v.t.sinceQuiet(ctx, c.from)
	if err != nil {
		return nil, err
	}
	age := time.Since(v.began)
	if got := touched(all, &v.alone); got.None() {
		return got, nil
	}
	if v.idle == nil {
		if v.idle, err = v.t.on.Visit(ctx, v.path); err != nil {
			return nil, err
		}
	}
	if err := v.idle.observe(ctx, &v.alone, age); err != nil {
		return nil, err
	}
	return touched(all, &v.alone), nil
}

// mostIdle limits how old a page gets at most that is left alone.
const mostIdle = 5 * time.Second

// observe adds what a page did that was left alone, until it is as old as one that was not: then it
// has done what that did by the clock.
func (v *Visit) observe(ctx context.Context, alone *effects.Alone, age time.Duration) error {
	timer := time.NewTimer(min(age, mostIdle) - time.Since(v.shown))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return alone.Watch(ctx, v.t.probe, v.opened, settleTime)
}

// Mismatch is the failure of a call whose effects are not as they must be.
func (c *Called) Mismatch(ctx context.Context, m *scenario.Mismatch) *report.Failure {
	return c.visit.t.explain(ctx, mismatched(c.step, "the effects", scenario.Position{}, m))
}
