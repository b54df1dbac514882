package cdp

import (
	"cmp"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/adapter"
	"github.com/pagetools/pagetools/shim"
)

// findings returns the findings about a document: how it came, what the page script did
// not send, and what went wrong.
func (w *watcher) findings(d *document) []bridge.Finding {
	var out []bridge.Finding
	s := d.state
	if d.where == (session.Frame{}) {
		out = append(out, w.unparsed...)
	}
	if code := s.Doc.Status; code >= http.StatusBadRequest && d.where == (session.Frame{}) {
		out = append(out, bridge.Finding{Rule: bridge.RuleStatus,
			Message: fmt.Sprintf("The site answered %d %s.", code, http.StatusText(code))})
	}
	for _, r := range s.Refused {
		out = append(out, bridge.Finding{Rule: r.Rule, Tool: r.Name, Message: r.Message,
			Refused: true})
	}
	if s.Dropped > 0 {
		out = append(out, bridge.Finding{Rule: "too-many-tools", Refused: true,
			Message: fmt.Sprintf("The page declares %d tools more than are offered.", s.Dropped)})
	}
	if s.Short > 0 {
		out = append(out, session.TooLarge(int(s.Short)))
	}
	for _, p := range s.Problems {
		if f := w.problem(p); f.Rule != bridge.RuleServer || !w.joins() {
			out = append(out, f)
		}
	}
	if s.More {
		out = append(out, bridge.Finding{Rule: "more-problems",
			Message: "The page has more errors than are kept."})
	}
	return out
}

// longestName limits how many characters the name of a tool may have in a browser.
const longestName = 128

// unsaid stands for the words of an exception that has none.
const unsaid = "the page does not say why"

func (w *watcher) problem(p shim.Problem) bridge.Finding {
	if by := w.adapter(p.Adapter); by != nil {
		return ofAdapter(by, p)
	}
	for _, by := range w.adapters { // what nothing caught has no other sign
		if strings.HasPrefix(p.At, shim.AdapterPlace(by.Name)) {
			return ofAdapter(by, p)
		}
	}
	f := bridge.Finding{Rule: "console-error", Message: "console.error: " + p.Message}
	switch p.Kind {
	case "error":
		f = bridge.Finding{Rule: bridge.RuleUncaught, Message: p.Message}
	case "load":
		f = bridge.Finding{Rule: bridge.RuleScript, Message: "A script did not load, or what it imports: " + p.Message}
	case "policy":
		f = bridge.Finding{Rule: bridge.RulePolicy, Message: "The page's Content-Security-Policy keeps a script from running: " + p.Message}
	case "server":
		f = bridge.Finding{Rule: bridge.RuleServer, Message: "An MCP server runs in the page (channel " + text.Quote(p.Message) +
			"), and speaks to other scripts only: " + w.words.Of("the adapter builtin:page-servers adds its tools")}
	case "rejection":
		f = bridge.Finding{Rule: bridge.RuleRejection, Message: "Unhandled rejection: " + p.Message}
	case "registration":
		f = bridge.Finding{Rule: "registration-refused", Tool: p.Name, Refused: true,
			Message: "The registration was refused: " + cmp.Or(text.Said(p.Message), unsaid)}
		if !bridge.IsLegalName(p.Name) || len(p.Name) > longestName {
			f.Message += fmt.Sprintf(": it must have 1 to %d ASCII letters, digits, '_', '.' and '-'",
				longestName)
		}
	}
	if p.At != "" {
		f.Message += " (" + p.At + ")"
	}
	return f
}

// joins reports whether an adapter adds the tools of servers in the page.
func (w *watcher) joins() bool {
	return slices.ContainsFunc(w.adapters, func(a *adapter.Adapter) bool { return a.File == adapter.Builtin+adapter.PageServers })
}

// adapter returns the adapter of an index of the page script, nil for none.
func (w *watcher) adapter(index int) *adapter.Adapter {
	if index < 1 || index > len(w.adapters) {
		return nil
	}
	return w.adapters[index-1]
}

// ofAdapter is a problem of an adapter. The page may have made it up.
func ofAdapter(a *adapter.Adapter, p shim.Problem) bridge.Finding {
	f := bridge.Finding{Rule: bridge.RuleAdapter, Tool: p.Name, Refused: p.Name != ""}
	why := cmp.Or(text.Said(p.Message), unsaid)
	switch {
	case p.Name != "" && p.Kind == "adapter":
		f.Message = "The tool of the adapter " + a.Name + " is left out: " + why
	case p.Kind == "registration":
		f.Message = "The adapter " + a.Name + " could not register a tool: " + why
	case p.Kind == "adapter":
		f.Message = "The adapter " + a.Name + " failed: " + why
	default:
		f.Message = "The adapter " + a.Name + " has an error that nothing caught: " + why
	}
	where := filepath.Base(a.File)
	if line, own := strings.CutPrefix(p.At, shim.AdapterPlace(a.Name)); own {
		where += line
	}
	f.Message += " (" + where + ")"
	return f
}
