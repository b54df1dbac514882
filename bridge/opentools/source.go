package opentools

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/schema"
)

// source is the API for one call.
type source struct {
	api  *api
	ref  bridge.Ref
	jar  *jar
	turn bool // it holds that of the jar
}

// acquire returns the API for one call. A session's calls run in order.
func (a *api) acquire(ctx context.Context, ref bridge.Ref) (bridge.Source, error) {
	if a.await(ctx, ref.Patience) == nil {
		return nil, a.unread()
	}
	if e := a.use(); e != nil {
		return nil, e
	}
	s, err := a.taken(ctx, ref)
	if err != nil {
		a.letGo()
		return nil, err
	}
	return s, nil
}

// taken is acquire of a site that is counted as used.
func (a *api) taken(ctx context.Context, ref bridge.Ref) (*source, error) {
	j, ended := a.sessions.of(ref.Caller, ref.Session, a.router.o.Now())
	if ended {
		return nil, bridge.Errorf(bridge.SessionExpired, "", bridge.NotRun,
			"The session %q ended because nobody used it; the next call begins a new one.", ref.Session)
	}
	if e := a.claim(ctx, ref, j); e != nil {
		return nil, e
	}
	s := &source{api: a, ref: ref, jar: j}
	if ref.Session == "" || ref.Beside {
		return s, nil
	}
	if ref.Turn > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, ref.Turn, bridge.Errorf(bridge.InternalError, bridge.Overload, bridge.NotRun,
			"Other calls of this session took too long."))
		defer cancel()
	}
	select {
	case j.turn <- struct{}{}:
		s.turn = true
		return s, nil
	case <-a.life.Done():
		return nil, bridge.Replaced(bridge.NotRun)
	case <-ctx.Done():
		if e, ok := errors.AsType[*bridge.Error](context.Cause(ctx)); ok {
			return nil, e
		}
		return nil, bridge.GaveUp(bridge.NotRun)
	}
}

func (s *source) Release() {
	if s.turn {
		<-s.jar.turn
	}
	s.api.letGo()
}

func (s *source) Invoke(ctx context.Context, inv bridge.Invocation) bridge.Step {
	a := s.api
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(a.over, func() { stop(context.Cause(a.over)) })()
	now, e := s.current(ctx, inv)
	if e != nil {
		return e.Step()
	}
	t := now.tools[inv.Tool.Name()]
	if e := a.allow(inv.Caller, t.Tool, a.router.o.Now()); e != nil {
		return e.Step()
	}
	args, err := schema.Read(inv.Input, maxArgumentDepth)
	if err != nil {
		return bridge.AsError(err).Step()
	}
	if e := inv.Refused(ctx); e != nil {
		return e.Step()
	}
	if inv.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, inv.Timeout, bridge.TimedOut(inv.Timeout))
		defer cancel()
	}
	most := cmp.Or(inv.MaxBytes, a.router.o.Limits.Result)
	target := now.target(inv.Caller, t)
	transport, err := a.through(target)
	if err != nil {
		return notSigned(err).Step()
	}
	o := &outgoing{transport: transport, keeper: a.Keeper, tool: t.Tool, server: t.server, target: target,
		jar: s.jar, args: args, maxBytes: most, userAgent: a.router.o.UserAgent, progress: inv.Progress}
	step := o.do(ctx)
	if step.Err != nil {
		switch step.Err.Details["status"] {
		case http.StatusBadRequest, http.StatusNotFound, http.StatusGone, http.StatusUnprocessableEntity:
			a.doubt()
		}
	}
	return step
}

// target returns the oauth.Target for requests of a tool. The signer must not change server and
// document: the edition owns them.
func (e *edition) target(caller string, t offered) oauth.Target {
	return oauth.Target{Principal: caller, Resource: t.server, Document: e.about.URL, Alternatives: t.alternatives}
}

// maxArgumentDepth bounds the nesting of arguments, as the bridge does.
const maxArgumentDepth = 201

// current is the edition that has the tool of the call as it was checked and agreed to. A document
// that is not fresh any more is asked for before something is changed by it.
func (s *source) current(ctx context.Context, inv bridge.Invocation) (*edition, *bridge.Error) {
	a := s.api
	a.mu.Lock()
	stale := a.router.o.Now().After(a.expires)
	a.mu.Unlock()
	if stale {
		over := a.refresh()
		if op := inv.Tool.Operation(); op == nil || !isSafe(op.Method) {
			ctx, cancel := context.WithTimeout(ctx, behind)
			defer cancel()
			select {
			case <-over:
			case <-ctx.Done(): // what there was is still good
			}
		}
	}
	now := a.edition()
	if now == nil {
		return nil, a.unread()
	}
	t := now.catalog.Tool(inv.Tool.Name())
	switch {
	case t == nil || now.tools[t.Name()].Tool == nil:
		return nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "The site does not offer %q now.", inv.Tool.Name()).
			Detail("reason", "action")
	case t.Digest() != inv.Tool.Digest():
		return nil, bridge.Errorf(bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun,
			"The site changed %q between the check of this call and its run. Read the list again.", inv.Tool.Name())
	}
	return now, nil
}

// doubt asks for the document again soon: the site does not know what it says (B8).
func (a *api) doubt() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.router.o.Now().Sub(a.asked) > askAgain {
		a.expires = time.Time{}
	}
}
