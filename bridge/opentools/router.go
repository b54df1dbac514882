package opentools

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/text"
)

// SiteOptions is one site whose API is used.
type SiteOptions struct {
	bridge.Site
	// URL says where its document is looked for; see [Discoverer].
	URL string
	// Pages is true when the site has pages besides, in RouterOptions.Pages: then only what the
	// origin says at the well-known places counts, and an API that is not there is no error.
	Pages bool
	// Expose says which operations become tools.
	Expose Expose
	// Guess is as in [Discoverer]. Full searches as thoroughly for the document of a site with
	// pages as for one without.
	Guess, Full bool
	// Origins are further origins that servers of the document may have.
	Origins []string
	// Transport returns what makes the requests, and says what may be reached: with a certificate
	// of the caller's, or nil for all that need none. Required.
	Transport func(certificate *tls.Certificate) http.RoundTripper
	// Keeper adds credentials; nil adds none.
	Keeper *oauth.Keeper
	// Words words findings for whoever chose the options.
	Words text.Words
	// Ended is called once, when the site was taken out by Set and no request of it is under way; nil
	// is nothing. It is not called after Close.
	Ended func()
}

// RouterOptions configures a Router.
type RouterOptions struct {
	// Pages has the sites that are not in Sites, and those with SiteOptions.Pages; nil is none.
	Pages bridge.Router
	Sites []SiteOptions
	// Order are the names of all sites as they are listed; one that is missing comes last.
	Order []string
	// Drain says how long calls of a site that is taken out may go on; zero means 25 s.
	Drain  time.Duration
	Limits bridge.Limits
	// Homes says which process of a data folder has a session; nil means that there is one process.
	Homes bridge.Homes
	// UserAgent is the User-Agent of requests; "" is "pagetools".
	UserAgent string
	Log       *slog.Logger // nil is silent
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// maxTools limits how many operations of a document are offered, unless the limits say otherwise: a
// document is read by who publishes it, and searched by who calls.
const maxTools = 2048

// maxSubschemas is the same of the schemas of all of them.
const maxSubschemas = 400_000

// Router is the sites with APIs, beside those with pages. It is safe for concurrent use.
type Router struct {
	o     RouterOptions
	sites atomic.Pointer[apis]
	life  context.Context //nolint:containedctx // of what goes on in the background
	end   context.CancelFunc

	mu     sync.Mutex
	left   map[*api]bool // were taken out, and calls may use them
	closed bool

	leaving sync.WaitGroup // those in left

	changed atomic.Pointer[func(site string)]
}

var (
	_ bridge.Router   = (*Router)(nil)
	_ bridge.Notifier = (*Router)(nil)
	_ bridge.Preparer = (*Router)(nil)
)

// NewRouter makes a Router, and begins to look for the documents. The caller must close it.
func NewRouter(o RouterOptions) *Router {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Pages == nil {
		o.Pages = noPages{}
	}
	o.UserAgent = cmp.Or(o.UserAgent, "pagetools")
	o.Limits.Tools = cmp.Or(o.Limits.Tools, maxTools)
	o.Limits.Subschemas = cmp.Or(o.Limits.Subschemas, maxSubschemas)
	o.Limits = o.Limits.WithDefaults()
	o.Drain = cmp.Or(o.Drain, defaultDrain)
	r := &Router{o: o, left: map[*api]bool{}}
	r.life, r.end = context.WithCancel(context.Background())
	r.sites.Store(&apis{})
	r.Set(o.Sites, o.Order)
	return r
}

// noPages is RouterOptions.Pages where no site has any. A site that was taken out may be asked for.
type noPages struct{}

func (noPages) Sites() []bridge.Site                        { return nil }
func (noPages) Shows(bridge.Ref) *bridge.Shown              { return nil }
func (noPages) Catalog(bridge.Ref) (*bridge.Catalog, error) { return nil, bridge.NoSite() }
func (noPages) Await(context.Context, bridge.Ref) (*bridge.Catalog, error) {
	return nil, bridge.NoSite()
}
func (noPages) Acquire(context.Context, bridge.Ref) (bridge.Source, error) {
	return nil, bridge.NoSite()
}

// Close ends what goes on in the background, and waits for it.
func (r *Router) Close() {
	r.end()
	r.mu.Lock()
	r.closed = true
	all := slices.Collect(maps.Keys(r.left))
	r.mu.Unlock()
	for _, a := range all {
		a.stop()
	}
	r.leaving.Wait()
	for _, a := range r.sites.Load().list {
		a.close()
	}
}

// Sites implements bridge.Router.
func (r *Router) Sites() []bridge.Site {
	all := slices.Clone(r.o.Pages.Sites())
	now := r.sites.Load()
	for _, a := range now.list {
		if !a.Pages {
			all = append(all, a.Site)
		}
	}
	at := func(s bridge.Site) int {
		if i := slices.Index(now.order, s.Name); i >= 0 {
			return i
		}
		return len(now.order)
	}
	slices.SortStableFunc(all, func(a, b bridge.Site) int { return at(a) - at(b) })
	return all
}

// Notify implements bridge.Notifier.
func (r *Router) Notify(changed func(site string)) {
	r.changed.Store(&changed)
	if n, ok := r.o.Pages.(bridge.Notifier); ok {
		n.Notify(changed)
	}
}

func (r *Router) notify(site string) {
	if changed := r.changed.Load(); changed != nil {
		(*changed)(site)
	}
}

// Catalog implements bridge.Router.
func (r *Router) Catalog(ref bridge.Ref) (*bridge.Catalog, error) {
	a := r.sites.Load().named[ref.Site]
	if a == nil {
		return r.o.Pages.Catalog(ref)
	}
	return a.list(a.used(), func() (*bridge.Catalog, error) { return r.o.Pages.Catalog(ref) })
}

// Await implements bridge.Router.
func (r *Router) Await(ctx context.Context, ref bridge.Ref) (*bridge.Catalog, error) {
	a := r.sites.Load().named[ref.Site]
	if a == nil {
		return r.o.Pages.Await(ctx, ref)
	}
	if !a.Pages {
		return a.list(a.await(ctx, ref.Patience), nil)
	}
	page, err := r.o.Pages.Await(ctx, ref)
	return a.list(a.await(ctx, behind), func() (*bridge.Catalog, error) { return page, err })
}

// Shows implements bridge.Router.
func (r *Router) Shows(ref bridge.Ref) *bridge.Shown {
	if a := r.sites.Load().named[ref.Site]; a != nil && (ref.API || !a.Pages) {
		return nil
	}
	return r.o.Pages.Shows(ref)
}

// Prepare implements bridge.Preparer: nobody is asked about a call that lacks a login.
func (r *Router) Prepare(ctx context.Context, ref bridge.Ref, t *bridge.Tool) error {
	a := r.sites.Load().named[ref.Site]
	if a == nil || !ref.API || a.Keeper == nil {
		return nil
	}
	now := a.used()
	if now == nil || now.tools[t.Name()].Tool == nil {
		return nil // the call says why
	}
	target := now.target(ref.Caller.Name, now.tools[t.Name()])
	address := *target.Resource
	probe := (&http.Request{Method: http.MethodGet, URL: &address, Header: http.Header{}}).WithContext(ctx) // it is not sent
	if err := a.Keeper.Sign(ctx, target, probe); err != nil {
		return notSigned(err)
	}
	return nil
}

// Acquire implements bridge.Router.
func (r *Router) Acquire(ctx context.Context, ref bridge.Ref) (bridge.Source, error) {
	if a := r.sites.Load().named[ref.Site]; a != nil && (ref.API || !a.Pages) {
		if ref.Generation != 0 && ref.Generation != a.Generation {
			return nil, bridge.Replaced(bridge.NotRun)
		}
		return a.acquire(ctx, ref)
	}
	return r.o.Pages.Acquire(ctx, ref)
}

// About waits for the first look for the document of a site, and returns what it says, and its
// tools. The error is an *bridge.Error, or that of ctx.
func (r *Router) About(ctx context.Context, site string) (*About, *bridge.Catalog, error) {
	a := r.sites.Load().named[site]
	if a == nil {
		return nil, nil, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "No API of %q is looked for.", site)
	}
	now := a.await(ctx, 0)
	switch {
	case now != nil:
		about, tools := now.about, make([]offered, 0, len(now.tools))
		for _, t := range now.catalog.Tools() {
			tools = append(tools, now.tools[t.Name()])
		}
		about.Logins = loginsOf(tools)
		return &about, now.catalog, nil
	case ctx.Err() != nil:
		return nil, nil, context.Cause(ctx)
	}
	return nil, nil, a.unread()
}

