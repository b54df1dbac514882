package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// homes are the homes of sessions in the directory, which knows no sites: a node has the pages of a
// caller's session on all sites.
type homes struct {
	nodes nodesOf
	dir   *directory.Directory
	namer key.Namer
	took  *tookOver
	// ending says that callers must be told of sessions that are closed.
	ending *atomic.Bool
	// dispose closes pages that no node has, by the box of a session.
	dispose func(ctx context.Context, box []byte)

	mu     sync.Mutex
	held   map[string]*heldHome
	opened map[int64]*openedPage // and not closed
	last   int64
}

// tookOver counts pages of sessions whose nodes ended, by what became of them.
type tookOver struct{ attached, expired, fresh atomic.Int64 }

// openedPage is a page of a session that this node has, or is about to have.
type openedPage struct {
	key, site string
	owner     session.Owner
	inherited []byte // of the node before
	waits     bool   // nobody has said yet whether that page goes on
}

// box holds the pages of a session for the next node, by site; null is one that ends with its node.
type box map[string]json.RawMessage

func readBox(text []byte) (b box) {
	if json.Unmarshal(text, &b) != nil {
		return nil
	}
	return b
}

// isKept reports whether the next node can go on with what was kept.
func isKept(page json.RawMessage) bool { return len(page) > 0 && string(page) != "null" }

// lasts reports whether any page outlives its node.
func (b box) lasts() bool {
	for _, page := range b {
		if isKept(page) {
			return true
		}
	}
	return false
}

// text returns the box as it is kept; nil for an empty one.
func (b box) text() []byte {
	if len(b) == 0 {
		return nil
	}
	text, err := json.Marshal(b)
	if err != nil {
		panic("encoding what was JSON: " + err.Error())
	}
	return text
}

// heldHome is a session that this node has, or is about to have.
type heldHome struct {
	turn  chan struct{} // 1: who changes the record
	entry directory.Entry
	box   box
	took  bool // from a node that ended
	pages int
	users int // of this
}

var (
	_ bridge.Homes      = (*homes)(nil)
	_ session.Takeovers = (*homes)(nil)
)

// Routed says that the nodes pass the requests of a session on to its home.
func (h *homes) Routed() bool { return true }

// Here names this process.
func (h *homes) Here() string { return h.nodes.Self().ID }

// Lives is about processes of a data folder: a node has none beside it.
func (h *homes) Lives(string) bool { return false }

// enter waits for the turn to change a session.
func (h *homes) enter(ctx context.Context, key string) (*heldHome, error) {
	h.mu.Lock()
	is := h.held[key]
	if is == nil {
		is = &heldHome{turn: make(chan struct{}, 1)}
		h.held[key] = is
	}
	is.users++
	h.mu.Unlock()
	select {
	case is.turn <- struct{}{}:
		return is, nil
	case <-ctx.Done():
		h.leave(key, is)
		return nil, fmt.Errorf("waiting for a session: %w", context.Cause(ctx))
	}
}

func (h *homes) leave(key string, is *heldHome) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if is.users--; is.users == 0 && is.pages == 0 {
		delete(h.held, key)
	}
}

// Open makes a session this node's own. Where the page of one whose home has ended cannot go on, its caller is
// told once.
func (h *homes) Open(ctx context.Context, s bridge.SessionName) (int64, error) {
	key := h.namer.Name(s.Caller, s.ID)
	is, err := h.enter(ctx, key)
	if err != nil {
		return 0, err
	}
	defer h.leave(key, is)
	defer func() { <-is.turn }()
	if is.pages == 0 {
		if is.entry, is.took, err = h.take(ctx, key); err != nil {
			return 0, unknownHome(err)
		}
		is.box = readBox(is.entry.Box)
	}
	page, known := is.box[s.Site]
	if known && !isKept(page) && is.took {
		if err := h.put(ctx, is, s.Site, nil); err != nil {
			return 0, unknownHome(err)
		}
		h.took.expired.Add(1)
		return 0, lostPage()
	}
	self, epoch := h.Here(), is.entry.Epoch
	opened := &openedPage{key: key, site: s.Site, owner: session.Owner{Epoch: epoch, By: makerOf(h.namer, self),
		Holds: func() bool { return h.Here() == self && h.nodes.Holds() }}}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch had := h.hasOther(opened); {
	case isKept(page) && !had: // else it ended here
		opened.inherited, opened.waits = page, is.took
	case !isKept(page) && is.took:
		h.took.fresh.Add(1)
	}
	is.pages++
	h.last++
	h.opened[h.last] = opened
	return h.last, nil
}

