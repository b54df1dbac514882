package console

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// policyFace serves what is about rules and consent.
type policyFace struct{ *Face }

func (f policyFace) routes() []transport.Route {
	return []transport.Route{
		transport.Get("/api/policy", f.atNode(f.decision)),
		transport.Get("/api/policy/unseen", f.viewing(f.listUnseen)),
		transport.Get("/api/callers", f.atNode(f.listCallers)),
		transport.Get("/api/grants", f.operating(f.listGrants)),
		{Pattern: "/api/grants/{id}", Methods: map[string]http.HandlerFunc{http.MethodDelete: f.operating(f.revokeGrant)}},
	}
}

// policyJSON says what would become of a call.
type policyJSON struct {
	Node   string `json:"node"`
	Site   string `json:"site"`
	Tool   string `json:"tool"`
	Caller string `json:"caller"`
	// Known is true for a caller of the configuration. The credential of any other is not known, so
	// that consent which stands for it does not count here.
	Known  bool            `json:"known"`
	Level  string          `json:"level"` // auto, ask-once, ask or never; "" where the call does not come so far
	Layer  string          `json:"layer"`
	Reason string          `json:"reason"`
	Mode   string          `json:"mode"`
	Rule   *ruleJSON       `json:"rule"` // null where no rule of the operator matches
	Layers []bridge.Wanted `json:"layers"`
	// Standing is true when consent that stands covers the call. Which, is told with the right answer only.
	Standing bool `json:"standing"`
	// Refused says why the call would end whatever the policy is; null where nothing is wrong.
	Refused any `json:"refused"`
}

// ruleJSON is a rule of the operator. At is the file and the line; "" where they are not known.
type ruleJSON struct {
	Pattern string `json:"pattern"`
	Origin  string `json:"origin"`
	Level   string `json:"level"`
	At      string `json:"at"`
}

// decision is GET /api/policy: what would become of a call now. Nothing comes of asking.
func (f policyFace) decision(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	q := r.URL.Query()
	in := &bridge.Call{Site: q.Get("site"), Tool: q.Get("tool")}
	for _, name := range []string{"site", "tool", "caller"} {
		if q.Get(name) == "" {
			transport.WriteError(w, r, bridge.AsError(transport.Malformed(name+" is missing: /api/policy?site=…&tool=…&caller=…")))
			return
		}
	}
	if !c.Sees(in.Site) || !slices.ContainsFunc(f.b.Sites(c), func(s bridge.Site) bool { return s.Name == in.Site }) {
		noSite(w, r)
		return
	}
	var known bool
	in.Caller, known = f.callerNamed(q.Get("caller"))
	var err error
	if q.Has("input") {
		in.Input, err = bridge.ReadValue("input", json.RawMessage(q.Get("input")))
	}
	var x *bridge.Explanation
	if err == nil {
		x, err = bridge.Explain(r.Context(), f.b, in)
	}
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	out := policyJSON{Node: f.node, Site: in.Site, Tool: in.Tool, Caller: in.Caller.Name, Known: known, Mode: cmp.Or(x.Mode, policy.ModeAsk),
		Layer: x.Layer, Reason: x.Reason, Layers: []bridge.Wanted{}, Standing: x.Grant != ""}
	for _, l := range x.Layers {
		out.Level = x.Level.String()
		out.Layers = append(out.Layers, bridge.Wanted{Name: l.Name, Level: l.Level.String(), Reason: l.Reason, Decided: l.Decided})
	}
	if x.Ruled {
		out.Rule = &ruleJSON{Pattern: x.Rule.Pattern, Origin: x.Rule.Origin, Level: x.Rule.Level.String()}
		if f.ruleAt != nil {
			out.Rule.At = f.ruleAt(in.Site, x.Rule)
		}
	}
	if x.Refused != nil {
		out.Refused = transport.NewErrorBody(x.Refused)
	}
	write(w, r, out)
}

// callerNamed returns a caller as it would call. One that is not of the configuration may call, and has
// no credential that is known.
func (f policyFace) callerNamed(name string) (c bridge.Caller, known bool) {
	for _, c := range f.callers() {
		if c.Name == name {
			return c, true
		}
	}
	return bridge.Caller{Name: text.Brief(name, 4*maxName), May: []bridge.Right{bridge.MayCall}}, false
}

// callerJSON is a caller of the configuration.
type callerJSON struct {
	Node   string         `json:"node"`
	Name   string         `json:"name"`
	Rights []bridge.Right `json:"rights"`
	Sites  []string       `json:"sites"` // null is all
}

