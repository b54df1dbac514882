package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// steering are the characters that a terminal obeys or that turn its text.
var steering = regexp.MustCompile(`[\x00-\x09\x0b-\x1f\x7f\x{80}-\x{9f}\x{200b}-\x{200f}\x{2028}-\x{202e}\x{2066}-\x{2069}\x{feff}\x{e0001}-\x{e007f}]`)

const evil = "a\x1b[2J\u009b31m\x07\x7f\u202eb\u2066\u2028\u200b\ufeff\U000e0041c\r\n\td"

func TestPlain(t *testing.T) {
	t.Parallel()
	if got := plain(evil); got != "a[2J31mbc   d" {
		t.Errorf("plain gives %q", got)
	}
	if got := plainLines("  a\x1b[1m  \r\n\tb\rc\n"); got != "  a[1m\n    b c\n" {
		t.Errorf("plainLines gives %q", got)
	}
}

func FuzzTexts(f *testing.F) {
	f.Add(evil)
	f.Add("\xff\xfe broken \xed\xa0\x80")
	f.Fuzz(func(t *testing.T, s string) {
		if got := plain(s); steering.MatchString(got) || strings.Contains(got, "\n") {
			t.Errorf("plain gives %q", got)
		}
		if got := plainLines(s); steering.MatchString(got) {
			t.Errorf("plainLines gives %q", got)
		}
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		got := escapeForTerminal(string(text))
		var back, want string
		if steering.MatchString(got) || json.Unmarshal([]byte(got), &back) != nil || json.Unmarshal(text, &want) != nil || back != want {
			t.Errorf("escapeForTerminal makes %q of %q", got, text)
		}
		if !utf8.ValidString(got) {
			t.Errorf("escapeForTerminal gives broken text %q", got)
		}
	})
}

func TestPrintResult(t *testing.T) {
	t.Parallel()
	tests := []struct{ data, text string }{
		{`"a\u001b[1mb"`, "a[1mb\n"},
		{`{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "one\ntwo\n"},
		{`{"content":[{"type":"text","text":"one"}],"more":1}`, "{\n  \"content\": [\n    {\n      \"type\": \"text\",\n      \"text\": \"one\"\n    }\n  ],\n  \"more\": 1\n}\n"},
		{`{"content":[]}`, "{\n  \"content\": []\n}\n"},
		{`7`, "7\n"},
		{`null`, "null\n"},
		{`[]`, "[]\n"},
		{`{"k` + "\u009b" + `":1}`, "{\n  \"k\\u009b\": 1\n}\n"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		p := &program{stdout: &out, set: settings{format: "text"}}
		if err := p.printResult(json.RawMessage(test.data)); err != nil || out.String() != test.text {
			t.Errorf("%s is printed as %q (%v), want %q", test.data, out.String(), err, test.text)
		}
		out.Reset()
		p.set.format = "json"
		if err := p.printResult(json.RawMessage(test.data)); err != nil || strings.Count(out.String(), "\n") != 1 || !json.Valid(out.Bytes()) || steering.MatchString(out.String()) {
			t.Errorf("%s is printed as %q (%v)", test.data, out.String(), err)
		}
	}
}
