package bridge

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
)

// Source runs the tools of a site for one call, until Release.
type Source interface {
	// Invoke runs the tool once, until its first step. The catalog of the source is
	// at least as new as the step when it returns. It is safe for concurrent use.
	Invoke(ctx context.Context, inv Invocation) Step
	// Release returns the source to its owner. It is called exactly once.
	Release()
}

// Step is the outcome of a call, or its pause: exactly one of Data, Pause and Err is set.
type Step struct {
	// Data is the result, as JSON text.
	Data json.RawMessage
	// Violation is set beside Data when the result does not fit the tool's own
	// outputSchema. The bridge sets it.
	Violation *Violation
	// LeftOut says how many characters of the result the operator's budget left out. The
	// bridge sets it.
	LeftOut int
	// Changed is set when a person changed the arguments before the call ran. The bridge sets it.
	Changed *Changed
	// Files lists the files that the page saved in the call, in the order in which they began,
	// beside Data or Err. From a source they have their content.
	Files []File
	// Pause is set when the call waits for a person.
	Pause *Pause
	// Err is set when the call failed.
	Err *Error
	// Document and Revision are for the owner of a page: the tool list that the page
	// had when it replied. A call reads its own writes.
	Document string
	Revision int64
	// Move numbers what the call did to the address of the page; 0 is nothing.
	Move int64
}

// Violation says where a result does not fit the outputSchema of its own tool.
type Violation struct {
	Message string             `json:"message"`
	Errors  []schema.Violation `json:"errors"`
	// Number counts the broken promise, as in Listing.Unkept; below zero when no list shows the
	// outputSchema.
	Number int64 `json:"-"`
}

// Step returns the step of a call that failed so.
func (e *Error) Step() Step { return Step{Err: e} }

// Agreed is the page that a person's consent is about.
type Agreed struct {
	// Document names the document that was shown, or [NewPage]. Empty means any: standing consent
	// covers every document.
	Document string
	// Config lists what config changed about the page, as in Ref.Page.
	Config string
}

// NewPage is the document of a call that had no page when a person agreed to it: only a
// page that was opened for this call will do.
const NewPage = "new page"

// Invocation tells a Source how to run a tool.
type Invocation struct {
	// Tool was validated and approved. A source that now holds another definition under its name
	// refuses with VersionMismatch (TOOL_CHANGED).
	Tool *Tool
	// Agreed describes the page that a person saw; nil means that nobody was asked. A source that
	// shows another page refuses in the same way.
	Agreed *Agreed
	// Caller is the name of whose call it is: what the source says of a question of one
	// caller's call is for nobody else.
	Caller string
	// Node begins the ids of questions; "" outside of a cluster. See Options.Node.
	Node string
	// Input is a JSON object that fits the tool's schema.
	Input json.RawMessage
	// MaxBytes caps the JSON text of the result. Zero means the source's own
	// limit.
	MaxBytes int
	// Patience limits how long the tool may take to be there and to run, and Timeout how long
	// it may run from its dispatch. Zero means as long as the context.
	Patience, Timeout time.Duration
	// Questions says how many questions of the call a person is asked; further ones are
	// declined at once. Zero means all.
	Questions int
	// Answer says how long a question of the call waits for a person.
	Answer time.Duration
	// Still says why the call may not run any more; nil means that it may. A source that
	// waited since it was acquired asks right before the dispatch. A nil function says nil.
	Still func(context.Context) *Error
	// Progress is told how far a result has come that arrives in parts; nil means that nobody
	// listens. It returns at once.
	Progress func(Progress)
	// Files says how many files of the page the call may have; its zero value is none.
	Files FileRoom
}

// Refused asks Still: why the call may not run any more, or nil.
func (inv Invocation) Refused(ctx context.Context) *Error {
	if inv.Still == nil {
		return nil
	}
	return inv.Still(ctx)
}

// Complete fills in what a source's question says of its call: a new id, tool, input
// and the origin of the tool where the source named none. It returns the question.
func (inv Invocation) Complete(q Question) Question {
	q.ID, q.Tool, q.Input = inv.Node+rand.Text(), inv.Tool.Name(), inv.Input
	if inv.Tool.secrets || inv.Tool.files {
		if input, err := ReadValue("request", inv.Input); err == nil {
			q.Input = inv.Tool.shown(input).Text()
			if inv.Tool.secrets {
				q.Secrets = slices.Sorted(maps.Keys(inv.Tool.secretsIn(input)))
				q.conceal(schema.Conceal(input.LeavesAt(q.Secrets)))
			}
		}
	}
	q.Hints, q.Frame = inv.Tool.hints.Claimed(), inv.Tool.frame
	q.Operation, q.Adapter = inv.Tool.operation, inv.Tool.adapter
	q.ExpiresAt = time.Now().Add(inv.Answer)
	q.Origin = cmp.Or(q.Origin, inv.Tool.Origin())
	return q
}

// TimedOut is the cause of a context that ends with a call's Timeout.
func TimedOut(after time.Duration) *Error {
	return Errorf(InternalError, Timeout, Unknown, "The tool did not answer within %s.", after)
}

// Lister is a Source that knows its own list. It is optional.
type Lister interface {
	// List returns the tools of the source once it is opened, and the one of that name is there or
	// was waited for as long as a call waits. Errors are *Error.
	List(ctx context.Context, tool string) (*Catalog, error)
}

