package check

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// goodStamp is a declaration in which nothing is wrong, and stampTexts what follows its name.
const (
	stampTexts = `"title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."}`
	goodStamp  = `{"name":"add_stamp",` + stampTexts
)

var declarationRules = []Rule{
	{ID: "tool-name-valid", Severity: Error, find: each((*run).declarations, findNameValid),
		What:   "The name is empty, longer than 128 characters, or has characters besides A-Z, a-z, 0-9, '_', '.' and '-'.",
		Why:    "registerTool rejects such a name, so that no agent ever sees the tool.",
		Source: "WebMCP draft, registerTool",
		Bad:    `{"name":"add stamp",` + stampTexts, Good: goodStamp, At: "/name"},
	{ID: "tool-name-style", Severity: Warning, Off: true, find: each((*run).tools, findNameStyle),
		Options: []Option{{Name: "styles", Words: []string{"snake_case"}, What: "the styles that names may have",
			OneOf: []string{"snake_case", "kebab-case", "camelCase", "PascalCase", "dot.case"}}},
		What:   "The name is in another style than the project's.",
		Why:    "A model repeats names letter by letter; one style is repeated with fewer mistakes.",
		Source: "playwright-webmcp, tool-name-style",
		Bad:    `{"name":"addStamp",` + stampTexts, Good: goodStamp, At: "/name"},
	{ID: "tool-name-budget", Severity: Warning, find: each((*run).tools, findNameBudget),
		Options: []Option{{Name: "max", Number: 30, What: "characters that a name may have"}},
		What:    "The name is long.",
		Why:     "Clients put a prefix before names and cut what is over their limit (64 characters in most); every list and every call repeats the name.",
		Source:  "limits of MCP clients and model APIs",
		Bad:     `{"name":"add_one_stamp_to_the_collection_of_the_user",` + stampTexts, Good: goodStamp, At: "/name"},
	{ID: "duplicate-tool-name", Severity: Error, find: each((*run).eachPage, findDuplicates),
		What:   "Two tools of one page have the same name.",
		Why:    "In one document the second registration is rejected, and a form is passed over; across frames an agent cannot say which one it means.",
		Source: "WebMCP draft, registerTool: InvalidStateError for a duplicate name",
		Bad:    `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"add_stamp","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it."}]`,
		Good:   `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"add_wish","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it."}]`, At: "/name"},
	{ID: "tool-shadowing", Severity: Error, find: each((*run).eachPage, findShadowing),
		What:   "The names of two tools from different frames, origins or script origins read alike: they differ in separators and case only, or, across origins, in one letter.",
		Why:    "An agent chooses by reading names, so that a frame can take over calls that were meant for the page.",
		Source: "playwright-webmcp, tool-shadowing; tool squatting in MCP security guidance",
		Bad:    `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user.","origin":"https://shop.example"},{"name":"add-stamp","title":"Put stamp","description":"Puts a wanted rarity on the wish list, without buying it.","origin":"https://widget.example","frame":"0"}]`,
		Good:   `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user.","origin":"https://shop.example"},{"name":"wish_for","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it.","origin":"https://widget.example","frame":"0"}]`, At: "/name"},
	{ID: "tool-title-missing", Severity: Info, find: each((*run).tools, findTitle),
		What:   "The tool has no title.",
		Why:    "A client shows the title to the person who has to agree to a call, and the bare name where there is none.",
		Source: "WebMCP draft, ModelContextTool.title",
		Bad:    `{"name":"add_stamp","description":"Adds a stamp to the collection of the signed-in user."}`, Good: goodStamp, At: "/title"},
	{ID: "description-missing", Severity: Error, find: each((*run).declarations, findDescription),
		What:   "The tool has no description, or an empty one.",
		Why:    "registerTool rejects it, and agents choose tools by their descriptions.",
		Source: "WebMCP draft, registerTool: InvalidStateError for an empty description",
		Bad:    `{"name":"add_stamp","title":"Add stamp"}`, Good: goodStamp, At: "/description"},
	{ID: "description-length", Severity: Warning, find: each((*run).tools, findLength),
		Options: []Option{{Name: "min", Number: 20, What: "characters that a description must have"},
			{Name: "max", Number: 500, What: "characters that it may have"}},
		What:   "The description is shorter than 20 or longer than 500 characters. For the lower bound, a Chinese character counts as three, and one of Japanese or Korean as two.",
		Why:    "A short one does not tell a tool from its neighbors; a long one costs tokens in every request, and hosts cut it.",
		Source: "playwright-webmcp, description-length; limits of model APIs (1,024 characters)",
		Bad:    `{"name":"add_stamp","title":"Add stamp","description":"Adds one stamp."}`, Good: goodStamp, At: "/description"},
	{ID: "tool-tokens", Severity: Warning, find: each((*run).tools, findTokens),
		Options: []Option{{Name: "max", Number: 1000, What: "tokens that one tool may take"}},
		What:    "Name, title, description, schemas and annotations of one tool take more than 1,000 tokens. The estimate is one token for four characters.",
		Why:     "The whole list is in every request of the agent. Tools take 250 to 700 tokens as a rule.",
		Source:  "measured over public MCP servers; client guide of MCP",
		Bad:     `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user.","inputSchema":{"type":"object","properties":{"country":{"type":"string","description":"Country of issue.","enum":["` + manyWords(600) + `"]}}}}`, Good: goodStamp},
	{ID: "too-many-tools", Severity: Warning, find: each((*run).eachPage, findTooMany),
		Options: []Option{{Name: "max", Number: 40, What: "tools that a page may have"}},
		What:    "The page has more than 40 tools.",
		Why:     "Models choose worse from long lists, and hosts drop tools above their limit without a word.",
		Source:  "Lighthouse, agentic browsing audits",
		Bad:     manyTools(41), Good: manyTools(1)},
	{ID: "list-budget", Severity: Warning, find: each((*run).eachPage, findListBudget),
		Options: []Option{{Name: "max", Number: 32 << 10, What: "bytes that the list may take as JSON"}},
		What:    "The declarations of the page take more than 32 KB as JSON.",
		Why:     "The list is sent with every request of the agent, and hosts refuse pages above a limit in bytes.",
		Source:  "limits of hosts",
		Bad:     bigList(13), Good: bigList(1)},
	{ID: "naming-consistency", Severity: Warning, find: each((*run).eachPage, findConsistency),
		What:   "The names of the page's tools, or of their parameters, are in different styles.",
		Why:    "A model that has seen three names in one style writes the fourth in it, too.",
		Source: "playwright-webmcp, naming-consistency",
		Bad:    `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"wishForStamp","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it."}]`,
		Good:   `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"wish_for_stamp","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it."}]`},
	vagueRule, whenToUseRule, similarRule, memberRule,
}

