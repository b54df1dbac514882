package session

import (
	"context"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// maxWatchers bounds the views of one call's page.
const maxWatchers = 8

var (
	_ bridge.Page   = (*lease)(nil)
	_ bridge.Lister = (*lease)(nil)
)

// Screenshot returns what a person would see of the page.
func (l *lease) Screenshot(ctx context.Context) ([]byte, error) { return pictureOf(ctx, l.tab) }

func pictureOf(ctx context.Context, tab Tab) ([]byte, error) {
	shows, ok := tab.(Photographer)
	if !ok {
		return nil, unseen()
	}
	return shows.Screenshot(ctx)
}

// View shows the page to a person, until the call releases it.
func (l *lease) View(ctx context.Context) (bridge.View, error) { return l.watchers.view(ctx, l.tab) }

// view shows a tab, until end.
func (ws *watchers) view(ctx context.Context, tab Tab) (bridge.View, error) {
	shows, ok := tab.(Watchable)
	if !ok {
		return nil, unseen()
	}
	if e := ws.enter(); e != nil {
		return nil, e
	}
	inner, err := shows.View(ctx)
	if err != nil {
		ws.leave(nil)
		return nil, err
	}
	w := &watcher{View: inner, of: ws}
	if !ws.admit(w) {
		w.Close()
		return nil, unseen()
	}
	return w, nil
}

func unseen() *bridge.Error {
	return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "This page cannot be seen.")
}

// watchers are the views of one call's page. The zero value has none.
type watchers struct {
	mu    sync.Mutex
	all   map[*watcher]struct{}
	count int // those in all, and those that are being opened
	over  bool
}

// enter counts a view that is being opened.
func (ws *watchers) enter() *bridge.Error {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	switch {
	case ws.over:
		return unseen()
	case ws.count >= maxWatchers:
		return bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "Too many watch this page.")
	}
	ws.count++
	return nil
}

// admit keeps a view that was opened, unless the page was given back meanwhile.
func (ws *watchers) admit(w *watcher) bool {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	if ws.over {
		return false
	}
	if ws.all == nil {
		ws.all = map[*watcher]struct{}{}
	}
	ws.all[w] = struct{}{}
	return true
}

func (ws *watchers) leave(w *watcher) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	delete(ws.all, w)
	ws.count--
}

// end closes all views, before the page serves another call.
func (ws *watchers) end() {
	ws.mu.Lock()
	ws.over = true
	all := ws.all
	ws.all = nil
	ws.mu.Unlock()
	for w := range all {
		w.Close()
	}
}

// watcher is the view of one person.
type watcher struct {
	bridge.View

	of   *watchers
	once sync.Once
}

// Close ends the view.
func (w *watcher) Close() {
	w.once.Do(func() {
		w.View.Close()
		w.of.leave(w)
	})
}
