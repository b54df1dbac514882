package hosts

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/check"
)

var update = flag.Bool("update", false, "write the golden files anew")

func host(t testing.TB, names ...string) []Host {
	t.Helper()
	var all []Host
	for _, name := range names {
		h, err := load(t).Get(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, h)
	}
	return all
}

// many returns tools that no host has anything against but their number.
func many(n int) []check.Tool {
	tools := make([]check.Tool, n)
	for i := range tools {
		tools[i] = check.Tool{
			Name: fmt.Sprintf("tool_%d", i), Title: "A tool", Description: "Does something with numbers.",
			Input:       json.RawMessage(`{"type":"object","properties":{"n":{"type":"number"}}}`),
			Annotations: json.RawMessage(`{"readOnlyHint":true}`), Surface: "document",
		}
	}
	return tools
}

const secure = "https://shop.example/"

func TestChatGPTRefusesPages(t *testing.T) {
	t.Parallel()
	long := func(bytes int) []check.Tool {
		tools := many(1)
		n := descriptorBytes(tools[0], members)
		tools[0].Description += strings.Repeat("x", bytes-n)
		return tools
	}
	for _, test := range []struct {
		tools []check.Tool
		page  Page
		want  string // "" is kept
	}{
		{many(100), Page{URL: secure}, ""},
		{many(101), Page{URL: secure}, "101 tools; chatgpt takes 100 and switches the page off"},
		{many(130), Page{URL: secure}, "130 tools; chatgpt takes 100 and switches the page off"},
		{many(1), Page{URL: secure, Changes: 10}, ""},
		{many(1), Page{URL: secure, Changes: 11}, "11 changes of the list of tools; chatgpt takes 10 and switches the page off"},
		{long(65536), Page{}, ""},
		{long(65537), Page{}, "65537 bytes of declarations; chatgpt takes 65536 and switches the page off"},
		{many(1), Page{Insecure: true}, "the origin is not secure; chatgpt wants https, or a loopback address"},
	} {
		table := Matrix(test.tools, test.page, host(t, "chatgpt"))
		row, findings := table.Rows[0], table.Findings()
		if test.want == "" {
			if row.State != Kept || len(findings) != 0 || row.Cells[0].State != Kept {
				t.Errorf("%d tools, %+v: %s, %v", len(test.tools), test.page, row.State, findings)
			}
			continue
		}
		if row.State != Refused || row.Reasons[0].Text != test.want || row.Cells[0].State != Refused {
			t.Errorf("%d tools, %+v: %s %+v, want %q", len(test.tools), test.page, row.State, row.Reasons, test.want)
		}
		if len(findings) != 1 || findings[0].Rule != RuleHostOff || findings[0].Severity != check.Error ||
			!strings.Contains(findings[0].Message, test.want[1:]) ||
			!strings.Contains(findings[0].Message, "reconstruction") || findings[0].Where.Page != test.page.URL {
			t.Errorf("the findings are %+v", findings)
		}
	}
}

