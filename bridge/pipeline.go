package bridge

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// handler is one step of a call; it calls the next one itself.
type handler func(ctx context.Context, r *Run) Step

type stage struct {
	name string
	run  func(ctx context.Context, r *Run, next handler) Step
}

// pipeline holds the stages of a call and their dependencies.
type pipeline struct {
	router   Router
	limits   Limits
	memory   Memory
	names    names
	consents consents
	log      *slog.Logger
	tracer   trace.Tracer   // nil: none
	observer func(Observed) // nil: none
	recorder Recorder       // nil: none
	now      func() time.Time
	sites    atomic.Pointer[siteStates]
	rates    *policy.Rates
	shares   shares        // of the rates, between the processes of a data folder
	refusals *policy.Rates // bounds those that are in the audit
	taints   taints
	run      handler
}

// passage is a call on its way through the pipeline. Only the goroutine that runs the call
// uses what changes.
type passage struct {
	bridge  *Bridge
	call    Call
	started time.Time
	going   time.Time // since when it runs: it began, or consent was given

	// What the stages found.
	site     *siteState
	tool     *Tool
	pinned   *schema.Schema // of a pinned version that differs from the tool's; nil: none
	settings settings
	input    Value // after parameter defaults
	decision policy.Decision
	unseen   bool    // nobody has seen the tool since consent was given on its site
	counted  bool    // against the rates
	agreed   bool    // or refused: somebody was asked
	consent  *Answer // what they said; nil: nothing
	// What they were shown: the digest of the tool's definition, and the page.
	shownDigest string
	shown       *Agreed
	requested   string    // the digest of the arguments that they were shown
	kept        bool      // the consent, as a grant
	answered    func()    // tells who gave it that it is kept, or cannot be
	standing    bool      // a grant covers it
	approval    string    // the grant or the question that it runs under, and
	approver    string    // the person
	ticket      int64     // of its intent in the audit; 0: none
	found       Source    // a page that was opened to look for the tool in it, until it runs there
	source      Source    // the page that runs it
	recording   Recording // of that; nil: none
	outcome     Outcome
}

func (b *Bridge) enter(in *Call) passage {
	p := passage{bridge: b, call: *in, outcome: NotRun, started: b.pipe.now()}
	if p.call.ID == "" {
		p.call.ID = rand.Text()
	}
	return p
}

// ofCall returns an error of the call as its caller gets it: details.call is the id that the
// log, the record of calls and the audit have. One that names another call keeps that.
func (r *passage) ofCall(e *Error) *Error {
	if e == nil || e.Details[DetailCall] != nil {
		return e
	}
	own := *e // sites give one error to many calls
	own.Details = make(map[string]any, len(e.Details)+1)
	maps.Copy(own.Details, e.Details)
	own.Details[DetailCall] = r.call.ID
	return &own
}

// stages is the policy of the bridge, outermost first. The innermost step is
// invoke.
func (pl *pipeline) stages() []stage {
	return []stage{
		{"audit", pl.audit},
		{"resolve", pl.resolve},
		{"validate", pl.validate},
		{"limit", pl.limit},
		{"approve", pl.approve},
	}
}

func chain(stages []stage, last handler) handler {
	h := last
	for i := len(stages) - 1; i >= 0; i-- {
		run, next := stages[i].run, h
		h = func(ctx context.Context, r *Run) Step { return run(ctx, r, next) }
	}
	return h
}

// ErrTooLarge is the cause of an Error about arguments over their limit, so that
// a transport can tell it from arguments that do not fit.
var ErrTooLarge = errors.New("too large")

// withFiles multiplies the limit of arguments for a tool that takes files: 4 MiB.
const withFiles = 16

// maxInputDepth bounds the nesting of arguments.
const maxInputDepth = 200

// validate checks the arguments before the page is touched.
func (pl *pipeline) validate(ctx context.Context, r *Run, next handler) Step {
	if r.pass.changed() != nil {
		return pl.validateAmended(ctx, r, next)
	}
	e := pl.checkInput(r)
	if e == nil {
		return next(ctx, r)
	}
	if limited := pl.count(ctx, r); limited != nil { // nonsense counts, too
		e = limited
	}
	return e.Step()
}

