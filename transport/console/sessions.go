package console

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/publicsuffix"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Pages tells of the pages and browsers of this process.
type Pages interface {
	// Pool counts the pages.
	Pool() bridge.Pool
	// BrowserStates returns the browsers; what they take of memory is counted where weighed is true.
	BrowserStates(weighed bool) []bridge.BrowserState
}

// sessionJSON is a session of a caller.
type sessionJSON struct {
	Node     string    `json:"node"`
	ID       string    `json:"id"`
	Caller   string    `json:"caller"`
	Site     string    `json:"site"`
	Session  string    `json:"session"`
	Since    time.Time `json:"since"`
	LastUsed time.Time `json:"lastUsed"`
	Calls    int       `json:"calls"`
	Running  int       `json:"running"`
	Waiting  int       `json:"waiting"`
	Address  string    `json:"address"`
	Title    string    `json:"title"`
	// Domain has the registrable part of the address's host, such as shop.example of www.shop.example; "" is none.
	Domain string `json:"domain"`
	// Recording says that the page is recorded, or was; null is neither.
	Recording *recordingJSON `json:"recording"`
}

// domainOf returns the registrable domain of an address, or "".
func domainOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	domain, err := publicsuffix.EffectiveTLDPlusOne(strings.ToLower(strings.TrimSuffix(u.Hostname(), ".")))
	if err != nil { // such as localhost, and addresses of the network
		return ""
	}
	return domain
}

// sessionsFace serves what is about sessions and browsers.
type sessionsFace struct{ *Face }

func sessionOf(f *Face, s bridge.SessionState) sessionJSON {
	return sessionJSON{f.node, s.ID, s.Caller, s.Site, s.Session, s.Since, s.Used, s.Calls, s.Running, s.Waiting, s.Address, s.Title, domainOf(s.Address), recordingOf(f, s.ID)}
}

// listSessions lists the sessions that the caller may see, of all nodes, the oldest first.
func (f sessionsFace) listSessions(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	all := []sessionJSON{}
	for _, s := range bridge.OpenSessions(f.b, c) {
		all = append(all, sessionOf(f.Face, s))
	}
	var late []string
	if f.mayLookElsewhere(c) {
		late = eachPeer(r.Context(), f.peers(), "/api/sessions?limit="+strconv.Itoa(maxLimit), func(_ string, resp *http.Response) {
			var theirs listJSON[sessionJSON]
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				all = append(all, theirs.Items...)
			}
		})
	}
	slices.SortFunc(all, func(a, b sessionJSON) int { return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.ID, b.ID)) })
	page(w, r, all, func(s sessionJSON) string { return s.ID }, late...)
}

// answeringAt is atNode for what needs the right to answer: the other process takes it from an operator.
func answeringAt(f *Face, serve operation) http.HandlerFunc {
	at := f.atNode(serve)
	return f.with(bridge.MayAnswer, func(w http.ResponseWriter, r *http.Request, _ bridge.Caller) { at(w, r) })
}

// closeSession ends a session. With ?running=end it also ends the calls that run in it.
func (f sessionsFace) closeSession(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	id, all := r.PathValue("id"), r.URL.Query().Get("running") == "end"
	if err := bridge.CloseSession(f.b, c, id, all); err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	f.log.InfoContext(r.Context(), "session: closed", "session", id, "by", c.Name)
	write(w, r, map[string]string{"status": "ok"})
}

// sessionPicture shows the page of a session.
func (f sessionsFace) sessionPicture(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	png, err := bridge.PictureOfSession(r.Context(), f.b, c, r.PathValue("id"))
	writePicture(w, r, png, err)
}

// browserJSON is a browser of a node.
type browserJSON struct {
	Node     string     `json:"node"`
	Name     string     `json:"name"` // "" for one that has none
	Max      int        `json:"max"`  // tabs; 0 is not bounded
	State    string     `json:"state"`
	Kind     string     `json:"kind"`
	Version  string     `json:"version"`
	Since    *time.Time `json:"since"` // null where none runs
	Tabs     int        `json:"tabs"`
	Opened   int        `json:"opened"`
	PSS      uint64     `json:"pss"` // bytes; 0 is not known, and in events not counted
	Started  int        `json:"started"`
	Failed   int        `json:"failed"`
	Restarts []lostJSON `json:"restarts"`
}

// lostJSON is a browser that ended by itself.
type lostJSON struct {
	At    time.Time `json:"at"`
	Cause string    `json:"cause"` // ended or silent
}

// poolJSON counts the pages of a node.
type poolJSON struct {
	Node      string     `json:"node"`
	Held      int        `json:"held"`
	Spare     int        `json:"spare"`
	Queued    int        `json:"queued"`
	Limit     int        `json:"limit"`
	PerCaller int        `json:"perCaller"`
	Most      *holds     `json:"most"`   // null where no page is held
	Oldest    *heldSince `json:"oldest"` // null where no page is held
	NoMemory  bool       `json:"noMemory"`
}

// holds names the caller that holds most pages.
type holds struct {
	Caller string `json:"caller"`
	Held   int    `json:"held"`
}