// TestLimits holds a tool at each limit, and one past it.
func TestLimits(t *testing.T) {
	t.Parallel()
	name := func(n int) func(*check.Tool) {
		return func(x *check.Tool) { x.Name = strings.Repeat("n", n) }
	}
	text := func(n int) func(*check.Tool) {
		return func(x *check.Tool) { x.Description = strings.Repeat("é", n) }
	}
	input := func(text string) func(*check.Tool) {
		return func(x *check.Tool) { x.Input = json.RawMessage(text) }
	}
	object := func(property string) func(*check.Tool) {
		return input(`{"type":"object","properties":{"` + property + `":{}}}`)
	}
	own := func(limit string) string { return minimal + "limits: {" + limit + "}\n" }
	for _, test := range []struct {
		host     string // a name, or a file of ours
		in, over func(*check.Tool)
		state    State
		want     string
	}{
		{"chrome", name(128), name(129), Dropped, "the name has 129 characters; chrome takes 128"},
		{"chrome", name(1), name(0), Dropped, `the name "" does not match`},
		{"chrome", text(1), text(0), Dropped, "the description has 0 characters; chrome needs at least 1"},
		{"claude", name(64), name(65), Refused, "the name has 65 characters; claude takes 64"},
		{"claude", name(1), func(x *check.Tool) { x.Name = "a.b" }, Refused, `the name "a.b" does not match`},
		{"claude", object("a.b"), object("a b"), Refused, `the property "a b" does not match`},
		{"claude", object("oneOf"), input(`{"oneOf":[{}]}`), Refused, "has oneOf at its root, which claude refuses"},
		{"claude", object(strings.Repeat("p", 64)), object(strings.Repeat("%", 65)), Refused, "has 65 characters"},
		{"openai-api", text(1024), text(1025), Refused, "the description has 1025 characters; openai-api takes 1024"},
		{"openai-api", name(64), name(65), Refused, "the name has 65 characters"},
		{"gemini", name(64), name(65), Refused, "the name has 65 characters"},
		{"gemini", name(1), func(x *check.Tool) { x.Name = "1a" }, Refused, `the name "1a" does not match`},
		{"cursor", name(58), name(59), Dropped, "the name has 59 characters; cursor takes 58"},
		{"vscode", name(64), name(65), Kept, "the name has 65 characters"},
		{"anthropic-directory", name(64), name(65), Refused, "the name has 65 characters"},
		{"anthropic-directory", name(1), func(x *check.Tool) { x.Title = "" }, Kept, "there is no title or annotations.title"},
		{"anthropic-directory", name(1), func(x *check.Tool) { x.Annotations = json.RawMessage(`{"title":"A"}`) }, Kept,
			"there is no annotations.readOnlyHint or annotations.destructiveHint"},
		{"mcp-registry", name(128), name(129), Kept, "the name has 129 characters"},
		{own("schema-bytes: {max: 17, over: drop-tool, source: x}"), input(` {"type": "object"}`),
			input(`{"type":"object2"}`), Dropped, "the input schema has 18 bytes; mine takes 17"},
		{own("schema-depth: {max: 2, over: drop-tool, source: x}"), object("a"),
			input(`{"properties":{"a":{"items":{}}}}`), Dropped, "the input schema is 3 schemas deep; mine takes 2"},
		{own("schema-properties: {max: 1, over: drop-tool, source: x}"), object("a"),
			input(`{"properties":{"a":{},"b":{}}}`), Dropped, "the input schema has 2 properties; mine takes 1"},
		{minimal + "keywords: {any: [$ref], over: drop-tool, source: x}", object("$ref"),
			input(`{"allOf":[{"not":{"$ref":"#"}}]}`), Dropped, "has $ref, which mine refuses"},
		{"chrome", name(1), func(x *check.Tool) { x.Surface = "navigator" }, Dropped, "registered through navigator.modelContext"},
		{"chatgpt", name(1), func(x *check.Tool) { x.Surface = "provideContext" }, Dropped, "registered through provideContext"},
		{"chrome", name(1), func(x *check.Tool) { x.Annotations = json.RawMessage(`{"destructiveHint":false}`) }, Changed,
			"chrome takes no notice of annotations.destructiveHint"},
	} {
		var hosts []Host
		if strings.Contains(test.host, "\n") {
			h, err := load(t, File{"x", []byte(test.host)}).Get("mine")
			if err != nil {
				t.Fatal(err)
			}
			hosts = []Host{h}
		} else {
			hosts = host(t, test.host)
		}
		tools := many(1)
		test.in(&tools[0])
		if cell := Matrix(tools, Page{}, hosts).Rows[0].Cells[0]; cell.State != Kept || len(cell.Reasons) != 0 {
			t.Errorf("%s, within: %+v", hosts[0].Name, cell)
		}
		test.over(&tools[0])
		table := Matrix(tools, Page{}, hosts)
		cell := table.Rows[0].Cells[0]
		if cell.State != test.state || len(cell.Reasons) != 1 || !strings.Contains(cell.Reasons[0].Text, test.want) {
			t.Errorf("%s: %+v, want %s for %q", hosts[0].Name, cell, test.state, test.want)
		}
		findings := table.Findings()
		bad := test.state == Dropped || test.state == Refused
		if bad != (len(findings) == 1) {
			t.Errorf("%s: the findings are %+v", hosts[0].Name, findings)
		}
		if bad && findings[0].Where.Tool != tools[0].Name {
			t.Errorf("%s: the finding is about %q", hosts[0].Name, findings[0].Where.Tool)
		}
	}
}

