package bridge

import (
	"context"
	"fmt"
)

// consent is what a person said about one call, and what exactly they were shown.
type consent struct {
	answer   *Answer
	digest   string // of the tool's definition
	document string // of the session's page; "" when it had none
	kept     bool   // as a grant
}

// askConsent stops a call before anything runs and before it holds a page. With
// an answer it begins again, so that everything is checked anew.
func (b *Bridge) askConsent(ctx context.Context, c *call) error {
	asked := consent{digest: c.tool.digest, document: b.sessionDocumentID(ctx, c)}
	q := Question{Kind: Approve, Title: fmt.Sprintf("Run %s on %s?", c.tool.name, c.Site), Detail: c.tool.description,
		Tool: c.tool.name, Input: c.input, Origin: c.tool.origin, always: b.mayAlways(c)}
	return &stop{question: q, resume: func(ctx context.Context, a *Answer) (*Result, error) {
		if ctx.Err() != nil { // it was ended while it waited
			e := *AsError(context.Cause(ctx))
			e.Outcome = NotRun
			return nil, &e
		}
		asked.answer = a
		c.consent = &asked
		if a != nil {
			c.approval, c.approver = a.question, a.by
		}
		return b.run(ctx, c)
	}}
}

// check refuses what a person refused, and what is not what they were shown.
func (n *consent) check(c *call) *Error {
	switch {
	case n.answer == nil || !n.answer.OK:
		return Errorf(ApprovalDenied, "", NotRun, "%q was refused: a person said no, or nobody answered in time.", c.tool.name)
	case n.digest != c.tool.digest:
		return Errorf(VersionMismatch, ToolChanged, NotRun, "The page changed %q after a person agreed to it. Nothing ran.", c.tool.name)
	case n.document != "" && n.document != c.tool.document:
		return Errorf(VersionMismatch, ToolChanged, NotRun, "The session's page navigated after a person agreed to run %q. Nothing ran.", c.tool.name)
	}
	return nil
}

// sessionDocumentID is the document that the call's session shows, if it has a
// page of its own.
func (b *Bridge) sessionDocumentID(ctx context.Context, c *call) string {
	if c.Session == "" {
		return ""
	}
	base, err := b.router.Catalog(ctx, Ref{Site: c.Site, Caller: c.Caller})
	if err != nil {
		return c.tool.document
	}
	if t := base.Tool(c.tool.name); t != nil && t.document == c.tool.document {
		return "" // the catalogue's: the session has no page yet
	}
	return c.tool.document
}
