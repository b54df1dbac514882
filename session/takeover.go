package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Takeovers is a bridge.Homes whose sessions go on in another process, with their pages, when this one has ended.
// It is optional, and safe for concurrent use. Homes.Open has returned opened.
type Takeovers interface {
	// Owner returns who owns the page of a session.
	Owner(opened int64) Owner
	// Inherited returns what the process before kept of the page; nil is nothing. Where this process had the
	// page already when it opened the session again, it is nothing, too.
	Inherited(opened int64) []byte
	// Keep keeps what the next process needs, up to 16 KiB; nil says that the page ends with this process.
	Keep(ctx context.Context, opened int64, page []byte) error
	// Leave is Homes.Close, but what was kept stays, and the next process that is asked goes on with it.
	Leave(ctx context.Context, opened int64) error
}

// maxKeptConfig limits the config of a page that can be kept, in bytes.
const maxKeptConfig = 8 << 10

// kept describes a session's page for the next process.
type kept struct {
	Tab     json.RawMessage `json:"tab"`
	Config  string          `json:"config,omitempty"` // as the call gave it
	Created time.Time       `json:"created"`          // the session
}

// engineOf returns the engine of a site's tabs.
func engineOf(m *Manager, s *site) Engine { return cmp.Or(s.Engine, m.o.Engine) }

// lasts returns by what the pages of a site's sessions outlive this process; nil where they do not.
func lasts(m *Manager, s *site) Takeovers {
	by, ok := m.o.Homes.(Takeovers)
	e, can := engineOf(m, s).(Reattacher)
	if !ok || !can || !e.Reattaches() {
		return nil
	}
	return by
}

// openLasting opens the page of a session that this process has just got, or goes on with the one that there is.
func openLasting(m *Manager, w *waiter, ses *session, by Takeovers) {
	ctx, cancel := context.WithCancelCause(w.ctx)
	defer cancel(nil)
	defer context.AfterFunc(w.site.life, func() { cancel(context.Cause(w.site.life)) })()
	is := lasting{options: w.options, created: ses.created}
	var err error
	if text := by.Inherited(ses.home); text != nil {
		is, err = attach(m, w, by.Owner(ses.home), text)
		ctx = context.WithoutCancel(ctx) // it is not lost when its caller leaves now
	} else {
		if len(w.options.given()) <= maxKeptConfig {
			w.owner = by.Owner(ses.home)
		}
		is.page, err = opensFor(ctx, m, w)
	}
	if err == nil {
		err = keep(ctx, ses, &is, by)
	}
	home := ses.home
	switch {
	case err == nil || is.page == nil:
	case is.attached: // what was kept of it stands, and its state must not go untold
		is.page.leave(m, by, home)
		is.page, home = nil, 0
	default:
		is.page.close()
		is.page = nil
	}
	m.with(func(st *state) {
		ses.home = home
		ses.options, ses.created, ses.lasts, ses.attached = is.options, is.created, is.lasts, is.attached
		st.opened(w, ses, is.page, err)
	})
}

// lasting is a page that may outlive this process.
type lasting struct {
	page    *Page
	options *pageOptions
	created time.Time // the session
	// lasts says that it does, and attached that it was there before.
	lasts, attached bool
}

// keepTime bounds how long a page waits until it is kept.
const keepTime = 10 * time.Second

// keep keeps what the next process needs of a page.
func keep(ctx context.Context, ses *session, is *lasting, by Takeovers) error {
	ctx, cancel := context.WithTimeout(ctx, keepTime)
	defer cancel()
	var text []byte
	if tab, ok := is.page.tab.(Detachable); ok {
		if handle := tab.Handle(); handle != nil {
			var err error
			if text, err = json.Marshal(kept{Tab: handle, Config: is.options.given(), Created: is.created.UTC()}); err != nil {
				panic("encoding texts: " + err.Error())
			}
		}
	}
	if err := by.Keep(ctx, ses.home, text); err != nil {
		return bridge.NoHome(bridge.SessionName{Caller: ses.key.caller, Site: ses.key.site, ID: ses.key.id}, err)
	}
	is.lasts = text != nil
	return nil
}

// attach goes on with the page of a session whose process ended. Where that fails, the session has ended.
func attach(m *Manager, w *waiter, owner Owner, text []byte) (lasting, error) {
	var was kept
	is := lasting{attached: true}
	err := json.Unmarshal(text, &was)
	if err == nil {
		is.options, err = readPageOptions(w.site, bridge.Ref{Site: w.site.Name, Caller: w.caller, Page: was.Config})
	}
	if err == nil {
		ctx, cancel := context.WithTimeout(w.site.life, m.o.Navigation)
		defer cancel()
		is.page, err = attachPage(ctx, m, w, is.options, owner, was.Tab)
	}
	if err != nil && !owner.Holds() { // another process may have it
		return is, OtherOwner()
	}
	if err != nil {
		m.o.Log.Warn("session: its page is lost", "site", w.site.Name, "error", err)
		return is, expired()
	}
	m.o.Log.Info("session: goes on in its page", "site", w.site.Name)
	is.created = was.Created
	return is, nil
}

