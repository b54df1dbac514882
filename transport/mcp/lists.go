package mcp

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// listKey names what may be offered differently.
type listKey struct{ caller, site, session string }

func (sc scope) key() listKey { return listKey{sc.caller.Name, sc.site, sc.session} }

// list holds a scope's tool list and its sources. Where only its past is left, both are nil.
type list struct {
	sc   scope
	past toolset.Past
	from []toolset.Source
	of   []*bridge.Catalog // from each
	mode toolset.Mode
	// waiting says that calls of the scope wait for a person.
	waiting bool
	*toolset.List
}

// patience says how long a list waits for a site that is being opened, where there is no
// other, and patienceAmong where there are: their tools are not held up by a site that is
// silent, and its own are told of when they come.
const patience, patienceAmong = 15 * time.Second, 5 * time.Second

// maxUsed bounds the tools that a list has because they were found or called.
const maxUsed = 30

// used are the tools that a scope has found or called, the newest last. Every scope of which
// something is kept has one.
type used struct {
	names   []string
	changes bridge.Changes
	at      time.Time // when it was looked at last
}

// usedBy returns the tools that the scope has found or called, and what is closed when
// there are others.
func (f *Face) usedBy(sc scope) (names []string, changed <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.usedIn(sc.key())
	return u.names, u.changes.Next()
}

// usedIn is the entry of a key. Called with mu held.
func (f *Face) usedIn(key listKey) *used {
	u := f.used[key]
	if u == nil {
		for _, old := range overflow(f.used, key.caller) {
			old.changes.Signal()
		}
		f.makeRoom()
		u = &used{}
		f.used[key] = u
	}
	u.at = time.Now()
	return u
}

// maxScopes bounds the scopes of all callers of which something is kept: issuers can name any
// number of callers.
const maxScopes = 10_000

// makeRoom forgets the scope that nobody has looked at for longest where there are too many. Called
// with mu held.
func (f *Face) makeRoom() {
	if len(f.used) < maxScopes {
		return
	}
	var oldest listKey
	for key, u := range f.used {
		if was := f.used[oldest]; was == nil || u.at.Before(was.at) {
			oldest = key
		}
	}
	f.used[oldest].changes.Signal()
	delete(f.used, oldest)
	delete(f.lists, oldest)
}

// use notes that the scope has found or called tools, where its list depends on that.
func (f *Face) use(sc scope, l *toolset.List, names ...string) {
	if !l.Partial() || len(names) == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	u := f.usedIn(sc.key())
	now := slices.DeleteFunc(slices.Clone(u.names), func(n string) bool { return slices.Contains(names, n) })
	now = append(now, names...)
	now = now[max(0, len(now)-maxUsed):]
	if !slices.Equal(now, u.names) {
		u.names = now
		u.changes.Signal()
	}
}

// list returns what the scope offers now. A site that cannot be reached keeps its last
// list: its calls say what is wrong.
func (f *Face) list(ctx context.Context, sc scope) *toolset.List {
	names, _ := f.usedBy(sc)
	return f.all(ctx, sc, func(bridge.Site) bool { return true }).Showing(names)
}

// listed is list for clients that draw the card, or for others.
func (f *Face) listed(ctx context.Context, sc scope, card bool) *toolset.List {
	l := f.list(ctx, sc)
	if card {
		return l.WithCard(func(to toolset.Target) bool { return f.asksAbout(ctx, sc, to) })
	}
	return l
}

// asksAbout reports whether a call of a tool would be asked about.
func (f *Face) asksAbout(ctx context.Context, sc scope, to toolset.Target) bool {
	ref := sc.ref()
	ref.Site = to.Site
	return bridge.Asks(ctx, f.b, ref, to.Tool)
}

// find is the list for a call of a tool. It waits only for a site that may have the tool.
func (f *Face) find(ctx context.Context, sc scope, name string) *toolset.List {
	l := f.all(ctx, sc, func(bridge.Site) bool { return false })
	if _, ok := l.Find(name); ok {
		return l
	}
	prefixed := sc.prefixed(len(f.sites(sc)))
	return f.all(ctx, sc, func(s bridge.Site) bool { return !prefixed || strings.HasPrefix(name, s.Name+"_") })
}

