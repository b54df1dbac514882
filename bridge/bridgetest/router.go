package bridgetest

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// Handler runs the tools of a scripted site.
type Handler func(ctx context.Context, inv bridge.Invocation) bridge.Step

// Recorded is one invocation that reached a site, or, without a tool, one Open.
type Recorded struct {
	Ref   bridge.Ref
	Tool  string
	Input string
}

// Router is a scripted bridge.Router over sites whose catalogs and answers the
// test sets. It is safe for concurrent use.
type Router struct {
	mu      sync.Mutex
	order   []bridge.Site
	sites   map[string]*site
	calls   []Recorded
	pauses  []*bridge.Pause
	views   []*View
	changed func(site string)
	leases  int
}

type site struct {
	catalog    *bridge.Catalog
	sessions   map[string]*bridge.Catalog
	shows      map[string]string // addresses, by session
	handler    Handler
	opened     chan struct{} // nil: opened
	err        error         // of Catalog
	acquireErr error
}

var _ bridge.Router = (*Router)(nil)

// NewRouter makes a router without sites.
func NewRouter() *Router { return &Router{sites: map[string]*site{}} }

// Add adds a site whose tools answer with their own input. It has the origin of Tool.
func (r *Router) Add(name string, decls ...bridge.Declaration) *Router {
	c, _ := bridge.NewCatalog(nil, decls, bridge.Limits{})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = append(r.order, bridge.Site{Name: name, Target: "https://" + name + ".example/", Origin: origin})
	r.sites[name] = &site{catalog: c, sessions: map[string]*bridge.Catalog{},
		shows: map[string]string{}, handler: Echo}
	return r
}

// Remove takes a site away, without telling anybody.
func (r *Router) Remove(name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.order = slices.DeleteFunc(r.order, func(s bridge.Site) bool { return s.Name == name })
	delete(r.sites, name)
}

// Renew gives a site another generation, with other declarations and no sessions, without telling
// anybody.
func (r *Router) Renew(name string, decls ...bridge.Declaration) {
	c, _ := bridge.NewCatalog(nil, decls, bridge.Limits{})
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.order {
		if r.order[i].Name == name {
			r.order[i].Generation++
		}
	}
	s := r.sites[name]
	s.catalog, s.sessions, s.shows = c, map[string]*bridge.Catalog{}, map[string]string{}
}

// Echo answers with the input.
func Echo(_ context.Context, inv bridge.Invocation) bridge.Step { return bridge.Step{Data: inv.Input} }

// Saving answers with a text, and saves files as a page would: one for which there is no room is
// told as too large.
func Saving(saved ...bridge.File) Handler {
	return func(_ context.Context, inv bridge.Invocation) bridge.Step {
		s := bridge.Step{Data: json.RawMessage(`"saved"`)}
		for _, f := range saved {
			if f.State == "" && !inv.Files.Take(int64(len(f.Data))) {
				f.State, f.Data = bridge.FileTooLarge, nil
			}
			s.Files = append(s.Files, f)
		}
		return s
	}
}

// Declare makes the declarations the site's current ones.
func (r *Router) Declare(name string, decls ...bridge.Declaration) {
	r.set(name, func(s *site) { s.catalog, _ = bridge.NewCatalog(s.catalog, decls, bridge.Limits{}) })
}

// DeclareIn makes them the ones of a session's page.
func (r *Router) DeclareIn(name, session string, decls ...bridge.Declaration) {
	r.set(name, func(s *site) { s.sessions[session], _ = bridge.NewCatalog(s.catalog, decls, bridge.Limits{}) })
}

// Show makes a session's page show an address.
func (r *Router) Show(name, session, url string) {
	r.set(name, func(s *site) { s.shows[session] = url })
}

// Handle makes h answer the calls of the site.
func (r *Router) Handle(name string, h Handler) { r.set(name, func(s *site) { s.handler = h }) }

// Answer makes the site answer every call with this result, or this error.
func (r *Router) Answer(name string, data string, err error) {
	r.Handle(name, func(context.Context, bridge.Invocation) bridge.Step { return step(data, err) })
}

func step(data string, err error) bridge.Step {
	if err != nil {
		return bridge.AsError(err).Step()
	}
	return bridge.Step{Data: json.RawMessage(data)}
}

// Fail makes the site's catalog unavailable; nil makes it available again.
func (r *Router) Fail(name string, err error) { r.set(name, func(s *site) { s.err = err }) }

// FailAcquire makes pages of the site unavailable; nil makes them available.
func (r *Router) FailAcquire(name string, err error) {
	r.set(name, func(s *site) { s.acquireErr = err })
}

// Opening makes the site's catalog wait until the returned function is called.
func (r *Router) Opening(name string) (opened func()) {
	ch := make(chan struct{})
	r.set(name, func(s *site) { s.opened = ch })
	return sync.OnceFunc(func() { close(ch) })
}

func (r *Router) set(name string, change func(*site)) {
	r.mu.Lock()
	s := r.sites[name]
	if s == nil {
		panic("bridgetest: no site " + name)
	}
	change(s)
	changed := r.changed
	r.mu.Unlock()
	if changed != nil {
		changed(name)
	}
}

// Calls lists the invocations so far.
func (r *Router) Calls() []Recorded {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.calls)
}

