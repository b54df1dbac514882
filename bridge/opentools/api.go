package opentools

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
)

// api is a site with the document that it has now.
type api struct {
	SiteOptions

	router     *Router
	transport  http.RoundTripper
	background sync.WaitGroup
	sessions   jars
	life       context.Context //nolint:containedctx // of what begins: it ends when the site is taken out, or with the router
	end        context.CancelCauseFunc
	over       context.Context //nolint:containedctx // of requests: it ends when a site that was taken out has no more time
	cut        context.CancelCauseFunc

	mu      sync.Mutex
	now     *edition      // nil: none was found
	err     *bridge.Error // why
	expires time.Time     // when it is asked for again
	asked   time.Time     // when it was asked for
	running chan struct{} // closed when the look that goes on ends; nil: none
	closed  bool          // no look begins any more
	retired bool          // it was taken out
	using   int           // calls that have it
	ending  *time.Timer   // of over
	good    time.Time     // until when it is used where it cannot be asked for
	merged  map[[2]*bridge.Catalog]*bridge.Catalog
	rates   map[rated]func(time.Time) bool
	// certified are the connections with certificates, which are their callers' own.
	certified map[string]http.RoundTripper
}

// edition is a document with its tools.
type edition struct {
	about   About
	tools   map[string]offered
	catalog *bridge.Catalog
	took    time.Duration // to make them
}

// offered is a tool with where it goes, and what its security asks for.
type offered struct {
	*Tool

	server       *url.URL
	alternatives [][]oauth.Scheme
}

// rated identifies the uses that share a rate (O13).
type rated struct {
	caller, tool string
	limit        RateLimit
}

// Times of looking for documents.
const (
	behind       = 2 * time.Second  // a page that is open waits so long for the API of its site
	soonest      = time.Second      // after a look, failed or not
	restAfter    = 20               // times what it took to make the tools: a site that changes them all the time takes a part of it only
	askAgain     = 10 * time.Second // a document that may have changed is asked for so often at most
	staleTime    = 24 * time.Hour   // a document that cannot be asked for is good so long (B8)
	nothingFor   = time.Hour        // so long a site with pages is believed to have no API
	maxMerged    = 64
	maxRated     = 10_000
	maxCertified = 100
)

func newAPI(r *Router, o SiteOptions) *api {
	a := &api{SiteOptions: o, router: r, transport: o.Transport(nil), merged: map[[2]*bridge.Catalog]*bridge.Catalog{}, rates: map[rated]func(time.Time) bool{}}
	a.life, a.end = context.WithCancelCause(r.life)
	a.over, a.cut = context.WithCancelCause(context.Background())
	if r.o.Homes != nil {
		a.sessions.free = a.free
	}
	return a
}

func (a *api) edition() *edition {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.now
}

// used returns the edition of now, and looks for a newer one in the background when it is time.
func (a *api) used() *edition {
	a.mu.Lock()
	now, due := a.now, a.router.o.Now().After(a.expires)
	a.mu.Unlock()
	if due {
		a.refresh()
	}
	return now
}

// await is used, and waits for the first look.
func (a *api) await(ctx context.Context, patience time.Duration) *edition {
	now := a.used()
	if now != nil || a.Pages && a.failure() != nil {
		return now
	}
	if patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	a.mu.Lock()
	running := a.running
	a.mu.Unlock()
	if running != nil {
		select {
		case <-running:
		case <-ctx.Done():
		}
	}
	return a.edition()
}

func (a *api) failure() *bridge.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.err
}

// refresh looks for the document in the background, unless that goes on. The channel is closed when
// it is over.
func (a *api) refresh() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.running != nil {
		return a.running
	}
	over := make(chan struct{})
	if a.closed {
		close(over)
		return over
	}
	a.running, a.asked = over, a.router.o.Now()
	before := a.now          // only a look changes it
	a.background.Go(func() { // ends with the look, which has its own bounds, or with the router
		next, err := a.look(a.life, before)
		a.settle(next, err)
		close(over)
	})
	return over
}

// close waits for the look that goes on, which the router has ended.
func (a *api) close() {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	a.background.Wait()
}