// lostPage says that a session has ended with its node.
func lostPage() *bridge.Error {
	return bridge.Errorf(bridge.SessionExpired, "", bridge.NotRun,
		"The node of pagetools that had this session has ended, and the page with it. The next call starts a new one.")
}

// put changes what is kept of a site's page; nil forgets it.
func (h *homes) put(ctx context.Context, is *heldHome, site string, page json.RawMessage) (err error) {
	if is.box == nil {
		is.box = box{}
	}
	if is.box[site] = page; page == nil {
		delete(is.box, site)
	}
	is.entry, err = h.note(ctx, is)
	return err
}

// note writes what is kept. A record that is too large keeps no pages.
func (h *homes) note(ctx context.Context, is *heldHome) (directory.Entry, error) {
	e, err := h.dir.Note(ctx, is.entry, is.box.text())
	if errors.Is(err, records.ErrInvalid) {
		for site := range is.box {
			is.box[site] = json.RawMessage("null")
		}
		e, err = h.dir.Note(ctx, is.entry, is.box.text())
	}
	if err != nil {
		return is.entry, err
	}
	return e, nil
}

// take makes this node the home of a session, and reports whether another one had it before.
func (h *homes) take(ctx context.Context, key string) (e directory.Entry, took bool, err error) {
	self := h.Here()
	e, err = h.dir.Open(ctx, key, self, nil)
	if err == nil || !errors.Is(err, directory.ErrTaken) || e.Key == "" || e.Home == self {
		return e, e.Epoch > 1, unlessOurs(err, e, self)
	}
	if !e.Expired {
		if e, err = h.dir.Take(ctx, e, self); err != nil {
			return e, e.Epoch > 1, unlessOurs(err, e, self)
		}
		if readBox(e.Box).lasts() {
			return e, true, nil
		}
	}
	if _, err := h.dir.Remove(ctx, e); err != nil {
		return e, true, fmt.Errorf("ending a session of a node that has ended: %w", err)
	}
	h.took.expired.Add(1)
	return e, true, lostPage()
}

// unlessOurs returns the error for a session that another node has.
func unlessOurs(err error, e directory.Entry, self string) error {
	switch {
	case err == nil, errors.Is(err, directory.ErrTaken) && e.Home == self && !e.Expired:
		return nil
	case errors.Is(err, directory.ErrTaken):
		return bridge.ErrElsewhere
	}
	return err
}

// unknownHome returns the error of a session of which nobody can know now who has it.
func unknownHome(err error) error {
	if _, ok := errors.AsType[*bridge.Error](err); ok || errors.Is(err, bridge.ErrElsewhere) {
		return err
	}
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun,
		"It cannot be found out now which node of pagetools has this session. Nothing ran.").With(err)
	e.Retry = bridge.QuorumRetry
	return e
}

// Elsewhere reports whether another node has the session.
func (h *homes) Elsewhere(ctx context.Context, s bridge.SessionName) (bool, error) {
	id, _, err := h.dir.Home(ctx, h.namer.Name(s.Caller, s.ID))
	switch {
	case errors.Is(err, records.ErrNone):
		return false, nil
	case err != nil:
		return false, unknownHome(err)
	}
	n, known := h.nodes.Find(id)
	return id != "" && id != h.Here() && known && !n.IsDead(), nil
}

// Close ends what Open opened.
func (h *homes) Close(ctx context.Context, epoch int64) error { return h.end(ctx, epoch, false) }

// Leave ends what Open opened, and lets the next node go on with the page.
func (h *homes) Leave(ctx context.Context, opened int64) error { return h.end(ctx, opened, true) }

