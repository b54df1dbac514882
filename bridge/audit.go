package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// audit says what was asked and how it ended, also on panic and refusal: in the
// log, in the record of calls and, for what was dispatched or refused by a person
// or by policy, in the audit. Inputs and results are in none of them.
func (pl *pipeline) audit(ctx context.Context, r *Run, next handler) (s Step) {
	ctx, span := pl.beginSpan(ctx, r)
	logCall(ctx, slog.LevelDebug, "call: intent", r)
	defer func() {
		if p := recover(); p != nil {
			e := Errorf(InternalError, Internal, r.outcome,
				"Something went wrong inside pagetools.")
			s = e.With(fmt.Errorf("panic: %v\n%s", p, debug.Stack())).Step()
		}
		s.Err = r.ofCall(s.Err)
		if span != nil {
			r.endSpan(span, s)
		}
		if s.Pause != nil {
			logCall(ctx, slog.LevelInfo, "call: waits for a person", r)
			pl.measure(ctx, s.Pause)
			return
		}
		took := slog.Duration("took", pl.now().Sub(r.started))
		if e := s.Err; e == nil {
			logCall(ctx, slog.LevelInfo, "call: ok", r, took)
		} else {
			logCall(ctx, slog.LevelWarn, "call: failed", r, append(e.Attrs(), took)...)
		}
		record(context.WithoutCancel(ctx), r, s)
	}()
	return next(ctx, r)
}

type waitedKey struct{}

// waited is how long a call waited for persons, up to the part of it that ctx is of.
func waited(ctx context.Context) time.Duration {
	d, _ := ctx.Value(waitedKey{}).(time.Duration)
	return d
}

// measure adds the time until a question is over to what the call waited for persons.
func (pl *pipeline) measure(ctx context.Context, p *Pause) {
	began, before, next := pl.now(), waited(ctx), p.Continue
	p.Continue = func(ctx context.Context, a *Answer) Step {
		return next(context.WithValue(ctx, waitedKey{}, before+pl.now().Sub(began)), a)
	}
}

func logCall(ctx context.Context, level slog.Level, event string, r *Run,
	more ...slog.Attr) {
	b := r.bridge
	if !b.log.Enabled(ctx, level) {
		return
	}
	who := []slog.Attr{slog.String("call", r.call.ID), slog.String("site", r.call.Site),
		slog.String("tool", r.call.Tool), slog.String("caller", r.call.Caller.Name)}
	if r.trace() != "" {
		who = append(who, slog.String("trace", r.trace()))
	}
	b.log.LogAttrs(ctx, level, event, append(who, more...)...)
}

// intend notes in the audit that the call is about to be dispatched. A call that
// may change something waits until the note cannot be lost by the death of this
// process, and does not run without it (security reference, D2).
func (pl *pipeline) intend(ctx context.Context, r *Run) *Error {
	if pl.memory.Audit == nil || r.ticket != 0 {
		return nil
	}
	intent := auditRecord(r)
	intent.Wait = r.tool == nil || r.tool.hints.MayChange(r.tool.topLevel)
	ticket, err := pl.memory.Audit.Intent(ctx, intent)
	switch {
	case err == nil:
		r.ticket = ticket
	case ctx.Err() != nil:
		return nothingRan(ctx, err)
	case intent.Wait:
		return notKept("This call may change something, and no record of it can be kept now. Nothing ran.", err)
	default:
		pl.log.WarnContext(ctx, "audit: a call that only reads is not recorded",
			slog.String("call", r.call.ID), slog.Any("error", err))
	}
	return nil
}

