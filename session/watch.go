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
func (l *lease) Screenshot(ctx context.Context) ([]byte, error) { return pictureOf(ctx, l.Page) }

func pictureOf(ctx context.Context, p *Page) ([]byte, error) {
	shows, ok := p.tab.(Photographer)
	if !ok {
		return nil, unseen()
	}
	if err := p.lost(); err != nil {
		return nil, err
	}
	return shows.Screenshot(ctx)
}

// View shows the page to a person, until the call releases it.
func (l *lease) View(ctx context.Context) (bridge.View, error) { return l.watchers.view(ctx, l.Page) }

// view shows a page, until end.
func (ws *watchers) view(ctx context.Context, p *Page) (bridge.View, error) {
	shows, ok := p.tab.(Watchable)
	if !ok {
		return nil, unseen()
	}
	if err := p.lost(); err != nil {
		return nil, err
	}
	if e := ws.enter(); e != nil {
		return nil, e
	}
	inner, err := shows.View(ctx)
	if err != nil {
		ws.leave(nil)
		return nil, err
	}
	w := &watcher{View: inner, page: p, of: ws}
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

	page *Page
	of   *watchers
	once sync.Once
}

// Act does something in the page, while it is this process's.
func (w *watcher) Act(ctx context.Context, in bridge.Input) error {
	if err := w.page.lost(); err != nil {
		return err
	}
	return w.View.Act(ctx, in)
}

// Text returns a text of the page, while it is this process's.
func (w *watcher) Text(ctx context.Context) (string, error) {
	if err := w.page.lost(); err != nil {
		return "", err
	}
	return w.View.Text(ctx)
}

// Close ends the view.
func (w *watcher) Close() {
	w.once.Do(func() {
		w.View.Close()
		w.of.leave(w)
	})
}
