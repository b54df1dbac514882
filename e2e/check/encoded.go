package check

import (
	"encoding/base64"
	"encoding/hex"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/pagetools/pagetools/bridge/text"
)

// This file finds what people cannot read in texts: invisible characters and encoded sentences.

const (
	zwj  = '\u200D' // joins emoji, and letters of Indic scripts
	zwnj = '\u200C' // separates letters of Persian and Indic scripts
)

// smuggles reports whether a character has no honest use in the text of a tool, wherever it
// stands. Marks of direction (U+200E, U+200F, U+061C) are ordinary in right-to-left texts.
func smuggles(r rune) bool {
	switch {
	case r == '\n' || r == '\r' || r == '\t':
		return false
	case unicode.IsControl(r):
		return true
	case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069: // bidirectional controls
		return true
	case r == 0x200B, r >= 0x2060 && r <= 0x2065, r == 0xFEFF, r == 0x180E: // zero width
		return true
	case r >= 0x206A && r <= 0x206F, r >= 0xFFF9 && r <= 0xFFFB: // deprecated and interlinear
		return true
	case r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // fillers
		return true
	}
	return r >= 0xE0000 && r <= 0xE007F // tags
}

// isSelector reports whether a character chooses a variant of the one before it.
func isSelector(r rune) bool {
	return r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}

// smuggled returns the first run of characters that must not be there, as code points.
func smuggled(s string) []rune {
	if !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil
	}
	runes := []rune(s)
	for i, r := range runes {
		before, after := ' ', ' '
		if i > 0 {
			before = runes[i-1]
		}
		if i+1 < len(runes) {
			after = runes[i+1]
		}
		switch {
		case r >= 0xE0020 && r <= 0xE007F && regionFlag(runes[:i+1]):
		case smuggles(r):
			return hiddenRun(runes[i:])
		case isSelector(r) && (isSelector(before) || unicode.IsSpace(before) || i == 0):
			return []rune{before, r}
		case (r == zwj || r == zwnj) && !joins(before, after, runes[:i]):
			return []rune{r}
		}
	}
	return nil
}

// hiddenRun is the first of the characters that smuggle, and at most two more that follow it.
func hiddenRun(s []rune) []rune {
	n := 1
	for n < min(len(s), 3) && smuggles(s[n]) {
		n++
	}
	return s[:n]
}

// regionFlag reports whether a text ends in a flag of a region, which is spelled in tags after a
// black flag: at most six of them and the end.
func regionFlag(s []rune) bool {
	const longest = 7
	for n := 0; n <= longest && n < len(s); n++ {
		switch r := s[len(s)-1-n]; {
		case r == 0x1F3F4:
			return true
		case r < 0xE0020 || r > 0xE007F:
			return false
		}
	}
	return false
}

// joins reports whether a joiner stands where writing needs it: between parts of an emoji, or
// between letters of a script that is not Latin, Greek or Cyrillic.
func joins(before, after rune, head []rune) bool {
	if isSelector(before) && len(head) > 1 {
		before = head[len(head)-2]
	}
	if pictures(before) && pictures(after) {
		return true
	}
	needs := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsMark(r)) &&
			!unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic)
	}
	return needs(before)
}

// pictures reports whether a character may be a part of an emoji.
func pictures(r rune) bool {
	return unicode.In(r, unicode.So, unicode.Sk) || r >= 0x2190 && r <= 0x2BFF
}

func findSmuggling(r *run, t *tool) {
	for _, x := range t.texts {
		found := smuggled(x.value)
		if found == nil {
			continue
		}
		at := t.at(x.pointer)
		if x.pointer == "/description" || x.pointer == "/title" {
			at.certain = true
		}
		r.report(at, "The text has characters that people do not see (%+q): take them out.", found)
	}
}

func leftOut(s string, out func(rune) bool) string {
	return strings.Map(func(r rune) rune {
		if out(r) {
			return -1
		}
		return r
	}, s)
}

