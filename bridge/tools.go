package bridge

import (
	"context"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Listing is what a site offers to a caller at one moment. It is immutable.
type Listing struct {
	Site Site
	// Version is that of the site's webtool now.
	Version string
	// Tools are sorted by name.
	Tools []*Tool
	// Catalog is where they come from: the same pointer is the same list.
	Catalog *Catalog
	// Unkept are the digests of definitions that returned what does not fit their own
	// outputSchema, with a number that grows with each (see Bridge.Unkept). It is nil when
	// there are none, and must not be changed.
	Unkept map[string]int64
	// Shown is the page of the caller's session, when it has one.
	Shown *Shown
	// Paths is true when calls may choose the path of their page.
	Paths bool
}

// Tools lists what the caller may call: what its session's page offers, when
// ref.Session names one that has a page, and what the site's catalog page offers
// otherwise. It waits until the site is opened, within ctx and ref.Patience. Errors
// are *Error.
func (b *Bridge) Tools(ctx context.Context, ref Ref) (Listing, error) {
	return b.listing(ctx, ref, b.router.Await)
}

// ToolsNow is Tools of what is known now: it does not wait for the site.
func (b *Bridge) ToolsNow(ctx context.Context, ref Ref) (Listing, error) {
	return b.listing(ctx, ref, func(_ context.Context, ref Ref) (*Catalog, error) { return b.router.Catalog(ref) })
}

func (b *Bridge) listing(ctx context.Context, ref Ref,
	look func(context.Context, Ref) (*Catalog, error)) (Listing, error) {
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return Listing{}, err
	}
	catalog, err := look(ctx, ref)
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	return Listing{Site: s.site, Version: b.current(ctx, ref, s), Tools: s.offered(catalog),
		Catalog: catalog, Unkept: s.unkept.all(), Shown: b.router.Shows(ref), Paths: s.mayChoosePath()}, nil
}

func (s *siteState) mayChoosePath() bool { return slices.Contains(s.options.AllowConfig, "path") }

// Count counts a request that runs no tool, such as one for a list, against the rates of its
// caller and, when the caller sees it, of ref.Site. It returns a RATE_LIMIT error when there
// are too many. Transports call it once for each such request.
func (b *Bridge) Count(ref Ref) *Error {
	if _, err := b.siteFor(ref.Site, ref.Caller); err != nil {
		ref.Site = ""
	}
	return b.take(ref.Caller.Name, ref.Site, "")
}

// Opener is a Source whose page can be sent to another place. It is optional.
type Opener interface {
	// Open shows the start of the site, or the path in page, which is as Ref.Page. It
	// returns when the page counts as opened. Errors are *Error.
	Open(ctx context.Context, page string) error
}

// Open sends the page of the caller's session to the start of its site or, where the
// operator lets config have it, to a path. It waits for calls that have the page, and
// returns what the site offers then. Errors are *Error.
func (b *Bridge) Open(ctx context.Context, ref Ref, path string) (Listing, error) {
	if !ref.Caller.Can(MayCall) {
		return Listing{}, mayNotCall()
	}
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return Listing{}, err
	}
	set := s.defaults
	if path != "" {
		if set, err = s.readSettings(schema.MustEncode(map[string]string{"path": path}), ref.Caller); err != nil {
			return Listing{}, err
		}
	}
	if e := b.take(ref.Caller.Name, ref.Site, ""); e != nil {
		return Listing{}, e
	}
	ref.Patience, ref.Turn = max(set.timeout, minPatience), set.timeout
	source, err := b.router.Acquire(ctx, ref)
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	if o, ok := source.(Opener); ok {
		err = o.Open(ctx, set.page)
	}
	source.Release()
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	return b.Tools(ctx, ref)
}
