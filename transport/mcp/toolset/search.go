package toolset

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// match is one tool that was found.
type match struct {
	Name        string   `json:"name"`
	Site        string   `json:"site"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description"`
	Parameters  []string `json:"parameters"`
}

// matches is the result of pagetools_search, the best first. Total counts all tools
// of pages, Matched those that have one of the words. Where few match, Names has those of
// all: the words of a question are often not those of the tool.
type matches struct {
	Tools   []match  `json:"tools"`
	Matched int      `json:"matched"`
	Total   int      `json:"total"`
	Names   []string `json:"names,omitempty"`
}

const (
	maxIndexed = 4 << 10 // bytes that are looked at of each of a tool's texts
	maxQuery   = 32      // words of a query that count
	maxSummary = 240     // bytes of a description in a match
	maxParams  = 64      // parameter names in a match
	fewMatches = 3       // fewer than these are followed by all names
)

// The weights of the places where a word can be, and the constants of BM25.
const (
	weightName        = 5.0
	weightTitle       = 3.0
	weightParameter   = 2.0
	weightDescription = 1.0
	weightInner       = 0.5 // descriptions of parameters
	saturation        = 1.2
	lengthShare       = 0.4
	prefixShare       = 0.5 // of a word that only begins like the one that is looked for
	minPrefix         = 3   // characters
	maxBegun          = 64  // words that begin like one of the query
	sameName          = 1e6 // beyond what words can come to
)

// index has the words of all tools of pages, in the order of the list.
type index struct {
	docs    []document
	average float64
	in      map[string]int // in how many tools a word is
	words   []string       // all of them, in order
}

type document struct {
	entry  int
	words  map[string]float64 // weighted counts
	length float64
}

// search ranks the tools of pages by the words of the query, as BM25 does with
// weighted fields. Equal ranks keep the order of the list. A query without words
// finds all, in that order. At most limit tools are listed.
func (l *List) search(query string, limit int) matches {
	l.indexed.Do(l.read)
	terms := queryWords(query)
	type ranked struct {
		entry int
		score float64
	}
	begun := make([][]string, len(terms))
	for i, t := range terms {
		begun[i] = l.terms.begun(t)
	}
	var found []ranked
	for _, d := range l.terms.docs {
		score := 0.0
		for i, t := range terms {
			score += l.terms.score(d, t, begun[i])
		}
		if squeeze(query) != "" && l.entries[d.entry].isCalled(query) {
			score += sameName
		}
		if score > 0 || len(terms) == 0 {
			found = append(found, ranked{d.entry, score})
		}
	}
	slices.SortStableFunc(found, func(a, b ranked) int { return cmp.Compare(b.score, a.score) })
	out := matches{Tools: []match{}, Matched: len(found), Total: len(l.terms.docs)}
	for _, f := range found[:min(len(found), limit)] {
		out.Tools = append(out.Tools, l.entries[f.entry].match())
	}
	if len(found) < fewMatches {
		out.Names = l.names()
	}
	return out
}

// isCalled reports whether a tool has that name or title, but for case and punctuation.
func (e entry) isCalled(name string) bool {
	name = squeeze(name)
	return name == squeeze(e.Name) || name == squeeze(e.Tool.Name()) || name == squeeze(e.shown.Title)
}

// squeeze returns the letters and digits of a text, small.
func squeeze(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// queryWords are the words of a query that count: those that do not say anything by
// themselves are left out, unless there are no others.
func queryWords(query string) []string {
	var terms []string
	for _, term := range split(query) {
		if !english.IsStopWord(term) {
			terms = append(terms, stem(term))
		}
	}
	if len(terms) == 0 {
		terms = words(query)
	}
	return terms[:min(len(terms), maxQuery)]
}

// begun lists the words that begin with the term, and are longer.
func (ix *index) begun(term string) []string {
	if utf8.RuneCountInString(term) < minPrefix {
		return nil
	}
	i, _ := slices.BinarySearch(ix.words, term+"\x00")
	n := 0
	for n < maxBegun && i+n < len(ix.words) && strings.HasPrefix(ix.words[i+n], term) {
		n++
	}
	return ix.words[i : i+n]
}

// score is the share of one word in the rank of one tool. Words that begin like it
// count where it is not itself.
func (ix *index) score(d document, term string, begun []string) float64 {
	count, in := d.words[term], ix.in[term]
	if count == 0 {
		for _, word := range begun {
			if n := d.words[word] * prefixShare; n > count {
				count, in = n, ix.in[word]
			}
		}
	}
	if count == 0 {
		return 0
	}
	n := float64(len(ix.docs))
	rarity := math.Log(1 + (n-float64(in)+0.5)/(float64(in)+0.5))
	long := 1 - lengthShare + lengthShare*d.length/ix.average
	return rarity * count * (saturation + 1) / (count + saturation*long)
}

// read makes the index. It runs once, when something is looked for.
func (l *List) read() {
	ix := &index{in: map[string]int{}}
	total := 0.0
	for i, e := range l.entries[l.own:] {
		d := document{entry: l.own + i, words: map[string]float64{}}
		add := func(text string, weight float64) {
			for _, w := range words(text[:min(len(text), maxIndexed)]) {
				d.words[w] += weight
				d.length++
			}
		}
		add(e.Name+" "+e.Tool.Name(), weightName)
		add(e.shown.Title, weightTitle)
		add(e.Tool.Description(), weightDescription)
		input, _ := e.Tool.Schemas()
		names, texts := input.Words()
		add(strings.Join(names, " "), weightParameter)
		add(strings.Join(texts, " "), weightInner)
		for w := range d.words {
			ix.in[w]++
		}
		total += d.length
		ix.docs = append(ix.docs, d)
	}
	ix.words = slices.Sorted(maps.Keys(ix.in))
	ix.average = max(1, total/float64(max(1, len(ix.docs))))
	l.terms = ix
}

// match describes a tool in the result of a search.
func (e entry) match() match {
	m := match{Name: e.Name, Site: e.Site, Title: e.shown.Title,
		Description: text.Short(e.shown.Description, maxSummary), Parameters: []string{}}
	input, _ := bridge.ReadValue("the schema", e.shown.InputSchema) // it was written by us
	for name := range input.Get("properties").Members() {
		m.Parameters = append(m.Parameters, name)
	}
	slices.Sort(m.Parameters)
	m.Parameters = m.Parameters[:min(len(m.Parameters), maxParams)]
	return m
}

// words are the stems of the words of a text.
func words(text string) []string {
	out := split(text)
	for i, word := range out {
		out[i] = stem(word)
	}
	return out
}

// maxStemmed bounds a word that is stemmed, in bytes: no word of English is longer.
const maxStemmed = 40

// stem returns the common beginning of the forms of an English word.
func stem(word string) string {
	if len(word) > maxStemmed {
		return word
	}
	return english.Stem(word, true)
}

// split splits a text into words of small letters: at everything that is neither a
// letter nor a digit, inside camelCase, and between the characters of scripts that
// write words without spaces.
func split(text string) []string {
	var out []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			out = append(out, string(word))
		}
		word = word[:0]
	}
	lower := false // the character before was a small letter or a digit
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai):
			flush()
			out = append(out, string(r))
			lower = false
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r):
			flush()
			lower = false
			continue
		case unicode.IsUpper(r) && lower:
			flush()
		}
		word = append(word, unicode.ToLower(r))
		lower = !unicode.IsUpper(r)
	}
	flush()
	return out
}
