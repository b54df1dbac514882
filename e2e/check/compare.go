package check

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// This file compares texts and names.

var vagueRule = Rule{ID: "description-vague", Severity: Warning, Allows: true, find: each((*run).tools, findVague),
	What:   "The description has no word that says something: it repeats the name, uses filler, or is a placeholder.",
	Why:    "An agent then chooses by the name alone, and guesses what the tool returns.",
	Source: "guides of Chrome and of model vendors for tool descriptions",
	Bad:    `{"name":"update_stamp","title":"Update stamp","description":"This tool handles various stamp things for the user."}`,
	Good:   `{"name":"update_stamp","title":"Update stamp","description":"Changes the year or the condition of one stamp in the collection."}`,
	At:     "/description"}

var whenToUseRule = Rule{ID: "description-when-to-use", Severity: Info, Off: true, find: each((*run).tools, findWhen),
	What:   "The description does not say when to call the tool.",
	Why:    "What it does tells a tool from all others; when to use it tells it from its neighbors.",
	Source: "playwright-webmcp, description-when-to-use",
	Bad:    `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."}`,
	Good:   `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection. Use it when the user owns the stamp; otherwise add a wish."}`,
	At:     "/description"}

var similarRule = Rule{ID: "similar-descriptions", Severity: Warning, find: findSimilar,
	Options: []Option{{Name: "percent", Number: 80, What: "likeness from which two descriptions are reported"}},
	What:    "Two descriptions are alike by 80 % or more: the words that both have, by the words that one of them has (Jaccard), function words left out. Descriptions of fewer than four such words are not compared.",
	Why:     "An agent cannot tell the tools apart.",
	Source:  "playwright-webmcp, similar-descriptions",
	Bad:     `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"insert_stamp","title":"Insert stamp","description":"Adds the stamp to a collection of a signed-in user."}]`,
	Good:    `[{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user."},{"name":"add_wish","title":"Add wish","description":"Puts a wanted rarity on the wish list, without buying it."}]`,
	At:      "/description"}

// wordsOf are the words of a text in lower case, at most as many as a long description has.
func wordsOf(s string) []string {
	const most = 400
	words := strings.FieldsFunc(strings.ToLower(clipped(s)), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r)
	})
	return words[:min(len(words), most)]
}

// stem takes off the endings that English verbs and plurals have.
func stem(word string) string {
	for _, ending := range []string{"ing", "ies", "es", "ed", "s", "e", "y"} {
		if cut, found := strings.CutSuffix(word, ending); found && len(cut) >= 3 {
			return cut
		}
	}
	return word
}

// capitalTodo finds the mark that developers leave.
var capitalTodo = regexp.MustCompile(`\bTODO\b`)

func findVague(r *run, t *tool) {
	v := vocabulary()
	words := wordsOf(without(r.allowed, strings.ToLower(clipped(t.Description))))
	at := t.at("/description")
	said, placeholder := 0, capitalTodo.FindString(clipped(t.Description))
	for _, word := range words {
		if v.has("placeholder", word) {
			placeholder = word
			continue
		}
		repeats := slices.ContainsFunc(t.words, func(w string) bool { return stem(w) == stem(word) })
		if !repeats && !v.has("function", word) && !v.has("filler", word) {
			said++
		}
	}
	switch {
	case len(words) == 0 && strings.TrimSpace(t.Description) == "":
	case placeholder != "" && said <= 3:
		r.report(at, "The description looks like a template that was not filled in (%s): say what the "+
			"tool does.", text.Quote(placeholder))
	case said == 0:
		r.report(at, "The description %s only repeats the name, or says nothing: say with what the "+
			"tool works, and what it returns.", text.Quote(t.Description))
	}
}

var when = regexp.MustCompile(`(?i)\b(when|whenever|if|before|after|once|unless|instead of|use (this|it) (to|for)|prefer|only for)\b`)

func findWhen(r *run, t *tool) {
	if text := clipped(t.Description); strings.TrimSpace(text) != "" && !when.MatchString(text) {
		r.report(t.at("/description"), "The description does not say when to call "+
			"the tool: add a sentence such as \"Use it when …\".")
	}
}

// findSimilar compares each description with each. Words are numbers in ascending order, so
// that one pass over both finds what they share.
func findSimilar(r *run) {
	const least = 4 // words that are compared
	threshold := r.number("percent") / 100
	v := vocabulary()
	numbers := map[string]int{}
	for _, p := range r.pages {
		sets := make([][]int, len(p.tools))
		for i, t := range p.tools {
			var stems []string
			for _, word := range wordsOf(t.Description) {
				if !v.has("function", word) {
					stems = append(stems, stem(word))
				}
			}
			sets[i] = numbered(stems, numbers)
		}
		for j := range sets {
			for i := range j {
				a, b := sets[i], sets[j]
				if min(len(a), len(b)) < least || p.tools[i].Name == p.tools[j].Name {
					continue
				}
				if alike := jaccard(a, b, threshold); alike >= threshold {
					r.report(p.tools[j].at("/description"), "The words of the description are "+
						"%.0f %% the same as those of %s: say what is different.", 100*alike, text.Quote(p.tools[i].Name))
					break
				}
			}
		}
	}
}

// jaccard is the likeness of two sets; 0 when their sizes alone say that it is less than the
// threshold.
func jaccard(a, b []int, threshold float64) float64 {
	if float64(min(len(a), len(b))) < threshold*float64(max(len(a), len(b))) {
		return 0
	}
	shared := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			shared++
			i++
			j++
		case a[i] < b[j]:
			i++
		default:
			j++
		}
	}
	return float64(shared) / float64(len(a)+len(b)-shared)
}

// lookalikes are letters and digits that read like others.
var lookalikes = strings.NewReplacer("0", "o", "1", "l", "_", "", "-", "", ".", "")

func findShadowing(r *run, p *page) {
	const longName = 8 // from here on one letter is easily overlooked
	folded, origins, scripts := make([]string, len(p.tools)), make([]string, len(p.tools)),
		make([]string, len(p.tools))
	for i, t := range p.tools {
		folded[i] = lookalikes.Replace(strings.ToLower(clipped(t.Name)))
		origins[i], scripts[i] = t.origin(), t.scriptOrigin()
	}
	for j, b := range p.tools {
		for i, a := range p.tools[:j] {
			foreign := origins[i] != origins[j] || scripts[i] != scripts[j]
			if a.Name == b.Name || a.Frame == b.Frame && !foreign {
				continue
			}
			near := foreign && min(len(a.Name), len(b.Name)) >= longName &&
				oneEdit(folded[i], folded[j])
			if folded[i] == folded[j] || near {
				r.report(b.at("/name"), "The name reads like %s, which another frame, "+
					"origin or script registered: rename one of them.", text.Quote(a.Name))
			}
		}
	}
}

// oneEdit reports whether one letter added, left out or replaced makes a into b.
func oneEdit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i < len(a) && a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}

func (t *tool) origin() string {
	if t.Origin != "" {
		return t.Origin
	}
	return origin.Of(t.page.URL)
}

// scriptOrigin returns the origin of the script that registered the tool, or of the
// document.
func (t *tool) scriptOrigin() string {
	if t.Script != nil {
		if from := origin.Of(t.Script.URL); from != "" {
			return from
		}
	}
	return t.origin()
}