func TestNumbersOfTools(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		host    string
		max     int
		state   State // of the last tool when there is one too many
		finding string
	}{
		{"lighthouse", 40, Kept, ""},
		{"cursor", 40, Dropped, "41 tools; cursor takes 40, and drops the rest."},
		{"vscode", 128, Kept, ""},
		{"openai-api", 128, Refused, "129 tools; openai-api takes 128 and switches the page off."},
		{"gemini", 128, Refused, "129 tools; gemini takes 128 and switches the page off."},
	} {
		at := Matrix(many(test.max), Page{}, host(t, test.host))
		if row := at.Rows[0]; row.State != Kept || len(row.Reasons) != 0 {
			t.Errorf("%s at its limit: %+v", test.host, row.Reasons)
		}
		over := Matrix(many(test.max+1), Page{}, host(t, test.host))
		row := over.Rows[0]
		if len(row.Reasons) != 1 || !strings.HasPrefix(row.Reasons[0].Text,
			fmt.Sprintf("%d tools; %s takes %d", test.max+1, test.host, test.max)) {
			t.Errorf("%s past its limit: %+v", test.host, row.Reasons)
		}
		if got := row.Cells[test.max].State; got != test.state {
			t.Errorf("%s: the last tool is %s, want %s", test.host, got, test.state)
		}
		if first := row.Cells[0].State; (first == Refused) != (test.state == Refused) {
			t.Errorf("%s: the first tool is %s", test.host, first)
		}
		findings := over.Findings()
		if test.finding == "" && len(findings) != 0 ||
			test.finding != "" && (len(findings) != 1 || !strings.HasPrefix(findings[0].Message, test.finding)) {
			t.Errorf("%s: the findings are %+v", test.host, findings)
		}
	}
}

func TestDroppedToolsDoNotCount(t *testing.T) {
	t.Parallel()
	tools := many(41)
	tools[3].Name = strings.Repeat("n", 59)
	row := Matrix(tools, Page{}, host(t, "cursor")).Rows[0]
	if len(row.Reasons) != 0 || row.Cells[40].State != Kept || row.Cells[3].State != Dropped {
		t.Errorf("%+v", row)
	}
}

func TestFindingsAreBounded(t *testing.T) {
	t.Parallel()
	tools := many(256)
	for i := range tools {
		tools[i].Name += " " // not legal anywhere
	}
	for _, name := range []string{"chrome", "claude"} {
		findings := Matrix(tools, Page{}, host(t, name)).Findings()
		last := findings[len(findings)-1].Message
		if len(findings) != mostFindings+1 || !strings.HasPrefix(last, "236 more") {
			t.Errorf("%s: %d findings, the last %q", name, len(findings), last)
		}
		if n := strings.Count(Matrix(tools, Page{}, host(t, name)).Text(), "\n"); n > 50 {
			t.Errorf("%s: the text has %d lines", name, n)
		}
	}
}

