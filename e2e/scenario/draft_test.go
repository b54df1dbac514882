package scenario

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
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
	d := Draft{URL: "https://shop.example/${x}", Lock: "pagetools.lock"}
	want := map[string]string{}
	var tools []check.Tool
	for i, value := range values {
		name := "t" + strings.Repeat("x", i)
		tools = append(tools, check.Tool{Name: name, Input: argument(value), Annotations: reads})
		want[name] = `{"a":` + value + `}`
	}
	tools = append(tools, check.Tool{Name: "true", Annotations: reads}, check.Tool{Name: "writes", Input: argument(`"# x"`)},
		check.Tool{Name: "framed", Frame: "0", Annotations: reads},
		check.Tool{Name: "unknown", Annotations: reads, Input: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^q{17}z$"}},"required":["a"]}`)})
	d.Pages = []DraftPage{{Tools: tools}}
	words, err := d.Text()
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsFunc(strings.ReplaceAll(string(words), "\n", ""), text.Invisible) {
		t.Errorf("what nobody can see is in %q", words)
	}
	f := readDraft(t, string(words))
	calls := callsOf(f)
	for name, arguments := range want {
		if got, same := jsonOf(t, calls[name]), value(t, arguments); !got.Equal(same) {
			t.Errorf("%s: %s, want %s", name, got.Text(), arguments)
		}
	}
	if f.Site.URL == "" || f.Lock != "pagetools.lock" || len(f.Cases[0].Steps[0].Tools.Exactly) != len(tools) {
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
	head, rest, _ := strings.Cut(string(words), "take the \"# \" away.\n")
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

// TestDraftOfPages (K5): each page has a case for its tools, and its calls open it first. A tool of
// several pages is called once; a page without tools has no case.
func TestDraftOfPages(t *testing.T) {
	t.Parallel()
	tool := func(name, hint string) check.Tool {
		return check.Tool{Name: name, Annotations: json.RawMessage(`{"readOnlyHint":` + hint + `}`)}
	}
	d := Draft{Dir: "shop", Pages: []DraftPage{
		{Tools: []check.Tool{tool("search", "true")}},
		{Path: "/cart", Tools: []check.Tool{tool("search", "true"), tool("show", "true"), tool("pay", "false")}},
		{Path: "/about"},
		{Path: "/${x} #y", Tools: []check.Tool{tool("greet", "true")}},
	}}
	words, err := d.Text()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range readDraft(t, string(words)).Cases {
		steps := c.Name + ":"
		for _, s := range c.Steps {
			switch {
			case s.Open != "":
				steps += " open " + s.Open
			case s.Tools != nil:
				steps += " tools " + strings.Join(s.Tools.Exactly, ",")
			default:
				steps += " call " + s.Call
			}
		}
		got = append(got, steps)
	}
	want := []string{"has its tools: tools search", "search answers: call search",
		`/cart has its tools: open /cart tools pay,search,show`, `show answers: open /cart call show`,
		`/${x} #y has its tools: open /$${x} #y tools greet`, `greet answers: open /$${x} #y call greet`}
	if !slices.Equal(got, want) {
		t.Errorf("the cases are\n%s", strings.Join(got, "\n"))
	}
	if !strings.Contains(string(words), "# - name: pay answers") {
		t.Errorf("what changes something is no comment:\n%s", words)
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