func (pl *pipeline) checkInput(r *Run) *Error {
	limit := pl.limits.Arguments
	if r.pass.tool.files {
		limit *= withFiles
	}
	if len(r.pass.given().Text()) > limit {
		return Errorf(SchemaError, "", NotRun,
			"The request is longer than %d bytes.", limit).With(ErrTooLarge)
	}
	if !r.pass.given().IsObject() {
		return Errorf(SchemaError, "", NotRun, "request must be a JSON object, such as {}.")
	}
	var err error
	if r.pass.input, err = r.pass.completeInput(); err == nil && r.pass.tool.operation == nil {
		r.pass.input, err = r.pass.input.Doubles()
	}
	if err != nil {
		return unfit(err)
	}
	for _, s := range []*schema.Schema{r.pass.pinned, r.pass.tool.input} {
		if s == nil {
			continue
		}
		if err := s.Check(r.pass.input); err != nil {
			return violationError(SchemaError, "request", err)
		}
	}
	if r.pass.tool.files {
		if err := schema.CheckFiles(r.pass.tool.described(), r.pass.input); err != nil {
			return violationError(SchemaError, "request", err)
		}
	}
	return nil
}

// unfit is the error of arguments that are not JSON as a page reads it.
func unfit(err error) *Error {
	e, ok := errors.AsType[*schema.SyntaxError](err)
	if !ok {
		return Errorf(SchemaError, "", NotRun, "request: it is not JSON.").With(err)
	}
	return Errorf(SchemaError, "", NotRun, "request%s: %s.", e.Pointer, strings.TrimSuffix(e.Message, ".")).
		Detail("errors", []map[string]string{{"pointer": e.Pointer, "message": e.Message}}).With(err)
}

func syntaxText(err error) string {
	e, ok := errors.AsType[*schema.SyntaxError](err)
	if !ok {
		return "it is not JSON."
	}
	if where := text.Brief(e.Where(), 64); where != "" {
		return e.Message + ", " + where
	}
	return e.Message
}

// completeInput fills parameter defaults, and drops an `action` that a client of
// the published guide repeats inside the request.
func (r *passage) completeInput() (Value, error) {
	in := r.given()
	var add []schema.Member
	for _, p := range r.settings.params {
		if !in.Get(p.Name).Exists() && r.tool.shape().takes(p.Name) {
			add = append(add, p)
		}
	}
	repeated := in.Get("action").IsString() && in.Get("action").String() == r.tool.name &&
		!r.tool.shape().declared["action"]
	if len(add) == 0 && !repeated {
		return in, nil // the usual case
	}
	return in.Edit(func(name string) bool { return repeated && name == "action" }, add...)
}

// limit holds the call to the rates of its caller, its site and its tool. A call counts
// once, however often it stops for a person.
func (pl *pipeline) limit(ctx context.Context, r *Run, next handler) Step {
	if e := pl.count(ctx, r); e != nil {
		return e.Step()
	}
	return next(ctx, r)
}

// count counts the call, and refuses it when there are too many. Its tool may not be known.
func (pl *pipeline) count(ctx context.Context, r *Run) *Error {
	if r.pass.counted {
		return nil
	}
	tool := r.pass.call.Tool
	if r.pass.tool != nil {
		tool = r.pass.tool.name
	}
	if e := pl.take(ctx, &r.pass.call.Caller, r.pass.call.Site, tool); e != nil {
		return e
	}
	r.pass.counted = true
	return nil
}

