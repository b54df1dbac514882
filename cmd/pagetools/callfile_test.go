package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

// TestFilesAsArguments: KEY=@FILE reads a file where the tool takes one, and is a text elsewhere.
func TestFilesAsArguments(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","properties":{"name":{"type":"string"},"type":{"type":"string"},"data":{"type":"string","contentEncoding":"base64"}},"required":["name","data"]}`
	const part = `{"type":"object","properties":{"filename":{"type":"string"},"mediaType":{"type":"string"},"base64":{"$ref":"#/$defs/b"},"text":{"type":"string"}}}`
	declared := json.RawMessage(`{"type":"object","$defs":{"b":{"type":"string","contentEncoding":"base64"}},"properties":{"one":` + form + `,"many":{"type":"array","items":` + form + `},` +
		`"text":{"type":"string","contentEncoding":"base64"},"texts":{"type":"array","items":{"$ref":"#/$defs/b"}},"part":` + part + `,"handle":{"type":"string"}}}`)
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		return "@" + path
	}
	a, b, largest := write("a b.png", []byte("hello")), write("b", nil), write("large", make([]byte, schema.MaxFile))
	for _, x := range []struct{ pairs, want string }{
		{"one=" + a, `{"one":{"data":"aGVsbG8=","name":"a b.png","type":"image/png"}}`},
		{"one=" + b, `{"one":{"data":"","name":"b"}}`},
		{"many=" + a + "|many=" + b, `{"many":[{"data":"aGVsbG8=","name":"a b.png","type":"image/png"},{"data":"","name":"b"}]}`},
		{"text=" + a, `{"text":"aGVsbG8="}`}, {"texts=" + a, `{"texts":["aGVsbG8="]}`},
		{"part=" + a, `{"part":{"base64":"aGVsbG8=","filename":"a b.png","mediaType":"image/png"}}`},
		{"handle=" + a, `{"handle":` + string(schema.MustEncode(a)) + `}`}, {"unknown=@x", `{"unknown":"@x"}`}, {"text=aGk=", `{"text":"aGk="}`},
		{"one=@" + filepath.Join(dir, "none"), ""}, {"one=@" + dir, ""}, {"one=@", ""},
		{"one=" + write("larger", make([]byte, schema.MaxFile+1)), ""},
	} {
		got, err := readInput(declared, "", strings.Split(x.pairs, "|"), nil)
		if (err != nil) != (x.want == "") || string(got.Text()) != x.want {
			t.Errorf("%s gives %s (%v), want %s", x.pairs, got.Text(), err, x.want)
		}
	}
	if got, err := readInput(declared, "", []string{"text=" + largest}, nil); err != nil || len(got.Get("text").String()) < schema.MaxFile {
		t.Errorf("the largest file: %v", err)
	}
}
