package bridge

import "context"

// Listing is what a site offers to a caller at one moment. It is immutable.
type Listing struct {
	Site Site
	// Version is that of the site's webtool now.
	Version string
	// Tools are sorted by name.
	Tools []*Tool
	// Catalog is where they come from: the same pointer is the same list.
	Catalog *Catalog
	// Shown is the page of the caller's session, when it has one.
	Shown *Shown
}

// Tools lists what the caller may call: what its session's page offers, when
// ref.Session names one that has a page, and what the site's catalog page offers
// otherwise. It waits until the site is opened, within ctx and ref.Patience. Errors
// are *Error.
func (b *Bridge) Tools(ctx context.Context, ref Ref) (Listing, error) {
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return Listing{}, err
	}
	catalog, err := b.router.Await(ctx, ref)
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	return Listing{Site: s.site, Version: b.current(ctx, ref, s), Tools: s.offered(catalog),
		Catalog: catalog, Shown: b.router.Shows(ref)}, nil
}
