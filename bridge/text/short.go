package text

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Head returns the first characters of a text, at most most.
func Head(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for i := range s {
		if most == 0 {
			return s[:i]
		}
		most--
	}
	return s
}

// Short returns the first characters of a text, at most most, and "…" where it had more. To shorten
// a text again changes nothing.
func Short(s string, most int) string {
	if short := Head(s, most); len(short) < len(s) {
		return short + "…"
	}
	return s
}

// Bytes returns the beginning of a text in at most so many bytes, and cuts no character in two.
func Bytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// Brief returns the beginning of a stranger's text as part of a message: Short and Line. Of a long
// text it reads no more than it may need.
func Brief(s string, most int) string { return Short(Line(Short(s, 4*most)), most) }

// maxQuoted limits how many characters of a text Quote returns.
const maxQuoted = 80

// Quote returns the beginning of a text in quotes that it cannot end, with what cannot be seen as
// escapes.
func Quote(s string) string { return strconv.Quote(Short(s, maxQuoted)) }

// Cut returns the first characters of a text as Short does, and says how long a longer one was.
// Bytes that are not UTF-8 become visible.
func Cut(s string, most int) string {
	short := Head(s, most)
	var b strings.Builder
	for i := 0; i < len(short); {
		r, size := utf8.DecodeRuneInString(short[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, short[i])
		} else {
			b.WriteString(short[i : i+size])
		}
		i += size
	}
	if len(short) < len(s) {
		fmt.Fprintf(&b, "… (cut; it has %d bytes)", len(s))
	}
	return b.String()
}
