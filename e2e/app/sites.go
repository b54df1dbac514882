package app

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/egress"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// served is a site from when it is begun until nothing of it is left.
type served struct {
	Site // as it was named, and where it is served

	named  Site // to be compared with
	page   *session.SiteOptions
	api    *opentools.SiteOptions
	parts  atomic.Int32 // that are not over
	folder *folderServer
	grant  *egress.Grant // for its API
	ends   sync.Once
}

// folderServer serves a folder to the pages of all sites that name it.
type folderServer struct {
	path   string // "" for files that are no folder
	origin string
	pass   *pageconfig.Cookie
	stops  []func() error
	users  int
}

// Change has sites that can take the place of those that an app serves. One of Apply and Drop must
// be called.
type Change struct {
	app    *App
	served []*served
	set    func(swap func())
	began  []*served
	// Added, Changed and Removed name sites, in the operator's order.
	Added, Changed, Removed []string
}

// PrepareSites makes ready that the app serves these sites in the place of those until now. The
// error is one that Start would return for them; then nothing was changed. It needs
// Options.Changes. Only one change may go on at a time.
func (a *App) PrepareSites(ctx context.Context, sites []Site) (*Change, error) {
	c, of := &Change{app: a}, map[string]bridge.SiteOptions{}
	for _, s := range sites {
		before := a.servedAs(s.Name)
		of[s.Name] = s.Tools
		if before != nil && a.isSame(before, s) {
			c.served = append(c.served, before)
			continue
		}
		next, err := a.newServed(ctx, s, sites)
		if err != nil {
			c.Drop()
			return nil, err
		}
		c.served, c.began = append(c.served, next), append(c.began, next)
		if before == nil {
			c.Added = append(c.Added, s.Name)
		} else {
			c.Changed = append(c.Changed, s.Name)
		}
	}
	for _, before := range a.sites {
		if _, stays := of[before.Name]; !stays {
			c.Removed = append(c.Removed, before.Name)
		}
	}
	if a.Bridge == nil { // it is being started
		return c, nil
	}
	var err error
	if c.set, err = a.Bridge.PrepareSites(of); err != nil {
		c.Drop()
		return nil, err
	}
	return c, nil
}

// Drop ends what was made ready.
func (c *Change) Drop() {
	for _, s := range c.began {
		c.app.release(s)
	}
}

// Apply makes them the sites. Calls in pages of sites that are not there any more, or were changed,
// may go on for a while; see session.Manager.Set. It waits for nothing.
func (c *Change) Apply() {
	a := c.app
	a.setSites(c.served)
	c.set(func() {
		pages, apis, order := a.parts()
		a.Manager.Set(pages)
		if a.APIs != nil {
			a.APIs.Set(apis, order)
		}
	})
	a.Metrics.SetSites(a.Router.Sites())
}

// parts lists what the manager and the router of APIs get of the sites.
func (a *App) parts() (pages []session.SiteOptions, apis []opentools.SiteOptions, order []string) {
	for _, s := range a.sites {
		order = append(order, s.Name)
		if s.page != nil {
			pages = append(pages, *s.page)
		}
		if s.api != nil {
			apis = append(apis, *s.api)
		}
	}
	return pages, apis, order
}

// setSites makes these the sites that are served.
func (a *App) setSites(all []*served) {
	kinds := map[string]string{}
	for _, s := range all {
		if s.page != nil {
			kinds[s.Name] = cmp.Or(s.Engine, a.o.Engine)
		}
	}
	a.sites = all
	a.kinds.Store(&kinds)
}

// KindOf names the kind of engine that opens the pages of a site; "" where it has none. It is safe
// for concurrent use.
func (a *App) KindOf(site string) string {
	if kinds := a.kinds.Load(); kinds != nil {
		return (*kinds)[site]
	}
	return ""
}

func (a *App) servedAs(name string) *served {
	i := slices.IndexFunc(a.sites, func(s *served) bool { return s.Name == name })
	if i < 0 {
		return nil
	}
	return a.sites[i]
}

// isSame reports whether a site would be served as it is. Adapters may have been replaced since.
func (a *App) isSame(is *served, next Site) bool {
	was, now := is.named, next
	if is.page != nil {
		was.Page.Tab.Adapters = a.Manager.Scripts(is.Name).All()
	}
	if len(was.Page.Tab.Adapters)+len(now.Page.Tab.Adapters) == 0 {
		was.Page.Tab.Adapters, now.Page.Tab.Adapters = nil, nil
	}
	target := was.Text == now.Text && was.Folder == now.Folder && was.Path == now.Path
	was.Target, now.Target = nil, nil
	return target && reflect.DeepEqual(was, now)
}