// manyWords is an enum of n words, for an example.
func manyWords(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprintf("C%04d", i)
	}
	return strings.Join(words, `","`)
}

// numerals tell the tools of long examples apart.
func numeral(n int) string {
	return string(rune('a'+n/26)) + string(rune('a'+n%26))
}

func manyTools(n int) string {
	list := make([]string, n)
	for i := range list {
		x := numeral(i)
		list[i] = fmt.Sprintf(`{"name":"add_%s","title":"Add","description":"Adds m%s n%s o%s p%s to q%s."}`,
			x, x, x, x, x, x)
	}
	return "[" + strings.Join(list, ",") + "]"
}

func bigList(n int) string {
	list := make([]string, n)
	for i := range list {
		x := numeral(i)
		list[i] = fmt.Sprintf(`{"name":"add_%s","title":"Add","description":"Adds m%s n%s o%s p%s to q%s.",`+
			`"inputSchema":{"type":"object","properties":{"country":{"type":"string",`+
			`"description":"Country of issue.","enum":["%s"]}}}}`, x, x, x, x, x, x, manyWords(320))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// replaceable are characters that people write between words: a name with one has a certain
// correction.
var replaceable = regexp.MustCompile(`[ /:]+`)

func findNameValid(r *run, t *tool) {
	at := t.at("/name")
	if t.mute() || t.unread() {
		return // another rule says it where it is written
	}
	switch n := utf8.RuneCountInString(t.Name); {
	case t.Name == "" && t.rejected != nil && t.rejected.ofPage():
	case t.Name == "":
		r.report(at, "The tool has no name: give it one of letters, digits, '_', '.' and '-'.")
	case n > longestName:
		r.report(at, "The name has %d characters: it must have at most %d.", n, longestName)
	case !bridge.IsLegalName(t.Name):
		at.certain = t.betterName() != ""
		r.report(at, "The name %s has characters besides letters, digits, '_', '.' and '-': leave "+
			"them out.", text.Quote(t.Name))
	}
}

// longestName limits how many characters the name of a tool may have.
const longestName = 128

func isName(name string) bool {
	return bridge.IsLegalName(name) && utf8.RuneCountInString(name) <= longestName
}

var styles = []struct {
	name  string
	match *regexp.Regexp // names that are in this style and, by more than one word, in no other
	fits  *regexp.Regexp
}{
	{"snake_case", regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)+$`), regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*$`)},
	{"kebab-case", regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`), regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)},
	{"camelCase", regexp.MustCompile(`^[a-z]+[a-z0-9]*[A-Z][A-Za-z0-9]*$`), regexp.MustCompile(`^[a-z][A-Za-z0-9]*$`)},
	{"PascalCase", regexp.MustCompile(`^[A-Z][a-z0-9]+([A-Z][A-Za-z0-9]*)+$`), regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)},
	{"dot.case", regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]+)+$`), regexp.MustCompile(`^[a-z0-9]+(\.[a-z0-9]+)*$`)},
}

