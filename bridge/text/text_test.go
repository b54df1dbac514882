package text_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/text"
)

// TestShort: a text is shortened by characters, with one mark, and none is cut in two.
func TestShort(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		in   string
		most int
		want string
	}{
		{"", 0, ""}, {"a", 0, "…"}, {"short", 5, "short"}, {"longer", 5, "longe…"},
		{"ééé", 3, "ééé"}, {"ééé", 2, "éé…"}, {"aé", 1, "a…"}, {"日本語", 1, "日…"}, {"日本語", 2, "日本…"},
		{"\U0001f600\U0001f600", 1, "\U0001f600…"}, {"a\xffb", 2, "a\xff…"}, {"a\xffb", 3, "a\xffb"},
		{strings.Repeat("é", 255) + "日本", 256, strings.Repeat("é", 255) + "日…"},
	} {
		got := text.Short(x.in, x.most)
		if got != x.want || text.Short(got, x.most) != got {
			t.Errorf("Short(%q, %d) = %q, want %q", x.in, x.most, got, x.want)
		}
	}
	if got := text.Brief("a\x1b\n"+strings.Repeat(" ", 1<<20)+"b", 9); got != "a …" {
		t.Errorf("Brief returns %q", got)
	}
	if got, want := text.Brief("\u202eé  "+strings.Repeat("日", 9), 4), "é 日日…"; got != want {
		t.Errorf("Brief returns %q, want %q", got, want)
	}
	if got, want := text.Quote("a\"\n"+strings.Repeat("é", 99)), `"a\"\n`+strings.Repeat("é", 77)+`…"`; got != want {
		t.Errorf("Quote returns %s, want %s", got, want)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "longe… (cut; it has 6 bytes)"}, {"ééé", 2, "éé… (cut; it has 6 bytes)"},
		{"a\xffb", 9, `a\xffb`}, {"", 0, ""}, {"\xf0\x9f\x98\x80", 1, "😀"},
	} {
		if got := text.Cut(x.in, x.most); got != x.want {
			t.Errorf("Cut(%q, %d) is %q, want %q", x.in, x.most, got, x.want)
		}
	}
}

// TestVisible: what a person cannot see is not kept, whatever Unicode calls it or will call it.
func TestVisible(t *testing.T) {
	t.Parallel()
	for _, hidden := range []rune{0, 0x1b, 0x7f, 0x9b, 0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x202e, 0x2065, 0x2066, 0x3164,
		0xfeff, 0xffa0, 0xfff0, 0xfffd, 0xe0000, 0xe0001, 0xe000b, 0xe0041, 0xe0100, 0xe0fff} {
		if got, n := text.Visible("a" + string(hidden) + "b"); got != "ab" || n != 1 {
			t.Errorf("U+%04X: %q, %d", hidden, got, n)
		}
	}
	const seen = "a\u2028b\n\tc\u2764\ufe0f\U0001f600 é \u05d0"
	if got, n := text.Visible(seen); got != seen || n != 0 {
		t.Errorf("%q became %q", seen, got)
	}
}

