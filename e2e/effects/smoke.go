package effects

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/app"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/session"
)

// SmokeOptions say which tools are called, and how.
type SmokeOptions struct {
	// All calls every tool. Without it only tools that declare readOnlyHint are called.
	All bool
	// Effects looks at what the calls touch: check.Call.Effects and Second are set.
	Effects bool
	// Note is told of tools that were not called, and why.
	Note func(string)
}

const (
	// quiet sets how long a page must do nothing until what a call touched counts as known.
	quiet = 100 * time.Millisecond
	// abortAfter sets how long a call runs that is aborted, and slow from which time on one is.
	abortAfter = 50 * time.Millisecond
	slow       = 250 * time.Millisecond
	// maxResult bounds results that do not go through the bridge, in bytes.
	maxResult = 1 << 20
	// afterAbort is for how long a tool is watched that was aborted.
	afterAbort = 3 * time.Second
	// mostTools limits how many tools are called, callTime how long a call may take, which is more
	// than the rule slow allows, and toolTime for how long calls of one tool are begun.
	mostTools = 100
	callTime  = 31 * time.Second
	toolTime  = 40 * time.Second
)

// Smoke calls the tools of a site with arguments made from their schemas, each time in a fresh
// page, and returns what was seen, without its Page. Valid arguments go through the bridge; ones
// that the schema refuses go to the page itself, which browsers do not protect from them. Consent
// is given by the kit; what the page asks a person is declined. A call that only reads, or says
// that it is idempotent, is made a second time in the same page; one that takes long is made once
// more and aborted. The pages of the site must record.
//
// What the page does without a call is not taken for the tools' doing: one more page of the site is
// opened before all others and left alone until the end. Whatever a page does by the clock within a
// call, that page has then done, too.
func Smoke(ctx context.Context, a *app.App, site string, o SmokeOptions) ([]check.Call, error) {
	s := &smoke{app: a, site: site, o: o}
	idle, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer idle.close()
	catalog, err := a.Manager.Catalog(idle.ref)
	if err != nil {
		return nil, err
	}
	called := 0
	for _, tool := range catalog.Tools() {
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !o.All && !claims(tool, "readOnlyHint"):
			continue
		case called >= mostTools:
			s.o.Note(fmt.Sprintf("Tools after the first %d were not called.", called))
		default:
			called++
			s.tool(ctx, tool)
			continue
		}
		break
	}
	return s.result(ctx, idle)
}

type smoke struct {
	app   *app.App
	site  string
	o     SmokeOptions
	pages int
	calls []call
}

// call is one that was made, with what happened in its page.
type call struct {
	check.Call

	first, second *session.Activity
	// aborted records what the tool did after the call was made again and aborted, with the
	// requests that were under way then and got their responses; nil when that was not tried.
	aborted *session.Activity
}

// result returns the calls, their effects without those of the page that was left alone.
func (s *smoke) result(ctx context.Context, idle *page) ([]check.Call, error) {
	var alone Alone
	if err := alone.Watch(ctx, idle.probe, idle.opened, 0); err != nil {
		return nil, err
	}
	all := make([]check.Call, len(s.calls))
	for i, c := range s.calls {
		if c.aborted != nil {
			c.CancelIgnored = !Of(c.aborted, &alone).None()
		}
		if s.o.Effects {
			if c.first != nil {
				c.Effects = Of(c.first, &alone)
				if c.first.Cut {
					s.o.Note(fmt.Sprintf("The page did so much during a call of %q that not all of it was seen.", c.Tool))
				}
			}
			if c.second != nil {
				c.Second = Of(c.second, &alone)
			}
		}
		all[i] = c.Call
	}
	return all, nil
}

// claims reports whether the page says true to a hint of a tool.
func claims(t *bridge.Tool, hint string) bool {
	v, err := schema.Read(t.Annotations(), 4)
	return err == nil && string(v.Get(hint).Text()) == "true"
}

