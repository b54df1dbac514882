package session

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// This file tells a site's author about a page, besides what its tools are refused for.

// maxFindings bounds what is told of a page.
const maxFindings = 200

// told returns findings as they are told: cleaned, and not too many.
func told(findings []bridge.Finding) []bridge.Finding {
	findings = slices.DeleteFunc(slices.Clone(findings), func(f bridge.Finding) bool { return explained(f, findings) })
	all := make([]bridge.Finding, 0, min(len(findings), maxFindings))
	for i, f := range findings {
		if i == maxFindings-1 && len(findings) > maxFindings {
			return append(all, bridge.Finding{Rule: "more-findings",
				Message: fmt.Sprintf("There are %d findings more.", len(findings)-i)})
		}
		all = append(all, f.Cleaned())
	}
	return all
}

// explained reports whether a script did not load for a reason that another finding says.
func explained(f bridge.Finding, all []bridge.Finding) bool {
	_, address, _ := strings.Cut(f.Message, ": ")
	return f.Rule == bridge.RuleScript && slices.ContainsFunc(all, func(why bridge.Finding) bool {
		return (why.Rule == bridge.RulePolicy || why.Rule == bridge.RuleNetwork) && strings.Contains(why.Message, " "+address)
	})
}

// unmet says what the page was to wait for and did not come; "" when all came.
func (p *Page) unmet(s *pageState) string {
	switch missing := p.wait.missing(s.now.catalog); {
	case missing != "":
		return fmt.Sprintf("the tool %q", missing)
	case p.wait.Selector != "" && !s.ready:
		return fmt.Sprintf("an element that matches %q", p.wait.Selector)
	case p.wait.Idle && !s.ready:
		return "a network that is idle"
	}
	return ""
}

// maxRefused bounds the addresses of which a document's findings say that they were refused.
const maxRefused = 16

// refused adds to the findings of the document that an address was refused.
func (p *Page) refused(s *pageState, ev Refused) {
	f := bridge.Finding{Rule: bridge.RuleNetwork, Message: "The page was kept from " + ev.URL + ": " + ev.Why}
	if len(s.more) < maxRefused && !slices.Contains(s.more, f) {
		s.more = append(s.more, f)
		p.list(s)
	}
}
