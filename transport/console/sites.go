package console

import (
	"context"

	"github.com/pagetools/pagetools/bridge"
)

// SiteFacts holds what is known of a site besides its tools.
type SiteFacts struct {
	// State is "open" or "opening", or says why the site is not open. Engine names what opens its
	// pages; "" where it has none.
	State, Engine string
	// Findings counts what its author should know.
	Findings int
}

// siteJSON is a site in lists and events.
type siteJSON struct {
	Node     string `json:"node"`
	Name     string `json:"name"`
	Target   string `json:"target"`
	Origin   string `json:"origin"`
	Kind     string `json:"kind"` // page, api or folder
	State    string `json:"state"`
	Version  string `json:"version"`
	Tools    int    `json:"tools"`
	Findings int    `json:"findings"`
	Engine   string `json:"engine"`
	// Error says why its tools are not known; "" where they are.
	Error string `json:"error,omitempty"`
}

// siteOf returns a site as it is now, and the digests of its tools by name.
func (f *Face) siteOf(ctx context.Context, s bridge.Site) (siteJSON, map[string]string) {
	out := siteJSON{Node: f.node, Name: s.Name, Target: s.Target, Origin: s.Origin, Kind: "page"}
	switch {
	case s.API:
		out.Kind = "api"
	case s.Local:
		out.Kind = "folder"
	}
	if f.facts != nil {
		facts := f.facts(s.Name)
		out.State, out.Engine, out.Findings = facts.State, facts.Engine, facts.Findings
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