// Known returns the current facts about the API of a site, or nil.
func (r *Router) Known(site string) *About {
	a := r.sites.Load().named[site]
	if a == nil {
		return nil
	}
	now := a.edition()
	if now == nil {
		return nil
	}
	about := now.about
	return &about
}

// Revoke ends the sessions of callers whose credential was revoked.
func (r *Router) Revoke() {
	for _, a := range r.sites.Load().list {
		a.sessions.revoke()
	}
}

// Status returns "open", "opening" or the reason that a site's API is not open; "" while the site
// has only its pages.
func (r *Router) Status(site string) string {
	a := r.sites.Load().named[site]
	if a == nil {
		return ""
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.now != nil:
		return "open"
	case a.Pages:
		return ""
	case a.err != nil:
		return a.err.Message
	}
	return "opening"
}

// WaitOpened waits until every site that has no pages was found or failed once, and a little for
// the others.
func (r *Router) WaitOpened(ctx context.Context) error {
	for _, a := range r.sites.Load().list {
		patience := time.Duration(0)
		if a.Pages {
			patience = behind
		}
		a.await(ctx, patience)
		if err := context.Cause(ctx); err != nil {
			return err
		}
	}
	return nil
}

// Findings returns the findings for the author of a site's document.
func (r *Router) Findings(site string) []bridge.Finding {
	a := r.sites.Load().named[site]
	if a == nil {
		return nil
	}
	if now := a.edition(); now != nil {
		return now.catalog.Findings()
	}
	if e := a.failure(); e != nil && a.Pages && !errors.Is(e, ErrNotFound) { // there is one, and it is of no use
		return []bridge.Finding{bridge.Finding{Rule: "api-unusable", Message: e.Message}.Cleaned()}
	}
	return nil
}
