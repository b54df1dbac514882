package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// handler is one step of a call; it calls the next one itself.
type handler func(ctx context.Context, c *call) (*Result, error)

type stage struct {
	name string
	run  func(ctx context.Context, c *call, next handler) (*Result, error)
}

// stages is the policy of the bridge, outermost first. The innermost step is
// invoke.
func (b *Bridge) stages() []stage {
	return []stage{
		{"audit", b.audit},
		{"resolve", b.resolve},
		{"validate", b.validate},
		{"limit", b.limit},
		{"approve", b.approve},
	}
}

func chain(stages []stage, last handler) handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		run, next := stages[i].run, h
		h = func(ctx context.Context, c *call) (*Result, error) { return run(ctx, c, next) }
	}
	return h
}

// resolve finds the site, the tool and the settings, and holds a pinned version
// against what would run.
func (b *Bridge) resolve(ctx context.Context, c *call, next handler) (*Result, error) {
	var err error
	if !c.Caller.Can(MayCall) {
		return nil, mayNotCall()
	}
	if c.Caller.IsRevoked() { // after the guards let it in
		return nil, TakenBack()
	}
	if c.site, err = b.siteFor(c.Site, c.Caller); err != nil {
		return nil, err
	}
	if c.settings, err = c.site.readSettings(c.Config, c.Caller); err != nil {
		return nil, err
	}
	catalog, err := b.router.Catalog(ctx, Ref{Site: c.Site, Session: c.Session, Caller: c.Caller, Patience: max(c.settings.timeout, minPatience)})
	if err != nil {
		return nil, nothingRan(ctx, err)
	}
	if c.tool, err = c.site.pick(catalog, c.Tool); err != nil {
		return nil, err
	}
	if c.Version == "" || c.Version == "latest" {
		return next(ctx, c)
	}
	if base, err := b.router.Catalog(ctx, Ref{Site: c.Site, Caller: c.Caller}); err == nil {
		if _, err := c.site.observe(ctx, base, ""); err != nil {
			return nil, err
		}
	}
	if c.pinned, err = c.site.checkPin(ctx, c); err != nil {
		return nil, err
	}
	return next(ctx, c)
}

func mayNotAnswer() *Error {
	return Errorf(Forbidden, "", NotRun, "This credential may not answer questions.")
}

func mayNotCall() *Error { return Errorf(Forbidden, "", NotRun, "This credential may not call tools.") }

// nothingRan gives an error from before the dispatch of a call. One that is no
// *Error is a context that ended, or a bug.
func nothingRan(ctx context.Context, err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return Errorf(Cancelled, "", NotRun, "The caller gave up.").With(err)
	}
	e := AsError(err)
	e.Outcome = NotRun
	return e
}

// pick finds the tool. Without a name the only one is meant: a published client
// never sends one.
func (s *siteState) pick(catalog *Catalog, name string) (*Tool, error) {
	if name != "" {
		t := catalog.Tool(name)
		if t == nil {
			return nil, s.unknownAction(name, catalog)
		}
		return t, asPlain(s.checkLock(catalog, t))
	}
	offered := s.offered(catalog)
	if len(offered) == 1 {
		return offered[0], nil
	}
	e := s.unknownAction("", catalog)
	e.Code, e.Message = SchemaError, "action is missing, and this webtool has not exactly one."
	if names, _ := e.Details["actions"].([]string); len(names) > 0 {
		e.Message = "action is missing. It is one of: " + strings.Join(names, ", ") + "."
	}
	delete(e.Details, "reason")
	return nil, e
}

// ErrTooLarge is the cause of an Error about arguments over their limit, so that
// a transport can tell it from arguments that do not fit.
var ErrTooLarge = errors.New("too large")

// maxInputDepth bounds the nesting of arguments.
const maxInputDepth = 200

// validate checks the arguments before the page is touched.
func (b *Bridge) validate(ctx context.Context, c *call, next handler) (*Result, error) {
	if len(c.Input) > b.limits.Arguments {
		return nil, Errorf(SchemaError, "", NotRun, "The request is longer than %d bytes.", b.limits.Arguments).With(ErrTooLarge)
	}
	if err := schema.CheckJSON(c.Input, maxInputDepth); err != nil {
		return nil, Errorf(SchemaError, "", NotRun, "request: %s", syntaxText(err)).With(err)
	}
	var err error
	if c.input, err = c.completeInput(); err != nil {
		return nil, err
	}
	for _, s := range []*schema.Schema{c.pinned, c.tool.input} {
		if s == nil {
			continue
		}
		if err := s.Validate(c.input); err != nil {
			return nil, violationError(SchemaError, "request", err)
		}
	}
	return next(ctx, c)
}

func syntaxText(err error) string {
	if e, ok := errors.AsType[*schema.SyntaxError](err); ok {
		return e.Message
	}
	return "it is not JSON."
}

// completeInput fills parameter defaults, and drops an `action` that a client of
// the published guide repeats inside the request.
func (c *call) completeInput() (json.RawMessage, error) {
	text := bytes.TrimSpace(c.Input)
	if len(c.settings.params) == 0 && text[0] == '{' && !bytes.Contains(text, []byte(`"action"`)) {
		return c.Input, nil // the usual case: nothing to fill in and nothing to drop
	}
	var in map[string]json.RawMessage
	if err := json.Unmarshal(c.Input, &in); err != nil || in == nil {
		return nil, Errorf(SchemaError, "", NotRun, "request must be an object.").With(err)
	}
	shape, changed := c.tool.shape, false
	for name, value := range c.settings.params {
		if _, given := in[name]; !given && (shape.declared[name] || !shape.closed) {
			in[name] = value
			changed = true
		}
	}
	if !shape.declared["action"] {
		var repeated string
		if json.Unmarshal(in["action"], &repeated) == nil && repeated == c.tool.name {
			delete(in, "action")
			changed = true
		}
	}
	if !changed {
		return c.Input, nil
	}
	out, err := EncodeJSON(in)
	if err != nil {
		return nil, fmt.Errorf("encoding the request: %w", err)
	}
	return out, nil
}

