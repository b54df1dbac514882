package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// SiteFacts holds what is known of a site besides its tools.
type SiteFacts struct {
	// State is "open" or "opening", or says why the site is not open. Engine names what opens its
	// pages; "" where it has none.
	State, Engine string
	// Endpoint is the address under which agents reach its tools over HTTP, without /webtools or /mcp; ""
	// where they do not. Token says that they need a credential there.
	Endpoint string
	Token    bool
	// Findings tell its author what is wrong.
	Findings []bridge.Finding
}

// siteJSON is a site in lists and events.
type siteJSON struct {
	Node     string `json:"node"`
	Name     string `json:"name"`
	Target   string `json:"target"`
	Origin   string `json:"origin"`
	Domain   string `json:"domain"` // the registrable part of the host of its origin, or else of its target; "" is none
	Kind     string `json:"kind"`   // page, api or folder
	State    string `json:"state"`
	Version  string `json:"version"`
	Tools    int    `json:"tools"`
	Findings int    `json:"findings"`
	Engine   string `json:"engine"`
	Endpoint string `json:"endpoint"` // of agents, without /webtools or /mcp; "" is none
	Token    bool   `json:"token"`    // they need a credential there
	// Error says why its tools are not known; "" where they are.
	Error string `json:"error,omitempty"`
}

// siteOf returns a site as it is now, and the digests of its tools by name.
func (f *Face) siteOf(ctx context.Context, s bridge.Site) (siteJSON, map[string]string) {
	out := siteJSON{Node: f.node, Name: s.Name, Target: s.Target, Origin: s.Origin, Domain: domainOf(cmp.Or(s.Origin, s.Target)), Kind: "page"}
	switch {
	case s.API:
		out.Kind = "api"
	case s.Local:
		out.Kind = "folder"
	}
	if f.facts != nil {
		facts := f.facts(s.Name)
		out.State, out.Engine, out.Findings = facts.State, facts.Engine, len(facts.Findings)
		out.Endpoint, out.Token = facts.Endpoint, facts.Token
	}
	digests := map[string]string{}
	list, err := f.b.ToolsNow(ctx, bridge.Ref{Site: s.Name, Caller: everyone})
	if err != nil {
		out.Error = bridge.AsError(err).Message
		return out, digests
	}
	out.Version, out.Tools = list.Version, len(list.Tools)
	for _, t := range list.Tools {
		digests[t.Name()] = t.Digest()
	}
	return out, digests
}

// listSites lists the sites that the caller sees, of all nodes.
func (f *Face) listSites(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	all := []siteJSON{}
	for _, s := range f.b.Sites(c) {
		now, _ := f.siteOf(r.Context(), s)
		all = append(all, now)
	}
	var late []string
	if f.mayLookElsewhere(c) {
		late = eachPeer(r.Context(), f.peers(), "/api/sites?limit="+strconv.Itoa(maxLimit), func(_ string, resp *http.Response) {
			var theirs listJSON[siteJSON]
			if json.NewDecoder(resp.Body).Decode(&theirs) == nil {
				all = append(all, theirs.Items...)
			}
		})
	}
	slices.SortFunc(all, func(a, b siteJSON) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Node, b.Node)) })
	page(w, r, all, func(s siteJSON) string { return s.Name + "/" + s.Node }, late...)
}

// toolJSON describes a tool of a site, in the words of its page.
type toolJSON struct {
	Node         string           `json:"node"`
	Name         string           `json:"name"`
	Title        string           `json:"title"`
	Description  string           `json:"description"`
	Schema       json.RawMessage  `json:"schema"`
	OutputSchema json.RawMessage  `json:"outputSchema"` // null where it has none
	Annotations  json.RawMessage  `json:"annotations"`  // null where it has none
	Digest       string           `json:"digest"`
	Origin       string           `json:"origin"`
	Domain       string           `json:"domain"` // as of a site
	Frame        string           `json:"frame,omitempty"`
	Terms        termsJSON        `json:"terms"`
	Findings     []bridge.Finding `json:"findings"`
}

// termsJSON says what happens when the tool is called, and why.
type termsJSON struct {
	Level       string `json:"level"` // auto, ask-once, ask or never
	Reason      string `json:"reason"`
	ReadsOnly   bool   `json:"readsOnly"`
	Destructive bool   `json:"destructive"`
	Untrusted   bool   `json:"untrusted"`
}

