package bridge

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
)

// audit says what was asked and how it ended, also on panic and refusal: in the
// log, in the record of calls and, for what was dispatched or refused by a person
// or by policy, in the audit. Inputs and results are in none of them.
func (b *Bridge) audit(ctx context.Context, c *call, next handler) (res *Result, err error) {
	b.logCall(ctx, slog.LevelDebug, "call: intent", c)
	defer func() {
		if p := recover(); p != nil {
			res = nil
			err = Errorf(InternalError, Internal, c.outcome, "Something went wrong inside pagetools.").With(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		if _, stopped := errors.AsType[*stop](err); stopped {
			b.logCall(ctx, slog.LevelInfo, "call: waits for a person", c)
			return
		}
		took := slog.Duration("took", b.now().Sub(c.started))
		var e *Error
		if err == nil {
			b.logCall(ctx, slog.LevelInfo, "call: ok", c, took)
		} else {
			e = AsError(err)
			err = e
			b.logCall(ctx, slog.LevelWarn, "call: failed", c, took, slog.String("code", string(e.Code)),
				slog.String("reason", string(e.Reason)), slog.String("outcome", string(e.Outcome)), slog.Any("error", e.Err))
		}
		b.record(context.WithoutCancel(ctx), c, res, e)
	}()
	return next(ctx, c)
}

func (b *Bridge) logCall(ctx context.Context, level slog.Level, event string, c *call, more ...slog.Attr) {
	if !b.log.Enabled(ctx, level) {
		return
	}
	who := []slog.Attr{slog.String("call", c.ID), slog.String("site", c.Site), slog.String("tool", c.Tool), slog.String("caller", c.Caller.Name)}
	if c.Trace != "" {
		who = append(who, slog.String("trace", c.Trace))
	}
	b.log.LogAttrs(ctx, level, event, append(who, more...)...)
}

// intend notes in the audit that the call is about to be dispatched. A call that
// may change something waits until the note cannot be lost by the death of this
// process, and does not run without it (security reference, D2).
func (b *Bridge) intend(ctx context.Context, c *call) *Error {
	if b.memory.Audit == nil || c.ticket != 0 {
		return nil
	}
	r := auditRecord(c)
	r.Wait = c.tool.hints.MayChange(c.tool.topLevel)
	ticket, err := b.memory.Audit.Intent(ctx, r)
	switch {
	case err == nil:
		c.ticket = ticket
	case ctx.Err() != nil:
		return nothingRan(ctx, err)
	case r.Wait:
		return notKept("This call may change something, and no record of it can be kept now. Nothing ran.", err)
	default:
		b.log.WarnContext(ctx, "audit: a call that only reads is not recorded", slog.String("call", c.ID), slog.Any("error", err))
	}
	return nil
}

// record notes how a call ended.
func (b *Bridge) record(ctx context.Context, c *call, res *Result, e *Error) {
	outcome, code, reason := "ok", "", ""
	if e != nil {
		outcome, code, reason = string(e.Outcome), string(e.Code), string(e.Reason)
	}
	var size int64
	if res != nil {
		size = int64(len(res.Data))
	}
	ended := CallRecord{Time: c.started, Took: b.now().Sub(c.started), Call: c.ID, Trace: c.Trace, Site: c.Site, Tool: c.toolName(),
		Caller: c.Caller.Name, Session: c.Session, Version: c.Version, Decision: c.decided(), Outcome: outcome, Code: code, Reason: reason,
		ArgumentBytes: int64(len(c.Input)), ResultBytes: size}
	if b.ended != nil {
		b.ended(ended)
	}
	if b.memory.Calls != nil {
		if err := b.memory.Calls.Log(ctx, ended); err != nil {
			b.log.Warn("calls: a call is not in the record", slog.String("call", c.ID), slog.Any("error", err))
		}
	}
	if b.memory.Audit == nil {
		return
	}
	var r AuditRecord
	switch {
	case c.ticket != 0:
		r = AuditRecord{Call: c.ID, Caller: c.Caller.Name, Site: c.Site, Tool: c.tool.name}
	case e != nil && e.Code == ApprovalDenied:
		r = auditRecord(c)
		ticket, err := b.memory.Audit.Intent(ctx, r)
		if err != nil {
			b.log.Warn("audit: a refusal is not recorded", slog.String("call", c.ID), slog.Any("error", err))
			return
		}
		c.ticket = ticket
	default:
		return
	}
	r.Approval, r.Approver = c.approval, c.approver
	r.Outcome, r.Code, r.Reason, r.ResultBytes = outcome, code, reason, size
	if res != nil {
		r.Result = digestOf(res.Data)
	}
	if err := b.memory.Audit.Outcome(ctx, c.ticket, r); err != nil {
		b.log.Warn("audit: an outcome is not recorded", slog.String("call", c.ID), slog.Any("error", err))
	}
}

// auditRecord describes a call whose tool is known.
func auditRecord(c *call) AuditRecord {
	return AuditRecord{Call: c.ID, Trace: c.Trace, Claim: c.claim, Caller: c.Caller.Name, Session: c.Session, Site: c.Site, Origin: c.tool.origin, Frame: c.tool.frame,
		Tool: c.tool.name, Definition: c.tool.digest, Arguments: c.argumentsDigest(), ArgumentBytes: int64(len(c.input)),
		Decision: c.decided(), Rule: c.decision.Reason, Approval: c.approval, Approver: c.approver}
}

// argumentsDigest is that of the canonical arguments. A secret among them could be
// guessed from a digest: arguments of a tool that takes secrets have none.
func (c *call) argumentsDigest() string {
	if c.tool.secrets {
		return ""
	}
	return digestOf(canonicalOrRaw(c.input))
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// decided is the level of the call; empty when it did not come to a decision.
func (c *call) decided() string {
	if c.decision.Layer == "" {
		return ""
	}
	return c.decision.Level.String()
}

// toolName is what was asked for, or what it came to.
func (c *call) toolName() string {
	if c.tool != nil {
		return c.tool.name
	}
	return c.Tool
}
