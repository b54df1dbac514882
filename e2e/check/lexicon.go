package check

import (
	"embed"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The lists of words are data, with a comment on why each group is there.
//
//go:embed words/*.txt
var wordFiles embed.FS

type lexicon map[string]map[string]bool

func (l lexicon) has(group string, words ...string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return l[group][w] })
}

// names reports whether a name has one of a group's names in it, as consecutive words, the last
// one also in the plural.
func (l lexicon) names(group string, words []string) bool {
	for from := range words {
		for to := from + 1; to <= min(len(words), from+3); to++ {
			name := strings.Join(words[from:to], "_")
			if l[group][name] || l[group][strings.TrimSuffix(name, "s")] {
				return true
			}
		}
	}
	return false
}

// isNamed reports whether a whole name is one of a group's.
func (l lexicon) isNamed(group string, words []string) bool {
	return l[group][strings.Join(words, "_")]
}

// lines returns the lines of a word list, without comments.
func lines(file string) []string {
	b, err := wordFiles.ReadFile("words/" + file)
	if err != nil { // it is embedded
		panic("reading the word list " + file + ": " + err.Error())
	}
	var out []string
	for line := range strings.Lines(string(b)) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "# ") {
			out = append(out, line)
		}
	}
	return out
}

var vocabulary = sync.OnceValue(func() lexicon {
	all := lexicon{}
	for _, file := range []string{"verbs", "nouns", "vague", "secrets", "exec", "confirm"} {
		for _, line := range lines(file + ".txt") {
			group, words, found := strings.Cut(line, ":")
			if !found {
				panic("the word list " + file + " has a line without a group: " + line)
			}
			if all[group] == nil {
				all[group] = map[string]bool{}
			}
			for _, word := range strings.Fields(words) {
				all[group][word] = true
			}
		}
	}
	return all
})

// pattern is an instruction as a regular expression, and the words without which it cannot
// match.
type pattern struct {
	words []string
	match *regexp.Regexp
}

var instructions = sync.OnceValue(func() []pattern {
	var all []pattern
	for _, line := range lines("injection.txt") {
		words, expression, found := strings.Cut(line, " | ")
		if !found {
			panic("the list of injections has a line without words: " + line)
		}
		all = append(all, pattern{strings.Split(words, ","), regexp.MustCompile("(?s)" + expression)})
	}
	return all
})

// instruction returns the first part of a folded text that is an instruction, or "".
func instruction(s string) string {
	for _, p := range instructions() {
		contained := func(w string) bool { return strings.Contains(s, w) }
		if !slices.ContainsFunc(p.words, contained) {
			continue
		}
		if found := p.match.FindString(s); found != "" {
			return found
		}
	}
	return ""
}

// wordsOfName are the words of a tool's name, with those of its group at the end: get, guideline,
// wsg for wsg.get_guideline, so that the verb is the first one.
func wordsOfName(name string) []string {
	dot := strings.LastIndexByte(name, '.') + 1
	return append(splitWords(name[dot:]), splitWords(name[:dot])...)
}

// kind returns what a tool does by its name: "read", "change" or "". The first word decides,
// and the last one where the first is a noun: cart_add. An update_history is not an update.
func (t *tool) kind() string {
	v := vocabulary()
	if len(t.words) == 0 {
		return ""
	}
	first, last := t.words[0], t.words[len(t.words)-1]
	switch {
	case v.has("read", first):
		return "read"
	case v.has("read-maybe", first, last):
		return ""
	case v.has("change", first) || v.has("change", last) && !v.has("read", t.words...) && !v.isVerb(first):
		return "change"
	}
	return ""
}

// isVerb reports whether a word names an act, and never its object.
func (l lexicon) isVerb(word string) bool {
	for _, group := range []string{"read", "read-maybe", "digest", "change", "navigate", "does"} {
		if l[group][word] {
			return true
		}
	}
	return false
}

// verb returns the verb of the name when it is in a group, or "": the first word, or the last one
// where the first is a noun, as in cart_add. The last word of track_visit is not a verb.
func (t *tool) verb(group string) string {
	v := vocabulary()
	if len(t.words) == 0 || v.has("read", t.words[0]) {
		return ""
	}
	first, last := t.words[0], t.words[len(t.words)-1]
	switch {
	case v.has(group, first):
		return first
	case v.has(group, last) && !v.isVerb(first) && !v.has("noun-too", last):
		return last
	}
	return ""
}
