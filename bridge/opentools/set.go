package opentools

import (
	"maps"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// apis are the sites of a router at one moment. They are immutable.
type apis struct {
	list  []*api
	named map[string]*api
	order []string
}

// defaultDrain is RouterOptions.Drain where it is zero.
const defaultDrain = 25 * time.Second

// Set makes these the sites with APIs, and order the one in which all are listed. A site whose name
// and generation are as before stays as it is. One that is not among them any more, or of another
// generation, is taken out: its sessions end, and calls that have it may go on for
// RouterOptions.Drain. Set waits for nothing, and does nothing after Close.
func (r *Router) Set(sites []SiteOptions, order []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return
	}
	was, now := r.sites.Load(), &apis{named: map[string]*api{}, order: order}
	for _, o := range sites {
		o.API = !o.Pages
		a := was.named[o.Name]
		if a == nil || a.Generation != o.Generation {
			before := a
			if a = newAPI(r, o); before != nil {
				a.sessions.expired = before.sessions.endAll()
			}
			a.refresh()
		}
		now.list, now.named[o.Name] = append(now.list, a), a
	}
	r.sites.Store(now)
	for _, a := range was.list {
		if now.named[a.Name] != a {
			r.left[a] = true
			a.retire(func() { r.forget(a) })
		}
	}
}

// forget ends what is left of a site that was taken out.
func (r *Router) forget(a *api) {
	a.close()
	if a.Ended != nil {
		a.Ended()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.left, a)
}

// retire takes the site out. Then over is called, when nothing uses it any more.
func (a *api) retire(over func()) {
	a.end(bridge.Replaced(bridge.NotRun))
	_ = a.sessions.endAll()
	a.router.leaving.Go(func() { // ends with the calls, which are cut off after Drain
		<-a.over.Done()
		over()
	})
	a.mu.Lock()
	a.retired = true
	a.ending = time.AfterFunc(a.router.o.Drain, a.stop)
	idle := a.using == 0
	a.mu.Unlock()
	if idle {
		a.stop()
	}
}

// stop cuts off the calls of a site that was taken out.
func (a *api) stop() {
	a.mu.Lock()
	a.ending.Stop()
	a.mu.Unlock()
	a.cut(bridge.Replaced(bridge.Unknown))
}

// use counts a call, unless the site was taken out.
func (a *api) use() *bridge.Error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.retired {
		return bridge.Replaced(bridge.NotRun)
	}
	a.using++
	return nil
}

// letGo ends use.
func (a *api) letGo() {
	a.mu.Lock()
	a.using--
	last := a.using == 0 && a.retired
	a.mu.Unlock()
	if last {
		a.stop()
	}
}

// endAll ends all sessions, and returns those of which their callers are to be told.
func (s *jars) endAll() (expired map[owner]struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for by := range s.all {
		s.end(by)
	}
	return maps.Clone(s.expired)
}
