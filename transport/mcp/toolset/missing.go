package toolset

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

const (
	// maxPast bounds the names that a Past has.
	maxPast = 512
	// maxTold and maxToldBytes bound the names in one text, some 300 tokens.
	maxTold, maxToldBytes = 60, 1500
	maxSimilar            = 3
	// minSimilar sets how alike names must be, of 1.
	minSimilar = 0.5
)

// Past says where the tools of earlier lists were, by their names there. It does not change.
type Past map[string]gone

// gone is a tool that an earlier list had.
type gone struct {
	site string
	tool string // its name in the page
	page string // what its page showed; "" when that is not known
}

// Past returns what the list has, and what those before it had, as many as are remembered.
func (l *List) Past() Past {
	p := Past{}
	note := func(name string, g gone) {
		if _, known := p[name]; !known && len(p) < maxPast {
			p[name] = g
		}
	}
	for _, e := range l.entries[l.own:] {
		g := gone{e.Site, e.Tool.Name(), l.pages[e.Site]}
		note(e.Name, g)
		note(e.Tool.Name(), g)
	}
	for _, name := range slices.Sorted(maps.Keys(l.gone)) {
		note(name, l.gone[name])
	}
	return p
}

// After returns the list as it is for who had others before: it says where their tools are.
func (l *List) After(p Past) *List {
	if len(p)+len(l.gone) == 0 {
		return l
	}
	other := *l
	other.gone = p
	return &other
}

// Former returns the tool of a call under the name that an earlier list had it by. It is not ok for
// another name, or another tool.
func (l *List) Former(name string, run *bridge.Run) (t Target, ok bool) {
	tool, g := run.Tool(), l.gone[name]
	if tool == nil || g.site != run.Site() || g.tool != tool.Name() {
		return Target{}, false
	}
	input, _ := tool.Schemas()
	return Target{Site: g.site, Tool: tool, Name: name, form: input.ForClients(l.options.Faithful)}, true
}

// Missing is the error of a call of a tool that the list does not have: why, what there
// is, and what sounds like it.
func (l *List) Missing(name string) *bridge.Error {
	code, reason := l.unlisted(name)
	e := bridge.Errorf(code, reason, bridge.NotRun, "There is no tool %q here.", text.Brief(name, maxName))
	why, retry := l.why(name)
	e.Retry = retry
	lines := append([]string{e.Message}, why...)
	similar := l.similar(name)
	if len(similar) > 0 {
		lines = append(lines, "Similar ones are: "+strings.Join(similar, ", ")+".")
	}
	lines = append(lines, l.told())
	e.Message = strings.Join(lines, " ")
	return e.Detail("tools", similar)
}

// unlisted returns the error of a call to a tool that is not in the list. While the only site that
// may have it cannot be reached, and has no list, nobody knows that there is no such tool.
func (l *List) unlisted(name string) (bridge.Code, bridge.Reason) {
	g, known := l.gone[name]
	for _, s := range l.sources {
		if s.Down != nil && len(s.Tools) == 0 && (known && g.site == s.Site.Name || len(l.sources) == 1) {
			return s.Down.Code, s.Down.Reason
		}
	}
	return bridge.WebtoolNotFound, ""
}

// why says why a tool is not there, where that is known, and when the site that may
// have it is tried again.
func (l *List) why(name string) (lines []string, retry time.Duration) {
	g, known := l.gone[name]
	for _, s := range l.sources {
		if s.Down == nil || known && g.site != s.Site.Name {
			continue
		}
		lines = append(lines, fmt.Sprintf("The site %q cannot be reached now: %s", s.Site.Name, s.Down.Message))
		if len(s.Tools) > 0 {
			lines = append(lines, "What is said of its tools is its last list.")
		}
		retry = max(retry, s.Down.Retry)
	}
	if len(lines) > 0 {
		return lines, retry
	}
	if known {
		lines = []string{l.left(g)}
	}
	return append(lines, l.trouble(g.site)...), 0
}

// left says how a tool went that an earlier list had.
func (l *List) left(g gone) string {
	switch now := l.pages[g.site]; {
	case g.page != "" && now != "" && now != g.page:
		return fmt.Sprintf("It was a tool of %s; the page went to %s since.", g.page, now)
	case g.page == "" && now != "": // the list came from the site's own page
		return fmt.Sprintf("Your page of %q shows %s now, which does not offer it.", g.site, now)
	default:
		return fmt.Sprintf("The page of %q had it and took it away since.", g.site)
	}
}

// trouble says what went wrong in the page of a site; "" is all of them.
func (l *List) trouble(site string) (lines []string) {
	for _, s := range l.sources {
		if s.Trouble != "" && (site == "" || site == s.Site.Name) {
			lines = append(lines, s.Trouble)
		}
	}
	return lines[:min(len(lines), maxTrouble)]
}

// maxTrouble bounds the sites of which a text says what went wrong.
const maxTrouble = 3

// told says which tools there are.
func (l *List) told() string {
	switch {
	case len(l.entries) > l.own:
	case !l.opens():
		return "There are no tools now."
	default:
		return "There are no tools of pages now. " + Open + " goes back to the start of the site."
	}
	return "There are: " + strings.Join(l.names(), ", ") + "."
}

// names lists the tools of pages, as many as a text has room for.
func (l *List) names() (names []string) {
	pages := l.entries[l.own:]
	size := 0
	for _, e := range pages {
		if size += len(e.Name) + 2; len(names) == maxTold || size > maxToldBytes {
			return append(names, fmt.Sprintf("and %d more", len(pages)-len(names)))
		}
		names = append(names, e.Name)
	}
	return names
}

// similar lists the names that are most like one, the best first: those that share most
// of their letters in order.
func (l *List) similar(name string) []string {
	type scored struct {
		name  string
		alike float64
	}
	wanted := grams(name)
	var found []scored
	for _, e := range l.entries[l.own:] {
		alike := max(wanted.alike(grams(e.Name)), wanted.alike(grams(e.Tool.Name())))
		if alike >= minSimilar {
			found = append(found, scored{e.Name, alike})
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.alike, a.alike) })
	names := []string{}
	for _, s := range found {
		names = append(names, s.name)
	}
	for _, m := range l.search(name, maxSimilar).Tools {
		if !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names[:min(len(names), maxSimilar)]
}

// pairs counts the pairs of letters that follow each other in a name.
type pairs map[[2]rune]int

func grams(name string) pairs {
	p := pairs{}
	before := ' '
	for _, r := range strings.ToLower(text.Short(name, maxName)) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			p[[2]rune{before, r}]++
			before = r
		}
	}
	return p
}

// alike is the Dice coefficient of two names: 1 for equal ones, 0 when nothing is shared.
func (p pairs) alike(o pairs) float64 {
	shared, all := 0, 0
	for pair, n := range p {
		shared += min(n, o[pair])
		all += n
	}
	for _, n := range o {
		all += n
	}
	return 2 * float64(shared) / float64(max(1, all))
}

// place is a page's address as models may read it: without what can be a secret.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return ""
	}
	words, _ := text.Visible(origin.OfURL(u) + u.EscapedPath())
	return text.Short(words, maxPlace)
}

// maxPlace bounds an address in a text, in bytes.
const maxPlace = 200
