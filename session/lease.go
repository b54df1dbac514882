package session

import (
	"container/list"
	"context"
	"encoding/json"
	"errors"

	"github.com/pagetools/pagetools/bridge"
)

// Acquire gives a page for one call. The error is an *bridge.Error.
func (m *Manager) Acquire(ctx context.Context, ref bridge.Ref) (bridge.Lease, error) {
	s, err := m.site(ref.Site)
	if err != nil {
		return nil, err
	}
	if s.Shared && ref.Session == "" {
		page, err := m.cataloguePage(ctx, s)
		if err != nil {
			return nil, err
		}
		if !m.ask(func(st *state) { err = st.share() }) || err != nil {
			return nil, draining()
		}
		return &lease{Page: page, release: func(bool) { m.tell(func(st *state) { st.leased--; st.checkIdle() }) }}, nil
	}
	w := &waiter{ctx: ctx, site: s, key: keyOf(ref), grant: make(chan grant, 1)}
	if !m.ask(func(st *state) { st.acquire(w) }) {
		return nil, draining()
	}
	select {
	case g := <-w.grant:
		return m.leaseOf(g)
	case <-ctx.Done():
	}
	m.tell(func(st *state) { st.forget(w) })
	return nil, waitEnded(ctx)
}

// forget takes back what w, who left, was given at the same moment, and its
// place in the queue.
func (st *state) forget(w *waiter) {
	select {
	case g := <-w.grant:
		if g.err == nil {
			st.release(g, false)
		}
		return
	default:
	}
	drop(&st.queue, w)
	if ses := st.sessions[w.key]; ses != nil {
		drop(&ses.waiting, w)
	}
}

func drop(l *list.List, w *waiter) {
	for e := l.Front(); e != nil; e = e.Next() {
		if e.Value == w {
			l.Remove(e)
			return
		}
	}
}

func (m *Manager) leaseOf(g grant) (bridge.Lease, error) {
	if g.err != nil {
		return nil, g.err
	}
	return &lease{Page: g.page, release: func(told bool) { m.tell(func(st *state) { st.release(g, told) }) }}, nil
}

// share counts a call on the shared page.
func (st *state) share() error {
	if st.draining {
		return errors.New("draining")
	}
	st.leased++
	return nil
}

// lease is a page that one call holds.
type lease struct {
	*Page
	release func(told bool)
	told    bool
}

// Invoke runs the tool, and notes when its error told the caller of the page's
// death.
func (l *lease) Invoke(ctx context.Context, inv bridge.Invocation) (json.RawMessage, error) {
	data, err := l.Page.Invoke(ctx, inv)
	if err != nil {
		switch bridge.AsError(err).Reason {
		case bridge.PageCrashed, bridge.BrowserLost:
			l.told = true
		case bridge.PageNavigated: // without end, so that the page was closed
			l.told = l.isDead()
		}
	}
	return data, err
}

// Release gives the page back.
func (l *lease) Release() { l.release(l.told) }
