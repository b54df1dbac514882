package bridge

import (
	"context"
	"fmt"
)

// askConsent stops a call before anything runs and before it holds a page. With
// an answer it begins again, so that everything is checked anew.
func (b *Bridge) askConsent(ctx context.Context, r *Run) Step {
	r.shownDigest, r.shownDocument = r.tool.digest, sessionDocumentID(ctx, r)
	q := Invocation{Tool: r.tool, Input: r.input.Text(),
		Answer: b.limits.Question}.Complete(Question{
		Kind: Approve, Title: fmt.Sprintf("Run %s on %s?", r.tool.name,
			r.call.Site), Detail: r.tool.description, always: mayAlways(r),
	})
	return Step{Pause: &Pause{Question: q, Continue: func(ctx context.Context, a *Answer) Step {
		if ctx.Err() != nil { // it was ended while it waited
			e := *AsError(context.Cause(ctx))
			e.Outcome = NotRun
			return e.Step()
		}
		r.agreed, r.consent = true, a
		if a != nil {
			r.approval, r.approver = a.question, a.by
		}
		return b.run(ctx, r)
	}}}
}

// checkConsent refuses what a person refused, and what is not what they were shown.
func (r *Run) checkConsent() *Error {
	switch {
	case r.consent == nil || !r.consent.OK:
		return Errorf(ApprovalDenied, "", NotRun,
			"%q was refused: a person said no, or nobody answered in time.", r.tool.name)
	case r.shownDigest != r.tool.digest:
		return Errorf(VersionMismatch, ToolChanged, NotRun,
			"The page changed %q after a person agreed to it. Nothing ran.", r.tool.name)
	case r.shownDocument != "" && r.shownDocument != r.tool.document:
		return Errorf(VersionMismatch, ToolChanged, NotRun,
			"The session's page navigated after a person agreed to run %q. Nothing ran.",
			r.tool.name)
	}
	return nil
}

// sessionDocumentID is the document that the call's session shows, if it has a
// page of its own.
func sessionDocumentID(ctx context.Context, r *Run) string {
	b := r.bridge
	if r.call.Session == "" {
		return ""
	}
	base, err := b.router.Await(ctx, Ref{Site: r.call.Site, Caller: r.call.Caller})
	if err != nil {
		return r.tool.document
	}
	if t := base.Tool(r.tool.name); t != nil && t.document == r.tool.document {
		return "" // the catalog's: the session has no page yet
	}
	return r.tool.document
}
