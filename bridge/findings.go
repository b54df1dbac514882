package bridge

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// Finding is something to tell the author of a page: of a declaration, or of what went wrong.
type Finding struct {
	// Rule is a stable kebab-case id, such as "schema-expands".
	Rule string `json:"rule"`
	// Tool is the name as declared, shortened and without control characters; empty when
	// it is not about a tool.
	Tool string `json:"tool,omitempty"`
	// Message is one sentence for the author.
	Message string `json:"message"`
	// Refused is true when the tool is not available because of it.
	Refused bool `json:"refused"`
}

// Cleaned returns the finding with text of one line that has nothing invisible in it.
func (f Finding) Cleaned() Finding {
	f.Tool = text.Brief(f.Tool, 64)
	f.Message = text.Short(text.Line(f.Message), maxFinding)
	return f
}

// maxFinding bounds the message of a finding, in bytes.
const maxFinding = 1 << 10

// Rules of findings that say why a tool may be missing.
const (
	RuleStatus    = "http-status" // the document came with an HTTP status that is an error
	RuleUnmet     = "wait-for-unmet"
	RuleUncaught  = "uncaught-error"
	RuleRejection = "unhandled-rejection"
	RuleScript    = "script-missing"
	RulePolicy    = "content-security-policy"
	RuleNetwork   = "network-refused"
	RuleEmpty     = "api-without-tools" // no operation of an API is a tool
	RuleServer    = "page-server"       // an MCP server runs in the page, and its tools are not offered
	RuleAdapter   = "adapter-error"     // an adapter of the operator threw, or did not register a tool
)

// RuleLate is the rule of the finding that a tool came when the page counted as opened.
const RuleLate = "registers-late"

// Causes returns those of the findings that can explain that a tool is missing, the likeliest
// first. With "" it is any tool.
func Causes(findings []Finding, tool string) []Finding {
	var all []Finding
	for _, f := range findings {
		if likelihood(f, tool) > 0 {
			all = append(all, f)
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return cmp.Compare(likelihood(b, tool), likelihood(a, tool)) })
	return all
}

// likelihood orders what can explain that a tool is missing; 0 cannot. What is logged, and what a
// page gave up itself, explains nothing.
func likelihood(f Finding, tool string) int {
	switch {
	case f.Refused && tool != "" && f.Tool == tool:
		return 7
	case f.Rule == RuleStatus, f.Rule == RuleEmpty:
		return 6
	case f.Refused && (tool == "" || f.Tool == ""):
		return 5
	case f.Refused:
		return 0
	}
	switch f.Rule {
	case RuleNetwork, RuleScript, RulePolicy, RuleAdapter:
		return 4
	case RuleUncaught:
		return 3
	case RuleUnmet:
		return 2
	case RuleRejection:
		if !strings.Contains(f.Message, ": AbortError") {
			return 1
		}
	}
	return 0
}

// Trouble is a sentence on why a tool is missing, "" for any: that the page took it back, or what
// went wrong at the site, as far as a message has room for it. It is "" when nothing explains it.
func (c *Catalog) Trouble(tool string) string {
	if left := c.tookBack(tool); left != "" {
		return left
	}
	causes := Causes(c.findings, tool)
	var said []string
	for i, f := range causes {
		if i == maxTrouble {
			said = append(said, fmt.Sprintf("and %d more", len(causes)-i))
			break
		}
		words := strconv.Quote(text.Short(f.Message, maxTroubleText))
		if f.Tool != "" {
			words = strconv.Quote(f.Tool) + ": " + words
		}
		said = append(said, f.Rule+": "+words)
	}
	if len(said) == 0 {
		return ""
	}
	return "What went wrong at the site: " + strings.Join(said, "; ") + "."
}

// tookBack says that a tool was there and left, or, of a page without tools, which did; else it is
// "".
func (c *Catalog) tookBack(tool string) string {
	switch {
	case tool != "" && slices.Contains(c.left, tool):
		return fmt.Sprintf("The page offered %s, and took it back.", text.Quote(tool))
	case tool == "" && len(c.tools) == 0 && len(c.left) > 0:
		return "The page offered " + text.FewQuoted(c.left, maxTrouble) + ", and took them back."
	}
	return ""
}

// maxTrouble and maxTroubleText bound what a message says of a page, in findings and bytes.
const maxTrouble, maxTroubleText = 3, 200