// listTools lists the tools of a site as they are known now, by name.
func (f *Face) listTools(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	list, err := f.b.ToolsNow(r.Context(), bridge.Ref{Site: r.PathValue("site"), Caller: c})
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	all := make([]toolJSON, len(list.Tools))
	for i, t := range list.Tools {
		terms := list.Terms(t)
		all[i] = toolJSON{Node: f.node, Name: t.Name(), Title: t.Title(), Description: t.Description(), Schema: t.InputSchema(), OutputSchema: t.OutputSchema(),
			Annotations: t.Annotations(), Digest: t.Digest(), Origin: t.Origin(), Domain: domainOf(t.Origin()), Frame: t.Frame(), Findings: []bridge.Finding{},
			Terms: termsJSON{terms.Level.String(), terms.Reason, terms.ReadsOnly, terms.Destructive, terms.Untrusted}}
		for _, found := range list.Catalog.Findings() {
			if found.Tool == text.Brief(t.Name(), maxName) {
				all[i].Findings = append(all[i].Findings, found)
			}
		}
	}
	page(w, r, all, func(t toolJSON) string { return t.Name })
}

// configJSON has the JSON Schema of what a person may set for a call, with the defaults of the site.
type configJSON struct {
	Schema map[string]json.RawMessage `json:"schema"`
}

// config is GET /api/sites/{site}/config: the schema for a form. What continues a call that waits is not in it.
func (f *Face) config(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	list, err := f.b.ToolsNow(r.Context(), bridge.Ref{Site: r.PathValue("site"), Caller: c})
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	config := list.Config()
	schema, defaults := members(config.Schema), members(config.Default)
	properties := members(schema["properties"])
	delete(properties, "resume")
	delete(properties, "answer")
	for name, value := range defaults {
		property := members(properties[name])
		property["default"] = value
		properties[name] = mustJSON(property)
	}
	schema["properties"] = mustJSON(properties)
	write(w, r, configJSON{schema})
}

// members returns the members of an object of ours.
func members(object json.RawMessage) map[string]json.RawMessage {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(object, &all); err != nil {
		panic(fmt.Sprintf("a schema of ours: %v", err))
	}
	return all
}

// listFindings lists what the author of a site should know.
func (f *Face) listFindings(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	site := r.PathValue("site")
	if !slices.ContainsFunc(f.b.Sites(c), func(s bridge.Site) bool { return s.Name == site }) {
		noSite(w, r)
		return
	}
	var all []bridge.Finding
	if f.facts != nil {
		all = f.facts(site).Findings
	}
	page(w, r, all, func(found bridge.Finding) string { return found.Rule + "/" + found.Tool + "/" + found.Message })
}

// errorsJSON lists what does not fit in arguments.
type errorsJSON struct {
	Errors []errorJSON `json:"errors"`
}

// errorJSON names a place in the arguments, by RFC 6901, and says what is wrong there.
type errorJSON struct {
	Pointer string `json:"pointer"`
	Message string `json:"message"`
}

// validate says what does not fit in the arguments of a call. Nothing reaches the page.
func (f *Face) validate(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	in, err := readObject(r, "tool", "input")
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	if !in.Get("tool").IsString() || !in.Get("input").Exists() {
		transport.WriteError(w, r, bridge.AsError(transport.Malformed(`The body must be {"tool":NAME,"input":{…}}.`)))
		return
	}
	if limited := f.b.Count(bridge.Ref{Site: r.PathValue("site"), Caller: c}); limited != nil {
		transport.WriteError(w, r, limited)
		return
	}
	out := errorsJSON{[]errorJSON{}}
	if err := bridge.Validate(f.b, &bridge.Call{Site: r.PathValue("site"), Tool: in.Get("tool").String(), Caller: c, Input: in.Get("input")}); err != nil {
		e := bridge.AsError(err)
		if e.Code != bridge.SchemaError {
			transport.WriteError(w, r, e)
			return
		}
		places, _ := e.Details["errors"].([]map[string]string)
		for _, p := range places {
			out.Errors = append(out.Errors, errorJSON{p["pointer"], p["message"]})
		}
		if len(places) == 0 {
			out.Errors = append(out.Errors, errorJSON{"", e.Message})
		}
	}
	write(w, r, out)
}
