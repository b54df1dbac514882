package bridge

import (
	"context"
	"fmt"
)

// askConsent stops a call before anything runs and before it holds a page. With
// an answer it begins again, so that everything is checked anew.
func (b *Bridge) askConsent(r *Run) Step {
	r.shownDigest, r.shownDocument = r.tool.digest, NewPage
	if b.router.Shows(r.ref()) {
		r.shownDocument = r.tool.document
	}
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
	case r.shownDocument != NewPage && r.shownDocument != r.tool.document:
		return Errorf(VersionMismatch, ToolChanged, NotRun,
			"The page navigated after a person agreed to run %q. Nothing ran.", r.tool.name)
	}
	return nil
}
