package console

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// Change is a difference between two versions of a site's tools.
type Change struct {
	// Tool is the name of the tool now, or of one that is gone, and Was its name before, when it had
	// another one.
	Tool, Was string
	// Pointer is the place in the declaration, such as /inputSchema/properties/year; "" is all of it.
	Pointer string
	Change  schema.Change
	// What says what changed, and Reason what follows for callers. Texts of strangers in them are
	// quoted and cut.
	What, Reason string
}

// versionJSON is a version of a site's tools.
type versionJSON struct {
	Node    string `json:"node"`
	Version string `json:"version"`
	// Severity says how it differed from the one before: breaking, addition or text; "" is the first.
	Severity string `json:"severity"`
	// Since says when it came, or came back, the last time; null is not known.
	Since   *time.Time `json:"since"`
	Current bool       `json:"current"`
}

// differenceJSON lists how two versions differ.
type differenceJSON struct {
	Node string `json:"node"`
	From string `json:"from"`
	To   string `json:"to"`
	// Severity is the greatest of the changes; "" is no difference.
	Severity string       `json:"severity"`
	Changes  []changeJSON `json:"changes"`
	// More counts those that are left out.
	More int `json:"more"`
}

// changeJSON is one difference. Was and Is have the text of the declarations at the path, as JSON, cut at
// maxShown bytes; "" is nothing.
type changeJSON struct {
	Tool     string `json:"tool"`
	Before   string `json:"before,omitempty"` // its name then, when it had another one
	Path     string `json:"path"`
	Was      string `json:"was"`
	Is       string `json:"is"`
	Severity string `json:"severity"`
	What     string `json:"what"`
	Reason   string `json:"reason"`
}

const (
	maxShown   = 4096 // bytes of a value
	maxChanges = 1000
)

// severityOf names a change, for people.
func severityOf(c schema.Change) string {
	switch c {
	case schema.Same:
		return ""
	case schema.Patch:
		return "text"
	case schema.Minor:
		return "addition"
	default:
		return "breaking"
	}
}

func (f *Face) versionRoutes() []transport.Route {
	return []transport.Route{
		transport.Get("/api/sites/{site}/versions", f.atNode(f.listVersions)),
		transport.Get("/api/sites/{site}/versions/{pair}", f.atNode(f.difference)),
	}
}

// listVersions lists the versions of a site's tools, the newest first.
func (f *Face) listVersions(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	past, err := bridge.Versions(r.Context(), f.b, c, r.PathValue("site"))
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	all := make([]versionJSON, len(past))
	for i, v := range past {
		all[i] = versionJSON{Node: f.node, Version: v.Version, Severity: severityOf(v.Change), Current: v.Current}
		if !v.Since.IsZero() {
			all[i].Since = &v.Since
		}
	}
	page(w, r, all, func(v versionJSON) string { return v.Version })
}

// difference is GET /api/sites/{site}/versions/{a}..{b}: what changed about the tools, by meaning.
func (f *Face) difference(w http.ResponseWriter, r *http.Request, c bridge.Caller) {
	from, to, both := strings.Cut(r.PathValue("pair"), "..")
	if !both || from == "" || to == "" {
		transport.WriteError(w, r, bridge.AsError(transport.Malformed("the path must end with two versions, such as 1.0.0..1.1.0.")))
		return
	}
	var documents [2]json.RawMessage
	var err error
	for i, version := range []string{from, to} {
		if documents[i], err = bridge.VersionDocument(r.Context(), f.b, c, r.PathValue("site"), version); err != nil {
			transport.WriteError(w, r, bridge.AsError(err))
			return
		}
	}
	var changes []Change
	if f.compare != nil {
		changes, err = f.compare(documents[0], documents[1])
	}
	was, e := actionsOf(documents[0])
	is, also := actionsOf(documents[1])
	for _, e := range []error{err, e, also} {
		if e != nil {
			transport.WriteError(w, r, bridge.Errorf(bridge.InternalError, bridge.Internal, bridge.NotRun, "These versions cannot be compared.").With(e))
			return
		}
	}
	out := differenceJSON{Node: f.node, From: from, To: to, Changes: []changeJSON{}}
	most := schema.Same
	for i, x := range changes {
		if most = max(most, x.Change); i >= maxChanges {
			out.More++
			continue
		}
		before := x.Tool
		if x.Was != "" {
			before = x.Was
		}
		out.Changes = append(out.Changes, changeJSON{Tool: x.Tool, Before: x.Was, Path: x.Pointer, Severity: severityOf(x.Change), What: x.What, Reason: x.Reason,
			Was: shownAt(was[before], x.Pointer), Is: shownAt(is[x.Tool], x.Pointer)})
	}
	out.Severity = severityOf(most)
	write(w, r, out)
}

// actionsOf returns the actions of a webtool document, by name.
func actionsOf(document json.RawMessage) (map[string]bridge.Value, error) {
	v, err := bridge.ReadValue("the version", document)
	if err != nil {
		return nil, err //nolint:wrapcheck // an *Error
	}
	all := map[string]bridge.Value{}
	for action := range v.Get("actions").Elements() {
		all[action.Get("name").String()] = action
	}
	return all, nil
}

// shownAt returns what an action has at a place of its declaration. All of it is not shown.
func shownAt(action bridge.Value, pointer string) string {
	if pointer == "" {
		return ""
	}
	first, rest, _ := strings.Cut(pointer[1:], "/")
	if rest != "" {
		rest = "/" + rest
	}
	switch first {
	case "inputSchema":
		first = "requestSchema"
	case "outputSchema":
		first = "responseSchema"
	}
	return text.Bytes(string(action.At("/"+first+rest).Text()), maxShown)
}
