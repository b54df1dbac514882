package scenario

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/effects"
)

// TestDraft: what is written is read as what was meant, also with values that look like something
// else, and when the comments are taken away.
func TestDraft(t *testing.T) {
	t.Parallel()
	reads := json.RawMessage(`{"readOnlyHint":true}`)
	argument := func(value string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"a":{"const":` + value + `}},"required":["a"]}`)
	}
	values := []string{`"yes"`, `"12"`, `12`, `1e5`, `"1e5"`, `null`, `"null"`, `"${env.HOME}"`, `"$${x"`, `"$any"`, `{"$gt":1,"$$b":"${unique}"}`,
		`[{"x":[]},"~",""]`, `"\u202e\u001b[31m\u2028\udb40\udc41"`, `"a: b # c"`, `"two\nlines"`, `"2026-01-31"`, `"=1"`, `123456789012345678901234567890`}
	d := Draft{URL: "https://shop.example/${x}", Lock: "pagetools.lock", Sample: effects.Sample}
	want := map[string]string{}
	for i, value := range values {
		name := "t" + strings.Repeat("x", i)
		d.Tools = append(d.Tools, check.Tool{Name: name, Input: argument(value), Annotations: reads})
		want[name] = `{"a":` + value + `}`
	}
	d.Tools = append(d.Tools, check.Tool{Name: "true", Annotations: reads}, check.Tool{Name: "writes", Input: argument(`"# x"`)},
		check.Tool{Name: "framed", Frame: "0", Annotations: reads},
		check.Tool{Name: "unknown", Annotations: reads, Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^q{17}z$"}},"required":["a"]}`)})
	text, err := d.Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(string(text), "\n", ""), schema.Invisible) {
		t.Errorf("what nobody can see is in %q", text)
	}
	f := readDraft(t, string(text))
	calls := callsOf(f)
	for name, arguments := range want {
		if got, same := jsonOf(t, calls[name]), value(t, arguments); !got.Equal(same) {
			t.Errorf("%s: %s, want %s", name, got.Text(), arguments)
		}
	}
	if f.Site.URL == "" || f.Lock != "pagetools.lock" || len(f.Cases[0].Steps[0].Tools.Exactly) != len(d.Tools) {
		t.Errorf("%+v", f)
	}
	for _, name := range []string{"writes", "framed", "unknown"} {
		if _, there := calls[name]; there {
			t.Errorf("%s is called", name)
		}
	}
	if _, there := calls["true"]; !there {
		t.Error("a tool called true is not called")
	}
	// The comments are cases, too.
	head, rest, _ := strings.Cut(string(text), "take the \"# \" away.\n")
	head = head[:strings.Index(head, "\n  # These")]
	for line := range strings.Lines(rest) {
		head += "\n" + strings.TrimSuffix(strings.Replace(line, "# ", "", 1), "\n")
	}
	all := callsOf(readDraft(t, head+"\n"))
	if len(all) <= len(calls) || !jsonOf(t, all["writes"]).Equal(value(t, `{"a":"# x"}`)) {
		t.Errorf("with the comments: %v", all)
	}
	if _, err := (Draft{Dir: "."}).Text(); err == nil {
		t.Error("a draft without tools")
	}
}

func readDraft(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read("x.webtool.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return f
}

func callsOf(f *File) map[string]Value {
	all := map[string]Value{}
	for _, c := range f.Cases {
		for _, s := range c.Steps {
			if s.Call != "" {
				all[s.Call] = s.With
			}
		}
	}
	return all
}

func jsonOf(t *testing.T, v Value) schema.Value {
	t.Helper()
	if !v.Exists() {
		return value(t, `{}`)
	}
	v, err := (&Scope{}).Expand(v)
	if err != nil {
		t.Fatal(err)
	}
	text, err := v.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return value(t, string(text))
}

func value(t *testing.T, text string) schema.Value {
	t.Helper()
	v, err := schema.Read([]byte(text), 0)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
