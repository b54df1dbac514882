package hosts

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
)

// contracted are the clients that have rules, by the names that their users know.
var contracted = strings.Fields("anthropic-api chatgpt claude-code claude-desktop claude-web codex cursor gemini-api gemini-cli openai-api vscode")

func TestClientsAreComplete(t *testing.T) {
	t.Parallel()
	var names []string
	seen := map[string]bool{}
	for _, c := range load(t).Clients() {
		names = append(names, c.Name)
		for _, r := range c.Rules {
			if u, err := url.Parse(r.Source); err != nil || u.Scheme != "https" || u.Path == "" {
				t.Errorf("%s, %s: the source is %q", c.Name, r.What, r.Source)
			}
			if _, err := time.Parse(time.DateOnly, r.Date); err != nil {
				t.Errorf("%s, %s: %v", c.Name, r.What, err)
			}
			if !slices.Contains([]Effect{Cuts, Hides, Drops, Refuses}, r.Effect) {
				t.Errorf("%s, %s: the effect is %q", c.Name, r.What, r.Effect)
			}
			if key := c.Name + " " + r.What; seen[key] {
				t.Errorf("two rules: %s", key)
			} else {
				seen[key] = true
			}
			if _, ok := c.limits[r.host]; r.host != "" && !ok {
				t.Errorf("%s, %s: there is no host %q", c.Name, r.What, r.host)
			}
			if _, ok := c.subsets[r.subset]; r.subset != "" && !ok {
				t.Errorf("%s, %s: there is no subset %q", c.Name, r.What, r.subset)
			}
			if (r.host != "") == (r.subset != "") != (r.host == "" && strings.Contains(r.What, "-")) {
				t.Errorf("%s, %s: the data is from %q and %q", c.Name, r.What, r.host, r.subset)
			}
		}
		if date := c.Date(); !strings.HasPrefix(date, "20") || len(date) != len("2026-11") {
			t.Errorf("%s: %q", c.Name, date)
		}
	}
	if !slices.Equal(names, contracted) {
		t.Errorf("there are %q", names)
	}
	if _, err := load(t).Client("vscod"); err == nil || !strings.Contains(err.Error(), "did you mean vscode?") {
		t.Error(err)
	}
}

// argument is a tool whose schema has one property of this schema, as a client gets it.
func argument(of string) check.Tool {
	return check.Tool{Name: "tool", Description: "Does it.",
		Input: json.RawMessage(`{"type":"object","properties":{"x":` + of + `}}`)}
}

func arguments(root string) check.Tool {
	return check.Tool{Name: "tool", Description: "Does it.", Input: json.RawMessage(root)}
}

func results(of string) check.Tool {
	tool := arguments(`{"type":"object","properties":{}}`)
	tool.Output = json.RawMessage(of)
	return tool
}

func called(name string) check.Tool {
	tool := arguments(`{"type":"object","properties":{}}`)
	tool.Name = name
	return tool
}

