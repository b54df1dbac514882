package kit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// entry is a tool of a list, as toolset writes it.
func entry(name, of, schema string) string {
	own, _ := json.Marshal(of)
	return fmt.Sprintf(`{"name":%q,"description":"D","inputSchema":%s,"annotations":{},"_meta":{"pagetools/tool":{"name":%s}}}`, name, schema, own)
}

// ofMany is a list of n tools.
func ofMany(n int) List {
	all := make([]string, n)
	for i := range all {
		all[i] = entry(fmt.Sprintf("tool_%03d", i), fmt.Sprintf("tool_%03d", i), `{"type":"object"}`)
	}
	return List{Server: "shop", Tools: json.RawMessage("[" + strings.Join(all, ",") + "]"), First: n}
}

func judged(t *testing.T, format, client string, l List, refused ...bridge.Finding) (string, int) {
	t.Helper()
	var out bytes.Buffer
	d, err := NewDoctor(&out, format == "text", strings.Split(client, ","))
	if err != nil {
		t.Fatal(err)
	}
	err = d.Judge(l, refused)
	shown, is := errors.AsType[*terminal.ShownError](err)
	if err != nil && !is {
		t.Fatal(err)
	}
	if !is {
		return out.String(), 0
	}
	return out.String(), shown.Code
}

// TestClientReport: what doctor --client prints, line by line.
func TestClientReport(t *testing.T) {
	t.Parallel()
	l := List{Server: "shop", First: 5, Tools: json.RawMessage("[" + strings.Join([]string{
		entry("search-items", "search-items", `{"type":"object"}`),
		entry("add_item_f91482", "add_item", `{"type":"object"}`),
		entry("set-tags", "set-tags", `{"type":"object","properties":{"tags":{"type":"array"}}}`),
		entry("book", "book", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`),
		entry("evil", "evil\u001b[2J\n::error::", `{"type":"object"}`),
	}, ",") + "]"), Findings: []bridge.Finding{
		{Rule: "mcp-name-shared", Tool: "add_item", Message: "Another tool could have this name; MCP clients see it as x."},
		{Rule: "mcp-schema", Tool: "add_item", Message: "inputSchema: words."},
	}}
	got, code := judged(t, "text", "vscode,claude-desktop", l, bridge.Finding{Rule: "name-invalid", Tool: "a b", Message: "It is no name.", Refused: true},
		bridge.Finding{Rule: "schema-odd", Tool: "book", Message: "It stays."})
	want := `vscode, rules of 2026-11
ok       search-items
changed  add_item           sent as add_item_f91482: another tool could have this name; and 1 more
dropped  set-tags           tags: an array without items (microsoft/vscode#284536)
ok       book
ok       evil[2J ::error::
dropped  a b                pagetools does not list it: It is no name. (rule name-invalid)

claude-desktop, rules of 2026-11
ok       search-items
changed  add_item           sent as add_item_f91482: another tool could have this name; and 1 more
ok       set-tags
refused  book               the whole request: $schema is of another draft than 2020-12 (anthropics/claude-code#586)
ok       evil[2J ::error::
dropped  a b                pagetools does not list it: It is no name. (rule name-invalid)
`
	if got != want || code != terminal.ExitFindings {
		t.Errorf("%d\n%s\nwant\n%s", code, got, want)
	}
}

// TestClientLimits: how many tools a client takes, and how that ends.
func TestClientLimits(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		client string
		l      List
		code   int
		want   []string
		never  string
	}{
		{"vscode", ofMany(143), 0, []string{"limit    143 tools  vscode takes 128 at most: --mcp-tools hybrid ("}, "dropped"},
		{"cursor", ofMany(41), 1, []string{"limit    41 tools  cursor takes 40 at most", "dropped  tool_040"}, "dropped  tool_039"},
		{"openai-api", ofMany(129), 1, []string{"limit    129 tools  openai-api takes 128 at most"}, "dropped"},
		{"openai-api", ofMany(128), 0, nil, "limit"},
		{"chatgpt", ofMany(300), 0, nil, "limit"},
		{"claude-code", ofMany(1), 0, []string{"note     results   results of more than some 25,000 tokens"}, "limit"},
	} {
		got, code := judged(t, "text", test.client, test.l)
		if code != test.code || test.never != "" && strings.Contains(got, test.never) {
			t.Errorf("%s: %d\n%s", test.client, code, got)
		}
		for _, want := range test.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", test.client, want, got)
			}
		}
	}
	few := ofMany(143)
	few.First = 3
	if got, code := judged(t, "text", "vscode", few); code != 0 || !strings.Contains(got, "note     3 tools   are listed at first; --mcp-tools direct lists all") {
		t.Errorf("%d\n%s", code, got)
	}
}

// TestClientReportAsJSON: one object for each client, with the rule and its source.
func TestClientReportAsJSON(t *testing.T) {
	t.Parallel()
	l := List{Server: "shop", First: 1, Tools: json.RawMessage("[" + entry("t", "t", `{"type":"object","properties":{"x":{"type":"array"}}}`) + "]")}
	got, code := judged(t, "json", "vscode,cursor", l)
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if code != terminal.ExitFindings || len(lines) != 2 {
		t.Fatalf("%d: %s", code, got)
	}
	const want = `{"client":"vscode","rules":"2026-11","ok":false,"listed":1,"tools":[{"name":"t","listed":"t","state":"dropped",` +
		`"text":"x: an array without items (microsoft/vscode#284536)","reasons":[{"client":"vscode","what":"items","effect":"dropped",` +
		`"source":"https://github.com/microsoft/vscode/issues/284536","date":"2026-11-26","pointer":"/inputSchema/properties/x","text":"x: an array without items"}]}]}`
	if lines[0] != want || !strings.HasPrefix(lines[1], `{"client":"cursor","rules":"2026-11","ok":true,`) {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestNamesOfClients(t *testing.T) {
	t.Parallel()
	if all, err := readClients([]string{"all"}); err != nil || len(all) != 11 {
		t.Errorf("%d, %v", len(all), err)
	}
	if _, err := readClients([]string{"vscod"}); err == nil || !strings.Contains(err.Error(), `--client: unknown client "vscod"; did you mean vscode?`) {
		t.Error(err)
	}
}

// TestClientExit: only a tool that is lost ends the command with 1.
func TestClientExit(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("n", 60)
	for _, test := range []struct {
		client, tool, state string
		code                int
	}{
		{"claude-desktop", entry("t", "t", `{"type":"object","anyOf":[{}]}`), "refused  t", terminal.ExitFindings},
		{"vscode", entry("t", "t", `{"type":"object","properties":{"x":{"type":"array"}}}`), "dropped  t", terminal.ExitFindings},
		{"gemini-cli", entry(long, long, `{"type":"object"}`), "cut      nnnn", 0},
		{"gemini-cli", entry("t", "t", `{"type":"object"}`), "ok       t", 0},
	} {
		got, code := judged(t, "text", test.client, List{Server: "shop", First: 1, Tools: json.RawMessage("[" + test.tool + "]")})
		if code != test.code || !strings.Contains(got, "\n"+test.state) {
			t.Errorf("%d, want %d and %q:\n%s", code, test.code, test.state, got)
		}
	}
}