// heldSince names the caller that has held a page for longest.
type heldSince struct {
	Caller string    `json:"caller"`
	Since  time.Time `json:"since"`
}

// browsersJSON lists browsers and pools of all nodes.
type browsersJSON struct {
	Items   []browserJSON `json:"items"`
	Pools   []poolJSON    `json:"pools"`
	Missing []missingNode `json:"missing,omitempty"`
}

// listBrowsers lists the browsers of all nodes, and counts their pages.
func (f sessionsFace) listBrowsers(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	out := browsersJSON{Items: browsersOf(f.Face, true), Pools: []poolJSON{}}
	if f.pages != nil {
		out.Pools = append(out.Pools, poolOf(f.Face))
	}
	if f.mayLookElsewhere(c) {
		for _, node := range eachPeer(r.Context(), f.peers(), "/api/browsers", func(_ string, resp *http.Response) {
			var theirs browsersJSON
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				out.Items, out.Pools = append(out.Items, theirs.Items...), append(out.Pools, theirs.Pools...)
			}
		}) {
			out.Missing = append(out.Missing, missingNode{node})
		}
	}
	slices.SortStableFunc(out.Items, func(a, b browserJSON) int { return cmp.Compare(a.Node, b.Node) })
	slices.SortStableFunc(out.Pools, func(a, b poolJSON) int { return cmp.Compare(a.Node, b.Node) })
	write(w, r, out)
}

// browsersOf returns the browsers of this process.
func browsersOf(f *Face, weighed bool) []browserJSON {
	all := []browserJSON{}
	if f.pages == nil {
		return all
	}
	for _, s := range f.pages.BrowserStates(weighed) {
		x := browserJSON{Node: f.node, Name: s.Name, Max: s.Max, State: s.State, Kind: s.Kind, Version: s.Version, Tabs: s.Tabs, Opened: s.Opened, PSS: s.Memory,
			Started: s.Started, Failed: s.Failed, Restarts: []lostJSON{}}
		if !s.Since.IsZero() {
			x.Since = &s.Since
		}
		for _, lost := range s.Lost {
			x.Restarts = append(x.Restarts, lostJSON(lost))
		}
		all = append(all, x)
	}
	return all
}

func poolOf(f *Face) poolJSON {
	p := f.pages.Pool()
	out := poolJSON{Node: f.node, Held: p.Held, Spare: p.Spare, Queued: p.Queued, Limit: p.Limit, PerCaller: p.PerCaller, NoMemory: p.NoMemory}
	if p.Of > 0 {
		out.Most = &holds{p.Caller, p.Of}
	}
	if !p.Since.IsZero() {
		out.Oldest = &heldSince{p.Oldest, p.Since}
	}
	return out
}

// goneJSON says that a session was closed.
type goneJSON struct {
	Node string `json:"node"`
	ID   string `json:"id"`
}

// browserEvent says how the browsers of a node are now; what changes all the time is not counted in
// it.
type browserEvent struct {
	Node     string        `json:"node"`
	Browsers []browserJSON `json:"browsers"`
}

// lookAtBrowsers sets how often the browsers are looked at, while there is a stream.
const lookAtBrowsers = 2 * time.Second

// sessionsNow returns the sessions by id, in JSON.
func (o *ownNode) sessionsNow() map[string]item {
	open := map[string]item{}
	for _, s := range bridge.OpenSessions(o.face.b, everyone) {
		open[s.ID] = item{s.Site, mustJSON(sessionOf(o.face, s))}
	}
	return open
}

// sessionsChanged tells which sessions were opened and closed.
func (o *ownNode) sessionsChanged(ctx context.Context) {
	now := o.sessionsNow()
	for id, x := range now {
		if _, known := o.sessions[id]; !known {
			o.note(ctx, o.face.node, event{name: evSessionOpened, site: x.site, data: x.data}, ofSessions, id, &x)
		}
	}
	for id, x := range o.sessions {
		if _, still := now[id]; !still {
			o.note(ctx, o.face.node, event{name: evSessionClosed, site: x.site, data: mustJSON(goneJSON{o.face.node, id})}, ofSessions, id, nil)
		}
	}
	o.sessions = now
}

// gatherBrowsers tells when a browser starts, ends, fails or is replaced, until ctx ends.
func (h *hub) gatherBrowsers(ctx context.Context) {
	if h.face.pages == nil {
		return
	}
	tick := time.NewTicker(lookAtBrowsers)
	defer tick.Stop()
	was := settledBrowsers(browsersOf(h.face, false))
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		now := settledBrowsers(browsersOf(h.face, false))
		if !reflect.DeepEqual(was, now) {
			h.note(ctx, h.face.node, event{name: evBrowser, site: everySite, data: mustJSON(browserEvent{h.face.node, now})}, "", "", nil)
		}
		was = now
	}
}

// settledBrowsers leaves out what changes with every call.
func settledBrowsers(all []browserJSON) []browserJSON {
	for i := range all {
		all[i].Tabs, all[i].Opened = 0, 0
	}
	return all
}