func (s *smoke) tool(ctx context.Context, t *bridge.Tool) {
	samples := schema.Samples(t.InputSchema(), true)
	if !slices.ContainsFunc(samples, func(a schema.Sample) bool { return a.Valid }) {
		s.o.Note(fmt.Sprintf("%q was not called: no arguments could be made from its schema; "+
			"give it examples.", t.Name()))
		return
	}
	begun := time.Now()
	again := claims(t, "readOnlyHint") || claims(t, "idempotentHint")
	for i, args := range samples {
		if ctx.Err() != nil || time.Since(begun) > toolTime {
			s.o.Note(fmt.Sprintf("%q was called %d times of %d: it takes too long.", t.Name(), i, len(samples)))
			return
		}
		c, err := s.call(ctx, t.Name(), args, again && args.Valid && i == 0)
		if err != nil {
			s.o.Note(fmt.Sprintf("%q was not called: %s", t.Name(), bridge.AsError(err).Message))
			return
		}
		if i == 0 && c.Took > slow && len(c.Asked)+len(c.Dialogs) == 0 {
			c.aborted = s.abort(ctx, t.Name(), args, c.Took)
		}
		s.calls = append(s.calls, *c)
	}
}

// page is one that was opened for one call.
type page struct {
	ref    bridge.Ref
	probe  *session.Probe
	opened session.Mark
	close  func()
}