// attachPage attaches to a page, and waits until it counts as opened.
func attachPage(ctx context.Context, m *Manager, w *waiter, o *pageOptions, owner Owner, handle []byte) (*Page, error) {
	options, _ := tabOptions(m, w.site, w.key.caller, o)
	options.Owner = owner
	e, ok := engineOf(m, w.site).(Reattacher)
	if !ok {
		options.Bytes.Close()
		return nil, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "The engine does not attach to pages.")
	}
	tab, err := e.Attach(ctx, handle, options)
	if err != nil {
		options.Bytes.Close()
		return nil, err
	}
	page := ownPage(m, tab, w.site, options, w.site.compiled(), false)
	if _, err := page.opened(ctx); err != nil {
		page.close()
		return nil, err
	}
	return page, nil
}

// beganAnyway begins a session whose page was there before this process, although the call for which it was
// attached cannot have it. It reports whether that is so.
func beganAnyway(st *state, w *waiter, ses *session, page *Page) bool {
	if ses == nil || !ses.attached {
		return false
	}
	var err *bridge.Error
	switch {
	case w.ctx.Err() != nil:
		err = waitEnded(w.ctx)
	case !w.options.fits(ses.options):
		err = otherPage()
	default:
		return false
	}
	st.leased++
	w.site.using++
	begin(st, ses, page)
	w.grant <- grant{err: err}
	st.release(grant{page: page, ses: ses, site: w.site}, false, time.Time{})
	return true
}

// Leave lets other processes go on with the sessions whose pages outlive this one: now with those that are
// idle, with the others when they are.
func (s Sessions) Leave() {
	s.m.with(func(st *state) {
		st.leaving = true
		for _, ses := range st.sessions {
			if ses.holders == 0 && ses.lasts {
				leave(st, ses)
			}
		}
	})
}

// leave ends a session that no call holds here, and leaves its page to the next process.
func leave(st *state, ses *session) {
	if ses.expiry != nil {
		ses.expiry.Stop()
	}
	m := st.manager
	ses.unname(st)
	m.changed(ses.key.site)
	othersOf(m)
	st.hold(ses.key.caller, -1)
	st.closing++
	m.leaving.Go(func() { // ends within the bounds of Page.leave
		ses.watchers.end()
		if by, ok := m.o.Homes.(Takeovers); ok {
			ses.page.leave(m, by, ses.home)
		}
		m.with(func(st *state) { st.closing-- })
	})
}

// lost refuses what would change or show a page that is another process's by now. It asks nobody.
func (p *Page) lost() error {
	if p.owner.Holds != nil && !p.owner.Holds() {
		return OtherOwner()
	}
	return nil
}

// leave leaves the page of a session as it is, and the session to the next process.
func (p *Page) leave(m *Manager, by Takeovers, home int64) {
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if tab, ok := p.tab.(Detachable); ok {
		_ = tab.Detach(ctx)
	}
	ctx, cancel = context.WithTimeout(context.Background(), keepTime)
	defer cancel()
	if err := by.Leave(ctx, home); err != nil {
		m.o.Log.Warn("session: other processes have it when this one has ended", "error", err)
	}
}

// Sweep closes the pages that outlived the process that made them, and that nobody keeps. over reports whether
// a process has ended, by Owner.By, and pages returns what is kept of all pages. It returns how many it closed.
func (s Sessions) Sweep(ctx context.Context, over func(ctx context.Context, by string) bool, pages func(context.Context) ([][]byte, error)) (n int, err error) {
	handles := func(ctx context.Context) (all [][]byte, err error) {
		texts, err := pages(ctx)
		for _, text := range texts {
			var is kept
			if failed := json.Unmarshal(text, &is); failed != nil {
				return nil, fmt.Errorf("reading what was kept of a page: %w", failed)
			}
			all = append(all, is.Tab)
		}
		return all, err
	}
	var engines []Engine
	s.m.with(func(*state) { engines = slices.Collect(maps.Keys(s.m.engines)) })
	for _, e := range engines {
		if r, ok := e.(Reattacher); ok {
			closed, failed := r.Sweep(ctx, over, handles)
			n, err = n+closed, errors.Join(err, failed)
		}
	}
	return n, err
}

// Dispose closes the page of a session of a site that no process has, by what was kept of it.
func (s Sessions) Dispose(ctx context.Context, site string, page []byte) error {
	of := s.m.sites.Load().named[site]
	var is kept
	if of == nil {
		return nil
	}
	if err := json.Unmarshal(page, &is); err != nil {
		return fmt.Errorf("reading what was kept of a page: %w", err)
	}
	if e, ok := engineOf(s.m, of).(Reattacher); ok {
		return e.Dispose(ctx, is.Tab)
	}
	return nil
}
