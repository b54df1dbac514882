package opentools

import (
	"encoding/json"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
)

func read(t *testing.T, text string) schema.Value {
	t.Helper()
	v, err := schema.Read([]byte(text), 50)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestStyles: the table of OpenAPI 3.1, 4.8.12.2 (color), and what it leaves out.
func TestStyles(t *testing.T) {
	t.Parallel()
	const array, object = `["blue","black","brown"]`, `{"R":100,"G":200,"B":150}`
	const yes, no = "true", "false"
	for _, x := range []struct {
		in, style string
		explode   string
		value     string
		want      string
	}{
		{"path", "matrix", no, `""`, ";color="},
		{"path", "matrix", no, `"blue"`, ";color=blue"},
		{"path", "matrix", no, array, ";color=blue,black,brown"},
		{"path", "matrix", no, object, ";color=R,100,G,200,B,150"},
		{"path", "matrix", yes, array, ";color=blue;color=black;color=brown"},
		{"path", "matrix", yes, object, ";R=100;G=200;B=150"},
		{"path", "label", no, `"blue"`, ".blue"},
		{"path", "label", no, array, ".blue,black,brown"},
		{"path", "label", yes, array, ".blue.black.brown"},
		{"path", "label", no, object, ".R,100,G,200,B,150"},
		{"path", "label", yes, object, ".R=100.G=200.B=150"},
		{"path", "", "", `"blue"`, "blue"},
		{"path", "simple", "", array, "blue,black,brown"},
		{"path", "simple", "", object, "R,100,G,200,B,150"},
		{"path", "simple", yes, object, "R=100,G=200,B=150"},
		{"path", "", "", `"a/b ../c?d#e%ü"`, "a%2Fb%20..%2Fc%3Fd%23e%25%C3%BC"},
		{"path", "", "", `12345678901234567890`, "12345678901234567890"},
		{"path", "label", no, `"."`, "error"}, // these would be steps to other paths, or nothing
		{"path", "label", no, `""`, "error"},
		{"path", "label", yes, `[]`, "error"},
		{"path", "label", yes, `["",""]`, "error"},
		{"path", "label", no, `".a"`, "..a"},
		{"path", "matrix", yes, `[]`, "error"},
		{"path", "matrix", yes, `{}`, "error"},
		{"path", "", "", `".."`, "error"},
		{"path", "", "", `""`, "error"},
		{"path", "", "", `[]`, "error"},
		{"query", "", "", `""`, "color="},
		{"query", "", "", `"blue"`, "color=blue"},
		{"query", "", "", `true`, "color=true"},
		{"query", "", "", array, "color=blue&color=black&color=brown"},
		{"query", "form", no, array, "color=blue,black,brown"},
		{"query", "form", yes, object, "R=100&G=200&B=150"},
		{"query", "form", no, object, "color=R,100,G,200,B,150"},
		{"query", "spaceDelimited", no, array, "color=blue%20black%20brown"},
		{"query", "pipeDelimited", no, array, "color=blue%7Cblack%7Cbrown"},
		{"query", "deepObject", yes, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"},
		{"query", "deepObject", yes, `{"a":{"b":[1,{"c":2}]},"n":null}`, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D%5Bc%5D=2"},
		{"query", "", "", `[]`, ""},
		{"query", "", "", `[null,"a"]`, "color=a"},
		{"query", "", "", `[{"a":1}]`, "color=%7B%22a%22%3A1%7D"},
		{"query", "", "", `"a b&c=d+e"`, "color=a%20b%26c%3Dd%2Be"},
		{"header", "", "", `"blue"`, "blue"},
		{"header", "", "", array, "blue,black,brown"},
		{"header", "", yes, object, "R=100,G=200,B=150"},
		{"header", "", "", `"a\r\nHost: b"`, "error"},
		{"cookie", "", "", `"a; b"`, "color=a%3B%20b"},
	} {
		p := parameter{Name: "color", In: x.in, Style: x.style, Explode: json.RawMessage(x.explode), Argument: "color"}
		var got string
		var err error
		switch v := read(t, x.value); x.in {
		case "path":
			got, err = p.inPath(v)
		case "query":
			got = joinPairs(p.inQuery(v), "&")
		case "header":
			got, err = p.inHeader(v)
		case "cookie":
			got = joinPairs(p.inCookie(v), "; ")
		}
		if err != nil {
			got = "error"
		}
		if got != x.want {
			t.Errorf("%s %s explode %s %s: %s, want %s", x.in, x.style, x.explode, x.value, got, x.want)
		}
	}
	p := parameter{Name: "q", In: "query", AllowReserved: true}
	if got := joinPairs(p.inQuery(read(t, `"a/b:c,d&e#f+g"`)), "&"); got != "q=a/b:c,d%26e%23f%2Bg" {
		t.Errorf("allowReserved: %s", got)
	}
	p = parameter{Name: "q", In: "query", Content: map[string]json.RawMessage{"application/json": nil}}
	if got := joinPairs(p.inQuery(read(t, `{"a":[1]}`)), "&"); got != "q=%7B%22a%22%3A%5B1%5D%7D" {
		t.Errorf("content: %s", got)
	}
}
