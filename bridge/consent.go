package bridge

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// where returns the page that the call would run in, and what a person who agrees to
// the call now agrees to of it. asking says that they are about to be asked.
func (r *passage) where(asking bool) (*Agreed, *Shown) {
	ref := r.ref()
	ref.Page, ref.Asking = r.settings.page, asking
	shown := r.bridge.pipe.router.Shows(ref)
	if shown == nil {
		return &Agreed{NewPage, r.settings.page}, &Shown{Config: r.settings.page}
	}
	return &Agreed{r.tool.document, shown.Config}, shown
}

// askConsent stops a call before anything runs and before it holds a page. With
// an answer it begins again, so that everything is checked anew. The decision rests on in.
func (pl *pipeline) askConsent(ctx context.Context, r *Run, in policy.Input) Step {
	why := wantedBy(in)
	in.Operator.Mode = policy.ModeAuto
	if p, ok := pl.router.(Preparer); ok {
		if err := p.Prepare(ctx, r.pass.ref(), r.pass.tool); err != nil {
			return nothingRan(ctx, err).Step()
		}
	}
	var shown *Shown
	r.pass.shownDigest, r.pass.requested = r.pass.tool.digest, r.pass.argumentsDigest()
	r.pass.shown, shown = r.pass.where(true)
	q := Invocation{Tool: r.pass.tool, Input: r.pass.input.Text(), Node: pl.names.prefix(),
		Answer: pl.limits.Question}.Complete(Question{
		Kind: Approve, Title: r.pass.tool.wanted(r.pass.tool.shown(r.pass.input), r.pass.call.Site), Detail: r.pass.tool.description, always: mayAlways(r),
		Session: r.pass.call.Session, Page: describePage(shown), auto: policy.Decide(in), why: why,
	})
	return Step{Pause: &Pause{Question: q, amendable: r.pass.amendable(), Continue: func(ctx context.Context, a *Answer) Step {
		if ctx.Err() != nil { // it was ended while it waited
			e := *AsError(context.Cause(ctx))
			e.Outcome = NotRun
			return r.refuse(ctx, &e)
		}
		r.pass.agreed, r.pass.consent = true, a
		if a != nil {
			r.pass.approval, r.pass.approver = a.question, a.by
		}
		return r.run(ctx)
	}}}
}

// What a title repeats of strangers' words, in bytes and in arguments.
const (
	maxTitled    = 80
	maxTitledArg = 40
	maxArgs      = 6
)

// wanted is the title of a question for consent. Of an API it begins with what the API calls
// itself, what its operation says that it does, and the arguments. These are words of strangers:
// they are in quotes, and short, because the question has them whole besides.
func (t *Tool) wanted(input Value, site string) string {
	run := fmt.Sprintf("Run %s on %s?", t.name, site)
	if t.operation == nil {
		return run
	}
	words := fmt.Sprintf("%s wants: %s", titled(cmp.Or(text.Line(t.operation.API), site)),
		titled(cmp.Or(text.Line(t.title), t.name)))
	var args []string
	for name, v := range input.Members() {
		if len(args) == maxArgs {
			args = append(args, "…")
			break
		}
		args = append(args, text.Brief(name, maxTitledArg)+"="+text.Brief(string(v.Text()), maxTitledArg))
	}
	if len(args) > 0 {
		words += " with " + strings.Join(args, ", ")
	}
	return words + ". " + run
}

// shown returns arguments as whoever is asked about them reads them: without those that the schema
// marks as secret, and with the size and the digest of files.
func (t *Tool) shown(input Value) Value {
	if t.files {
		input = input.Replace(schema.FileTexts(t.described(), input))
	}
	if t.secrets {
		input = input.Mask(t.secretsIn(input))
	}
	return input
}

// described reads the input schema; it is no value when that cannot be read.
func (t *Tool) described() Value {
	described, err := ReadValue("the schema", t.input.JSON())
	if err != nil {
		return Value{}
	}
	return described
}

// secretsIn returns the JSON pointers of the arguments that the schema marks as secret.
func (t *Tool) secretsIn(input Value) map[string]bool {
	described := t.described()
	if !described.Exists() {
		return map[string]bool{"": true}
	}
	return schema.Secrets(described, input)
}

// checkConsent refuses a call that a person refused, or that differs from what they were shown.
func (r *passage) checkConsent() *Error {
	switch now, _ := r.where(false); {
	case r.consent == nil || !r.consent.OK && r.consent.by == nobody:
		return Errorf(ApprovalDenied, "", NotRun, "%q was refused: nobody answered in time.",
			r.tool.name)
	case !r.consent.OK && r.consent.reason != "":
		return Errorf(ApprovalDenied, "", NotRun, "%q was refused: a person said no. The person says: %q", r.tool.name, r.consent.reason).
			Detail(detailReason, r.consent.reason)
	case !r.consent.OK:
		return Errorf(ApprovalDenied, "", NotRun, "%q was refused: a person said no.", r.tool.name)
	case r.shownDigest != r.tool.digest:
		return Errorf(VersionMismatch, ToolChanged, NotRun,
			"The site changed %q after a person agreed to it. Nothing ran.", r.tool.name)
	case r.shown.Document != NewPage && now.Document == NewPage:
		return Errorf(VersionMismatch, ToolChanged, NotRun, "The session's page was closed after a "+
			"person agreed to run %q in it. Nothing ran.", r.tool.name)
	case r.shown.Document != NewPage && *r.shown != *now:
		return Errorf(VersionMismatch, ToolChanged, NotRun,
			"The page navigated after a person agreed to run %q. Nothing ran.", r.tool.name)
	}
	return nil
}

// byHand is in the audit in the place of the question that a call by hand had not.
const byHand = "run by hand"

// checkByHand refuses a call by hand that differs from what its person saw. What they saw is the tool
// and the arguments, and the page as it is now: it may not become another one before the tool runs.
func (r *passage) checkByHand() *Error {
	saw, refused := r.call.ByHand, Errorf(VersionMismatch, ToolChanged, NotRun,
		"%q is not what was on the screen when it was run. Nothing ran: look again.", r.tool.name)
	switch {
	case saw.Definition != r.tool.digest:
		return refused.Detail("changed", "definition")
	case saw.Arguments != digestOf(r.call.Input.Text()):
		return refused.Detail("changed", "arguments")
	case saw.Level != r.decision.Level:
		return refused.Detail("changed", "level")
	}
	r.shown, _ = r.where(false)
	r.approval, r.approver = byHand, r.call.Caller.Name
	return nil
}

// titled returns a text in quotes for a title, in which it has none itself.
func titled(s string) string { return text.Quote(strings.ReplaceAll(s, `"`, "'")) }