// all is the list before it is decided what of it is shown. It waits for those of the sites
// that are being opened.
func (f *Face) all(ctx context.Context, sc scope, waits func(bridge.Site) bool) *toolset.List {
	key := sc.key()
	sites := f.sites(sc)
	f.mu.Lock()
	f.usedIn(key)
	last := f.lists[key]
	f.mu.Unlock()
	made := &list{sc: sc, from: make([]toolset.Source, len(sites)), of: make([]*bridge.Catalog, len(sites)),
		mode: f.modeOf(sc), waiting: len(f.b.Waiting(sc.ref())) > 0}
	found, errs := f.ask(ctx, sc, sites, waits)
	for i, s := range sites {
		now := found[i]
		made.from[i] = toolset.Source{Site: s, Version: now.Version, Tools: now.Tools,
			Paths: now.Paths, Unkept: now.Unkept}
		if made.of[i] = now.Catalog; now.Catalog != nil {
			made.from[i].Trouble = now.Catalog.Trouble("")
		}
		if now.Shown != nil {
			made.from[i].Page = now.Shown.URL
		}
		if errs[i] != nil {
			made.keep(i, last)
			made.from[i].Down = bridge.AsError(errs[i])
		}
	}
	if last != nil && made.same(last) {
		return last.List
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for k, other := range f.lists { // whatever callers name their states: one list for one catalog
		if k.site == key.site && made.same(other) {
			made.List = other.List
		}
	}
	if made.List == nil {
		made.List = toolset.New(made.from, toolset.Options{Prefixed: sc.prefixed(len(sites)), Mode: made.mode,
			Faithful: f.o.Schemas == "faithful", Waiting: made.waiting})
	}
	made.List = made.After(last.before())
	if last == nil || last.List == nil || !slices.Equal(last.Findings(), made.Findings()) {
		for _, found := range made.Findings() {
			f.log.InfoContext(ctx, "mcp: a tool is shown otherwise",
				"tool", found.Tool, "rule", found.Rule, "message", found.Message)
		}
	}
	if last == nil {
		overflow(f.lists, key.caller)
	}
	f.lists[key] = made
	if !f.soon {
		f.soon = true
		f.fadeIn(time.Second)
	}
	return made.List
}

// fadeIn lets lists fade after a while. Called with mu held.
func (f *Face) fadeIn(d time.Duration) {
	if f.fading != nil {
		f.fading.Stop()
	}
	f.fading = time.AfterFunc(d, f.fade)
}

// fadeEvery is the interval of fade.
const fadeEvery = 15 * time.Second

// fade drops outdated lists, but keeps their past: they hold all that pages declared, and their
// callers may never come back.
func (f *Face) fade() {
	f.mu.Lock()
	all := maps.Clone(f.lists)
	f.mu.Unlock()
	maps.DeleteFunc(all, func(_ listKey, l *list) bool { return l.List == nil || f.isCurrent(l) })
	f.mu.Lock()
	defer f.mu.Unlock()
	f.soon = false
	left := false
	for key, l := range f.lists {
		if all[key] == l {
			f.lists[key] = &list{past: l.Past()}
		} else if l.List != nil {
			left = true
		}
	}
	if left {
		f.fadeIn(fadeEvery)
	}
}

// isCurrent reports whether a list is made of what there is now, as far as that is known.
func (f *Face) isCurrent(l *list) bool {
	ref := l.sc.ref()
	for i, s := range l.from {
		if ref.Site = s.Site.Name; l.of[i] != nil && !f.b.IsCurrent(ref, l.of[i]) {
			return false
		}
	}
	return true
}

// ask asks all sites at once, and waits for those that waits names.
func (f *Face) ask(ctx context.Context, sc scope, sites []bridge.Site,
	waits func(bridge.Site) bool) ([]bridge.Listing, []error) {
	found, errs := make([]bridge.Listing, len(sites)), make([]error, len(sites))
	ref := sc.ref()
	var all sync.WaitGroup
	for i, s := range sites {
		ref := ref
		ref.Site, ref.Patience = s.Name, patience
		if len(sites) > 1 {
			ref.Patience = patienceAmong
		}
		if !waits(s) {
			found[i], errs[i] = f.b.ToolsNow(ctx, ref)
			continue
		}
		all.Go(func() { found[i], errs[i] = f.b.Tools(ctx, ref) })
	}
	all.Wait()
	return found, errs
}

// troubles says what is known now to be wrong with sites, in sentences.
func (f *Face) troubles(sc scope, sites []bridge.Site) (texts []string) {
	ref := sc.ref()
	for _, s := range sites {
		ref.Site = s.Name
		switch now, err := f.b.ToolsNow(context.Background(), ref); {
		case err != nil && bridge.AsError(err).Retry > 0: // it was tried
			texts = append(texts, fmt.Sprintf("The site %q cannot be reached now: %s", s.Name, bridge.AsError(err).Message))
		case err == nil && now.Catalog != nil && now.Catalog.Trouble("") != "":
			texts = append(texts, fmt.Sprintf("The site %q: %s", s.Name, now.Catalog.Trouble("")))
		}
	}
	return texts
}

// maxStates bounds the states of one caller for which something is kept ready.
const maxStates = 250

// overflow removes what is kept for a caller that has too many states, and returns it.
// What is kept for others stays.
func overflow[V any](kept map[listKey]V, caller string) (removed []V) {
	var theirs []listKey
	for k := range kept {
		if k.caller == caller {
			theirs = append(theirs, k)
		}
	}
	if len(theirs) < maxStates {
		return nil
	}
	for _, k := range theirs {
		removed = append(removed, kept[k])
		delete(kept, k)
	}
	return removed
}

// keep takes what was known of the site i last.
func (l *list) keep(i int, last *list) {
	if last == nil {
		return
	}
	for j, s := range last.from {
		if s.Site.Name == l.from[i].Site.Name {
			l.from[i], l.of[i] = s, last.of[j]
		}
	}
}

// before returns the past up to and with l, which may be nil.
func (l *list) before() toolset.Past {
	switch {
	case l == nil:
		return nil
	case l.List == nil:
		return l.past
	}
	return l.Past()
}

// same reports whether another list is made of the same.
func (l *list) same(o *list) bool {
	return o.List != nil && l.mode == o.mode && l.waiting == o.waiting && slices.EqualFunc(l.from, o.from, func(a, b toolset.Source) bool {
		return a.Site.Name == b.Site.Name && a.Version == b.Version && sameError(a.Down, b.Down) &&
			maps.Equal(a.Unkept, b.Unkept)
	}) && slices.Equal(l.of, o.of)
}

func sameError(a, b *bridge.Error) bool {
	return a == b || a != nil && b != nil && a.Message == b.Message && a.Retry.Round(patienceAmong) == b.Retry.Round(patienceAmong)
}