// settle notes what a look came to.
func (a *api) settle(next *edition, err error) {
	now := a.router.o.Now()
	a.mu.Lock()
	a.running = nil
	was := a.now
	switch {
	case err == nil:
		a.now, a.err = next, nil
		a.expires = now.Add(max(next.about.Fresh, soonest, restAfter*next.took))
		a.good = a.expires.Add(staleTime)
	case was != nil && !isGone(err) && now.Before(a.good):
		a.expires = now.Add(askAgain) // what there was is still good
	default:
		a.now, a.err = nil, asError(a.URL, err)
		a.expires = now.Add(soonest)
		switch {
		case a.Pages && errors.Is(err, ErrNotFound):
			a.expires = now.Add(nothingFor)
		case a.Pages:
			a.expires = now.Add(askAgain)
		}
	}
	changed := was == nil != (a.now == nil) || was != nil && a.now != nil && was.catalog != a.now.catalog
	if changed {
		clear(a.merged)
	}
	left := a.retired
	a.mu.Unlock()
	if err != nil && (!a.Pages || !errors.Is(err, ErrNotFound)) && !left && a.router.life.Err() == nil {
		a.router.o.Log.Warn("site: no document", "site", a.Name, "error", err)
	}
	if changed && !left {
		a.router.notify(a.Name)
	}
}

// asError is the error of a look.
func asError(address string, err error) *bridge.Error {
	host := address
	if u, e := url.Parse(address); e == nil {
		host = u.Host
	}
	if e := unreachable(host, err); e != nil {
		return e
	}
	return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "%s.",
		strings.TrimSuffix(text.Short(text.Line(err.Error()), 1<<10), ".")).With(err)
}

func (a *api) discoverer() *Discoverer {
	return &Discoverer{Client: &http.Client{Transport: a.transport}, Guess: a.Guess, Quick: a.Pages && !a.Full}
}

// look finds the document and makes tools of it.
func (a *api) look(ctx context.Context, before *edition) (*edition, error) {
	var found *Found
	var err error
	if before != nil {
		found, err = a.discoverer().Again(ctx, before.about.Location)
		if err == nil && found.Document == nil {
			same := *before
			same.about.Location = found.Location
			return &same, nil
		}
		if err != nil && !isGone(err) {
			return nil, err
		}
	}
	if found == nil {
		if found, err = a.discoverer().Discover(ctx, a.URL); err != nil {
			return nil, err
		}
	}
	return a.read(found, before), nil
}

// isGone reports whether there is no document any more where one was.
func isGone(err error) bool {
	var answer *statusError
	return errors.Is(err, ErrNotFound) ||
		errors.As(err, &answer) && (answer.status == http.StatusNotFound || answer.status == http.StatusGone)
}

