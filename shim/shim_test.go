package shim_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/shim"
)

var update = flag.Bool("update", false, "rewrite testdata/wire/expressions.json")

const name = "_00112233445566778899aabbccddeeff"

func TestNewName(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		n := shim.NewName()
		if !regexp.MustCompile(`^_[0-9a-f]{32}$`).MatchString(n) || seen[n] {
			t.Fatalf("name %q, or it came twice", n)
		}
		seen[n] = true
	}
}

func TestSource(t *testing.T) {
	src := shim.Source(name)
	if !strings.HasPrefix(src, "const "+name+" = ") || !regexp.MustCompile(`\}\)\("_[0-9a-f]{32}"\);\n$`).MatchString(src) {
		t.Errorf("the source is not one declaration: %.80q … %q", src, src[len(src)-20:])
	}
	if strings.Count(src, name) != 1 {
		t.Error("the name is not only in the declaration")
	}
	if other := shim.Source(shim.NewName()); src[len(src)-40:] == other[len(other)-40:] {
		t.Error("two tabs have one secret")
	}
	if d := shim.Digest(); len(d) != 64 || d != shim.Digest() {
		t.Errorf("digest %q", d)
	}
}

func TestBadNamesPanic(t *testing.T) {
	for _, bad := range []string{"", "_", "x", name + "0", name[:32] + "G", "_" + strings.Repeat("A", 32), "a=1;" + name[4:], name[:32] + "\n"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken for a name", bad)
				}
			}()
			shim.Source(bad)
		}()
	}
	for _, bad := range []string{name + ".own(", name + ".own()", name + ".own(1", name + ".own(1);a(2)", name + ".call(1)", "x.own(1)", name + ".own(1).own(2)"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was taken for an owner", bad)
				}
			}()
			shim.Outcome(bad, "c1")
		}()
	}
}

// An expression is written by Go and evaluated by js/test/wire.test.mjs, which must see method and
// args.
type expression struct {
	Expression string `json:"expression"`
	Method     string `json:"method"`
	Args       []any  `json:"args"`
	Epoch      int64  `json:"epoch,omitempty"`
}