// Waiting returns how many questions of pages are open.
func (r *Router) Waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := 0
	for _, p := range r.pauses {
		if p.Open() {
			n++
		}
	}
	return n
}

// Notify makes changed the function that is called after Declare.
func (r *Router) Notify(changed func(site string)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.changed = changed
}

// Views lists the views of pages that were opened.
func (r *Router) Views() []*View {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.views)
}

// Leases returns how many pages are held now.
func (r *Router) Leases() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.leases
}

// Sites lists the sites in the order of Add.
func (r *Router) Sites() []bridge.Site {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.order)
}

// find returns a copy of the site's script.
func (r *Router) find(name string) (site, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.sites[name]
	if !ok {
		return site{}, false
	}
	return *s, true
}

// Await returns the session's catalog, or the site's, once it is opened.
func (r *Router) Await(ctx context.Context, ref bridge.Ref) (*bridge.Catalog, error) {
	s, ok := r.find(ref.Site)
	if ok && s.opened != nil {
		select {
		case <-s.opened:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return r.known(ref)
}

// Catalog returns the session's catalog, or the site's. A site that is not opened has none.
func (r *Router) Catalog(ref bridge.Ref) (*bridge.Catalog, error) {
	if s, ok := r.find(ref.Site); ok && s.opened != nil {
		select {
		case <-s.opened:
		default:
			return nil, bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
				"The site was not opened yet.")
		}
	}
	return r.known(ref)
}

func (r *Router) known(ref bridge.Ref) (*bridge.Catalog, error) {
	s, ok := r.find(ref.Site)
	if !ok {
		return nil, bridge.NoSite()
	}
	if s.err != nil {
		return nil, s.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.sites[ref.Site].sessions[ref.Session]; c != nil {
		return c, nil
	}
	return s.catalog, nil
}

// Shows returns a page when the session has one.
func (r *Router) Shows(ref bridge.Ref) *bridge.Shown {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s := r.sites[ref.Site]; s == nil || s.sessions[ref.Session] == nil {
		return nil
	}
	url := cmp.Or(r.sites[ref.Site].shows[ref.Session], "https://"+ref.Site+".example/"+ref.Session)
	return &bridge.Shown{URL: url, Title: "A page", Config: ref.Page}
}

// Acquire returns a page of the site.
func (r *Router) Acquire(_ context.Context, ref bridge.Ref) (bridge.Source, error) {
	s, ok := r.find(ref.Site)
	if !ok {
		return nil, bridge.NoSite()
	}
	if s.acquireErr != nil {
		return nil, s.acquireErr
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leases++
	return &lease{router: r, ref: ref, script: s}, nil
}

// lease is a page for one call.
type lease struct {
	router *Router
	ref    bridge.Ref
	script site
	once   sync.Once
	views  []*View // guarded by the router
}

var (
	_ bridge.Source = (*lease)(nil)
	_ bridge.Page   = (*lease)(nil)
	_ bridge.Opener = (*lease)(nil)
)

// Invoke records the call and asks the handler.
func (l *lease) Invoke(ctx context.Context, inv bridge.Invocation) bridge.Step {
	l.router.mu.Lock()
	l.router.calls = append(l.router.calls, Recorded{l.ref, inv.Tool.Name(), string(inv.Input)})
	l.router.mu.Unlock()
	if inv.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, inv.Timeout, bridge.TimedOut(inv.Timeout))
		defer cancel()
	}
	return l.noted(l.script.handler(ctx, inv))
}

// noted keeps the pauses of a call, also after a question.
func (l *lease) noted(s bridge.Step) bridge.Step {
	if s.Pause != nil {
		goOn := s.Pause.Continue
		s.Pause.Continue = func(ctx context.Context,
			a *bridge.Answer) bridge.Step {
			return l.noted(goOn(ctx, a))
		}
		l.router.mu.Lock()
		defer l.router.mu.Unlock()
		l.router.pauses = append(l.router.pauses, s.Pause)
	}
	return s
}

// Open makes the session's list that of its site again, and records itself as a call.
func (l *lease) Open(_ context.Context, page string) error {
	l.router.mu.Lock()
	defer l.router.mu.Unlock()
	delete(l.router.sites[l.ref.Site].sessions, l.ref.Session)
	l.router.calls = append(l.router.calls, Recorded{l.ref, "", page})
	return nil
}

// Screenshot returns a text in the place of a picture.
func (l *lease) Screenshot(context.Context) ([]byte, error) {
	return []byte("picture of " + l.ref.Site), nil
}

// View returns a view that shows one picture, and records what is done in it.
func (l *lease) View(context.Context) (bridge.View, error) {
	v := NewView()
	v.Show(bridge.Frame{JPEG: []byte("view of " + l.ref.Site), Width: 800, Height: 600})
	l.router.mu.Lock()
	defer l.router.mu.Unlock()
	l.views = append(l.views, v)
	l.router.views = append(l.router.views, v)
	return v, nil
}

// Release returns the page. A second time is a bug of the caller.
func (l *lease) Release() {
	first := false
	l.once.Do(func() { first = true })
	if !first {
		panic("bridgetest: a lease was released twice")
	}
	l.router.mu.Lock()
	defer l.router.mu.Unlock()
	for _, v := range l.views {
		v.Close()
	}
	l.router.leases--
}
