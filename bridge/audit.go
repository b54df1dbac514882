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
			e := Errorf(InternalError, Internal, r.pass.outcome,
				"Something went wrong inside pagetools.")
			s = e.With(fmt.Errorf("panic: %v\n%s", p, debug.Stack())).Step()
		}
		if e := s.Err; e != nil && e.Reason == Elsewhere && r.pass.outcome == NotRun && r.pass.call.moved != nil {
			r.pass.call.moved()
		}
		s.Err = r.pass.ofCall(s.Err)
		s = r.pass.tellChanged(s)
		if span != nil {
			r.pass.endSpan(span, s)
		}
		if s.Pause != nil {
			logCall(ctx, slog.LevelInfo, "call: waits for a person", r)
			pl.measure(ctx, s.Pause)
			return
		}
		took := slog.Duration("took", pl.now().Sub(r.pass.started))
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

// waited returns how long a call waited for persons, up to the part of it that ctx is of.
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

func logCall(ctx context.Context, level slog.Level, event string, r *Run, more ...slog.Attr) {
	b := r.pass.bridge
	if !b.pipe.log.Enabled(ctx, level) {
		return
	}
	who := []slog.Attr{slog.String("call", r.pass.call.ID), slog.String("site", r.pass.call.Site),
		slog.String("tool", r.pass.call.Tool), slog.String("caller", r.pass.call.Caller.Name)}
	if r.pass.trace() != "" {
		who = append(who, slog.String("trace", r.pass.trace()))
	}
	b.pipe.log.LogAttrs(ctx, level, event, append(who, more...)...)
}

// intend notes in the audit that the call is about to be dispatched. A call that
// may change something waits until the note cannot be lost by the death of this
// process, and does not run without it (security reference, D2).
func (pl *pipeline) intend(ctx context.Context, r *Run) *Error {
	if pl.memory.Audit == nil || r.pass.ticket != 0 {
		return nil
	}
	intent := auditRecord(r)
	intent.Wait = r.pass.tool == nil || r.pass.tool.hints.MayChange(r.pass.tool.topLevel)
	ticket, err := pl.memory.Audit.Intent(ctx, intent)
	switch {
	case err == nil:
		r.pass.ticket = ticket
	case ctx.Err() != nil:
		return nothingRan(ctx, err)
	case intent.Wait:
		return notKept("This call may change something, and no record of it can be kept now. Nothing ran.", err)
	default:
		pl.log.WarnContext(ctx, "audit: a call that only reads is not recorded",
			slog.String("call", r.pass.call.ID), slog.Any("error", err))
	}
	return nil
}

func record(ctx context.Context, r *Run, s Step) {
	b := r.pass.bridge
	outcome, code, reason := "ok", "", ""
	if e := s.Err; e != nil {
		outcome, code, reason = string(e.Outcome), string(e.Code), string(e.Reason)
	}
	size := int64(len(s.Data))
	if b.pipe.memory.Calls != nil {
		err := b.pipe.memory.Calls.Log(ctx, CallRecord{
			Time: r.pass.started, Took: b.pipe.now().Sub(r.pass.started), Waited: waited(ctx), Call: r.pass.call.ID, Trace: r.pass.trace(),
			Site: r.pass.call.Site, Tool: r.pass.toolName(), Caller: r.pass.call.Caller.Name, Session: r.pass.call.Session, Version: r.pass.call.Version,
			Decision: r.pass.decided(), Outcome: outcome, Code: code, Reason: reason,
			ArgumentBytes: int64(len(r.pass.call.Input.Text())), ResultBytes: size,
		})
		if err != nil {
			b.pipe.log.Warn("calls: a call is not in the record",
				slog.String("call", r.pass.call.ID), slog.Any("error", err))
		}
	}
	if b.pipe.memory.Audit == nil {
		return
	}
	var end AuditRecord
	switch {
	case r.pass.ticket != 0:
		end = AuditRecord{Call: r.pass.call.ID, Caller: r.pass.call.Caller.Name,
			Site: r.pass.call.Site,
			Tool: r.pass.toolName()}
	case code == string(ApprovalDenied), s.Err != nil && r.pass.refusedByUs(s.Err):
		end = auditRecord(r)
		ticket, err := b.pipe.memory.Audit.Intent(ctx, end)
		if err != nil {
			b.pipe.log.Warn("audit: a refusal is not recorded", slog.String("call", r.pass.call.ID),
				slog.Any("error", err))
			return
		}
		r.pass.ticket = ticket
	default:
		return
	}
	end.Approval, end.Approver, end.Persons = r.pass.approval, r.pass.approver, whoTookPart(r)
	end.Outcome, end.Code, end.Reason, end.ResultBytes = outcome, code, reason, size
	if s.Err == nil {
		end.Result = digestOf(s.Data)
	}
	if err := b.pipe.memory.Audit.Outcome(ctx, r.pass.ticket, end); err != nil {
		b.pipe.log.Warn("audit: an outcome is not recorded", slog.String("call", r.pass.call.ID),
			slog.Any("error", err))
	}
}

// refusals limits how many calls of one caller that were refused are in the audit: who is
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
	limit, _ := r.bridge.pipe.refusals.Take(r.call.Caller.Name, "", "", r.bridge.pipe.now())
	return limit == ""
}

// auditRecord describes a call. Its tool may not be known.
func auditRecord(r *Run) AuditRecord {
	a := AuditRecord{Call: r.pass.call.ID, Trace: r.pass.trace(), Claim: r.claim,
		Caller: r.pass.call.Caller.Name, Credential: r.pass.call.Caller.Credential,
		Client: r.pass.call.Caller.Client, CredentialID: r.pass.call.Caller.CredentialID,
		Session: r.pass.call.Session,
		Site:    r.pass.call.Site, Tool: r.pass.toolName(), Decision: r.pass.decided(),
		Rule:     r.pass.decision.Reason,
		Approval: r.pass.approval, Approver: r.pass.approver}
	config := r.pass.settings.page
	if r.pass.tool != nil {
		config = r.pass.pageConfig()
	}
	if page := describeConfig(config); page != nil {
		a.Page, a.PageDigest = string(page), digestOf(page)
	}
	if r.pass.tool == nil { // it is not known, or a page was opened
		return a
	}
	a.Origin, a.Frame, a.Definition = r.pass.tool.origin, r.pass.tool.frame, r.pass.tool.digest
	if by := r.pass.tool.adapter; by != nil {
		a.Adapter = by.String() + " sha256:" + by.SHA256
	}
	a.Arguments, a.ArgumentBytes = r.pass.argumentsDigest(), int64(len(r.pass.input.Text()))
	if r.pass.changed() != nil {
		a.Requested = r.pass.requested
	}
	return a
}

// argumentsDigest returns the digest of the canonical arguments, or "" for a tool that takes
// secrets: a digest lets a short secret be guessed.
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

// toolName returns the name of the tool, or the requested name when no tool was found.
func (r *passage) toolName() string {
	if r.tool != nil {
		return r.tool.name
	}
	return r.call.Tool
}