func TestExpressions(t *testing.T) {
	nasty := "'\"\\`${1}\n\r\t\x00\x1f\x7f\u2028\u2029 é 😀 </script> *//"
	input, err := json.Marshal(map[string]any{"k": nasty, "__proto__": []int{1}})
	if err != nil {
		t.Fatal(err)
	}
	all := []expression{
		{shim.Watch(name, -1, 0), "watch", []any{-1, 0}, 0},
		{shim.Watch(name, 1<<53-1, 1<<20), "watch", []any{1<<53 - 1, 1 << 20}, 0},
		{shim.Call(name, "c1", 7, input, 1<<20, 3), "call", []any{"c1", 7, string(input), 1 << 20, 3}, 0},
		{shim.Call(name, nasty, 1, nil, 0, 0), "call", []any{nasty, 1, "{}", 0, 0}, 0},
		{shim.Call(name, "bad\xffutf8\xe2\x80", 1, []byte("\"\xed\xa0\x80\""), 0, 0), "call", []any{"bad\uFFFDutf8\uFFFD\uFFFD", 1, "\"\uFFFD\uFFFD\uFFFD\"", 0, 0}, 0},
		{shim.Abort(name, "c1", nasty), "abort", []any{"c1", nasty}, 0},
		{shim.Wait(name, "c1", 7), "wait", []any{"c1", float64(7)}, 0},
		{shim.Answer(name, "c1", true, []byte(`{"a":"'"}`)), "answer", []any{"c1", true, `{"a":"'"}`}, 0},
		{shim.Answer(name, "c1", false, nil), "answer", []any{"c1", false, ""}, 0},
		{shim.Remind(name, "c1"), "remind", []any{"c1"}, 0},
		{shim.Outcome(name, "c1"), "outcome", []any{"c1"}, 0},
		{shim.Call(shim.As(name, 7), "c1", 7, input, 1<<20, 3), "call", []any{"c1", 7, string(input), 1 << 20, 3}, 7},
		{shim.Watch(shim.As(name, 1<<53-1), 0, 0), "watch", []any{0, 0}, 1<<53 - 1},
		{shim.Wait(shim.As(name, 0), "c1", 7), "wait", []any{"c1", 7}, 0},
		{shim.Shutdown(name, "leaving"), "shutdown", []any{"leaving"}, 0},
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetIndent("", " ")
	if err := enc.Encode(all); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", "wire", "expressions.json")
	if *update {
		if err := os.WriteFile(path, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("expressions changed; see them with -update:\n%s", got.Bytes())
	}
}

type fixture struct {
	Name    string `json:"name"`
	Text    string `json:"text"`
	Decoded struct {
		Kind    shim.Kind       `json:"kind"`
		Rev     int64           `json:"rev"`
		Ran     bool            `json:"ran"`
		Name    string          `json:"name"`
		Message string          `json:"message"`
		Payload json.RawMessage `json:"payload"`
		State   json.RawMessage `json:"state"`
		Parts   int             `json:"parts"`
		Last    json.RawMessage `json:"last"`
	} `json:"decoded"`
}

func fixtures(tb testing.TB) []fixture {
	data, err := os.ReadFile(filepath.Join("testdata", "wire", "replies.json"))
	if err != nil {
		tb.Fatal(err)
	}
	var all []fixture
	if err := json.Unmarshal(data, &all); err != nil {
		tb.Fatal(err)
	}
	return all
}

func TestDecodeReply(t *testing.T) {
	kinds := map[shim.Kind]bool{}
	for _, f := range fixtures(t) {
		r, err := shim.DecodeReply(f.Text)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		w := f.Decoded
		kinds[w.Kind] = true
		if r.Kind != w.Kind || r.Revision != w.Rev || r.Ran != w.Ran || r.Name != w.Name || r.Message != w.Message {
			t.Errorf("%s: got %+v", f.Name, r)
		}
		if !sameJSON(r.Payload, w.Payload) {
			t.Errorf("%s: payload %s, want %s", f.Name, r.Payload, w.Payload)
		}
		if r.Parts != w.Parts || !sameJSON(r.Last, w.Last) {
			t.Errorf("%s: %d parts, the last %s; want %d, %s", f.Name, r.Parts, r.Last, w.Parts, w.Last)
		}
		switch {
		case string(w.State) == "null":
			if r.State != nil {
				t.Errorf("%s: a state that nobody sent", f.Name)
			}
		default:
			want, err := shim.DecodeState(string(w.State))
			if err != nil || !reflect.DeepEqual(r.State, want) {
				t.Errorf("%s: state %+v, want %+v, %v", f.Name, r.State, want, err)
			}
		}
	}
	for _, k := range []shim.Kind{shim.OK, shim.Failed, shim.Aborted, shim.Gone, shim.Invalid, shim.TooLarge, shim.Unhandled, shim.Partial} {
		if !kinds[k] {
			t.Errorf("no fixture of kind %s", k)
		}
	}
}

func sameJSON(a, b []byte) bool {
	if len(a) == 0 || len(b) == 0 {
		return len(a) == len(b)
	}
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

func TestDecodeState(t *testing.T) {
	s, err := shim.DecodeState(`{"rev":4,"later":[1],"doc":{"url":"https://a.test/","title":"T","origin":"https://a.test","lang":"en"},
		"tools":[{"id":9,"name":"n","via":"manifest","description":"d","title":"t","inputSchema":"{\"type\":\"object\"}","outputSchema":"true",
		"annotations":{"readOnlyHint":false,"title":"at","later":{}}}],
		"refused":[{"name":"x","rule":"r","message":"m"}],"dropped":2}`)
	if err != nil {
		t.Fatal(err)
	}
	no := false
	want := &shim.State{
		Revision: 4, Doc: shim.Doc{URL: "https://a.test/", Title: "T", Origin: "https://a.test", Lang: "en"},
		Tools: []shim.Tool{{
			ID: 9, Name: "n", Via: "manifest", Description: "d", Title: "t", InputSchema: json.RawMessage(`{"type":"object"}`),
			OutputSchema: json.RawMessage("true"), Annotations: shim.Annotations{ReadOnlyHint: &no, Title: "at"},
		}},
		Refused: []shim.Refusal{{Name: "x", Rule: "r", Message: "m"}}, Dropped: 2,
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got %+v, want %+v", s, want)
	}
}

func TestDecodeForms(t *testing.T) {
	s, err := shim.DecodeState(`{"rev":1,"tools":[{"id":1,"name":"n","via":"form","description":"","annotations":{"autosubmit":true}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if x := s.Tools[0]; x.Via != "form" || x.Annotations.Autosubmit == nil || !*x.Annotations.Autosubmit {
		t.Errorf("the form is %+v", x)
	}
	for _, kind := range []shim.Kind{shim.Submitted, shim.Awaiting} {
		header := `{"k":"` + string(kind) + `","rev":1,"ran":true,"message":"inner","len":`
		if r, err := shim.DecodeReply(header + `0,"state":0}` + "\n"); err != nil || r.Kind != kind || r.Message != "inner" {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
		if r, err := shim.DecodeReply(header + `1,"state":0}` + "\n1"); err == nil {
			t.Errorf("%s with a payload is %+v", kind, r)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	tool := `{"id":1,"name":"a","via":"manifest","description":"d"}`
	for _, text := range []string{
		"", "null", "[]", `{"rev":-1}`, `{"rev":9007199254740992}`, `{"rev":1.5}`, `{"rev":1,"dropped":-1}`,
		`{"rev":1,"tools":[` + tool + `,` + tool + `]}`, `{"rev":1,"tools":[{"id":0,"via":"manifest"}]}`, `{"rev":1,"tools":[null]}`,
		`{"rev":1,"tools":[{"id":1,"via":"elsewhere"}]}`, `{"rev":1,"tools":[{"id":1,"via":"manifest","inputSchema":"{"}]}`,
		`{"rev":1,"tools":[{"id":1,"via":"manifest","outputSchema":{}}]}`, `{"rev":1,"refused":[` + strings.Repeat("{},", 64) + `{}]}`,
		`{"rev":1,"tools":[` + strings.Repeat("{},", 256) + `{}]}`,
	} {
		if s, err := shim.DecodeState(text); err == nil {
			t.Errorf("DecodeState(%.80q) = %+v", text, s)
		}
	}
	for _, text := range []string{
		"", "\n", "{}", "{}\n", `{"k":"ok","len":1,"state":0}` + "\n", `{"k":"ok","len":0,"state":0}` + "\n", `{"k":"ok","len":1,"state":0}` + "\n{",
		`{"k":"ok","len":1,"state":0}` + "\n\xff", `{"k":"ok","len":-1,"state":2}` + "\n1", `{"k":"new","len":0,"state":0}` + "\n",
		`{"k":"error","len":1,"state":0}` + "\n1", `{"k":"ok","rev":2,"len":1,"state":9}` + "\n1" + `{"rev":1}`,
		`{"k":"ok","len":9223372036854775807,"state":9223372036854775807}` + "\n1", `{"k":"ok","len":1,"state":0}` + "\n12",
		strings.Repeat(" ", 257<<10) + `{"k":"ok","len":1,"state":0}` + "\n1",
		`{"k":"parts","len":0,"state":0,"parts":1}` + "\n", `{"k":"parts","len":0,"state":0,"last":1}` + "\n", `{"k":"parts","len":0,"state":0,"parts":10001,"last":1}` + "\n",
		`{"k":"parts","len":0,"state":0,"parts":-1,"last":1}` + "\n", `{"k":"parts","len":1,"state":0,"parts":1,"last":1}` + "\n1",
	} {
		if r, err := shim.DecodeReply(text); err == nil {
			t.Errorf("DecodeReply(%.80q) = %+v", text, r)
		}
	}
}

func FuzzDecodeState(f *testing.F) {
	for _, x := range fixtures(f) {
		f.Add(string(x.Decoded.State))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := shim.DecodeState(text)
		if err == nil && (len(s.Tools) > 256 || len(s.Refused) > 64 || s.Revision < 0) {
			t.Errorf("%+v", s)
		}
	})
}

func FuzzDecodeReply(f *testing.F) {
	for _, x := range fixtures(f) {
		f.Add(x.Text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := shim.DecodeReply(text)
		if err == nil && r.Kind == shim.OK && !json.Valid(r.Payload) {
			t.Errorf("%+v", r)
		}
	})
}

func BenchmarkDecodeReply(b *testing.B) {
	payload := `"` + strings.Repeat("x", 1<<20) + `"`
	text := `{"k":"ok","rev":1,"ran":true,"len":1048578,"state":0}` + "\n" + payload
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := shim.DecodeReply(text); err != nil {
			b.Fatal(err)
		}
	}
}
