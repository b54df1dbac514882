package run

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/e2e/scenario"
)

func raw(all ...string) (out []json.RawMessage) {
	for _, text := range all {
		out = append(out, json.RawMessage(text))
	}
	return out
}

// TestForms: what a webtool has in data is among what the other doors' results may be.
func TestForms(t *testing.T) {
	t.Parallel()
	block := func(text string) string { return `{"type":"text","text":` + string(quote(text)) + `}` }
	for _, test := range []struct {
		name  string
		forms []json.RawMessage
		want  string // the data of a webtool
		never string // what it cannot be
	}{
		{"a text", formsOfText("hello"), `"hello"`, `{}`},
		{"no text", formsOfText("Operation succeeded"), `""`, `null`},
		{"nothing", formsOfText("undefined"), `null`, `""`},
		{"a number", formsOfText("42"), `42`, `"43"`},
		{"digits", formsOfText("42"), `"42"`, `43`},
		{"an object", formsOfText(`{"a":[1]}`), `{"a":[1]}`, `{"a":[2]}`},
		{"a text of MCP", formsOfMCP(raw(block("hello")), nil), `"hello"`, `{}`},
		{"a list of MCP", formsOfMCP(raw(block("[1]")), nil), `[1]`, `[2]`},
		{"an object of MCP", formsOfMCP(raw(block(`{"a":1}`)), json.RawMessage(`{"a":1}`)), `{"a":1}`, `{"a":2}`},
		{"content", formsOfMCP(raw(block("hello")), nil), `{"content":[` + block("hello") + `]}`, `{"content":[]}`},
		{"both", formsOfMCP(raw(block("two"), block(`{"n":2}`)), json.RawMessage(`{"n":2}`)),
			`{"content":[` + block("two") + `],"structuredContent":{"n":2}}`, `{"n":2}`},
		{"beside a picture", formsOfMCP(raw(`{"type":"image","data":"","mimeType":"image/png"}`, block(`{"n":2}`)), nil),
			`{"content":[{"type":"image","data":"","mimeType":"image/png"}],"structuredContent":{"n":2}}`, `{"n":2}`},
		{"more members", formsOfMCP(raw(block("two"), block(`{"more":true}`)), nil),
			`{"content":[` + block("two") + `],"more":true}`, `{"more":true}`},
	} {
		has := func(text string) bool {
			return slices.ContainsFunc(test.forms, func(form json.RawMessage) bool {
				return scenario.ReadAgain(form).Equal(scenario.ReadAgain(json.RawMessage(text)))
			})
		}
		if !has(test.want) || has(test.never) {
			t.Errorf("%s: %s may be %s", test.name, test.want, test.forms)
		}
	}
}

func quote(text string) []byte {
	out, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return out
}

// TestDiffer: two doors agree where a form of one is a form of the other, and where a matcher
// is expected.
func TestDiffer(t *testing.T) {
	t.Parallel()
	fails := func(c bridge.Code, r bridge.Reason, message string) json.RawMessage {
		return failure(bridge.Errorf(c, r, bridge.Failed, "%s", message))
	}
	ok := func(forms ...string) result { return result{forms: raw(forms...)} }
	bad := func(err json.RawMessage) result { return result{err: err} }
	for _, test := range []struct {
		want, at     string // what is expected of both, and the path of the difference; "-" is none
		mine, theirs result
	}{
		{`null`, "-", ok(`"1"`, `1`), ok(`1`)},
		{`null`, "", ok(`"1"`), ok(`1`)},
		{`null`, "a[1].b", ok(`{"a":[1,{"b":2}]}`), ok(`{"a":[1,{"b":3}]}`)},
		{`null`, "b", ok(`{"a":1,"b":2}`), ok(`{"a":1}`)},
		{`null`, "a", ok(`{"a":[1]}`), ok(`{"a":[1,2]}`)},
		{`{"a":{"$any":true}}`, "-", ok(`{"a":1}`), ok(`{"a":2}`)},
		{`{"a":{"$any":true}}`, "a", ok(`{"a":1}`), ok(`{"a":"1"}`)},
		{`{"a":{"$any":true}}`, "b", ok(`{"a":1,"b":1}`), ok(`{"a":2,"b":2}`)},
		{`[{"$gt":0}]`, "-", ok(`[1]`), ok(`[2]`)},
		{`null`, "", ok(`1`), bad(fails(bridge.ToolError, "", "no"))},
		{`null`, "", bad(fails(bridge.ToolError, "", "no")), ok(`1`)},
		{`{}`, "-", bad(fails(bridge.ToolError, "", "no")), bad(fails(bridge.ToolError, "", "no"))},
		{`{}`, "message", bad(fails(bridge.ToolError, "", "no")), bad(fails(bridge.ToolError, "", "never"))},
		{`{"message":{"$any":true}}`, "-", bad(fails(bridge.ToolError, "", "no")), bad(fails(bridge.ToolError, "", "never"))},
		{`{}`, "code", bad(fails(bridge.ToolError, "", "no")), bad(fails(bridge.SchemaError, "", "no"))},
		{`{}`, "reason", bad(fails(bridge.InternalError, bridge.Timeout, "no")), bad(fails(bridge.InternalError, bridge.PageHung, "no"))},
		{`{}`, "-", result{err: fails(bridge.ToolError, "", "no"), silent: true}, bad(fails(bridge.ToolError, "", "never"))},
		{`{}`, "code", result{err: fails(bridge.ToolError, "", "no"), silent: true}, bad(fails(bridge.SchemaError, "", "no"))},
	} {
		want, err := scenario.Expected([]byte(test.want))
		if err != nil {
			t.Fatal(err)
		}
		d := differ(&made{got: test.mine, want: want}, &made{got: test.theirs, want: want})
		got := "-"
		if d != nil {
			got = d.Path
		}
		if got != test.at {
			t.Errorf("%+v and %+v, where %s is expected, differ at %q, want %q", test.mine, test.theirs, test.want, got, test.at)
		}
	}
}