// newServed begins to serve a site, which is one of these, and opens nothing.
func (a *App) newServed(ctx context.Context, s Site, all []Site) (*served, error) {
	n := &served{Site: s, named: s}
	if err := a.begin(ctx, n, all); err != nil {
		a.release(n)
		return nil, err
	}
	return n, nil
}

func (a *App) begin(ctx context.Context, n *served, all []Site) error {
	a.generation++
	site := bridge.Site{Name: n.Name, Target: n.Text, Generation: a.generation, Local: n.Folder != ""}
	if n.HasPage() {
		if err := a.serve(ctx, n); err != nil {
			return err
		}
		e, err := a.engine(cmp.Or(n.Engine, a.o.Engine), all)
		if err != nil {
			return err
		}
		if e.windows < n.Page.Tab.Windows {
			return fmt.Errorf("windows of %s needs a browser that was started for it: start pagetools anew", n.Name)
		}
		site.Origin = n.Origin
		page, reach := n.Page, n.reach()
		page.Site, page.URL, page.Engine, page.Ended = site, n.URL, lent{e.Engine}, func() { a.over(n) }
		page.Tab.Pass, page.Tab.Reach = n.pass, &reach
		if a.o.Own != nil {
			page.Shared, page.OnePage, page.Lend, page.Warm = true, true, false, 0
		}
		n.page = &page
		n.parts.Add(1)
	}
	if !n.hasAPI() {
		return nil
	}
	proxy, err := a.throughFor(ctx)
	if err != nil {
		return err
	}
	site.Origin = n.Origin
	n.grant = proxy.Admit(n.reach(), nil)
	n.parts.Add(1)
	n.api = &opentools.SiteOptions{Site: site, URL: n.URL, Pages: n.HasPage(), Expose: n.API.Expose, Guess: n.API.Guess,
		Full: n.API.Full, Origins: n.Page.Origins, Keeper: a.keeper(n.grant), Words: a.o.Words, Ended: func() { a.over(n) },
		Transport: func(c *tls.Certificate) http.RoundTripper { return n.grant.Transport(a.tlsConfig(c)) }}
	return nil
}

// over ends one of the parts of a site that was taken out.
func (a *App) over(s *served) {
	if s.parts.Add(-1) == 0 {
		a.release(s)
	}
}

// release gives back what the site has besides pages.
func (a *App) release(s *served) {
	s.ends.Do(func() {
		if s.grant != nil {
			s.grant.End()
		}
		if s.folder != nil {
			a.leave(s.folder)
		}
	})
}

// serve gives a site whose pages we have an address.
func (a *App) serve(ctx context.Context, s *served) error {
	if s.Files == nil && s.Folder == "" {
		return nil
	}
	f, err := a.folder(ctx, s)
	if err != nil {
		return err
	}
	s.folder = f
	s.Origin, s.pass, s.URL = f.origin, f.pass, f.origin+"/"
	if s.Path != "" {
		s.URL += strings.TrimPrefix(s.Path, "/")
	}
	return nil
}

// folder returns the server of a site's folder: the pages of one folder are of one origin.
func (a *App) folder(ctx context.Context, s *served) (*folderServer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f := &folderServer{users: 1}
	files := s.Files
	if files == nil {
		root, err := os.OpenRoot(s.Folder) // links cannot lead out of it
		if err != nil {
			return nil, fmt.Errorf("opening %s: %w", s.Text, err)
		}
		if err := s.hasFirst(root); err != nil {
			return nil, errors.Join(err, root.Close())
		}
		if same := a.folders[s.Folder]; same != nil {
			same.users++
			return same, root.Close()
		}
		f.path, f.stops, files = s.Folder, []func() error{root.Close}, root.FS()
	}
	if err := f.start(ctx, files); err != nil {
		return nil, errors.Join(err, f.stop())
	}
	if f.path != "" {
		a.folders[f.path] = f
	}
	return f, nil
}

func (f *folderServer) start(ctx context.Context, files fs.FS) error {
	address, pass, stop, err := serveFolder(ctx, files)
	if err == nil {
		f.origin, f.pass = strings.TrimSuffix(address, "/"), pass
		f.stops = append(f.stops, stop)
	}
	return err
}

func (f *folderServer) stop() (all error) {
	for _, stop := range slices.Backward(f.stops) {
		all = errors.Join(all, stop())
	}
	return all
}

// leave ends a server that no site uses any more.
func (a *App) leave(f *folderServer) {
	a.mu.Lock()
	f.users--
	last := f.users == 0
	if last && a.folders[f.path] == f {
		delete(a.folders, f.path)
	}
	a.mu.Unlock()
	if last {
		_ = f.stop() // what it served has no more readers
	}
}
