package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Modes of an operator: what holds for tools that no rule names.
const (
	ModeAsk     = "ask"      // asks, except for a trusted read-only claim
	ModeAskOnce = "ask-once" // as ask, and the answer may be kept
	ModeStrict  = "strict"   // asks for everything; rules can only make it stricter
	ModeAuto    = "auto"     // runs
	ModeNever   = "never"    // refuses
	ModeDeny    = "deny"     // as ask, but what would be asked about is refused
)

// Claim is a page's statement about its tool in one hint. The zero value means that it says
// nothing.
type Claim uint8

// The claims.
const (
	Unsaid Claim = iota
	No
	Yes
)

// Hints are the claims of a page about one tool. All of them are a stranger's word.
type Hints struct {
	ReadOnly      Claim // counts only from the site's own top-level origin, and only where the operator's mode trusts it
	Destructive   Claim // Yes raises to Ask
	Consequential Claim // Yes raises to Ask
	Untrusted     Claim // about the content of results: a caller that reads them is tainted, see Input.Tainted
}

// Claimed lists what the page claims, by the names of the hints, the gravest first.
func (h Hints) Claimed() (names []string) {
	for _, c := range []struct {
		claim Claim
		name  string
	}{{h.Destructive, "destructiveHint"}, {h.Consequential, "consequentialHint"}, {h.Untrusted, "untrustedContentHint"}, {h.ReadOnly, "readOnlyHint"}} {
		if c.claim == Yes {
			names = append(names, c.name)
		}
	}
	return names
}

// OnlyReads reports whether the page claims that the tool changes nothing.
func (h Hints) OnlyReads() bool { return h.ReadOnly == Yes && h.Destructive != Yes }

// MayChange reports whether a tool may change something: it may, unless the site's own page claims
// that it only reads.
func (h Hints) MayChange(topLevel bool) bool { return !topLevel || !h.OnlyReads() }

// Rule sets the operator's level for the tools that a pattern names.
type Rule struct {
	Pattern string // the name of a tool; "*" stands for any characters, none included
	Level   Level
	// Origin limits the rule to tools that this origin declares; "" means any.
	// A rule without one only raises where a tool is not the site's own.
	Origin string
}

// String returns the rule's pattern as the operator wrote it.
func (r Rule) String() string { return strings.TrimPrefix(r.Origin+" "+r.Pattern, " ") }

// Operator holds the operator's decisions for one site.
type Operator struct {
	Mode  string // one of the modes; "" is ask; anything else refuses every call
	Tools []Rule // see Match
}

// Input is everything that a decision rests on.
type Input struct {
	Operator Operator
	Tool     string // as the page named it
	Hints    Hints
	Origin   string // of the document that declares the tool
	Own      bool   // that is an origin of the named site: rules and modes may lower
	TopLevel bool   // besides, the document is the page itself, not a frame: its readOnlyHint may count
	Site     Level  // the site's published terms
	Request  Level  // what the call asked for itself
	Tainted  bool   // the caller has read untrusted content: one level up for tools that may change something
	Unseen   bool   // on a site with standing consent, nobody has seen this tool yet: a person is asked
}

// Decision is the level, who caused it and why, in words for a person.
type Decision struct {
	Level  Level
	Layer  string // one of the layers: the first in their order that wanted this level
	Reason string
}

// Layers of a decision.
const (
	LayerOperator = "operator"
	LayerSite     = "site"
	LayerHints    = "hints"
	LayerRequest  = "request"
	LayerTaint    = "taint"
	LayerUnseen   = "unseen"
)

// Decide computes the level of one call: the operator's, raised by what site, hints, request, taint
// and novelty say. No value of Site, Request, Destructive, Consequential, Tainted or Unseen can
// lower it, and ReadOnly lowers it only with TopLevel: from Ask to Auto in the modes ask and deny
// where no rule matches, and by the level that Tainted adds. Hints raise over an operator's auto as
// well. Without Own, a mode lowers nothing, and a rule only where it names the Origin: a page
// chooses whom it frames, and a frame how its tools are called.
func Decide(in Input) Decision {
	d, _ := decide(in, false)
	return d
}

// Layer says what one layer wanted in a decision.
type Layer struct {
	Name    string // one of the layers
	Level   Level  // Auto wants nothing
	Reason  string // in words for a person; "" where it wanted nothing
	Decided bool   // the decision is this layer's
}

// Explain returns the decision of Decide, and all layers in their order. Where mode deny refuses what
// would be asked about, the operator comes once more, at the end.
func Explain(in Input) (Decision, []Layer) { return decide(in, true) }

