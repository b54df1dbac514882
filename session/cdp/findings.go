package cdp

import (
	"cmp"
	"fmt"
	"net/http"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

// findings returns the findings about a document: how it came, what the page script did
// not send, and what went wrong.
func findings(d *document) []bridge.Finding {
	var out []bridge.Finding
	s := d.state
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
		out = append(out, problem(p))
	}
	if s.More {
		out = append(out, bridge.Finding{Rule: "more-problems",
			Message: "The page has more errors than are kept."})
	}
	return out
}

// longestName is how many characters the name of a tool may have in a browser.
const longestName = 128

// unsaid stands for the words of an exception that has none.
const unsaid = "the page does not say why"

func problem(p shim.Problem) bridge.Finding {
	f := bridge.Finding{Rule: "console-error", Message: "console.error: " + p.Message}
	switch p.Kind {
	case "error":
		f = bridge.Finding{Rule: bridge.RuleUncaught, Message: p.Message}
	case "load":
		f = bridge.Finding{Rule: bridge.RuleScript, Message: "A script did not load, or what it imports: " + p.Message}
	case "policy":
		f = bridge.Finding{Rule: bridge.RulePolicy, Message: "The page's Content-Security-Policy keeps a script from running: " + p.Message}
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