// TestEachRule has, for each rule, a tool as its source has it, and one beside it that passes.
func TestEachRule(t *testing.T) {
	t.Parallel()
	long := func(n int) check.Tool {
		tool := called("tool")
		tool.Description = strings.Repeat("d", n)
		return tool
	}
	claude := "anthropic-api claude-code claude-desktop claude-web"
	gemini := "gemini-api gemini-cli"
	used := map[string]bool{}
	for _, test := range []struct {
		clients, what string
		bad, good     check.Tool
		words         string
	}{
		{claude + " openai-api codex vscode " + gemini, "object", arguments(`{"type":"array"}`), arguments(`{"type":"object"}`), "type object"},
		{claude + " openai-api codex", "root", arguments(`{"type":"object","anyOf":[{"required":["a"]},{"required":["b"]}]}`), argument(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), "anyOf at the root"},
		{claude + " openai-api codex", "root", arguments(`{"type":"object","oneOf":[{"required":["a"]}]}`), argument(`{"type":"string"}`), "oneOf at the root"},
		{"vscode", "root", arguments(`{"type":"object","$ref":"#/$defs/a","$defs":{"a":{}}}`), arguments(`{"type":"object","$defs":{"a":{}}}`), "$ref at the root"},
		{claude, "property", arguments(`{"type":"object","properties":{"$.xgafv":{"type":"string"}}}`), arguments(`{"type":"object","properties":{"xgafv":{"type":"string"}}}`), `the property "$.xgafv"`},
		{claude, "draft", arguments(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), arguments(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), "another draft"},
		{claude, "draft", arguments(`{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`), arguments(`{"type":"object"}`), "another draft"},
		{claude, "invalid", argument(`{"type":"number","minimum":0,"exclusiveMinimum":true}`), argument(`{"type":"number","exclusiveMinimum":0}`), "exclusiveMinimum"},
		{claude + " openai-api codex chatgpt vscode " + gemini, "tuple", argument(`{"type":"array","items":[{"type":"integer"},{"type":"integer"}]}`), argument(`{"type":"array","items":{"type":"integer"}}`), "x: a list of items"},
		{"openai-api codex vscode " + gemini, "items", argument(`{"type":"array"}`), argument(`{"type":"array","items":{"type":"string"}}`), "x: an array without items"},
		{"openai-api codex vscode " + gemini, "items", argument(`{"type":["array","null"]}`), argument(`{"type":"array","items":{"type":"string"}}`), "x: an array without items"},
		{"openai-api codex", "keyword", argument(`{"type":"array","items":{"oneOf":[{"type":"string"}]}}`), argument(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), `x.items: the keyword "oneOf"`},
		{"vscode", "keyword", argument(`{"$dynamicRef":"#node"}`), argument(`{"type":"string","not":{}}`), `"$dynamicRef"`},
		{gemini, "keyword", argument(`{"const":"a"}`), argument(`{"type":"string","enum":["a"]}`), `"const"`},
		{gemini, "format", argument(`{"type":"string","format":"email"}`), argument(`{"type":"string","format":"date-time"}`), `"email"`},
		{gemini, "alone", argument(`{"anyOf":[{"type":"string"},{"type":"number"}],"description":"D"}`), argument(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), "anyOf has company"},
		{gemini, "enum", argument(`{"type":"integer","enum":[1,2]}`), argument(`{"type":"string","enum":["1","2"]}`), "list of texts"},
		{gemini, "required", arguments(`{"type":"object","properties":{},"required":["y"]}`), arguments(`{"type":"object","properties":{"y":{"type":"null"}},"required":["y"]}`), `required "y"`},
		{gemini, "type", argument(`{"description":"D"}`), argument(`{"type":"string"}`), "not one type"},
		{gemini, "type", argument(`{"type":["string","number"]}`), argument(`{"anyOf":[{"type":"string"},{"type":"number"}]}`), "not one type"},
		{"claude-desktop claude-web anthropic-api openai-api gemini-api vscode", "name", called(strings.Repeat("n", 65)), called(strings.Repeat("n", 64)), "65 characters; it takes 64"},
		{"claude-desktop claude-web anthropic-api openai-api vscode codex claude-code", "name", called("a.b"), called("a-b"), `"a.b" does not match`},
		// With mcp__shop__ before it, mcp_shop_, and shop.
		{"claude-code codex", "name", called(strings.Repeat("n", 54)), called(strings.Repeat("n", 53)), "there is room for 53"},
		{"gemini-cli", "name", called(strings.Repeat("n", 56)), called(strings.Repeat("n", 55)), "there is room for 55"},
		{"cursor", "name", called(strings.Repeat("n", 56)), called(strings.Repeat("n", 55)), "there is room for 55"},
		{"claude-code", "description", long(2049), long(2048), "2049 characters"},
		{"openai-api", "description", long(1025), long(1024), "1025 characters"},
		{"claude-code cursor", "output-ref", results(`{"type":"object","properties":{"a":{"$ref":"#/$defs/ScreenInstance"}}}`), results(`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{}}}`), "does not hold together"},
		{"claude-code", "output-type", results(`{"$id":"mcpx.mcp_tool_result.v1","description":"D"}`), results(`{"type":"object"}`), "not of type object"},
		{"claude-desktop claude-web", "output-draft", results(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`), results(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}`), "another draft"},
	} {
		for _, name := range strings.Fields(test.clients) {
			c, err := load(t).Client(name)
			if err != nil {
				t.Fatal(err)
			}
			used[name+" "+test.what] = true
			at := func(tool check.Tool) (all []Break) {
				return slices.DeleteFunc(c.Judge("shop", tool), func(b Break) bool { return b.What != test.what })
			}
			if broken := at(test.bad); len(broken) == 0 || !strings.Contains(broken[0].Text, test.words) {
				t.Errorf("%s, %s: %s %s: %+v", name, test.what, test.bad.Name, test.bad.Input, broken)
			}
			if broken := at(test.good); len(broken) > 0 {
				t.Errorf("%s, %s: %s %s: %+v", name, test.what, test.good.Name, test.good.Input, broken)
			}
		}
	}
	for _, test := range []struct {
		client string
		most   int
		effect Effect
	}{{"cursor", 40, Drops}, {"vscode", 128, Hides}, {"openai-api", 128, Refuses}, {"gemini-api", 128, Refuses}, {"gemini-cli", 128, Refuses}} {
		c, err := load(t).Client(test.client)
		if err != nil {
			t.Fatal(err)
		}
		used[test.client+" tools"] = true
		if b := c.Count(test.most); b != nil {
			t.Errorf("%s takes %d: %+v", test.client, test.most, b)
		}
		if b := c.Count(test.most + 1); b == nil || b.Effect != test.effect || b.Number != test.most {
			t.Errorf("%s takes %d: %+v", test.client, test.most+1, b)
		}
	}
	for _, c := range load(t).Clients() {
		for _, n := range c.Notes() {
			used[c.Name+" "+n.What] = true
		}
		for _, r := range c.Rules {
			if !used[c.Name+" "+r.What] {
				t.Errorf("no tool breaks %s, %s", c.Name, r.What)
			}
		}
	}
}