// decide sets the decision about the call, and returns what it rests on.
func (pl *pipeline) decide(ctx context.Context, r *Run) policy.Input {
	ctx, end := pl.names.while(ctx, &r.pass.call)
	defer end()
	r.pass.unseen = pl.consents.unseen(ctx, r.pass.site, r.pass.tool.name)
	in := r.pass.site.policyInput(r.pass.tool)
	in.Request, in.Unseen = r.pass.settings.approval, r.pass.unseen
	in.Tainted = pl.taints.of(r.pass.call.Caller.Name, r.pass.tool.origin, pl.now())
	r.pass.decision = policy.Decide(in)
	if !in.Tainted { // the store is asked only where that matters
		in.Tainted = true
		tainted := policy.Decide(in)
		if in.Tainted = tainted.Level != r.pass.decision.Level && pl.taints.elsewhere(ctx, r.pass.call.Caller.Name, r.pass.tool.origin, pl.now()); in.Tainted {
			r.pass.decision = tainted
		}
	}
	return in
}

// approve decides whether the call may run, and asks when a person must say so.
func (pl *pipeline) approve(ctx context.Context, r *Run, next handler) Step {
	in := pl.decide(ctx, r)
	switch {
	case r.pass.decision.Level == policy.Never:
		return Errorf(ApprovalDenied, "", NotRun,
			"The operator does not allow %q.", r.pass.tool.name).Detail("layer", r.pass.decision.Layer).
			With(errors.New(r.pass.decision.Reason)).Step()
	case r.pass.agreed: // what they said counts, also where nobody would be asked any more
	case r.pass.decision.Level == policy.Auto || pl.consents.granted(ctx, r):
		return next(ctx, r)
	case r.pass.call.ByHand != nil:
		if e := r.pass.checkByHand(); e != nil {
			return e.Step()
		}
		return next(ctx, r)
	default:
		if e := pl.names.fenced(&r.pass.call); e != nil { // nobody is asked about what cannot run here
			return e.Step()
		}
		return pl.askConsent(ctx, r, in)
	}
	if e := r.pass.checkConsent(); e != nil {
		return e.Step()
	}
	if e := pl.consents.keep(ctx, r); e != nil {
		return e.Step()
	}
	r.pass.answered()
	return next(ctx, r)
}

// run runs it through the pipeline, against the clock from now on.
func (r *Run) run(ctx context.Context) Step {
	r.pass.going = time.Now()
	if r.pass.call.Steps != nil {
		return runSteps(ctx, r)
	}
	return r.pass.bridge.pipe.run(ctx, r)
}

// left returns the call's remaining time. Waiting for a person does not count.
func (r *passage) left() time.Duration {
	return max(time.Millisecond, r.patience()-time.Since(r.going))
}

// patience returns how long the call may take in all. Waiting for a person does not count.
func (r *passage) patience() time.Duration { return max(r.settings.timeout, minPatience) }

// minPatience sets how long a call may take in all where its timeout is shorter: a page may
// have to be opened for it. Waiting for other calls is bounded by the timeout.
const minPatience = 10 * time.Second

// invoke takes a page and runs the tool, once. The timeout of the tool begins when
// it is dispatched; the page may have used up a part of it.
func (pl *pipeline) invoke(ctx context.Context, r *Run) Step {
	if e := pl.intend(ctx, r); e != nil {
		return e.Step()
	}
	source, err := pl.acquire(ctx, r)
	if err != nil {
		return nothingRan(ctx, err).Step()
	}
	if e := r.still(ctx); e != nil {
		source.Release()
		return e.Step()
	}
	r.pass.source = source
	pl.record(ctx, r)
	if r.pass.call.Detached {
		began(r)
	}
	return pl.inPage(ctx, r, func() Step {
		r.pass.outcome = Unknown
		dispatched(r)
		pl.taints.read(ctx, r, pl.now())
		defer pl.step(ctx, "page")()
		return source.Invoke(ctx, Invocation{
			Tool: r.pass.tool, Caller: r.pass.call.Caller.Name, Node: pl.names.prefix(), Agreed: r.pass.shown, Input: r.pass.input.Text(), MaxBytes: r.pass.resultLimit(),
			Patience: r.pass.left(), Timeout: r.pass.settings.timeout, Answer: pl.limits.Question, Questions: maxQuestions - r.asked,
			Still: r.still, Progress: pl.taints.progress(ctx, r, pl.now), Files: r.pass.bridge.files.room(r.pass.call.Caller.Name, &pl.limits),
		})
	})
}