// Page is a Source whose page a person can see, and act in. It is optional.
type Page interface {
	// Screenshot returns what a person would see of the page, as a PNG. Errors are
	// *Error.
	Screenshot(ctx context.Context) ([]byte, error)
	// View shows the page, until the view ends or the source is released. Errors are
	// *Error.
	View(ctx context.Context) (View, error)
}

// Ref names a page: whose it is, and of which site.
type Ref struct {
	Site string
	// Session is the caller's own name for its state; empty means none.
	Session string
	Caller  Caller
	// Patience says how long to wait for a site or a page to be opened, and Turn how
	// long for other calls. Zero means as long as the context. They are not deadlines
	// of the context, because usually there is nothing to wait for.
	Patience, Turn time.Duration
	// Beside lets the call, for Acquire, share the session's page with other calls
	// that have Beside set. A call without it has the page alone, and in order.
	Beside bool
	// Asking says, for Shows, that a person is about to be asked about the call.
	Asking bool
	// Generation names the generation of the site: one of another generation is refused, with
	// Replaced. Zero means the site of now.
	Generation int64
	// API is true, for Acquire and Shows, when the call's tool is an operation of the site's API:
	// no page is needed.
	API bool
	// Until, for Acquire, ends a session that is opened now: once it is closed, and no call holds
	// the page. Nil is never.
	Until <-chan struct{}
	// Page lists what the call's config changes about its page, for Acquire and Shows: a canonical
	// JSON object with the keys of PageKeys, or empty. It may hold secrets.
	Page string
}

// Site describes a site to transports.
type Site struct {
	// Name is unique in the process: [a-z][a-z0-9_]{0,31}.
	Name string
	// Target is the operator's argument: a URL, or a folder.
	Target string
	// Origin is the origin of the target's URL.
	Origin string
	// Generation tells the sites apart that had the name one after the other. A site that is
	// unchanged keeps it.
	Generation int64
	// Shared is true where calls without a session run on one page, which all share.
	Shared bool
	// Local is true for a folder that we serve ourselves, and API for a site without pages: its
	// tools are operations of its API.
	Local, API bool
}

// Router finds sources. It is implemented by the session manager.
type Router interface {
	// Sites lists the sites in the operator's order. No I/O.
	Sites() []Site
	// Catalog returns the list of the session when ref names one that has a page,
	// and of the site's catalog page otherwise, as it is known now: it does no I/O
	// and waits for nothing. It fails when no page was opened yet, and when the last
	// attempt failed.
	Catalog(ref Ref) (*Catalog, error)
	// Await returns the same after the page was opened, within ctx and ref.Patience.
	// It never makes a page for the caller.
	Await(ctx context.Context, ref Ref) (*Catalog, error)
	// Shows returns the page that a call of ref would run in when it is open now, because
	// it is the session's own, or will be, or the one that all calls share; nil otherwise.
	// It does no I/O. With ref.Asking it is a use of the session.
	Shows(ref Ref) *Shown
	// Acquire returns a page for one call: the session's own, in order, but for
	// Ref.Beside; a fresh one; or the shared one.
	Acquire(ctx context.Context, ref Ref) (Source, error)
}

// Preparer is a Router that knows of some calls that they cannot run. It is optional.
type Preparer interface {
	// Prepare says why a call of the tool could not run now, such as for want of a login, before a
	// person is asked about it. The error is an *Error whose outcome is NotRun.
	Prepare(ctx context.Context, ref Ref, t *Tool) error
}

// Shown is a page that is open.
type Shown struct {
	// URL and Title describe the document that it shows, in the page's own words.
	URL, Title string
	// Config lists what config changed about the page when it was opened, as in Ref.Page.
	Config string
}

// Notifier is a Router that reports when lists change. It is optional: without it,
// Bridge.Watch has no events of tool lists.
type Notifier interface {
	// Notify makes changed the function that is called with each site whose list, or
	// a session's list there, may have changed. changed must not block.
	Notify(changed func(site string))
}

// Right is something that a credential may do.
type Right string

// The rights of the contract's section on who answers.
const (
	MayCall   Right = "call"
	MayElicit Right = "elicit"
	MayAnswer Right = "answer"
	// MayView sees what operators see but for pictures and live views, and decides nothing.
	// MayAnswer includes it.
	MayView Right = "view"
)

// Caller is the client of a call, as its transport authenticated it.
type Caller struct {
	// Name identifies the caller in logs, limits and sessions. A listener without credentials has
	// one caller, "local".
	Name string
	// Credential identifies the credential that the caller came with, without telling
	// it; "" means that there was none. Consent that stands ends with it.
	Credential string
	// May lists the rights.
	May []Right
	// Sites are the names that the caller may see; nil means all.
	Sites []string
	// Revoked is closed when the credential that the caller came with is revoked; nil
	// means never. Bridge.Revoke follows.
	Revoked <-chan struct{}
	// Rate bounds the calls on all sites together, in place of the one in Options.Rates; the zero
	// value leaves it to that.
	Rate policy.Rate
	// Expires says when the credential expires; the zero time means never. What streams to the
	// caller ends then, and a call that waits does not: it waits for the caller, not for the
	// credential.
	Expires time.Time
	// Client names the program that the credential was issued to, and CredentialID is a digest of
	// the name that its issuer gave it. They are in the audit. Both may be empty.
	Client, CredentialID string
}

// Can reports whether the caller has the right.
func (c Caller) Can(r Right) bool {
	return slices.Contains(c.May, r) || r == MayView && slices.Contains(c.May, MayAnswer)
}

// Sees reports whether the caller may know of the site. The zero Caller sees no site.
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