// TestBreaksAreBounded: a schema with many faults is told of few times.
func TestBreaksAreBounded(t *testing.T) {
	t.Parallel()
	c, err := load(t).Client("vscode")
	if err != nil {
		t.Fatal(err)
	}
	tool := argument(`{"type":"array"}`)
	if n := len(c.Judge("shop", tool)); n != 1 {
		t.Errorf("one fault is told %d times", n)
	}
	var many strings.Builder
	for i := range 1000 {
		many.WriteString(`"x` + strconv.Itoa(i) + `":{"type":"array"},`)
	}
	tool = arguments(`{"type":"object","properties":{` + strings.TrimSuffix(many.String(), ",") + `}}`)
	if n := len(c.Judge("shop", tool)); n != mostBreaks {
		t.Errorf("1000 faults are told %d times", n)
	}
}

// schemas returns every text of the tests of bridge/schema that is a schema which pages may have,
// and with each a tool that has it as a property.
func schemas(t *testing.T) (all []*schema.Schema) {
	t.Helper()
	files, err := filepath.Glob("../../bridge/schema/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, name := range files {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			raw, err := strconv.Unquote(lit.Value)
			if err != nil || !strings.HasPrefix(raw, "{") || seen[raw] {
				return true
			}
			seen[raw] = true
			for _, raw := range []string{raw, `{"type":"object","properties":{"x":` + raw + `}}`} {
				if s, err := schema.Compile([]byte(raw), schema.Limits{}); err == nil {
					all = append(all, s)
				}
			}
			return true
		})
	}
	return all
}

// TestAdaptedListsBreakNoRule: what clients get unless they are to get the page's own schemas
// breaks no rule of any client. The page's own do: that is the control.
func TestAdaptedListsBreakNoRule(t *testing.T) {
	t.Parallel()
	all := schemas(t)
	if len(all) < 1000 {
		t.Fatalf("there are %d schemas", len(all))
	}
	clients, missing := load(t).Clients(), map[string]bool{}
	for _, c := range clients {
		for _, r := range c.Rules {
			// The page's own schemas are objects, too, and what no draft allows was taken out of
			// them.
			missing[c.Name+" "+r.What] = r.subset != "" && r.What != "object" && r.What != "invalid"
		}
	}
	for _, s := range all {
		tool := check.Tool{Name: "tool", Description: "D", Input: s.ForClients(false).JSON}
		tool.Output, _ = s.OutputForClients(false)
		own := check.Tool{Name: "tool", Description: "D", Input: s.ForClients(true).JSON}
		for _, c := range clients {
			for _, b := range c.Judge("shop", tool) {
				t.Errorf("%s, %s: %s: %s", c.Name, b.What, b.Text, tool.Input)
			}
			if !slices.ContainsFunc(c.Rules, func(r Rule) bool { return missing[c.Name+" "+r.What] }) {
				continue
			}
			for _, b := range c.Judge("shop", own) {
				missing[c.Name+" "+b.What] = false
			}
		}
	}
	for rule, is := range missing {
		if is {
			t.Errorf("no schema of %d breaks %s as it is", len(all), rule)
		}
	}
}
