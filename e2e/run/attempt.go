package run

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/har/tape"
	"github.com/pagetools/pagetools/e2e/report"
	"github.com/pagetools/pagetools/e2e/scenario"
	"github.com/pagetools/pagetools/session"
)

// attempt is one run of a case through one door.
type attempt struct {
	on     *Stand
	o      *Options
	c      *scenario.Case
	door   scenario.Door
	scope  *scenario.Scope
	ref    bridge.Ref
	leave  func() // ends what the caller leaves behind; nil before start
	person *person
	way    door
	probe  *session.Probe
	track  *tape.Track // nil where the network is the page's own

	writing  sync.Mutex // guards made, unheard and halted, which steps at once write
	made     []made
	unheard  string        // what this door could not check
	halted   bool          // without that, nothing else of the case can be checked
	before   []byte        // the picture before the step
	from     *session.Mark // where the step began
	finished []report.Step
	others   []*attempt // that passed through other doors

	tracing *tracing // for a trace; nil without one
	suffix  string   // of its folder
	secrets secrets
}

func (on *Stand) attempt(s *scenario.Selected) *attempt {
	return &attempt{on: on, o: &on.runner.o, c: s.Case, door: s.Door, unheard: lacks(s),
		ref:   bridge.Ref{Site: on.site, Session: stateName, Page: on.page},
		scope: &scenario.Scope{Env: on.runner.o.Env, Unique: strings.ToLower(rand.Text()[:12])}}
}

func lack(line int, why string) string { return fmt.Sprintf("line %d: %s", line, text.EscapeLine(why)) }

// errTooLong is the cause of the end of an attempt that takes too long.
var errTooLong = errors.New("the case took too long")

// run runs the steps, and compares with the attempts that passed through other doors.
func (t *attempt) run(ctx context.Context, others []*attempt) report.Case {
	began := time.Now()
	t.others = others
	s := &scenario.Selected{File: t.on.file, Case: t.c, Door: t.door}
	c := newCase(s)
	if t.unheard != "" {
		c.Status, c.Reason = report.NotApplicable, t.unheard
		return c
	}
	t.tracing = t.trace()
	limit := t.o.CaseTime
	if t.tracing != nil {
		limit += tracePictureTime * time.Duration(1+len(t.c.Steps))
	}
	for i := range t.c.Human {
		limit += t.c.Human[i].After * time.Duration(t.c.Human[i].Times)
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit+t.on.questionTime(), errTooLong)
	defer cancel()
	t.tracing.begin(nil, nil, "open the page", t.on.file.Name, t.c.Line)
	c.Failure = t.start(bounded)
	t.tracing.over(nil, c.Failure)
	t.shows(bounded)
	switch {
	case c.Failure != nil:
	case t.c.Eval != nil && t.o.Model != nil:
		c.Failure = t.converse(bounded)
	default:
		c.Failure = t.steps(bounded)
	}
	if t.halted {
		c.Failure = nil
	}
	c.Failure = t.lacking(c.Failure)
	for _, other := range others {
		if c.Failure == nil {
			c.Failure = t.disagrees(other)
		}
	}
	if f := c.Failure; f != nil {
		f.Again = t.o.again(s.File.Name, s.Name())
		t.explain(ctx, f)
	}
	c.Steps, c.Took = t.finished, time.Since(began)
	switch {
	case c.Failure != nil:
		c.Status = report.Failed
	case t.unheard != "":
		c.Status, c.Reason = report.NotApplicable, t.unheard
	default:
		c.Status = report.Passed
	}
	if ctx.Err() == nil {
		t.traced(ctx, &c)
	}
	t.end()
	return c
}

func failed(s *scenario.Step, why string) *report.Failure {
	return &report.Failure{Step: s.Title(), Line: s.Line, Message: why}
}

func mismatched(s *scenario.Step, what string, at scenario.Position,
	m *scenario.Mismatch) *report.Failure {
	f := failed(s, what+": "+m.Why)
	f.Path, f.Expected, f.Actual = m.Path, m.Expected, m.Actual
	if at.Line > 0 {
		f.Line = at.Line
	}
	return f
}

// start opens the page, and the way to its tools.
func (t *attempt) start(ctx context.Context) *report.Failure {
	trouble := func(err error) *report.Failure {
		return &report.Failure{Line: t.c.Line, Message: "before the first step: " + said(ctx, err)}
	}
	may := []bridge.Right{bridge.MayCall, bridge.MayElicit}
	if t.door == scenario.ThroughWebtool {
		may = append(may, bridge.MayAnswer)
	}
	caller, leave := t.on.admit(may...)
	t.ref.Caller, t.leave = caller.Caller, leave
	t.takesTrack()
	t.person = &person{bridge: t.on.app.Bridge, ref: t.ref, host: t.o.Host, tracing: t.tracing, from: t.on.file,
		secrets: &t.secrets, decided: map[string]scenario.Answer{}}
	err := t.person.humans.Add(t.scope, t.c.Human...)
	if err != nil {
		return trouble(err)
	}
	if t.probe, err = t.on.app.Manager.Probe(ctx, t.ref); err != nil {
		return trouble(err)
	}
	t.person.hand = t.probe
	t.watch(ctx)
	switch t.door {
	case scenario.ThroughMCP:
		way, err := t.on.mcp(ctx, caller, t.person)
		if err != nil {
			return trouble(err)
		}
		t.way = way
	case scenario.ThroughWebtool:
		t.way = t.on.webtool(caller, t.person)
	default:
		arrived := func(ctx context.Context, step bridge.Step) error {
			return t.on.app.Manager.Arrived(ctx, t.ref, step)
		}
		t.way = &pageDoor{probe: t.probe, person: t.person, limit: t.on.callTime, arrived: arrived}
	}
	if t.o.Host != nil {
		t.way = &hostDoor{t.way, t, *t.o.Host}
	}
	return nil
}

