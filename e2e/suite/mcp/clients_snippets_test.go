package mcp_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// snippetText is hard to quote in each of the languages, and has characters that nobody sees.
const snippetText = "it's \"$HOME\" `id` \\ ${x} %s '''\n\u202e\u200b\ufeff😀 </script>"

// testSnippets runs what the operators' page gives to copy: each makes the call as it was on the screen.
func (c *clients) testSnippets(t *testing.T) {
	t.Helper()
	input, err := json.Marshal(map[string]any{"text": snippetText, "count": 3})
	if err != nil {
		t.Fatal(err)
	}
	called, err := json.Marshal(map[string]any{"endpoint": c.server.URL, "token": true, "site": "clients", "tool": "echo", "session": "snippets", "input": string(input), "config": "{\n\"timeout\": 20000}"})
	if err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Abs("../../../js/src/console/snippets.js")
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.run(t, "--input-type=module", "--eval", `import { pathToFileURL } from 'node:url';
		const { snippets } = await import(pathToFileURL(process.argv[1]));
		console.log(JSON.stringify(Object.entries(snippets).map(([name, make]) => [name, make(JSON.parse(process.argv[2]))])));`, made, string(called))
	var all [][2]string
	if err != nil || json.Unmarshal([]byte(out), &all) != nil || len(all) != 7 {
		t.Fatalf("%v: %s", err, out)
	}
	runs := map[string][]string{"curl": {"sh"}, "Go": {"go", "run"}, "Python": {"python3"}, "TypeScript": {c.node}, "AI SDK": {c.node}, "LangChain": {c.node}, "MCP": {c.node}}
	files := map[string]string{"curl": "call.sh", "Go": "call.go", "Python": "call.py", "TypeScript": "call.mts", "AI SDK": "call-aisdk.mjs", "LangChain": "call-langchain.mjs", "MCP": "call-mcp.mjs"}
	for _, one := range all {
		name, text := one[0], one[1]
		t.Run(strings.ReplaceAll(name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			c.row(t)
			if strings.ContainsAny(text, "\u202e\u200b\ufeff") {
				t.Errorf("it has characters that nobody sees:\n%q", text)
			}
			program := runs[name]
			if _, err := exec.LookPath(program[0]); err != nil {
				t.Skipf("NOT CHECKED: %v", err)
			}
			file := filepath.Join(c.dir, files[name])
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), program[0], append(program[1:], file)...)
			cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "PAGETOOLS_TOKEN=none")
			out, err := cmd.CombinedOutput()
			if err != nil || !holds(string(out), snippetText) {
				t.Errorf("%v; it says\n%s\nof\n%s", err, out, text)
			}
		})
	}
}

// holds reports whether a text equals the one that is wanted, or has it somewhere, as JSON.
func holds(text, want string) bool {
	var v any
	if text == want || json.Unmarshal([]byte(text), &v) != nil {
		return text == want
	}
	var within func(v any) bool
	within = func(v any) bool {
		switch x := v.(type) {
		case string:
			return holds(x, want)
		case []any:
			return slices.ContainsFunc(x, within)
		case map[string]any:
			return slices.ContainsFunc(slices.Collect(maps.Values(x)), within)
		}
		return false
	}
	return within(v)
}