func findNameStyle(r *run, t *tool) {
	allowed := r.words("styles")
	for _, s := range styles {
		if slices.Contains(allowed, s.name) && s.fits.MatchString(t.Name) {
			return
		}
	}
	if bridge.IsLegalName(t.Name) {
		r.report(t.at("/name"), "The name %s is not in the style %s: rename the tool.",
			text.Quote(t.Name), text.List(allowed, "or"))
	}
}

func findConsistency(r *run, p *page) {
	names, params := map[string]string{}, map[string]string{}
	add := func(to map[string]string, name string) {
		for _, s := range styles {
			if s.match.MatchString(name) {
				to[s.name] = cmp.Or(to[s.name], name)
				return
			}
		}
	}
	home := origin.Of(p.URL)
	for _, t := range p.tools {
		if t.Frame != "" && t.origin() != home {
			continue // its author is another one
		}
		add(names, t.Name)
		t.params(func(n node) { add(params, n.name) })
	}
	r.mixed(p, "tools", names)
	r.mixed(p, "parameters", params)
}

func (r *run) mixed(p *page, what string, seen map[string]string) {
	if len(seen) < 2 {
		return
	}
	var parts []string
	for _, style := range sortedKeys(seen) {
		parts = append(parts, style+" ("+text.Quote(seen[style])+")")
	}
	r.report(place{page: p}, "The names of the %s are in %d styles: %s. Choose one.", what, len(parts),
		strings.Join(parts, ", "))
}

func findNameBudget(r *run, t *tool) {
	most := r.number("max")
	if n := utf8.RuneCountInString(t.Name); float64(n) > most && n <= 128 {
		r.report(t.at("/name"), "The name has %d characters: use at most %g.", n, most)
	}
}