// TestPassAt: one estimate is for one run, the other for all.
func TestPassAt(t *testing.T) {
	t.Parallel()
	for want, got := range map[string]string{
		"pass@1 1.00":              passAt(1, 1),
		"pass@1 0.60, pass@5 1.00": passAt(5, 3),
		"pass@1 0.00, pass@5 0.00": passAt(5, 0),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestFilled: a value that is made of a schema fits it.
func TestFilled(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]string{
		`{"type":"string","default":"Ada"}`:                      `"Ada"`,
		`{"type":"string","default":""}`:                         `"example"`,
		`{"enum":["a","b"]}`:                                     `"a"`,
		`{"type":"integer"}`:                                     `1`,
		`{"type":"boolean"}`:                                     `true`,
		`{"type":"array"}`:                                       `["example"]`,
		`{"type":"object","properties":{"n":{"type":"number"}}}`: `{"n":1}`,
		`{"const":7}`:                                            `7`,
		`{}`:                                                     `{}`,
		`{"type":"object","required":["a"],"properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"integer","minimum":18}}}`: `{"a":18}`,
		`{"type":"string","pattern":"^q{17}z$"}`: ``,
	} {
		if got := string(filled(json.RawMessage(s))); got != want {
			t.Errorf("%s is filled with %s, want %s", s, got, want)
		}
	}
}

// TestTextsOfPagesAreVisible: what pages say ends in terminals and reports.
func TestTextsOfPagesAreVisible(t *testing.T) {
	t.Parallel()
	evil := "\x1b[2J\u202eevil\n::error::x"
	at := &attempt{scope: &scenario.Scope{Unique: "first-run"}, door: scenario.ThroughMCP}
	other := &attempt{scope: &scenario.Scope{Unique: "other-run"}, door: scenario.ThroughPage}
	step := &scenario.Step{Call: evil}
	at.made = []made{{step: step, got: result{forms: raw(string(quote(evil)))}}}
	other.made = []made{{step: step, got: result{forms: raw(`1`)}}}
	f := at.disagrees(other)
	for _, text := range []string{f.Step, f.Message, f.Expected, f.Actual} {
		if strings.ContainsAny(text, "\x1b\u202e") {
			t.Errorf("%q is not visible", text)
		}
	}
	if !strings.Contains(f.Actual, `\u001b`) && !strings.Contains(f.Actual, `\x1b`) {
		t.Errorf("the control: %q", f.Actual)
	}
}

// TestTraceName: the folder of a trace is a name on every system, and another one for each case.
func TestTraceName(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, parts := range [][]string{
		{"a", "b", "mcp"}, {"a-b", "", "mcp"}, {"A", "b", "mcp"}, {"../..", "", ""}, {"", "", ""}, {`C:\x`, "CON", "page"},
		{"a\x00b", "", "mcp"}, {"\u202ea", "b", "mcp"}, {strings.Repeat("x", 500), "", ""}, {strings.Repeat("x", 501), "", ""},
	} {
		got := traceName(parts...)
		if seen[got] || !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{8,70}$`).MatchString(got) {
			t.Errorf("%q is %q", parts, got)
		}
		seen[got] = true
	}
}

// TestDepends: what a run reads and writes is beside its file.
func TestDepends(t *testing.T) {
	t.Parallel()
	f, err := scenario.Read("tests/a.webtool.yaml", []byte(`site: {dir: "${env.DIR}", network: {record: out/a.har}}
lock: a.lock
cases: [{name: x, via: page, steps: [{call: x}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { return "site", true }
	reads, writes, folder := DependsOn(f, Options{Env: env})
	if !slices.Equal(reads, []string{"tests/a.webtool.yaml", "tests/a.lock"}) || !slices.Equal(writes, []string{"tests/out/a.har"}) || folder != "tests/site" {
		t.Errorf("it reads %s, writes %s and serves %q", reads, writes, folder)
	}
	if _, _, folder := DependsOn(f, Options{Env: env, Site: scenario.Site{Dir: "other"}}); folder != "other" {
		t.Errorf("with another site, it serves %q", folder)
	}
}

// TestLeftForm: of a form that is not followed, the page's own way knows nothing, so that it
// agrees with whatever the others have, and with no other result.
func TestLeftForm(t *testing.T) {
	t.Parallel()
	left := made{got: resultOfPage(bridge.Step{Data: json.RawMessage("null")})}
	list := func(text string) *made { return &made{got: result{forms: raw(text)}} }
	refused := &made{got: result{err: json.RawMessage(`{"code":"TOOL_ERROR","reason":"SITE_REFUSED"}`)}}
	for _, other := range []*made{list(`[{"@type":"Reservation"}]`), list(`{"page":{"status":200}}`), refused} {
		if d := cmp.Or(differ(&left, other), differ(other, &left)); d != nil {
			t.Errorf("%s and a form that is not followed: %+v", other.got.text(), d)
		}
	}
	stayed := made{got: result{forms: formsOfText("undefined")}}
	for _, other := range []*made{list(`[]`), refused} {
		if d := differ(&stayed, other); d == nil {
			t.Errorf("a call of no form agrees with %s", other.got.text())
		}
	}
	followed := made{got: resultOfPage(bridge.Step{Data: json.RawMessage(`{"page":{"status":200}}`)})}
	if d := differ(&followed, list(`{"page":{"status":200}}`)); d != nil || differ(&followed, list(`{"page":{"status":204}}`)) == nil {
		t.Errorf("a form that is followed: %+v", d)
	}
}