// TestCanAsk counts the kinds of questions that are known to be shown by none of some hosts.
func TestCanAsk(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		hosts, kinds []string
		want         int
	}{
		{[]string{"chrome"}, []string{"confirm", "prompt"}, 0},
		{[]string{"chrome"}, []string{"interact"}, 1},
		{[]string{"chrome"}, []string{"approve"}, 0},
		{[]string{"claude"}, []string{"interact", "confirm", "prompt", "approve"}, 0},
		{[]string{"cursor"}, []string{"interact", "confirm"}, 1},
		{[]string{"openai-api", "gemini"}, []string{"confirm", "approve"}, 2},
		{[]string{"openai-api", "cursor"}, []string{"confirm"}, 0},
		{[]string{"openai-api", "chatgpt"}, []string{"confirm"}, 0}, // it is not known of one
	} {
		unreachable := 0
		for _, kind := range test.kinds {
			if !slices.ContainsFunc(host(t, test.hosts...), func(h Host) bool {
				can, known := h.CanAsk(kind)
				return can || !known
			}) {
				unreachable++
			}
		}
		if unreachable != test.want {
			t.Errorf("%v, %v: %d", test.hosts, test.kinds, unreachable)
		}
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	ms := func(n int) check.Event { return check.Event{At: time.Duration(n) * time.Millisecond, Kind: "register"} }
	page := check.Page{URL: "http://shop.example/", Timeline: []check.Event{ms(10), ms(60), ms(110), ms(211), ms(1000)}}
	if got := Facts(page); got.Changes != 2 || !got.Insecure || got.URL != page.URL {
		t.Errorf("the facts are %+v", got)
	}
	for address, want := range map[string]bool{
		"https://a.example/": false, "http://localhost:80/": false, "http://x.localhost/": false, "http://127.0.0.1:1/": false,
		"http://[::1]/": false, "file:///a": false, "": false, "http://10.0.0.1/": true, "http://a.example": true,
		"data:text/html,x": true, "about:blank": true,
	} {
		if got := Facts(check.Page{URL: address}).Insecure; got != want {
			t.Errorf("insecure(%q) is %v", address, got)
		}
	}
}

func TestDescriptorBytes(t *testing.T) {
	t.Parallel()
	tool := check.Tool{Name: "é", Description: "<", Input: json.RawMessage(`{ "a" : 1 }`), Output: json.RawMessage(`{}`)}
	if got, want := descriptorBytes(tool, []string{"name", "description", "inputSchema"}),
		len(`{"name":"é","description":"<","inputSchema":{"a":1}}`); got != want {
		t.Errorf("%d bytes, want %d", got, want)
	}
	if got := descriptorBytes(check.Tool{Input: json.RawMessage("no JSON")}, members); got != len(`{"inputSchema":no JSON}`) {
		t.Errorf("%d bytes of what is not JSON", got)
	}
}

func TestTextGolden(t *testing.T) {
	t.Parallel()
	tools := many(3)
	tools[0].Name, tools[0].Annotations = "buy\x1b[31m\n\u202e", json.RawMessage(`{"destructiveHint":true}`)
	tools[1].Input = json.RawMessage(`{"type":"object","anyOf":[{"required":["a"]}],"properties":{"a b":{}}}`)
	tools[2].Title = ""
	text := "A page of three tools\n\n" + Matrix(tools, Page{URL: secure}, load(t).All()).Text() +
		"\nA page of 130 tools\n\n" + Matrix(many(130), Page{URL: secure, Changes: 11}, load(t).All()).Text()
	if strings.ContainsAny(text, "\x1b\u202e") {
		t.Error("the text has characters that a terminal obeys")
	}
	const path = "testdata/matrix.txt"
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if text != string(want) {
		t.Errorf("the matrix differs from %s; go test -update writes it anew:\n%s", path, text)
	}
}

func FuzzMatrix(f *testing.F) {
	f.Add("name", `{"properties":{"a":{}}}`, `{"readOnlyHint":true}`)
	f.Add("%d\x00", `{"allOf":[[[1]]]}`, `"x"`)
	set := load(f)
	f.Fuzz(func(t *testing.T, name, input, annotations string) {
		tool := check.Tool{Name: name, Input: json.RawMessage(input), Annotations: json.RawMessage(annotations)}
		table := Matrix([]check.Tool{tool}, Page{}, set.All())
		for _, finding := range table.Findings() {
			if strings.Contains(finding.Message, "%!") && !strings.Contains(name+input, "%!") {
				t.Errorf("the message is %q", finding.Message)
			}
		}
		if strings.ContainsRune(table.Text(), 0x1b) {
			t.Error("the text has an escape")
		}
	})
}