func findDuplicates(r *run, p *page) {
	seen := map[string]int{}
	for _, t := range p.all {
		if t.rejected != nil && !t.rejected.isTaken() {
			continue // what is wrong with it is said by other rules
		}
		if seen[t.Name]++; seen[t.Name] == 2 && t.Name != "" {
			r.report(t.at("/name"), "More than one tool of the page is called %s: "+
				"rename all but one.", text.Quote(t.Name))
		}
	}
	for _, f := range p.Forms {
		i := slices.IndexFunc(p.tools, func(t *tool) bool { return t.Name == f.Name && t.Frame == "" && !t.mute() })
		if i >= 0 && f.Declares && text.Line(f.Description) != "" && seen[f.Name] == 1 {
			seen[f.Name]++
			r.report(p.tools[i].at("/name"), "A form of the page is called %s, too, and only the tool of the script is offered: rename one of them.",
				text.Quote(f.Name))
		}
	}
}

// isTaken reports whether a declaration was refused because another one has its name, in the words
// of the browser, of the page script or of the bridge.
func (r *Rejected) isTaken() bool {
	return r.Reason == "duplicate-name" || strings.Contains(r.Message, "Duplicate tool name") ||
		strings.Contains(r.Message, "has the same toolname")
}

func findTitle(r *run, t *tool) {
	if strings.TrimSpace(t.Title) == "" && strings.TrimSpace(t.notes.Get("title").String()) == "" {
		r.report(t.at("/title"), "The tool has no title: add one of a few words for people.")
	}
}

func findDescription(r *run, t *tool) {
	if t.mute() || t.unread() {
		return // another rule says it where it is written
	}
	if t.rejected != nil && t.Surface == "" && t.Origin == "" && t.rejected.Reason != "description-missing" {
		return // its description is not known
	}
	if !t.isDescribed() {
		r.report(t.at("/description"), "The tool has no description: say what it "+
			"does, with what, and what it returns.")
	}
}

// isDescribed reports whether people see anything of the description.
func (t *tool) isDescribed() bool {
	return strings.ContainsFunc(t.Description, func(r rune) bool { return !unicode.IsSpace(r) && !text.Invisible(r) })
}

func findLength(r *run, t *tool) {
	least, most := r.number("min"), r.number("max")
	at := t.at("/description")
	said := strings.TrimSpace(t.Description)
	switch n := float64(utf8.RuneCountInString(said)); {
	case n > most:
		r.report(at, "The description has %g characters: use at most %g.", n, most)
	case n > 0 && n+dense(said) < least:
		r.report(at, "The description has %g characters: use at least %g, and say what the tool does "+
			"and returns.", n, least)
	}
}

// dense returns how many characters more a text would have in Latin letters: a Chinese character
// says as much as about three of them, and one of Japanese or Korean as two.
func dense(s string) (more float64) {
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Han, r):
			more += 2
		case unicode.In(r, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			more++
		}
	}
	return more
}

// size returns the size of a declaration in a list, in characters and in bytes.
func (t *tool) size() (characters, bytes int) {
	for _, s := range []string{t.Name, t.Title, t.Description, string(t.Input), string(t.Output),
		string(t.Annotations)} {
		characters += utf8.RuneCountInString(s)
		bytes += len(s)
	}
	return characters, bytes
}

func findTokens(r *run, t *tool) {
	most := r.number("max")
	n, _ := t.size()
	if tokens := float64((n + 3) / 4); tokens > most {
		r.report(t.at(""), "The declaration takes about %g tokens: use at most %g.", tokens, most)
	}
}

func findTooMany(r *run, p *page) {
	most := r.number("max")
	if n := float64(len(p.tools)); n > most {
		r.report(place{page: p}, "The page has %g tools: offer at most %g, and register others when "+
			"their part of the page is open.", n, most)
	}
}

func findListBudget(r *run, p *page) {
	// What a list has around the texts of a tool: names of members, quotes, commas.
	const around = 80
	most := r.number("max")
	total := 0
	for _, t := range p.tools {
		_, n := t.size()
		total += n + around
	}
	if float64(total) > most {
		r.report(place{page: p}, "The list takes about %d bytes: use at most %g.", total, most)
	}
}
