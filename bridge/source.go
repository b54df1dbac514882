package bridge

import (
	"context"
	"encoding/json"
	"slices"
	"time"
)

// Source offers the tools of a site.
type Source interface {
	// Catalog gives the tools now. It does no I/O and takes no lock. Never nil.
	Catalog() *Catalog
	// Invoke runs the tool once, and returns its result as JSON text. The
	// catalog of the source is at least as new as the reply when it returns.
	// Errors are *Error, or *Stopped when the tool waits for a person. It is safe
	// for concurrent use.
	Invoke(ctx context.Context, inv Invocation) (json.RawMessage, error)
}

// Invocation is what a Source needs to run a tool.
type Invocation struct {
	// Tool is what was validated and approved. A source that now holds another
	// definition under its name refuses with VersionMismatch (TOOL_CHANGED).
	Tool *Tool
	// Input is a JSON object that fits the tool's schema.
	Input json.RawMessage
	// MaxBytes caps the JSON text of the result. Zero means the source's own
	// limit.
	MaxBytes int
	// Patience is how long the tool may take to be there, and Timeout how long it
	// may run from its dispatch. Zero means as long as the context.
	Patience, Timeout time.Duration
}

// TimedOut is the cause of a context that ends with a call's Timeout.
func TimedOut(after time.Duration) *Error {
	return Errorf(InternalError, Timeout, Unknown, "The tool did not answer within %s.", after)
}

// Lease is a Source that one call holds until Release.
type Lease interface {
	Source
	// Asking says which question the page waits for; nil means none any more.
	// Other calls to the page are refused meanwhile.
	Asking(q *Question)
	// Release gives the page back. It is called exactly once.
	Release()
}

// Pictured is a Lease of a page that can be seen.
type Pictured interface {
	// Picture gives what a person would see of the page, as a PNG. Errors are
	// *Error.
	Picture(ctx context.Context) ([]byte, error)
}

// Shown is a Pictured whose page a person can watch and act in.
type Shown interface {
	// View shows the page, until the view or the lease ends. Errors are *Error.
	View(ctx context.Context) (View, error)
}

// Ref names whose page of which site is meant.
type Ref struct {
	Site string
	// Session is the caller's own name for its state; empty means none.
	Session string
	Caller  Caller
	// Patience is how long to wait for a site or a page to be opened, and Turn how
	// long for other calls. Zero means as long as the context. They are no
	// deadlines of the context, because usually nothing is waited for at all.
	Patience, Turn time.Duration
	// Beside says, for Acquire, that the call may have the session's page beside
	// others of which this is said, too. Others have it alone, and in order.
	Beside bool
	// Page is what the call's config changes about its page, for Acquire: a JSON
	// object with the keys of PageKeys, or empty. It may hold secrets.
	Page string
}

// Site describes a site to transports.
type Site struct {
	// Name is unique in the process: [a-z][a-z0-9_]{0,31}.
	Name string
	// Target is what the operator named: a URL, or a folder.
	Target string
	// Origin is the origin of the target's URL.
	Origin string
	// Local is true for a folder that we serve ourselves.
	Local bool
}

// Router finds sources. It is implemented by the session manager.
type Router interface {
	// Sites lists the sites in the operator's order. No I/O.
	Sites() []Site
	// Catalog gives the list of the session when ref names one that has a page,
	// and of the site's catalogue page otherwise. It waits until the site is
	// opened, within ctx, and never makes a page for the caller.
	Catalog(ctx context.Context, ref Ref) (*Catalog, error)
	// Changes gives a channel that is closed when the list of a site or of a
	// session may have become another. No I/O.
	Changes() <-chan struct{}
	// Acquire gives a page for one call: the session's own, in order, but for
	// Ref.Beside; a fresh one; or the shared one.
	Acquire(ctx context.Context, ref Ref) (Lease, error)
}

// Right is something that a credential may do.
type Right string

// The rights of the contract's section on who answers.
const (
	MayCall   Right = "call"
	MayElicit Right = "elicit"
	MayAnswer Right = "answer"
)

// Caller is who a transport says is calling, after it authenticated.
type Caller struct {
	// Name identifies the caller in logs, limits and sessions. "local" is the
	// one caller of a listener without credentials.
	Name string
	// May lists the rights.
	May []Right
	// Sites are the names that the caller may see; nil means all.
	Sites []string
	// Revoked is closed when the credential that the caller came with is taken
	// back; nil means never. Bridge.Revoke follows.
	Revoked <-chan struct{}
}

// Can reports whether the caller has the right.
func (c Caller) Can(r Right) bool { return slices.Contains(c.May, r) }

// Sees reports whether the caller may know of the site. Nobody, the zero Caller,
// knows of none.
func (c Caller) Sees(site string) bool {
	return c.Name != "" && (c.Sites == nil || slices.Contains(c.Sites, site))
}

// Local is the caller of a loopback listener that has no credentials.
func Local() Caller { return Caller{Name: "local", May: []Right{MayCall, MayElicit}} }

// Asker reaches a person. It may be called from several goroutines.
type Asker interface {
	// Ask blocks until a person answered or ctx ends. An error means that
	// nobody could be asked.
	Ask(ctx context.Context, q Question) (Answer, error)
}