func (h *homes) end(ctx context.Context, opened int64, leaves bool) error {
	h.mu.Lock()
	page := h.opened[opened]
	delete(h.opened, opened)
	h.mu.Unlock()
	if page == nil {
		return nil
	}
	if page.waits {
		h.took.expired.Add(1)
	}
	is, err := h.enter(ctx, page.key)
	if err != nil {
		return err
	}
	defer h.leave(page.key, is)
	defer func() { <-is.turn }()
	h.mu.Lock()
	is.pages--
	last, others := is.pages == 0, h.hasOther(page)
	h.mu.Unlock()
	_, kept := is.box[page.site]
	forgets := kept && !leaves && !others && page.owner.Holds()
	if forgets {
		delete(is.box, page.site)
	}
	switch {
	case last && is.box.lasts() && (leaves || !page.owner.Holds()):
		_, err = h.dir.Detach(ctx, is.entry)
	case last:
		err = h.over(ctx, is)
	case forgets:
		is.entry, err = h.note(ctx, is)
	}
	if errors.Is(err, directory.ErrTaken) && !page.owner.Holds() {
		return nil // others have it
	}
	return err
}

// over ends the record of a session that has no page any more, but for those of other sites that this node did not
// go on with.
func (h *homes) over(ctx context.Context, is *heldHome) (err error) {
	if h.ending.Load() {
		_, err = h.dir.Expire(ctx, is.entry)
	} else {
		_, err = h.dir.Remove(ctx, is.entry)
	}
	if err == nil && is.box.lasts() {
		h.dispose(ctx, is.box.text())
	}
	return err
}

// hasOther reports whether the same page was opened again. Called with mu held.
func (h *homes) hasOther(page *openedPage) bool {
	for _, other := range h.opened {
		if other.key == page.key && other.site == page.site {
			return true
		}
	}
	return false
}

// at returns a page that was opened.
func (h *homes) at(opened int64) openedPage {
	h.mu.Lock()
	defer h.mu.Unlock()
	if page := h.opened[opened]; page != nil {
		return *page
	}
	return openedPage{owner: session.Owner{Holds: func() bool { return false }}}
}

// Owner returns who owns the page of a session.
func (h *homes) Owner(opened int64) session.Owner { return h.at(opened).owner }

// Inherited returns what the node before kept of the page.
func (h *homes) Inherited(opened int64) []byte { return h.at(opened).inherited }

// Keep keeps what the next node needs of a page.
func (h *homes) Keep(ctx context.Context, opened int64, page []byte) error {
	of := h.at(opened)
	is, err := h.enter(ctx, of.key)
	if err != nil {
		return err
	}
	defer h.leave(of.key, is)
	defer func() { <-is.turn }()
	if page == nil {
		page = []byte("null")
	}
	switch err := h.put(ctx, is, of.site, page); {
	case errors.Is(err, directory.ErrTaken):
		return bridge.ErrElsewhere
	case err != nil:
		return unknownHome(err)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if page := h.opened[opened]; page != nil && page.waits {
		page.waits = false
		h.took.attached.Add(1)
	}
	return nil
}

// makerOf names a node in browsers, which other clusters may use, too.
func makerOf(n key.Namer, id string) string { return id + "." + n.Name("page of", id) }

// sweeper closes pages that outlived the nodes which made them, and that no session has.
type sweeper struct {
	dir    *directory.Directory
	namers []key.Namer
	dead   func(ctx context.Context, id string) (bool, error)
}

// sweep returns how many pages it closed.
func (s *sweeper) sweep(ctx context.Context, of *session.Manager) (int, error) {
	return session.SessionsOf(of).Sweep(ctx, s.isOver, s.pages)
}

// isOver reports whether a node of this cluster has ended, by its name in browsers.
func (s *sweeper) isOver(ctx context.Context, by string) bool {
	id, _, _ := strings.Cut(by, ".")
	for _, n := range s.namers {
		if by == makerOf(n, id) {
			dead, err := s.dead(ctx, id)
			return err == nil && dead
		}
	}
	return false
}

// pages returns what is kept of the pages of all sessions.
func (s *sweeper) pages(ctx context.Context) (all [][]byte, err error) {
	boxes, err := s.dir.Boxes(ctx)
	for _, text := range boxes {
		for _, page := range readBox(text) {
			if isKept(page) {
				all = append(all, page)
			}
		}
	}
	return all, err
}

// disposeIn closes pages that no node has, by the box of a session.
func disposeIn(ctx context.Context, c *Cluster, text []byte) {
	a := c.app.Load()
	if a == nil {
		return
	}
	for site, page := range readBox(text) {
		if !isKept(page) {
			continue
		}
		if err := session.SessionsOf(a.Manager).Dispose(ctx, site, page); err != nil {
			c.log.Warn("cluster: a page that no node has may be left in its browser", "site", site, "error", err)
		}
	}
}