// listCallers lists the callers of the configuration, with the sites that the operator may see, too.
func (f policyFace) listCallers(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	var all []callerJSON
	for _, x := range f.callers() {
		sites := slices.DeleteFunc(slices.Clone(x.Sites), func(s string) bool { return !c.Sees(s) })
		switch {
		case x.Sites == nil:
			sites = c.Sites
		case len(sites) == 0:
			continue
		}
		all = append(all, callerJSON{f.node, x.Name, append([]bridge.Right{}, x.May...), sites})
	}
	slices.SortFunc(all, func(a, b callerJSON) int { return cmp.Compare(a.Name, b.Name) })
	page(w, r, all, func(x callerJSON) string { return x.Name })
}

// unseenJSON is a tool that came after consent was given on its site, and that nobody has seen.
type unseenJSON struct {
	Node string `json:"node"`
	Site string `json:"site"`
	Tool string `json:"tool"`
}

// listUnseen lists the tools that nobody has seen, of all nodes. Of a site that is not open nothing is known.
func (f policyFace) listUnseen(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	var all []unseenJSON
	for _, s := range f.b.Sites(c) {
		names, _ := bridge.Unseen(r.Context(), f.b, c, s.Name)
		for _, name := range names {
			all = append(all, unseenJSON{f.node, s.Name, name})
		}
	}
	var late []string
	if f.mayLookElsewhere(c) {
		late = eachPeer(r.Context(), f.peers(), "/api/policy/unseen?limit="+strconv.Itoa(maxLimit), func(_ string, resp *http.Response) {
			var theirs listJSON[unseenJSON]
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				all = append(all, theirs.Items...)
			}
		})
	}
	slices.SortFunc(all, func(a, b unseenJSON) int {
		return cmp.Or(cmp.Compare(a.Site, b.Site), cmp.Compare(a.Tool, b.Tool), cmp.Compare(a.Node, b.Node))
	})
	page(w, r, all, func(x unseenJSON) string { return strings.Join([]string{x.Site, x.Tool, x.Node}, "\x00") }, late...)
}

// grantJSON is consent that stands.
type grantJSON struct {
	Node    string    `json:"node"`
	ID      string    `json:"id"`
	Caller  string    `json:"caller"`
	Site    string    `json:"site"`
	Tool    string    `json:"tool"`
	GivenBy string    `json:"givenBy"`
	GivenAt time.Time `json:"givenAt"`
	// Page is true when it is for a page that config changes.
	Page bool `json:"page"`
	// State says whether it covers calls now: stands, changed (the tool has another definition), gone
	// (the site has no such tool) or credential (its caller has another one). "" is not known here.
	State string `json:"state"`
}

// listGrants lists consent that stands, the newest first.
func (f policyFace) listGrants(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	grants, err := bridge.StandingGrants(r.Context(), f.b, c)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	sites, all := map[string]*bridge.Listing{}, make([]grantJSON, 0, len(grants))
	for _, g := range slices.Backward(grants) {
		list, looked := sites[g.Site]
		if !looked {
			if l, err := f.b.ToolsNow(r.Context(), bridge.Ref{Site: g.Site, Caller: c}); err == nil {
				list = &l
			}
			sites[g.Site] = list
		}
		all = append(all, grantJSON{f.node, g.ID, g.Caller, g.Site, g.Tool, g.GivenBy, g.GivenAt, g.Config != "", stateOf(f, g, list)})
	}
	page(w, r, all, func(g grantJSON) string { return g.ID })
}

// stateOf says whether consent that stands covers calls of the tools of a site as they are now.
func stateOf(f policyFace, g bridge.Grant, list *bridge.Listing) string {
	if list == nil {
		return ""
	}
	i := slices.IndexFunc(list.Tools, func(t *bridge.Tool) bool { return t.Name() == g.Tool })
	caller, known := f.callerNamed(g.Caller)
	switch {
	case i < 0:
		return "gone"
	case list.Tools[i].Digest() != g.Digest:
		return "changed"
	case known && caller.Credential != g.Credential:
		return "credential"
	}
	return "stands"
}

// revokeGrant takes back consent that stands.
func (f policyFace) revokeGrant(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	if err := bridge.RevokeGrant(r.Context(), f.b, c, r.PathValue("id")); err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	write(w, r, map[string]string{"status": "ok"})
}

func noSite(w http.ResponseWriter, r *http.Request) {
	transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun, "No site with this name is served."))
}
