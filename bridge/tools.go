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
}

// Tools lists what the caller may call: what its session's page offers, when
// ref.Session names one that has a page, and what the site's catalogue page offers
// otherwise. It waits until the site is opened, within ctx and ref.Patience. Errors
// are *Error.
func (b *Bridge) Tools(ctx context.Context, ref Ref) (Listing, error) {
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return Listing{}, err
	}
	catalog, err := b.router.Catalog(ctx, ref)
	if err != nil {
		return Listing{}, nothingRan(ctx, err)
	}
	return Listing{Site: s.site, Version: b.current(ctx, ref, s), Tools: s.offered(catalog), Catalog: catalog}, nil
}

// Changes gives a channel that is closed when Tools may give something else.
func (b *Bridge) Changes() <-chan struct{} { return b.router.Changes() }

// Resume finds the call that waits, or whose outcome is kept, under a token. in is
// the same call again: a token is no licence for another. Errors are *Error:
// RESUME_NOT_FOUND, or SCHEMA_ERROR for another action, session or input.
func (b *Bridge) Resume(in *Call, token string) (*Run, error) {
	r, e := b.attach(in, token, nil)
	return r, asPlain(e)
}

// Asks gives the question that the call waits for now, or nil.
func (r *Run) Asks() *Question {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.question
}

// Elicited gives the answer that the caller's own client got from its person to the
// open question of that id. Errors are *Error: FORBIDDEN without the right to
// elicit, CONFLICT when the question is not open any more, SCHEMA_ERROR for an
// answer that does not fit.
func (r *Run) Elicited(id string, a Answer, by Caller) error {
	if !by.Can(MayElicit) || by.IsRevoked() || by.Name != r.call.Caller.Name {
		return mayNotAnswer()
	}
	return asPlain(r.answer(id, &a, by.Name))
}