// tooMany says in words which rate refused a call.
var tooMany = map[policy.Limit]string{
	policy.LimitCaller: "You make too many calls.",
	policy.LimitSite:   "This webtool gets too many calls.",
	policy.LimitTool:   "This tool gets too many calls.",
}

// limit holds the call to the rates of its caller, its site and its tool. It is
// counted once, however often a person stops it.
func (b *Bridge) limit(ctx context.Context, c *call, next handler) (*Result, error) {
	if !c.counted {
		limit, wait := b.rates.Take(c.Caller.Name, c.Site, c.tool.name, b.now())
		if limit != "" {
			e := Errorf(RateLimit, "", NotRun, "%s Try again later.", tooMany[limit]).Detail("limit", string(limit))
			e.Retry = wait
			return nil, e
		}
		c.counted = true
	}
	return next(ctx, c)
}

// approve decides whether the call may run, and asks when a person must say so.
func (b *Bridge) approve(ctx context.Context, c *call, next handler) (*Result, error) {
	c.unseen = b.unseen(ctx, c)
	c.decision = policy.Decide(policy.Input{
		Operator: c.site.options.Approval, Tool: c.tool.name, Hints: c.tool.hints,
		TopLevel: c.tool.topLevel, Request: c.settings.approval,
		Tainted: b.taints.of(c.Caller.Name, c.tool.origin, b.now()), Unseen: c.unseen,
	})
	switch {
	case c.decision.Level == policy.Auto:
		return next(ctx, c)
	case c.decision.Level == policy.Never:
		return nil, Errorf(ApprovalDenied, "", NotRun, "The operator does not allow %q.", c.tool.name).Detail("layer", c.decision.Layer)
	case c.consent == nil && b.granted(ctx, c):
		return next(ctx, c)
	case c.consent == nil:
		return nil, b.askConsent(ctx, c)
	}
	if e := c.consent.check(c); e != nil {
		return nil, e
	}
	if e := b.keepConsent(ctx, c); e != nil {
		return nil, e
	}
	return next(ctx, c)
}

// minPatience is how long a call waits at least for a page that is being opened
// for it, however little time its tool is given. Waiting for other calls is
// bounded by the time of the tool.
const minPatience = 10 * time.Second

// invoke takes a page and runs the tool, once. The time of the tool begins when
// it is dispatched.
func (b *Bridge) invoke(ctx context.Context, c *call) (*Result, error) {
	if err := b.intend(ctx, c); err != nil {
		return nil, err
	}
	patience := max(c.settings.timeout, minPatience)
	began := time.Now()
	page, err := b.router.Acquire(ctx, Ref{Site: c.Site, Session: c.Session, Caller: c.Caller, Patience: patience, Turn: c.settings.timeout, Page: c.settings.page,
		Beside: c.Beside && !c.tool.hints.MayChange(c.tool.topLevel)})
	if err != nil {
		return nil, nothingRan(ctx, err)
	}
	c.lease = page
	keep := false
	defer func() { // also on panic
		if !keep {
			c.lease = nil
			page.Release()
		}
	}()
	limit := c.resultLimit(b.limits.Result)
	c.outcome = Unknown
	b.taints.read(c, b.now())
	data, err := page.Invoke(ctx, Invocation{Tool: c.tool, Input: c.input, MaxBytes: limit,
		Patience: max(time.Millisecond, patience-time.Since(began)), Timeout: c.settings.timeout})
	res, err := b.invoked(c, data, err)
	_, keep = errors.AsType[*stop](err)
	return res, err
}

// resultLimit is how long the call's result may be, in bytes.
func (c *call) resultLimit(most int) int {
	if c.settings.maxBytes > 0 {
		return min(most, c.settings.maxBytes)
	}
	return most
}

// invoked takes what the page came to: a result, an error, or a question after
// which it goes on.
func (b *Bridge) invoked(c *call, data json.RawMessage, err error) (*Result, error) {
	s, stopped := errors.AsType[*Stopped](err)
	switch {
	case stopped:
		q := s.Question
		q.Tool, q.Input = c.tool.name, c.input
		if q.Origin == "" {
			q.Origin = c.tool.origin
		}
		return nil, &stop{question: q, over: s.Over, resume: func(ctx context.Context, a *Answer) (*Result, error) {
			return b.audit(ctx, c, func(ctx context.Context, c *call) (*Result, error) { return b.goOnInPage(ctx, c, s, a) })
		}}
	case c.Caller.IsRevoked():
		e := TakenBack()
		e.Outcome = Unknown // it may have run, and nobody is told
		return nil, e.With(err)
	case err != nil:
		return nil, b.presentError(c, err)
	}
	return b.present(c, data, c.resultLimit(b.limits.Result))
}

// goOnInPage gives an answer to the page, and waits for what comes next.
func (b *Bridge) goOnInPage(ctx context.Context, c *call, s *Stopped, a *Answer) (*Result, error) {
	keep := false
	defer func() {
		if !keep {
			page := c.lease
			c.lease = nil
			page.Release()
		}
	}()
	if a != nil && a.question != "" {
		c.approval, c.approver = a.question, a.by
	}
	data, err := s.Continue(ctx, a)
	res, err := b.invoked(c, data, err)
	_, keep = errors.AsType[*stop](err)
	return res, err
}
