package terminal

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
)

// steering are the characters that a terminal obeys or that turn its text.
var steering = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}\x{e0001}-\x{e007f}]`)

const evil = "a\x1b[2J\u009b31m\x07\x7f\u202eb\u2066\u2028\u200b\ufeff\U000e0041c\r\n\td"

func TestPlain(t *testing.T) {
	t.Parallel()
	if got := Plain(evil); got != "a[2J31mbc   d" {
		t.Errorf("Plain gives %q", got)
	}
	if got := PlainLines("  a\x1b[1m  \r\n\tb\rc\n"); got != "  a[1m\n    b c\n" {
		t.Errorf("PlainLines gives %q", got)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add(evil)
	f.Add("\xff\xfe broken \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Plain(s); steering.MatchString(got) || strings.Contains(got, "\n") {
			t.Errorf("Plain gives %q", got)
		}
		if got := PlainLines(s); steering.MatchString(got) {
			t.Errorf("PlainLines gives %q", got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := schema.Escape(string(text))
		var back, want string
		if steering.MatchString(got) || json.Unmarshal([]byte(got), &back) != nil || json.Unmarshal(text, &want) != nil || back != want {
			t.Errorf("Escape makes %q of %q", got, text)
		}
		if !utf8.ValidString(got) {
			t.Errorf("Escape gives broken text %q", got)
		}
	})
}