// said is an error for people. An end of the context is said by its cause.
func said(ctx context.Context, err error) string {
	if cause := context.Cause(ctx); cause != nil {
		return cause.Error()
	}
	if e, ok := errors.AsType[*bridge.Error](err); ok {
		return text.EscapeLine(errorText(failure(e)))
	}
	return text.EscapeLine(err.Error())
}

func (t *attempt) end() {
	if t.way != nil {
		t.way.close()
	}
	t.leavesTrack()
	t.leave()
}

// steps runs the steps in order, until one fails. At the end, the person must have answered all
// that it was to answer.
func (t *attempt) steps(ctx context.Context) *report.Failure {
	var f *report.Failure
	for i := range t.c.Steps {
		s := &t.c.Steps[i]
		done := report.Step{Name: s.Title(), Line: s.Line, Status: report.Skipped}
		if f == nil {
			t.remember(ctx)
			f, done.Took = t.whole(ctx, s, nil)
			done.Status = report.Passed
			if f != nil {
				done.Status = report.Failed
			}
		}
		t.finished = append(t.finished, done)
	}
	if f != nil {
		return f
	}
	return t.leftOver()
}

// whole runs a step with its looks at the page, and returns how long that took; within is the step
// that it is a part of, or nil.
func (t *attempt) whole(ctx context.Context, s, within *scenario.Step,
) (f *report.Failure, took time.Duration) {
	began := time.Now()
	t.tracing.begin(s, within, s.Title(), t.on.file.Name, s.Line)
	if f = t.step(ctx, s); f == nil {
		f = t.looks(ctx, s)
	}
	took = time.Since(began)
	t.tracing.over(s, f)
	if within == nil {
		t.shows(ctx)
	}
	return f, took
}

// leftOver is the failure of answers that nobody asked for. Consent is not asked for through the
// page's own door, so an answer that fits it may be left there.
func (t *attempt) leftOver() *report.Failure {
	for _, e := range t.person.humans.Left() {
		if t.door == scenario.ThroughPage && e.On.Kind == "" && t.consents() {
			t.unheard = lack(e.Line, "nobody is asked for consent on the page's own door, where this "+
				"answer was not asked for")
			continue
		}
		return &report.Failure{Step: "human", Line: e.Line, Message: fmt.Sprintf(
			"an answer was not asked for: %s, for the kind %s; the page asked fewer questions than "+
				"human has answers", e.Answer.Act, cmp.Or(e.On.Kind, "any"))}
	}
	return nil
}

// consents reports whether a tool that was called declares that it needs consent.
func (t *attempt) consents() bool {
	c, err := t.on.app.Manager.Catalog(t.ref)
	if err != nil {
		return false
	}
	return slices.ContainsFunc(t.made, func(m made) bool {
		tool := c.Tool(m.step.Call)
		claims := func(hint string) bool {
			return string(scenario.ReadAgain(tool.Annotations()).Get(hint).Text()) == "true"
		}
		return tool != nil && (claims("destructiveHint") || claims("consequentialHint"))
	})
}

const pictureTime = 3 * time.Second

// remember keeps what the page shows, and where it is, before a step.
func (t *attempt) remember(ctx context.Context) {
	if t.o.Pictures {
		t.before = t.picture(ctx, pictureTime)
	}
	t.from = nil
	if now, err := t.probe.Mark(ctx); err == nil {
		t.from = &now
	}
}

// picture returns a picture of the page, or nil: one that hangs shows nothing.
func (t *attempt) picture(ctx context.Context, within time.Duration) []byte {
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	png, err := t.probe.Screenshot(bounded)
	if err != nil {
		return nil
	}
	return png
}

// explain adds what the page shows and said to a failure, as far as it still tells, and returns it.
func (t *attempt) explain(ctx context.Context, f *report.Failure) *report.Failure {
	if f == nil {
		return nil
	}
	defer t.secrets.hideIn(f)
	if t.probe == nil {
		return f
	}
	if t.o.Pictures {
		f.Before, f.After = t.before, t.picture(ctx, pictureTime)
	}
	if t.from == nil {
		return f
	}
	bounded, cancel := context.WithTimeout(ctx, pictureTime)
	defer cancel()
	seen, err := t.probe.Since(bounded, *t.from, 0)
	if err != nil {
		return f
	}
	for _, x := range seen.Said {
		words := cmp.Or(x.Text, "an error without words")
		switch {
		case x.Line > 0 && x.URL != "":
			words += fmt.Sprintf(" (%s:%d)", x.URL, x.Line)
		case x.Line > 0:
			words += fmt.Sprintf(" (line %d of the page)", x.Line)
		}
		f.Console = append(f.Console, words)
	}
	for _, r := range seen.Requests {
		switch {
		case r.Failed != "":
			f.Requests = append(f.Requests, r.Method+" "+r.URL+": "+r.Failed)
		case r.Status >= 400:
			f.Requests = append(f.Requests, fmt.Sprintf("%s %s: status %d", r.Method, r.URL, r.Status))
		}
	}
	f.Console, f.Requests = few(f.Console), few(f.Requests)
	return f
}

func few(lines []string) []string {
	const most = 20
	if more := len(lines) - most; more > 0 {
		return append(lines[:most:most], fmt.Sprintf("and %d more", more))
	}
	return lines
}
