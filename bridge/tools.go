package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// Listing holds a site's offer to a caller at one moment. It is immutable.
type Listing struct {
	Site Site
	// Version is the current version of the site's webtool.
	Version string
	// Tools are sorted by name.
	Tools []*Tool
	// Catalog says where they come from: the same pointer is the same list.
	Catalog *Catalog
	// Unkept are the digests of definitions that returned what does not fit their own
	// outputSchema, with a number that grows with each (see Bridge.Unkept), and of those whose
	// results the operator's rules may change, with a number below zero. It is nil when there
	// are none, and must not be changed.
	Unkept map[string]int64
	// Shown is the page of the caller's session, when it has one.
	Shown *Shown
	// Paths is true when calls may choose the path of their page.
	Paths bool

	of *siteState
}

// Terms states the rules for a tool before any call, from the operator's rules and its page's
// hints, as policy.Decide takes them.
type Terms struct {
	// Level applies to a call that asks for nothing itself, and Reason says why, in words for a person.
	Level  policy.Level
	Reason string
	// Ruled is true when one of the operator's rules names the tool, and Strict when the operator
	// asks for everything.
	Ruled, Strict bool
	// ReadsOnly is the claim of the site's own page, Destructive and Untrusted those of any.
	ReadsOnly, Destructive, Untrusted bool
	// Rate bounds the calls of the tool, or of its site; the zero value bounds nothing.
	Rate policy.Rate
}

// Config returns what the config of a call may have, and what it has by default.
func (l *Listing) Config() webtool.Config { return l.of.config }

// Terms returns those of a tool of the listing.
func (l *Listing) Terms(t *Tool) Terms {
	o := &l.of.options
	_, ruled := o.Approval.Match(t.origin, t.name)
	decided := policy.Decide(l.of.policyInput(t))
	rate := policy.SiteRates{Rate: o.Rate, Tools: o.Rates}.Of(t.name)
	return Terms{Level: decided.Level, Reason: decided.Reason, Ruled: ruled, Strict: o.Approval.Mode == policy.ModeStrict,
		ReadsOnly: !t.hints.MayChange(t.topLevel), Destructive: t.hints.Destructive == policy.Yes,
		Untrusted: t.hints.Untrusted == policy.Yes, Rate: rate}
}

// policyInput returns what is known of a tool before any call.
func (s *siteState) policyInput(t *Tool) policy.Input {
	return policy.Input{Operator: s.options.Approval, Tool: t.name, Hints: t.hints, Origin: t.origin,
		Own: t.own, TopLevel: t.topLevel, Site: t.siteLevel()}
}

// Tools lists what the caller may call: what its session's page offers, when
// ref.Session names one that has a page, and what the site's catalog page offers
// otherwise. It waits until the site is opened, within ctx and ref.Patience. Errors
// are *Error.
func (b *Bridge) Tools(ctx context.Context, ref Ref) (Listing, error) {
	return b.listing(ctx, ref, b.pipe.router.Await)
}

// ToolsNow is Tools of what is known now: it does not wait for the site.
func (b *Bridge) ToolsNow(ctx context.Context, ref Ref) (Listing, error) {
	return b.listing(ctx, ref, func(_ context.Context, ref Ref) (*Catalog, error) { return b.pipe.router.Catalog(ref) })
}

// Validate checks the arguments of a call as the call would, against the tool as it is known now. It
// opens no page, asks nobody and counts nothing. What does not fit gives SCHEMA_ERROR, with
// details.errors as the call has it. Errors are *Error.
func Validate(b *Bridge, in *Call) error {
	r := &Run{pass: b.enter(in)}
	var err error
	if r.pass.site, r.pass.settings, err = b.pipe.configured(&r.pass.call); err != nil {
		return err
	}
	catalog, err := b.pipe.router.Catalog(r.pass.ref())
	if err != nil {
		return err //nolint:wrapcheck // an *Error
	}
	if r.pass.tool, err = r.pass.site.pick(catalog, in.Tool); err != nil {
		return err
	}
	if e := b.pipe.checkInput(r); e != nil {
		return e
	}
	return nil
}

// IsCurrent reports whether ToolsNow is made of the catalog, or was the last time that the site
// could be reached.
func (b *Bridge) IsCurrent(ref Ref, c *Catalog) bool {
	now, err := b.pipe.router.Catalog(ref)
	return err != nil || now == c
}