// read makes the tools of a document.
func (a *api) read(found *Found, before *edition) *edition {
	began := time.Now()
	tools, problems, omitted := found.choose(a.Expose)
	e := &edition{about: aboutOf(found), tools: make(map[string]offered, len(tools))}
	var findings []bridge.Finding
	note := func(f bridge.Finding) { findings = append(findings, f.Cleaned()) }
	if found.Instead != "" {
		note(bridge.Finding{Rule: "document-elsewhere", Message: fmt.Sprintf("%s. Its tools are those of %s instead", found.Instead, found.URL)})
	}
	for _, w := range found.wrong {
		note(bridge.Finding{Rule: "document-entry", Message: w, Refused: true})
	}
	for _, p := range problems {
		note(bridge.Finding{Rule: "operation-unusable", Message: p, Refused: true})
	}
	declared, elsewhere := make([]bridge.Declaration, 0, len(tools)), map[string][]string{}
	for _, t := range tools {
		server, err := t.serverOf(found.Document, found.URL, a.Origins, a.Words)
		if err != nil {
			elsewhere[err.Error()] = append(elsewhere[err.Error()], t.Name)
			continue
		}
		for _, n := range t.Notes {
			note(bridge.Finding{Rule: "operation-note", Tool: t.Name, Message: n})
		}
		e.tools[t.Name] = offered{t, server, found.alternatives(t)}
		d := t.declaration(a.Origin, server, e.about.Name())
		d.Sends = found.sends(t)
		declared = append(declared, d)
		t.declared()
	}
	omitted.Elsewhere = len(tools) - len(declared)
	for _, why := range slices.Sorted(maps.Keys(elsewhere)) {
		f := bridge.Finding{Rule: "server-elsewhere", Tool: elsewhere[why][0], Message: why, Refused: true}
		if more := len(elsewhere[why]) - 1; more > 0 {
			f.Message = fmt.Sprintf("%s; so it is of %d more of its operations", why, more)
		}
		note(f)
	}
	var prev *bridge.Catalog
	if before != nil {
		prev = before.catalog
	}
	var refused []bridge.Finding
	e.catalog, refused = bridge.NewCatalog(prev, declared, a.router.o.Limits)
	omitted.Unusable += len(declared) - len(e.catalog.Tools())
	e.about.Omitted = omitted
	if len(e.catalog.Tools()) == 0 {
		note(bridge.Finding{Rule: bridge.RuleEmpty, Message: "the API offers no tools: " + e.about.Empty()})
	}
	e.catalog = e.catalog.With(append(findings, refused...))
	if prev != nil && prev.Digest() == e.catalog.Digest() && slices.Equal(prev.Findings(), e.catalog.Findings()) {
		e.catalog = prev // the same pointer is the same list
	}
	e.took = time.Since(began)
	return e
}

// list returns the tools of the site's API, and of its page where it has one.
func (a *api) list(now *edition, page func() (*bridge.Catalog, error)) (*bridge.Catalog, error) {
	if !a.Pages {
		if now == nil {
			return nil, a.unread()
		}
		return now.catalog, nil
	}
	shown, err := page()
	switch {
	case now == nil:
		return shown, err
	case err != nil:
		return now.catalog, nil // which needs no page
	}
	key := [2]*bridge.Catalog{now.catalog, shown}
	a.mu.Lock()
	defer a.mu.Unlock()
	both := a.merged[key]
	if both == nil {
		if len(a.merged) >= maxMerged {
			clear(a.merged)
		}
		both = now.catalog.Beside(shown)
		a.merged[key] = both
	}
	return both, nil
}

// unread is the error of a site without a document: why, or that its first look goes on.
func (a *api) unread() *bridge.Error {
	if e := a.failure(); e != nil {
		return e
	}
	return bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "The document of %q was not read yet.", a.Name)
}

// allow counts a call against the rate that the site publishes (O13), for each caller.
func (a *api) allow(caller string, t *Tool, now time.Time) *bridge.Error {
	limit := t.Terms.RateLimit
	if limit == nil || limit.Per() == 0 {
		return nil
	}
	every := limit.Per() / time.Duration(limit.Max)
	key := rated{caller, t.Name, *limit}
	a.mu.Lock()
	may := a.rates[key]
	if may == nil {
		if len(a.rates) >= maxRated {
			for k := range a.rates {
				delete(a.rates, k)
				break
			}
		}
		may = policy.Burst(limit.Max, every)
		a.rates[key] = may
	}
	a.mu.Unlock()
	if may(now) {
		return nil
	}
	e := bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "The site allows %d calls of %q in %s. %s",
		limit.Max, t.Name, limit.Window, bridge.TryAgain(every)).Detail("limit", "site")
	e.Retry = every
	return e
}

// through returns the transport for a caller's requests, with the caller's certificate where the
// API wants one.
func (a *api) through(t oauth.Target) (http.RoundTripper, error) {
	if a.Keeper == nil {
		return a.transport, nil
	}
	c, err := a.Keeper.Certificate(t)
	if err != nil || c == nil {
		return a.transport, err
	}
	key := t.Principal + "\n" + string(c.Certificate[0])
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.certified == nil || len(a.certified) > maxCertified {
		a.certified = map[string]http.RoundTripper{}
	}
	if a.certified[key] == nil {
		a.certified[key] = a.Transport(c)
	}
	return a.certified[key], nil
}
