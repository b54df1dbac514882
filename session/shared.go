package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// SharedCatalog is the catalog of one site for several processes, of which one opens the catalog page and
// tells the others what it shows. It is safe for concurrent use.
type SharedCatalog interface {
	// Next returns a channel that is closed when Now returns something else. Ask for it before.
	Next() <-chan struct{}
	// Now reports whether this process opens the page; and, of what its owner told last, a name, "" where
	// there was nothing yet, and why the last attempt to open it failed, nil where it did not.
	Now() (own bool, set string, why []byte)
	// Read returns what the owner told last, and its name.
	Read(ctx context.Context) (content []byte, set string, err error)
	// Tell tells the others what the page shows; or, with why, that it could not be opened: then another
	// process may be the owner.
	Tell(ctx context.Context, content, why []byte) error
	// Close lets the others have the page.
	Close()
}

// MaxShared returns a limit for the bytes that SharedCatalog.Tell gets under these limits.
func MaxShared(l bridge.Limits) int { return int(2*l.WithDefaults().PageBytes) + 1<<20 }

// SharesPage reports whether the calls of a site that name no session run on one page.
func SharesPage(m *Manager, name string) bool {
	s := m.sites.Load().named[name]
	return s != nil && s.Shared
}

// shown has the view of a page, for other processes.
type shown struct {
	URL      string           `json:"url"`
	Title    string           `json:"title"`
	Icon     string           `json:"icon"`
	Tools    []toldTool       `json:"tools"`
	Findings []bridge.Finding `json:"findings"`
}

// toldTool is a declaration in the page's own words: what it calls JSON may be none.
type toldTool struct {
	ID          int64           `json:"id"`
	Document    string          `json:"document"`
	Origin      string          `json:"origin"`
	Frame       string          `json:"frame"`
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Input       []byte          `json:"input"`
	Output      []byte          `json:"output"`
	Annotations []byte          `json:"annotations"`
	Adapter     *bridge.Adapter `json:"adapter,omitempty"`
}

// encode encodes what a page shows, for other processes.
func (v *view) encode() ([]byte, error) {
	all := shown{URL: v.url, Title: v.title, Icon: v.icon, Findings: v.catalog.Findings()}
	for i := range v.declared {
		d := &v.declared[i]
		all.Tools = append(all.Tools, toldTool{ID: d.ID, Document: d.Document, Origin: d.Origin, Frame: d.Frame, Name: d.Name, Title: d.Title,
			Description: d.Description, Input: d.Input, Output: d.Output, Annotations: d.Annotations, Adapter: d.Adapter})
	}
	return json.Marshal(all)
}

// toldFailure says why a page did not open.
type toldFailure struct {
	Reason  bridge.Reason `json:"reason"`
	Message string        `json:"message"`
}

const (
	// tellRest is the least time between two lists of a page that are told, and tellShare says how many
	// times as long as telling one took: a page that never stops changing must not keep the engine busy.
	tellRest, tellShare = 200 * time.Millisecond, 10
	// tellTime limits how long it takes to tell a list, or to read one.
	tellTime = time.Minute
)

// sharing is a site whose catalog page one of several processes opens. A nil one is a site of this process
// alone.
type sharing struct {
	SharedCatalog

	m *Manager
	s *site
	// mirror is the page as its owner tells of it. It runs nothing.
	mirror *Page
	set    string // that it shows; "" while it is not the site's page
	held   *Declared
}

// share begins to share a site; it returns nil where that is this process's alone. It ends with the site.
func share(m *Manager, s *site) *sharing {
	if m.o.Share == nil {
		return nil
	}
	x := &sharing{SharedCatalog: m.o.Share(s.Site), m: m, s: s,
		held: NewDeclared(TabOptions{Bytes: policy.NewAccount(m.o.Limits.PageBytes, m.o.Bytes)})}
	limits := m.o.Limits
	limits.ForbidParams = s.ForbidParams
	x.mirror = newPage(noTab{}, append([]string{s.Origin}, s.Origins...), s.WaitFor, false, limits, func() {}, m.o.Log.With("site", s.Name))
	m.background.Go(func() {
		<-s.life.Done()
		x.Close()
	})
	return x
}

// tell tells the other processes what the site's page shows, and each change, until the page is gone. The
// page is closed where another process opens the site's.
func (x *sharing) tell(page *Page) {
	var last *view // that was told
	rest := time.NewTimer(0)
	defer rest.Stop()
	for {
		select {
		case <-rest.C:
		case <-page.dead:
			return
		case <-x.s.life.Done():
			return
		}
		turn, next := x.Next(), page.views.Next()
		if own, _, _ := x.Now(); !own {
			page.closer.Store(notHere())
			page.close()
			return
		}
		if v := page.view.Load(); v.isOpen() && v != last {
			began := time.Now()
			err := x.tellView(v)
			rest.Reset(max(tellRest, tellShare*time.Since(began)))
			if err != nil {
				x.m.o.Log.Debug("site: the other nodes do not have its list yet", "site", x.s.Name, "error", err)
				continue
			}
			last = v
		} else {
			rest.Reset(0)
		}
		select {
		case <-turn:
		case <-next:
		case <-page.dead:
			return
		case <-x.s.life.Done():
			return
		}
	}
}

// tellView tells them what the page shows.
func (x *sharing) tellView(v *view) error {
	ctx, cancel := context.WithTimeout(x.s.life, tellTime)
	defer cancel()
	content, err := v.encode()
	if err != nil {
		return err
	}
	return x.Tell(ctx, content, nil)
}