func decide(in Input, explain bool) (d Decision, layers []Layer) {
	raise := func(to Level, layer, reason string) {
		d.raise(to, layer, reason)
		if explain {
			if to == Auto {
				reason = ""
			}
			layers = append(layers, Layer{Name: layer, Level: to, Reason: reason})
		}
	}
	if d = operator(in); explain {
		layers = append(layers, Layer{Name: LayerOperator, Level: d.Level, Reason: d.Reason})
	}
	raise(in.Site.known(), LayerSite, "the site's published terms ask for it")
	switch {
	case in.Hints.Destructive == Yes:
		raise(Ask, LayerHints, "the site says that the tool destroys something")
	case in.Hints.Consequential == Yes:
		raise(Ask, LayerHints, "the site says that the tool has consequences")
	default:
		raise(Auto, LayerHints, "")
	}
	raise(in.Request.known(), LayerRequest, "the request asks for it")
	taint, unseen := Auto, Auto
	if in.Tainted && in.Hints.MayChange(in.TopLevel) {
		taint = min(d.Level+1, Ask)
	}
	raise(taint, LayerTaint, "the caller has read what strangers wrote, and may act for them")
	if in.Unseen {
		unseen = Ask
	}
	raise(unseen, LayerUnseen, "the tool is new since consent was given on this site")
	if in.Operator.Mode == ModeDeny && d.Level > Auto && d.Level < Never {
		d = Decision{Level: Never, Layer: LayerOperator,
			Reason: "mode deny refuses what would be asked about: " + d.Reason}
		if explain {
			layers = append(layers, Layer{Name: LayerOperator, Level: Never, Reason: d.Reason})
		}
	}
	for i := range slices.Backward(layers) {
		if layers[i].Name == d.Layer {
			layers[i].Decided = true
			break
		}
	}
	return d, layers
}

func (d *Decision) raise(to Level, layer, reason string) {
	if to > d.Level {
		*d = Decision{Level: to, Layer: layer, Reason: reason}
	}
}

// operator is the level before anybody raises it.
func operator(in Input) Decision {
	d := Decision{Layer: LayerOperator}
	rule, matched := in.Operator.Match(in.Origin, in.Tool)
	byRule := fmt.Sprintf("the operator's rule %q", rule)
	mode := in.Operator.Mode
	switch mode {
	case "", ModeAsk, ModeAskOnce, ModeDeny, ModeAuto, ModeNever:
	case ModeStrict:
		d.Level, d.Reason = Ask, "mode strict asks for everything"
		d.raise(rule.Level.known(), LayerOperator, byRule)
		return d
	default:
		d.Level, d.Reason = Never, fmt.Sprintf("unknown approval mode %q", mode)
		return d
	}
	switch {
	case matched && (in.Own || rule.Origin != ""):
		d.Level, d.Reason = rule.Level.known(), byRule
	case mode == ModeNever:
		d.Level, d.Reason = Never, "mode never runs nothing that no rule names"
	case !in.Own:
		d.Level, d.Reason = Ask, "the tool is not of the site's own origin, and no rule names its origin"
		d.raise(rule.Level.known(), LayerOperator, byRule)
	case mode == ModeAuto:
		d.Level, d.Reason = Auto, "mode auto runs everything that nothing raises"
	case in.Hints.ReadOnly == Yes && in.TopLevel:
		d.Level, d.Reason = Auto, "the site says that the tool only reads"
	case mode == ModeAskOnce:
		d.Level, d.Reason = Once, "nothing says that this tool may run unasked"
	default:
		d.Level, d.Reason = Ask, "nothing says that this tool may run unasked"
	}
	return d
}

// Match returns the rule for a tool of an origin: the most specific one that matches. One that
// names the origin is more specific than any that does not. A pattern without "*" is the most
// specific; then the one with more other characters, then the one with fewer "*". Where that is
// even, the stricter level wins, and after that the earlier rule: so the order of rules never
// loosens anything.
func (o Operator) Match(origin, tool string) (Rule, bool) {
	i := best(o.Tools, func(r Rule) bool {
		return (r.Origin == "" || r.Origin == origin) && Matches(r.Pattern, tool)
	}, func(a, b Rule) int {
		return cmp.Or(cmp.Compare(len(a.Origin), len(b.Origin)), // both match one origin
			bySpecific(a.Pattern, b.Pattern), cmp.Compare(a.Level.known(), b.Level.known()))
	})
	if i < 0 {
		return Rule{}, false
	}
	return o.Tools[i], true
}

// best is the index of the greatest of the rules that match, the first one of several, or -1.
func best[R any](rules []R, matches func(R) bool, compare func(a, b R) int) int {
	found := -1
	for i, r := range rules {
		if matches(r) && (found < 0 || compare(r, rules[found]) > 0) {
			found = i
		}
	}
	return found
}

// bySpecific is more than 0 when pattern a says more of the names that it matches than b, and less
// than 0 when it says less.
func bySpecific(a, b string) int {
	starsA, starsB := strings.Count(a, "*"), strings.Count(b, "*")
	lettersA, lettersB := utf8.RuneCountInString(a)-starsA, utf8.RuneCountInString(b)-starsB
	switch {
	case starsA == 0 && starsB > 0:
		return 1
	case starsB == 0 && starsA > 0:
		return -1
	case lettersA != lettersB:
		return lettersA - lettersB
	}
	return starsB - starsA
}

// Matches reports whether a pattern names a name: "*" stands for any characters, none included. It
// matches greedily from both ends and then part by part, in time linear in the name for each
// part: neither a pattern nor a name can make it backtrack.
func Matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	name, ok := strings.CutPrefix(name, parts[0])
	if !ok {
		return false
	}
	last := len(parts) - 1
	if name, ok = strings.CutSuffix(name, parts[last]); !ok {
		return false
	}
	for _, part := range parts[1:last] {
		if _, name, ok = strings.Cut(name, part); !ok {
			return false
		}
	}
	return true
}
