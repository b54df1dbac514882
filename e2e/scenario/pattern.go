package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Patterns are ECMA-262 and run where those of schemas do, in bounded time. That engine takes no
// flags, so a prefix such as (?i) is written out into the pattern.

// mostPattern is the length of a pattern in bytes, after its flags were written out.
const mostPattern = 16 << 10

// compilePattern returns a schema that only strings that match are valid for, or says why not.
func compilePattern(text string) (s *schema.Schema, why string) {
	flags, body := "", text
	if rest, ok := strings.CutPrefix(text, "(?"); ok {
		if f, after, ok := strings.Cut(rest, ")"); ok && f != "" && isLetters(f) {
			flags, body = f, after
		}
	}
	for _, f := range flags {
		if !strings.ContainsRune("dgimsuv", f) {
			return nil, fmt.Sprintf("the flag %q is not known; use (?i), (?m) or (?s)", f)
		}
	}
	w := &patternWriter{text: body, fold: strings.Contains(flags, "i"),
		lines: strings.Contains(flags, "m"), all: strings.Contains(flags, "s")}
	if flags != "" {
		if why := w.write(); why != "" {
			return nil, why
		}
		body = w.out.String()
	}
	doc := schema.MustEncode(map[string]string{"type": "string", "pattern": body})
	s, err := schema.CompileResult(doc, schema.Limits{Pattern: mostPattern})
	if err != nil {
		return nil, fmt.Sprintf("%s is not a regular expression of JavaScript, or is too large",
			Quoted(text))
	}
	return s, ""
}

func isLetters(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsLetter(r) })
}

// patternWriter writes the flags of a pattern out.
type patternWriter struct {
	text             string
	fold, lines, all bool // the flags i, m and s
	out              strings.Builder
}

// lineEnds matches the line terminators of ECMA-262, 12.3.
const lineEnds = `[\n\r\u2028\u2029]`

// write goes through the pattern, and says why its flags cannot be written out, or returns "".
func (w *patternWriter) write() string {
	for w.text != "" {
		r, size := utf8.DecodeRuneInString(w.text)
		switch {
		case r == '\\':
			if why := w.escape(); why != "" {
				return why
			}
			continue
		case r == '[':
			w.class()
			continue
		case r == '(':
			w.copy(len(groupStart.FindString(w.text)))
			continue
		case r == '^' && w.lines:
			w.out.WriteString(`(?:^|(?<=` + lineEnds + `))`)
		case r == '$' && w.lines:
			w.out.WriteString(`(?:$|(?=` + lineEnds + `))`)
		case r == '.' && w.all:
			w.out.WriteString(`[\s\S]`)
		default:
			w.letter(r)
		}
		w.text = w.text[size:]
	}
	return ""
}

func (w *patternWriter) letter(r rune) {
	if same := w.cases(r); len(same) > 1 {
		w.out.WriteString("[" + string(same) + "]")
		return
	}
	w.out.WriteRune(r)
}

// cases are the characters that are r when case does not count, r included: those with the same
// upper case, of which ECMA-262, 22.2.2.7.3, takes no ASCII letter for one beyond.
func (w *patternWriter) cases(r rune) []rune {
	all := []rune{r}
	for x := unicode.SimpleFold(r); w.fold && x != r; x = unicode.SimpleFold(x) {
		if unicode.ToUpper(x) == unicode.ToUpper(r) && (x < 0x80) == (r < 0x80) {
			all = append(all, x)
		}
	}
	return all
}

// What stands for itself as a whole: what opens a group, with its name, and an escape.
var (
	groupStart = regexp.MustCompile(`^\((?:\?<[^=!][^>]*>)?`)
	escapeForm = regexp.MustCompile(`(?s)^\\(?:x..|u\{[^}]*\}|u....|[pP]\{[^}]*\}|k<[^>]*>|c.|.)?`)
)

func (w *patternWriter) copy(size int) {
	w.out.WriteString(w.text[:size])
	w.text = w.text[size:]
}

// escape copies an escape. The letter after \ never stands for itself.
func (w *patternWriter) escape() string {
	size := len(escapeForm.FindString(w.text))
	if size < 2 {
		return "the pattern ends with \\"
	}
	if c := w.text[1]; w.fold && (c == 'k' || c >= '1' && c <= '9') {
		return "a pattern with (?i) cannot refer back to a group; write the case of letters out, " +
			"such as [Aa]"
	}
	if r, ok := escaped(w.text[:size]); ok && len(w.cases(r)) > 1 {
		w.letter(r)
		w.text = w.text[size:]
		return ""
	}
	w.copy(size)
	return ""
}

// escaped is the character that an escape with its number stands for.
func escaped(text string) (rune, bool) {
	if len(text) < 4 || text[1] != 'x' && text[1] != 'u' {
		return 0, false
	}
	var r rune
	if _, err := fmt.Sscanf(strings.Trim(text[2:], "{}"), "%x", &r); err != nil {
		return 0, false
	}
	return r, r <= unicode.MaxRune && r >= 0
}

// class copies a class in brackets, with both cases of its letters and of its short ranges.
func (w *patternWriter) class() {
	w.copy(1)
	if strings.HasPrefix(w.text, "^") {
		w.copy(1)
	}
	for w.text != "" && w.text[0] != ']' {
		first, size := w.member()
		text := w.text[:size]
		w.copy(size)
		last := first
		if first >= 0 && len(w.text) > 1 && w.text[0] == '-' && w.text[1] != ']' {
			w.copy(1)
			last, size = w.member()
			w.copy(size)
		}
		if first < 0 || last < 0 || text == "" {
			continue
		}
		w.extra(first, last)
	}
	if w.text != "" {
		w.copy(1)
	}
}

// member is the next character of a class, or -1 when it stands for several, and its length.
func (w *patternWriter) member() (rune, int) {
	if w.text[0] != '\\' {
		return utf8.DecodeRuneInString(w.text)
	}
	size := len(escapeForm.FindString(w.text))
	if r, ok := escaped(w.text[:size]); ok {
		return r, size
	}
	if size == 2 && !unicode.IsLetter(rune(w.text[1])) && !unicode.IsDigit(rune(w.text[1])) {
		return rune(w.text[1]), size
	}
	return -1, size
}

// extra adds the other cases of a range to a class.
func (w *patternWriter) extra(first, last rune) {
	const most = 0x300 // beyond, what is added would be longer than the pattern may be
	var more []rune
	for r := first; r <= last && r-first < most; r++ {
		for _, x := range w.cases(r)[1:] {
			if x < first || x > last {
				more = append(more, x)
			}
		}
	}
	slices.Sort(more)
	w.out.WriteString(string(slices.Compact(more)))
}