// steering are the characters that a terminal obeys or that turn its text.
var steering = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}\x{e0001}-\x{e007f}]`)

const evil = "a\x1b[2J\u009b31m\x07\x7f\u202eb\u2066\u2028\u200b\ufeff\U000e0041c\r\n\td"

func TestLine(t *testing.T) {
	t.Parallel()
	if got := text.Line(evil); got != "a[2J31mb c d" {
		t.Errorf("Line returns %q", got)
	}
	if got := text.Lines("  a\x1b[1m  |  b\r\n\tb\rc\u2028d\n"); got != "  a[1m  |  b\n    b c d\n" {
		t.Errorf("Lines returns %q", got)
	}
	for in, want := range map[string]bool{"": true, "a  b é": true, "a\n": false, "a\tb": false, "a\u202e": false, "a\xff": false} {
		if text.IsPlain(in) != want {
			t.Errorf("IsPlain(%q) is %v", in, !want)
		}
	}
	if got := text.Marked("a\r\nb\u2028c\u202e"); got != "> a\n> b\n> c" {
		t.Errorf("Marked returns %q", got)
	}
	if got := text.EscapeLine("a\n\u202e\U000e0041é"); got != `a\n\u202e\udb40\udc41é` {
		t.Errorf("EscapeLine returns %q", got)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"shop": "shop", "https://shop.example/a:b@c+d,e%20": "https://shop.example/a:b@c+d,e%20", "a=b": "a=b",
		"=a": "'=a'", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'", "a;b": "'a;b'", "~": "'~'",
		"a&b": "'a&b'", "a?b": "'a?b'", "é": "'é'", "--flag": "--flag", "{a,b}": "'{a,b}'",
	} {
		if got := text.ShellWord(in); got != want {
			t.Errorf("ShellWord(%q) = %s, want %s", in, got, want)
		}
	}
	if got := text.Operand("-x y"); got != "-- '-x y'" {
		t.Errorf("Operand returns %s", got)
	}
	if got := text.Operand("x"); got != "x" {
		t.Errorf("Operand returns %s", got)
	}
	if got := text.Count(0, "tool") + text.Count(1, "tool") + text.Count(2, "tool"); got != "0 tools1 tool2 tools" {
		t.Errorf("Count returns %s", got)
	}
	words := []string{"a", "b", "c"}
	for n, want := range []string{"", "a", "a or b", "a, b or c"} {
		if got := text.List(words[:n], "or"); got != want {
			t.Errorf("List of %d returns %q, want %q", n, got, want)
		}
	}
	for most, want := range []string{" and 3 more", "a and 2 more", "a, b and 1 more", "a, b, c", "a, b, c"} {
		if got := text.Few(words, most); most > 0 && got != want {
			t.Errorf("Few of %d returns %q, want %q", most, got, want)
		}
	}
}

func FuzzTexts(f *testing.F) {
	f.Add(evil)
	f.Add("\xff\xfe broken \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got := text.Line(s); steering.MatchString(got) || strings.Contains(got, "\n") {
			t.Errorf("Line returns %q", got)
		}
		if got := text.Lines(s); steering.MatchString(got) {
			t.Errorf("Lines returns %q", got)
		}
		written, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := text.Escape(string(written))
		var back, want string
		if steering.MatchString(got) || json.Unmarshal([]byte(got), &back) != nil || json.Unmarshal(written, &want) != nil || back != want {
			t.Errorf("Escape makes %q of %q", got, written)
		}
		if !utf8.ValidString(got) || utf8.ValidString(s) && !utf8.ValidString(text.Short(s, 3)) {
			t.Errorf("Escape returns broken text %q", got)
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	words := []string{"list", "json", "junit", "sarif", "tool-name-valid"}
	for typed, want := range map[string]string{
		"jsn": "json", "jsonn": "json", "JSON": "json", "jnuit": "junit", "sar": "sarif",
		"tool-name-vaild": "tool-name-valid", "xxxx": "", "": "", "l": "list", "ab": "",
		strings.Repeat("long", 1000): "",
	} {
		if got := text.Nearest(typed, words); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", typed, got, want)
		}
	}
	if got := text.Nearest("tops", []string{"tool", "taps"}); got != "taps" {
		t.Errorf("the nearer of two is %q", got)
	}
	if got := text.Nearest("json", nil); got != "" {
		t.Errorf("of no words %q is near", got)
	}
}

// TestSaid: an exception is told without the name that browsers put before it.
func TestSaid(t *testing.T) {
	t.Parallel()
	for exception, want := range map[string]string{
		"InvalidStateError: Duplicate tool name": "Duplicate tool name", "AbortError": "", " AbortError: ": "",
		"Uncaught (in promise) TypeError: x is not a function": "x is not a function", "Uncaught DOMException: no": "no",
		"StockError: empty: Error: no": "empty: Error: no", "The stock is empty.": "The stock is empty.", "Error handling failed": "Error handling failed",
		"Errors: two": "Errors: two", "": "",
	} {
		if got := text.Said(exception); got != want {
			t.Errorf("%q says %q, want %q", exception, got, want)
		}
	}
}