// visibly takes out of the description and the title what must not be there.
func visibly(t *Tool) {
	clean := func(s string) string {
		for smuggled(s) != nil {
			shorter := leftOut(s, smuggles)
			if shorter == s { // it is a joiner or a selector
				shorter = leftOut(s, func(r rune) bool { return r == zwj || r == zwnj || isSelector(r) })
			}
			s = shorter
		}
		return s
	}
	t.Description, t.Title = clean(t.Description), clean(t.Title)
}

var (
	base64Run  = regexp.MustCompile(`[A-Za-z0-9+/_-]{24,}={0,2}`)
	hexRun     = regexp.MustCompile(`(?i)(?:(?:\\x|0x)?[0-9a-f]{2}[ ,:]?){16,}`)
	hexNoise   = regexp.MustCompile(`(?i)\\x|0x|[ ,:]`)
	percentRun = sync.OnceValue(func() *regexp.Regexp { // as long as all others, at the start of each command
		return regexp.MustCompile(`(?i)(?:[\w.-]{0,12}%[0-9a-f]{2}){6,}[\w.-]*`)
	})
)

const base64Letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/_-"

// longest is the length of the longest part of a text that has these characters only.
func longest(s, letters string) int {
	var is [256]bool
	for i := range len(letters) {
		is[letters[i]] = true
	}
	best, n := 0, 0
	for i := range len(s) {
		if n++; !is[s[i]] {
			n = 0
		}
		best = max(best, n)
	}
	return best
}

// decoded returns what a text says when it is decoded, one reading after the other.
func decoded(s string) []string {
	const most = 20 // runs of each encoding
	var out []string
	add := func(b []byte, err error) {
		if err == nil && readable(string(b)) {
			out = append(out, string(b))
		}
	}
	runs := func(of *regexp.Regexp, letters string, least int) []string {
		if longest(s, letters) < least {
			return nil // most texts end here
		}
		return of.FindAllString(s, most)
	}
	for _, run := range runs(base64Run, base64Letters, 24) {
		bare := strings.TrimRight(run, "=")
		add(base64.RawStdEncoding.DecodeString(bare))
		add(base64.RawURLEncoding.DecodeString(bare))
	}
	for _, run := range runs(hexRun, `0123456789abcdefABCDEFxX\\ ,:`, 32) {
		digits := hexNoise.ReplaceAllString(run, "")
		add(hex.DecodeString(digits[:len(digits)/2*2]))
	}
	for _, run := range runs(percentRun(), "%", 1) {
		text, err := url.PathUnescape(run)
		add([]byte(text), err)
	}
	if strings.Contains(s, "&#") {
		if text := html.UnescapeString(s); instruction(fold(text)) != "" {
			out = append(out, text)
		}
	}
	if text := strings.Map(rot13, s); instruction(fold(text)) != "" {
		out = append(out, text)
	}
	return out
}

// readable reports whether bytes are a sentence: words of letters with spaces between them.
func readable(s string) bool {
	const least = 3 // words
	if strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) {
		return false
	}
	words := strings.Fields(s)
	letters := 0
	for _, r := range s {
		if unicode.IsLetter(r) || r == ' ' {
			letters++
		}
	}
	return len(words) >= least && letters*10 >= len(s)*8
}

func rot13(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z':
		return 'a' + (r-'a'+13)%26
	case r >= 'A' && r <= 'Z':
		return 'A' + (r-'A'+13)%26
	}
	return r
}

func findEncoded(r *run, t *tool) {
	left := maxToolText
	for _, x := range t.texts {
		if len(x.value) > left {
			return // description-injection says that it is too long
		}
		left -= len(x.value)
		readings := decoded(x.value)
		i := slices.IndexFunc(readings, func(s string) bool { return without(r.allowed, fold(s)) != "" })
		if i >= 0 {
			r.report(t.at(x.pointer), "A part of the text is encoded, and says %s: "+
				"write it plainly, or take it out.", text.Quote(readings[i]))
		}
	}
}