// record notes how a call ended.
func record(ctx context.Context, r *Run, s Step) {
	b := r.bridge
	outcome, code, reason := "ok", "", ""
	if e := s.Err; e != nil {
		outcome, code, reason = string(e.Outcome), string(e.Code), string(e.Reason)
	}
	size := int64(len(s.Data))
	if b.memory.Calls != nil {
		err := b.memory.Calls.Log(ctx, CallRecord{
			Time: r.started, Took: b.now().Sub(r.started), Waited: waited(ctx), Call: r.call.ID, Trace: r.trace(),
			Site: r.call.Site, Tool: r.toolName(), Caller: r.call.Caller.Name, Session: r.call.Session, Version: r.call.Version,
			Decision: r.decided(), Outcome: outcome, Code: code, Reason: reason,
			ArgumentBytes: int64(len(r.call.Input.Text())), ResultBytes: size,
		})
		if err != nil {
			b.log.Warn("calls: a call is not in the record", slog.String("call", r.call.ID),
				slog.Any("error", err))
		}
	}
	if b.memory.Audit == nil {
		return
	}
	var end AuditRecord
	switch {
	case r.ticket != 0:
		end = AuditRecord{Call: r.call.ID, Caller: r.call.Caller.Name, Site: r.call.Site,
			Tool: r.toolName()}
	case code == string(ApprovalDenied), s.Err != nil && r.refusedByUs(s.Err):
		end = auditRecord(r)
		ticket, err := b.memory.Audit.Intent(ctx, end)
		if err != nil {
			b.log.Warn("audit: a refusal is not recorded", slog.String("call", r.call.ID),
				slog.Any("error", err))
			return
		}
		r.ticket = ticket
	default:
		return
	}
	end.Approval, end.Approver = r.approval, r.approver
	end.Outcome, end.Code, end.Reason, end.ResultBytes = outcome, code, reason, size
	if s.Err == nil {
		end.Result = digestOf(s.Data)
	}
	if err := b.memory.Audit.Outcome(ctx, r.ticket, end); err != nil {
		b.log.Warn("audit: an outcome is not recorded", slog.String("call", r.call.ID),
			slog.Any("error", err))
	}
}

// refusals are how many calls of one caller that were refused are in the audit: who is
// refused can repeat it.
var refusals = policy.Rate{N: 60, Per: time.Minute}

// refusedByUs reports whether what ended the call belongs into the audit though nothing
// was dispatched: it was not the caller's to make, or not any more.
func (r *passage) refusedByUs(e *Error) bool {
	switch e.Code {
	case Forbidden, RateLimit:
	case VersionMismatch:
		if e.Reason != ToolChanged {
			return false
		}
	default:
		return false
	}
	limit, _ := r.bridge.refusals.Take(r.call.Caller.Name, "", "", r.bridge.now())
	return limit == ""
}

// auditRecord describes a call. Its tool may not be known.
func auditRecord(r *Run) AuditRecord {
	a := AuditRecord{Call: r.call.ID, Trace: r.trace(), Claim: r.claim,
		Caller: r.call.Caller.Name, Credential: r.call.Caller.Credential, Session: r.call.Session,
		Site: r.call.Site, Tool: r.toolName(), Decision: r.decided(), Rule: r.decision.Reason,
		Approval: r.approval, Approver: r.approver}
	config := r.settings.page
	if r.tool != nil {
		config = r.pageConfig()
	}
	if page := describeConfig(config); page != nil {
		a.Page, a.PageDigest = string(page), digestOf(page)
	}
	if r.tool == nil { // it is not known, or a page was opened
		return a
	}
	a.Origin, a.Frame, a.Definition = r.tool.origin, r.tool.frame, r.tool.digest
	a.Arguments, a.ArgumentBytes = r.argumentsDigest(), int64(len(r.input.Text()))
	return a
}

// argumentsDigest is that of the canonical arguments. A secret among them could be
// guessed from a digest: arguments of a tool that takes secrets have none.
func (r *passage) argumentsDigest() string {
	if r.tool.secrets {
		return ""
	}
	return digestOf(r.input.Canonical())
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decided is the level of the call; empty when there was no decision.
func (r *passage) decided() string {
	if r.decision.Layer == "" {
		return ""
	}
	return r.decision.Level.String()
}

// toolName is what was asked for, or what it came to.
func (r *passage) toolName() string {
	if r.tool != nil {
		return r.tool.name
	}
	return r.call.Tool
}