// notHere is the error of the page of a site that another node opens.
func notHere() *bridge.Error {
	e := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun,
		"Another node of pagetools has the page that all calls of this site share, or is about to. Nothing ran.")
	e.Retry = bridge.QuorumRetry
	return e
}

// sharedPage returns the page that calls of a site share, once this process has opened it: at once an error
// where that is another one's.
func sharedPage(ctx context.Context, m *Manager, s *site) (*Page, error) {
	for {
		changed := s.changes.Next()
		page, err := m.catalogPage(ctx, s)
		if err != nil || !page.isElsewhere() {
			return page, err
		}
		turn := s.sharing.Next()
		if own, _, _ := s.sharing.Now(); !own {
			return nil, notHere()
		}
		if e := s.down(); e != nil {
			return nil, e
		}
		select {
		case <-changed:
		case <-turn:
		case <-ctx.Done():
			return nil, waitEnded(ctx)
		case <-s.life.Done():
			return nil, s.left()
		}
	}
}

// forget gives back what the mirror holds: another page has its place.
func (x *sharing) forget() {
	if x != nil {
		x.set = ""
		x.held.Gone("")
	}
}

// show has the mirror show what the owner told.
func (x *sharing) show(content []byte, prev *bridge.Catalog) error {
	var all shown
	if err := json.Unmarshal(content, &all); err != nil {
		return fmt.Errorf("reading the list of a site: %w", err)
	}
	p, set := x.mirror, ToolsChanged{Findings: all.Findings}
	for _, t := range all.Tools {
		set.Tools = append(set.Tools, bridge.Declaration{ID: t.ID, Document: t.Document, Origin: t.Origin, Frame: t.Frame,
			Own: slices.Contains(p.origins, t.Origin), Name: t.Name, Title: t.Title, Description: t.Description,
			Input: t.Input, Output: t.Output, Annotations: t.Annotations, Adapter: t.Adapter})
	}
	x.held.Fit(&set)
	catalog, found := bridge.NewCatalog(prev, set.Tools, p.limits)
	findings := slices.Clone(set.Findings)
	for _, f := range found { // the owner's limits may be others
		if !slices.Contains(findings, f) {
			findings = append(findings, f)
		}
	}
	p.view.Store(&view{url: all.URL, title: all.Title, icon: all.Icon, declared: set.Tools, catalog: catalog.With(told(findings)),
		loaded: true, settled: true, since: time.Now()})
	p.views.Signal()
	return nil
}

// await waits until this process is to open the site's page, and until the pause is over. Where another
// process has the page, it shows what that one tells. It returns what was shown last.
func (x *sharing) await(prev *bridge.Catalog, pause time.Duration, tried func()) *bridge.Catalog {
	s, due := x.s, time.Now().Add(pause)
	for s.life.Err() == nil {
		next, wait := x.Next(), time.Hour
		own, set, why := x.Now()
		switch rest := time.Until(due); {
		case own && rest <= 0:
			return prev
		case set != "" && set != x.set:
			if !x.reflect(prev) {
				wait = firstRetry
				break
			}
			prev = x.mirror.view.Load().catalog
			tried()
			continue
		case own:
			wait = rest
		case set == "" && why != nil:
			s.again.Store(nil)
			s.set(nil, failureOf(why))
			x.m.changed(s.Name)
			tried()
		}
		timer := time.NewTimer(wait)
		select {
		case <-next:
		case <-timer.C:
		case <-s.anew: // it is opened as it is to be, once it is
		case <-s.life.Done():
		}
		timer.Stop()
	}
	return prev
}

// reflect shows what the owner of the site's page told last, and reports whether it could be read.
func (x *sharing) reflect(prev *bridge.Catalog) bool {
	m, s := x.m, x.s
	ctx, cancel := context.WithTimeout(s.life, tellTime)
	defer cancel()
	content, set, err := x.Read(ctx)
	if err == nil {
		err = x.show(content, prev)
	}
	if err != nil {
		m.o.Log.Debug("site: what another node tells of its list cannot be read", "site", s.Name, "error", err)
		return false
	}
	x.set = set
	s.set(x.mirror, nil)
	m.with(func(st *state) { st.refill(s) })
	m.changed(s.Name)
	return true
}

// failed tells the other processes that this one could not open the site's page. The mirror stays, where
// it shows something.
func (x *sharing) failed(e *bridge.Error) {
	why, err := json.Marshal(toldFailure{e.Reason, e.Message})
	if err == nil {
		ctx, cancel := context.WithTimeout(x.s.life, tellTime)
		defer cancel()
		err = x.Tell(ctx, nil, why)
	}
	if err != nil {
		x.m.o.Log.Debug("site: the other nodes do not know that it cannot be opened", "site", x.s.Name, "error", err)
	}
}

func failureOf(why []byte) *bridge.Error {
	var f toldFailure
	if json.Unmarshal(why, &f) != nil || f.Message == "" {
		f = toldFailure{bridge.Unreachable, "The site cannot be opened."}
	}
	return bridge.Errorf(bridge.InternalError, f.Reason, bridge.NotRun, "%s", f.Message)
}

// noTab is the tab of a page that another process has.
type noTab struct{ Tab }

// Close implements Tab.
func (noTab) Close(context.Context) error { return nil }

// isElsewhere reports whether another process has the tab of the page.
func (p *Page) isElsewhere() bool { _, is := p.tab.(noTab); return is }