// acquire returns the page that the call runs in.
func (pl *pipeline) acquire(ctx context.Context, r *Run) (Source, error) {
	if found := r.pass.found; found != nil {
		r.pass.found = nil
		return found, nil
	}
	defer pl.step(ctx, "acquire")()
	ref := r.pass.pageRef()
	ref.Beside = r.pass.call.Beside && !r.pass.tool.hints.MayChange(r.pass.tool.topLevel)
	return pl.router.Acquire(ctx, ref)
}

// still says why the call may not run any more, after it waited: its credential or the
// consent that it rests on was revoked.
func (r *Run) still(ctx context.Context) *Error {
	if e := r.pass.bridge.pipe.names.fenced(&r.pass.call); e != nil { // the stores need not be asked
		return e
	}
	switch {
	case r.pass.call.Caller.IsRevoked():
		return Revoked()
	case r.pass.standing && !r.pass.bridge.pipe.consents.stands(ctx, r):
		return Errorf(ApprovalDenied, "", NotRun,
			"The consent that stood for %q was revoked while the call waited for its page. Nothing ran.", r.pass.tool.name)
	}
	if begin := r.pass.call.ticket; begin != nil {
		if e := begin(ctx); e != nil {
			return e
		}
	}
	if e := begun(ctx, r); e != nil {
		return e
	}
	return r.pass.bridge.pipe.names.fenced(&r.pass.call) // last: it is true for a moment only
}

// resultLimit bounds the call's result, in bytes.
func (r *passage) resultLimit() int {
	most := r.bridge.pipe.limits.Result
	if r.settings.maxBytes > 0 {
		return min(most, r.settings.maxBytes)
	}
	return most
}

// inPage handles the step that a part of the call in its page ended with. It releases
// the page, unless the page waits for a person.
func (pl *pipeline) inPage(ctx context.Context, r *Run, part func() Step) (s Step) {
	defer func() { // also on panic
		if s.Pause == nil {
			r.pass.recorded()
			source := r.pass.source
			r.pass.source = nil
			source.Release()
		}
	}()
	s = pl.taints.tell(ctx, r, part(), pl.now)
	files := &r.pass.bridge.files
	switch saved := s.Files; {
	case s.Pause != nil:
		pausedInPage(r, s.Pause)
	case r.pass.call.Caller.IsRevoked():
		files.refuse(r.pass.call.Caller.Name, saved)
		e := Revoked()
		e.Outcome = Unknown // it may have run, and nobody gets its result
		return e.With(asPlain(s.Err)).Step()
	case s.Err != nil:
		s = presentError(r, s.Err).Step()
		s.Files = files.keep(r, saved)
	default:
		s = present(r, s.Data)
		s.Files = files.keep(r, saved)
	}
	return s
}

// pausedInPage completes the question of a page, and lets its answer go on through
// the pipeline.
func pausedInPage(r *Run, p *Pause) {
	b := r.pass.bridge
	if p.Question.ID == "" {
		p.Question = Invocation{Tool: r.pass.tool, Input: r.pass.input.Text(), Node: b.pipe.names.prefix(),
			Answer: b.pipe.limits.Question}.Complete(p.Question)
	}
	p.Question.Session = r.pass.call.Session
	inPage, answered := p.Continue, r.pass.asking(&p.Question)
	p.Continue = func(ctx context.Context, a *Answer) Step {
		answered(a)
		return b.pipe.audit(ctx, r, func(ctx context.Context, r *Run) Step {
			if a != nil && a.question != "" {
				r.pass.approval, r.pass.approver = a.question, a.by
			}
			return b.pipe.inPage(ctx, r, func() Step {
				defer b.pipe.step(ctx, "page")()
				return inPage(ctx, a)
			})
		})
	}
}
