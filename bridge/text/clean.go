package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Invisible reports whether a person cannot see a character, or a terminal obeys it: controls,
// line ends among them, format characters, what fonts leave out, also where Unicode has not said
// yet what it is, and the variation selectors that can carry hidden bytes.
func Invisible(r rune) bool {
	if ' ' <= r && r <= '~' { // most are
		return false
	}
	return unicode.IsControl(r) || r >= 0xE0100 && r <= 0xE01EF ||
		unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp,
			unicode.Other_Default_Ignorable_Code_Point)
}

// IsPlain reports whether a person sees all of a text, on one line.
func IsPlain(s string) bool { return utf8.ValidString(s) && !strings.ContainsFunc(s, Invisible) }

// Visible removes control, bidirectional and other invisible characters from a text, and returns
// how many. Tabs and line ends stay.
func Visible(s string) (string, int) {
	n := 0
	out := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', unicode.In(r, unicode.Zl, unicode.Zp):
		case r == utf8.RuneError || Invisible(r):
			n++
			return -1
		}
		return r
	}, s)
	return out, n
}

// Line returns a text as one line without what cannot be seen. Spaces and line ends become one
// space each.
func Line(s string) string {
	s, _ = Visible(s)
	return strings.Join(strings.Fields(s), " ")
}

// Lines returns a text without what cannot be seen or what a terminal obeys; lines keep their ends
// and their indentation.
func Lines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		body := strings.TrimLeft(l, " \t")
		indent := strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ")
		body, _ = Visible(strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return ' '
			}
			return r
		}, body))
		lines[i] = strings.TrimRight(indent+body, " ")
	}
	return strings.Join(lines, "\n")
}

// Marked returns a text with a mark before each line, so that none of them can look like ours.
func Marked(s string) string {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\r', r == '\v', r == '\f', r == 0x85, unicode.In(r, unicode.Zl, unicode.Zp):
			return '\n'
		}
		return r
	}, s)
	s, _ = Visible(s)
	return "> " + strings.ReplaceAll(s, "\n", "\n> ")
}

// Escape writes the characters of a text that are invisible, or that a terminal obeys, as escapes
// of JSON: the value of JSON text stays what it is. Line ends stay.
func Escape(s string) string {
	var b strings.Builder
	done := 0
	for i := 0; i < len(s); {
		if c := s[i]; ' ' <= c && c <= '~' || c == '\n' { // most are
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if Invisible(r) || r == utf8.RuneError {
			b.WriteString(s[done:i])
			writeEscaped(&b, r)
			done = i + n
		}
		i += n
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// EscapeLine is Escape with line ends as escapes, too.
func EscapeLine(s string) string { return strings.ReplaceAll(Escape(s), "\n", `\n`) }

// writeEscaped writes an invisible character as an escape, and what is not UTF-8 as U+FFFD.
func writeEscaped(b *strings.Builder, r rune) {
	switch {
	case r == utf8.RuneError:
		b.WriteRune(r)
	case r > 0xFFFF:
		r -= 0x10000
		fmt.Fprintf(b, `\u%04x\u%04x`, 0xD800+(r>>10), 0xDC00+(r&0x3FF))
	default:
		fmt.Fprintf(b, `\u%04x`, r)
	}
}
