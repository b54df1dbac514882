package bridge

import (
	"context"
	"log/slog"
	"slices"

	"github.com/pagetools/pagetools/bridge/policy"
)

// Explanation says what would become of a call, and why.
type Explanation struct {
	// Decision is as the call would get it, and Layers what each layer wanted. Without Layers the call
	// does not come so far.
	policy.Decision
	Layers []policy.Layer
	// Mode is the operator's for the site, and Rule the rule that matches, where Ruled.
	Mode  string
	Rule  policy.Rule
	Ruled bool
	// Grant is the ID of the standing consent that covers the call; "" is none.
	Grant string
	// Refused says why the call would end whatever the policy is: its caller may not make it, or its
	// arguments do not fit. It is nil where nothing is wrong.
	Refused *Error
}

// Explain returns what would become of a call now. It opens no page, asks nobody and counts nothing; no
// consent is used up by it. An input that does not exist is not checked. The error, an *Error, is about a
// tool that is not there, or not as the operator locked it.
func Explain(ctx context.Context, b *Bridge, in *Call) (*Explanation, error) {
	r, x := &Run{pass: b.enter(in)}, &Explanation{}
	if !in.Caller.Can(MayCall) {
		x.Refused = mayNotCall()
		return x, nil
	}
	var err error
	if r.pass.site, r.pass.settings, err = b.pipe.configured(&r.pass.call); err != nil {
		x.Refused = AsError(err)
		return x, nil
	}
	catalog, err := b.pipe.router.Catalog(r.pass.ref())
	if err != nil {
		return nil, err //nolint:wrapcheck // an *Error
	}
	if r.pass.tool, err = r.pass.site.pick(catalog, in.Tool); err != nil {
		return nil, err
	}
	if in.Input.Exists() {
		x.Refused = b.pipe.checkInput(r)
	}
	rests := b.pipe.decide(ctx, r)
	x.Decision, x.Layers = policy.Explain(rests)
	x.Mode = rests.Operator.Mode
	x.Rule, x.Ruled = rests.Operator.Match(rests.Origin, rests.Tool)
	if b.pipe.consents.granted(ctx, r) {
		x.Grant = r.pass.approval
	}
	return x, nil
}

// Unseen returns the names of the tools of a site that came after a person gave standing consent there,
// and that nobody has seen since. Errors are *Error.
func Unseen(ctx context.Context, b *Bridge, by Caller, site string) ([]string, error) {
	list, err := b.ToolsNow(ctx, Ref{Site: site, Caller: by})
	if err != nil {
		return nil, err
	}
	var names []string
	for _, t := range list.Tools {
		if b.pipe.consents.unseen(ctx, list.of, t.name) {
			names = append(names, t.name)
		}
	}
	return names, nil
}

// StandingGrants lists the consent that stands on the sites that somebody may see, oldest first. It wants
// the right to answer. Errors are *Error.
func StandingGrants(ctx context.Context, b *Bridge, by Caller) ([]Grant, error) {
	if !by.Can(MayAnswer) {
		return nil, mayNotAnswer()
	}
	if b.pipe.memory.Grants == nil {
		return nil, nil
	}
	all, err := b.pipe.memory.Grants.All(ctx)
	if err != nil {
		return nil, notKept("The consent that stands cannot be read now.", err)
	}
	return slices.DeleteFunc(all, func(g Grant) bool { return !by.Sees(g.Site) }), nil
}

// RevokeGrant takes back consent that stands, for somebody with the right to answer who may see its site.
// Calls that wait for their page under it do not run. Errors are *Error: WEBTOOL_NOT_FOUND where there is
// no such consent.
func RevokeGrant(ctx context.Context, b *Bridge, by Caller, id string) error {
	all, err := StandingGrants(ctx, b, by)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(g Grant) bool { return g.ID == id })
	gone := false
	if i >= 0 {
		if gone, err = b.pipe.memory.Grants.Revoke(ctx, id); err != nil {
			return notKept("This consent cannot be taken back now. It stands.", err)
		}
	}
	if !gone {
		return Errorf(WebtoolNotFound, "", NotRun, "No consent with this ID stands: it was taken back, or its site is not yours to see.")
	}
	g := all[i]
	if s := b.pipe.sites.Load().named[g.Site]; s != nil {
		s.seen.forget()
	}
	b.pipe.log.InfoContext(ctx, "grant: revoked", slog.String("grant", g.ID), slog.String("site", g.Site), slog.String("tool", g.Tool),
		slog.String("caller", g.Caller), slog.String("by", by.Name))
	return nil
}
