package main

import (
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// plain makes text of strangers safe for a terminal: one line, without control,
// bidirectional or other invisible characters.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// plainLines is plain that keeps line ends.
func plainLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(plainKeepIndent(l), " ")
	}
	return strings.Join(lines, "\n")
}

func plainKeepIndent(l string) string {
	body := strings.TrimLeft(l, " \t")
	indent := strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ")
	return indent + plain(body)
}

// terminal reports whether the stream is one.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// width is how many columns the terminal has; 0 when it is none.
func width(stream io.Writer) int {
	f, ok := stream.(*os.File)
	if !ok {
		return 0
	}
	w, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return w
}