// open opens a page as a caller's own, who is gone afterwards, and the page with them.
func (s *smoke) open(ctx context.Context) (*page, error) {
	s.pages++
	revoked := make(chan struct{})
	p := &page{ref: bridge.Ref{Site: s.site, Session: "smoke-" + strconv.Itoa(s.pages),
		Caller: bridge.Caller{Name: "smoke", May: []bridge.Right{bridge.MayCall}, Revoked: revoked}}}
	p.close = func() {
		close(revoked)
		s.app.Manager.Revoke()
	}
	var err error
	if p.probe, err = s.app.Manager.Probe(ctx, p.ref); err == nil {
		p.opened, err = p.probe.Mark(ctx)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// call calls a tool in a page of its own.
func (s *smoke) call(ctx context.Context, tool string, args schema.Sample,
	again bool) (*call, error) {
	p, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	defer p.close()
	c := &call{Call: check.Call{Tool: tool, Arguments: args.Input, Valid: args.Valid, Invented: args.Invented}}
	step, asked, took := s.run(ctx, p, tool, args)
	c.Took = took
	c.take(step, asked)
	if c.first, err = p.probe.Since(ctx, p.opened, s.wait()); err != nil {
		return nil, err
	}
	for _, d := range c.first.Dialogs {
		if d.Kind == "alert" {
			c.Dialogs = append(c.Dialogs, d.Message)
		}
	}
	if !again || step.Err != nil || took > slow*4 {
		return c, nil
	}
	mark, err := p.probe.Mark(ctx)
	if err != nil {
		return nil, err
	}
	if step, _, _ = s.run(ctx, p, tool, args); step.Err == nil {
		c.Other = step.Data
		if c.second, err = p.probe.Since(ctx, mark, s.wait()); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// wait returns how long a page must be quiet after a call.
func (s *smoke) wait() time.Duration {
	if s.o.Effects {
		return quiet
	}
	return 0
}

// withoutAgent are the words of engines for a second argument that is not there.
var withoutAgent = regexp.MustCompile(`(?i)(undefined|null).*requestUserInteraction|` +
	`requestUserInteraction.*(undefined|null|not a function)`)

func (c *call) take(step bridge.Step, asked []bridge.Question) {
	if e := step.Err; e != nil {
		c.Error, c.Code, c.Reason = e.Message, string(e.Code), string(e.Reason)
		c.Thrown, _ = e.Details["name"].(string) // nobody knows it where the engine does not say
		c.WithoutAgent = e.Code == bridge.ToolError && withoutAgent.MatchString(e.Message)
	} else {
		c.Result = step.Data
	}
	if step.Violation != nil {
		c.OutputViolation = step.Violation.Message
		for _, v := range step.Violation.Errors {
			c.OutputViolation = "result" + v.Pointer + ": " + v.Message
			break
		}
	}
	for _, q := range asked {
		c.Asked = append(c.Asked, cmp.Or(q.Detail, q.Title))
	}
}

// run makes one call in a page: valid arguments through the bridge, others past it.
func (s *smoke) run(ctx context.Context, p *page, tool string,
	args schema.Sample) (bridge.Step, []bridge.Question, time.Duration) {
	begun := time.Now()
	kit := &decliner{}
	if args.Valid {
		input, err := bridge.ReadValue("The arguments", args.Input)
		if err != nil {
			return bridge.AsError(err).Step(), nil, 0
		}
		config, _ := json.Marshal(map[string]int64{"timeout": callTime.Milliseconds()}) // a number: cannot fail
		step := s.app.Bridge.Complete(ctx, &bridge.Call{Site: s.site, Tool: tool,
			Session: p.ref.Session, Caller: p.ref.Caller, Input: input, Config: config, Asker: kit})
		return step, kit.asked(), time.Since(begun)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTime, bridge.TimedOut(callTime))
	defer cancel()
	step := s.past(ctx, p, tool, args, kit)
	return step, kit.asked(), time.Since(begun)
}

// past makes a call past the bridge, which would refuse it.
func (s *smoke) past(ctx context.Context, p *page, tool string, args schema.Sample, kit *decliner) bridge.Step {
	catalog, err := s.app.Manager.Catalog(p.ref)
	if err != nil {
		return bridge.AsError(err).Step()
	}
	t := catalog.Tool(tool)
	if t == nil {
		return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"The page does not offer this tool any more.").Step()
	}
	source, err := s.app.Manager.Acquire(ctx, p.ref)
	if err != nil {
		return bridge.AsError(err).Step()
	}
	defer source.Release()
	inv := bridge.Invocation{Tool: t, Caller: p.ref.Caller.Name, Input: args.Input, MaxBytes: maxResult}
	step := source.Invoke(ctx, inv)
	for step.Pause != nil {
		answer, _ := kit.Ask(ctx, step.Pause.Question) // never fails
		step = step.Pause.Continue(ctx, &answer)
	}
	return step
}

// abort makes a call that takes so long, aborts it, and returns what the tool did until it would
// have ended, or nil when that was not seen.
func (s *smoke) abort(ctx context.Context, tool string, args schema.Sample, takes time.Duration) *session.Activity {
	p, err := s.open(ctx)
	if err != nil {
		return nil
	}
	defer p.close()
	short, cancel := context.WithTimeout(ctx, abortAfter)
	defer cancel()
	if step, _, _ := s.run(short, p, tool, args); step.Err == nil || short.Err() == nil {
		return nil // it was faster this time
	}
	at, err := p.probe.Mark(ctx)
	if err != nil {
		return nil
	}
	before, err := p.probe.Since(ctx, p.opened, 0)
	if err != nil {
		return nil
	}
	timer := time.NewTimer(min(takes+quiet, afterAbort))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return nil
	}
	after, err := p.probe.Since(ctx, p.opened, 0)
	if err != nil {
		return nil
	}
	later, err := p.probe.Since(ctx, at, 0)
	if err != nil {
		return nil
	}
	for i, r := range before.Requests {
		if r.Status == 0 && r.Failed == "" && i < len(after.Requests) && after.Requests[i].Status != 0 {
			later.Requests = append(later.Requests, after.Requests[i])
		}
	}
	return later
}

// decliner consents to calls, and declines what pages ask.
type decliner struct {
	mu  sync.Mutex
	all []bridge.Question
}

var _ bridge.Asker = (*decliner)(nil)

// Ask implements bridge.Asker.
func (d *decliner) Ask(_ context.Context, q bridge.Question) (bridge.Answer, error) {
	if q.Kind == bridge.Approve {
		return bridge.Answer{OK: true}, nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.all = append(d.all, q)
	return bridge.Answer{}, nil
}

func (d *decliner) asked() []bridge.Question {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.all)
}
