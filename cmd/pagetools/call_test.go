package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/text"
)

func TestPrintResult(t *testing.T) {
	t.Parallel()
	tests := []struct{ data, text string }{
		{`"a\u001b[1mb"`, "a[1mb\n"},
		{`{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`, "one\ntwo\n"},
		{`{"content":[{"type":"text","text":"one"}],"more":1}`, "{\n  \"content\": [\n    {\n      \"type\": \"text\",\n      \"text\": \"one\"\n    }\n  ],\n  \"more\": 1\n}\n"},
		{`{"content":[]}`, "{\n  \"content\": []\n}\n"},
		{`7`, "7\n"},
		{"{\"a\":\n1}\n", "{\n  \"a\": 1\n}\n"}, // as an API may write it
		{`null`, "null\n"},
		{`[]`, "[]\n"},
		{`{"k` + "\u009b" + `":1}`, "{\n  \"k\\u009b\": 1\n}\n"},
	}
	for _, test := range tests {
		var out bytes.Buffer
		if err := printResult(&out, "text", json.RawMessage(test.data)); err != nil || out.String() != test.text {
			t.Errorf("%s is printed as %q (%v), want %q", test.data, out.String(), err, test.text)
		}
		out.Reset()
		if err := printResult(&out, "json", json.RawMessage(test.data)); err != nil || strings.Count(out.String(), "\n") != 1 || !json.Valid(out.Bytes()) || text.Escape(out.String()) != out.String() {
			t.Errorf("%s is printed as %q (%v)", test.data, out.String(), err)
		}
	}
}
