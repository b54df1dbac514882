package bridge

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
)

// This file makes the text of strangers safe for people: nothing in it is invisible, or
// obeyed by what shows it.

// Visible removes control, bidirectional and other invisible characters from a page's
// text, and counts them. Tabs and line ends stay.
func Visible(s string) (string, int) {
	n := 0
	out := strings.Map(func(r rune) rune {
		if invisible(r) {
			n++
			return -1
		}
		return r
	}, s)
	return out, n
}

// Brief is the beginning of a stranger's text, at most about n bytes, as a message can
// repeat it: without what cannot be seen.
func Brief(s string, n int) string {
	s, _ = Visible(Clip(s, n))
	return s
}

// OneLine is a text without what cannot be seen, its spaces and line ends made one space each.
func OneLine(s string) string {
	s, _ = Visible(s)
	return strings.Join(strings.Fields(s), " ")
}

// invisible is what Visible removes: the ends of lines and paragraphs can be seen.
func invisible(r rune) bool {
	switch {
	case r == '\n', r == '\r', r == '\t', unicode.In(r, unicode.Zl, unicode.Zp):
		return false
	}
	return r == utf8.RuneError || schema.Invisible(r)
}

// Quoted returns a page's text with a mark before each line, so that none of them can
// look like ours.
func Quoted(s string) string {
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

// printable shortens a name for a message, and removes what cannot be seen.
func printable(s string) string {
	s = OneLine(s)
	if r := []rune(s); len(r) > 64 {
		s = string(r[:64]) + "…"
	}
	return s
}