func (b *Bridge) listing(ctx context.Context, ref Ref,
	look func(context.Context, Ref) (*Catalog, error)) (Listing, error) {
	s, err := b.pipe.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return Listing{}, err
	}
	ref.Generation = s.site.Generation
	catalog, err := look(ctx, ref)
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	tools := s.offered(catalog)
	return Listing{Site: s.site, Version: b.current(ctx, ref, s), Tools: tools,
		Catalog: catalog, Unkept: s.unlisted(tools), Shown: b.pipe.router.Shows(ref), Paths: s.mayChoosePath(), of: s}, nil
}

func (s *siteState) mayChoosePath() bool { return slices.Contains(s.options.AllowConfig, "path") }

// Count counts a request that runs no tool, such as one for a list, against the rates of its
// caller and, when the caller sees it, of ref.Site. It returns a RATE_LIMIT error when there
// are too many. Transports call it once for each such request.
func (b *Bridge) Count(ref Ref) *Error {
	if _, err := b.pipe.siteFor(ref.Site, ref.Caller); err != nil {
		ref.Site = ""
	}
	return b.pipe.take(context.Background(), &ref.Caller, ref.Site, "")
}

// Opener is a Source whose page can be sent to another place. It is optional.
type Opener interface {
	// Open shows the start of the site, or the path in page, which is as Ref.Page. It
	// returns when the page counts as opened. Errors are *Error.
	Open(ctx context.Context, page string) error
}

// Open sends the page of the caller's session to the start of its site or, where the
// operator lets config have it, to the path in in.Config. It waits for calls that have the
// page, and returns the site's offer after that. in.Tool names this in the log and in the audit,
// which records it like a call. Errors are *Error.
func (b *Bridge) Open(ctx context.Context, in *Call) (Listing, error) {
	r := &Run{pass: b.enter(in)}
	r.pass.going = time.Now()
	if end := b.pipe.audit(ctx, r, b.openPage); end.Err != nil {
		return Listing{}, end.Err
	}
	return b.Tools(ctx, r.pass.ref())
}

// openPage is the handler of Open.
func (b *Bridge) openPage(ctx context.Context, r *Run) Step {
	if !r.pass.call.Caller.Can(MayCall) {
		return mayNotCall().Step()
	}
	var err error
	if r.pass.site, r.pass.settings, err = b.pipe.configured(&r.pass.call); err != nil {
		return AsError(err).Step()
	}
	if e := b.pipe.count(ctx, r); e != nil {
		return e.Step()
	}
	if e := b.pipe.intend(ctx, r); e != nil {
		return e.Step()
	}
	ref := r.pass.ref()
	ref.Patience, ref.Turn = r.pass.left(), r.pass.settings.timeout
	source, err := b.pipe.router.Acquire(ctx, ref)
	if err != nil {
		return nothingRan(ctx, err).Step()
	}
	defer source.Release()
	r.pass.outcome = Unknown
	if o, ok := source.(Opener); ok {
		if err := o.Open(ctx, r.pass.settings.page); err != nil {
			return nothingRan(ctx, err).Step()
		}
	}
	return Step{Data: json.RawMessage("null")}
}

// ToolDigests returns the digests of the tools that the site has now, by name: what
// SiteOptions.Locked holds them to. They are of what a webtool says of a tool, so that they do not
// depend on where a folder is served. It returns their catalog as well. Errors are *Error.
func (b *Bridge) ToolDigests(ctx context.Context, ref Ref) (map[string]string, *Catalog, error) {
	s, err := b.pipe.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return nil, nil, err
	}
	ref.Generation = s.site.Generation
	c, err := b.pipe.router.Await(ctx, ref)
	if err != nil {
		return nil, nil, nothingRan(ctx, err)
	}
	digests := make(map[string]string, len(c.tools))
	for _, t := range c.tools {
		digests[t.name] = s.lockDigest(t)
	}
	return digests, c, nil
}

// offers reports whether the operator's lock lets the tool through.
func (s *siteState) offers(t *Tool) bool {
	locked := s.options.Locked
	return locked == nil || locked[t.name] != "" && locked[t.name] == s.lockDigest(t)
}

// offered are the tools of a catalog that the lock lets through.
func (s *siteState) offered(c *Catalog) []*Tool {
	if s.options.Locked == nil {
		return c.tools
	}
	var tools []*Tool
	for _, t := range c.tools {
		if s.offers(t) {
			tools = append(tools, t)
		}
	}
	return tools
}

// checkLock refuses a tool that changed since it was locked.
func (s *siteState) checkLock(c *Catalog, t *Tool) *Error {
	if s.offers(t) {
		return nil
	}
	if s.options.Locked[t.name] == "" {
		return s.unknownAction(t.name, c)
	}
	return Errorf(VersionMismatch, ToolChanged, NotRun,
		"%q is not as the operator locked it. Nothing ran.", t.name)
}
