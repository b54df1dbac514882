package clients

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/tailscale/hujson"
)

func shop() Server {
	return Server{Name: "shop", Command: "/opt/pagetools", Args: []string{"mcp", "https://shop.example/"}}
}

// TestEditJSON adds a server to files as people and clients write them.
func TestEditJSON(t *testing.T) {
	t.Parallel()
	const line = `{"command":"/opt/pagetools","args":["mcp","https://shop.example/"]}`
	entry := func(indent, unit string) string {
		return strings.NewReplacer("|", indent, "+", unit).Replace("{\n|+\"command\": \"/opt/pagetools\",\n|+\"args\": [\"mcp\", \"https://shop.example/\"]\n|}")
	}
	in := entry("    ", "  ")
	tests := []struct{ name, before, after string }{
		{"no text", " \n", "{\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}\n"},
		{"an empty object", "{}\n", "{\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}\n"},
		{"other keys", "{\n  \"a\": 12345678901234567890,\n  \"b\": [ 1,2 ]\n}", "{\n  \"a\": 12345678901234567890,\n  \"b\": [ 1,2 ],\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}"},
		{"no servers", "{\n  \"mcpServers\": {}\n}", "{\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}"},
		{"another server", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"}\n  },\n  \"z\": 1\n}", "{\n  \"mcpServers\": {\n    \"x\": {\"command\": \"y\"},\n    \"shop\": " + in + "\n  },\n  \"z\": 1\n}"},
		{"tabs", "{\n\t\"mcpServers\": {\n\t\t\"x\": {}\n\t}\n}", "{\n\t\"mcpServers\": {\n\t\t\"x\": {},\n\t\t\"shop\": " + entry("\t\t", "\t") + "\n\t}\n}"},
		{"one line", `{"a":1,"mcpServers":{"x":{}}}`, `{"a":1,"mcpServers":{"x":{},"shop":` + line + `}}`},
		{"one line without servers", `{"a":1}`, `{"a":1,"mcpServers":{"shop":` + line + `}}`},
		{"a list on one line", "{\n  \"mcpServers\": {\"x\": {}}\n}", "{\n  \"mcpServers\": {\"x\": {},\"shop\":" + line + "}\n}"},
		{"comments and commas", "{ // mine\n  \"a\": 1, // one\n  \"mcpServers\": {\n    // the old one\n    \"x\": {}, // x, y\n    /* end */\n  },\n}",
			"{ // mine\n  \"a\": 1, // one\n  \"mcpServers\": {\n    // the old one\n    \"x\": {}, // x, y\n    \"shop\": " + in + ",\n    /* end */\n  },\n}"},
		{"a comment behind the last", "{\n  \"mcpServers\": {\n    \"x\": {} // x\n  }\n}", "{\n  \"mcpServers\": {\n    \"x\": {}, // x\n    \"shop\": " + in + "\n  }\n}"},
		{"a mark", "\ufeff{\n  \"a\": \"//, }\"\n}", "\ufeff{\n  \"a\": \"//, }\",\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}"},
		{"ours, older, with keys of the user", "{\n  \"mcpServers\": {\n    \"shop\": {\"command\": \"C:\\\\x\\\\pagetools.exe\",\n      \"timeout\": 7,\n      \"env\": {}}\n  }\n}",
			"{\n  \"mcpServers\": {\n    \"shop\": {\"command\":\"/opt/pagetools\",\"args\":[\"mcp\",\"https://shop.example/\"],\"timeout\":7}\n  }\n}"},
		{"ours, by npx", "{\n  \"mcpServers\": {\n    \"shop\": {\"command\": \"npx\", \"args\": [\"-y\", \"pagetools@1.2.2\", \"mcp\"]}\n  }\n}", "{\n  \"mcpServers\": {\n    \"shop\": " + line + "\n  }\n}"},
		{"ours, by URL", "{\n  \"mcpServers\": {\n    \"shop\": {\n      \"url\": \"http://127.0.0.1:7300/mcp/shop\"\n    }\n  }\n}", "{\n  \"mcpServers\": {\n    \"shop\": " + in + "\n  }\n}"},
		{"the same in another order, with a comment", "{\"mcpServers\": {\"shop\": {\"args\": [\"mcp\", \"https://shop.example/\"], /* here */ \"command\": \"/opt/pagetools\"}}}", ""},
	}
	c := *Named("claude-desktop")
	c.lenient = true
	for _, test := range tests {
		if test.after == "" {
			test.after = test.before
		}
		got, err := editJSON(test.before, &c, shop())
		if err != nil || got != test.after {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.name, err, got, test.after)
			continue
		}
		if again, err := editJSON(got, &c, shop()); err != nil || again != got {
			t.Errorf("%s, twice: %v\n%s", test.name, err, again)
		}
		crlf := strings.ReplaceAll(test.before, "\n", "\r\n")
		if got, err := editJSON(crlf, &c, shop()); strings.TrimSpace(test.before) != "" && test.before != "{}\n" && (err != nil || got != strings.ReplaceAll(test.after, "\n", "\r\n")) {
			t.Errorf("%s, with other line ends: %v\n%q", test.name, err, got)
		}
	}
}

// TestEditJSONRefuses leaves files alone that it cannot edit without loss.
func TestEditJSONRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		lenient      bool
		before, said string
	}{
		{false, "{", "is not JSON"},
		{false, "[]", "is not JSON"},
		{false, "null", "not a JSON object"},
		{false, "{} x", "is not JSON"},
		{false, "{\n// c\n}", "is not JSON"},
		{false, "{\"a\": 1,}", "is not JSON"},
		{true, "{\"a\": [,]}", "is not JSON"},
		{true, "{\"a\": 1,,}", "is not JSON"},
		{true, "{,}", "is not JSON"},
		{true, "{ /* }", "line 1, column 3"},
		{true, "{\"mcpServers\": []}", "mcpServers is not an object"},
		{true, "{\"mcpServers\": {}, \"mcpServers\": {}}", "twice"},
		{true, "{\"mcpServers\": {\"shop\": {}, \"shop\": {}}}", "twice"},
		{true, "{\"mcpServers\": {\"shop\": null}}", errForeign.Error()},
		{true, "{\"mcpServers\": {\"shop\": {\"command\": \"npx\"}}}", errForeign.Error()},
		{true, "{\"mcpServers\": {\"shop\": {\"command\": \"npx\", \"args\": [\"-y\", \"shop-mcp\", \"pagetools\"]}}}", errForeign.Error()},
		{true, "{\"mcpServers\": {\"shop\": {\"url\": \"https://shop.example/mcp\"}}}", errForeign.Error()},
		{true, "{\"mcpServers\": {\"shop\": {\"command\": \"pagetools\" /* mine */}}}", errComments.Error()},
		{true, "{\"mcpServers\": {\"shop\": {\"command\": \"pagetools\",\n// mine\n\"args\": []}}}", errComments.Error()},
	}
	for _, test := range tests {
		c := *Named("claude-desktop")
		c.lenient = test.lenient
		if got, err := editJSON(test.before, &c, shop()); err == nil || got != "" || !strings.Contains(err.Error(), test.said) {
			t.Errorf("%s gives %q, %v, want %q", test.before, got, err, test.said)
		}
	}
}

// FuzzEditJSON checks that nothing but the entry changes.
func FuzzEditJSON(f *testing.F) {
	for _, s := range []string{"{}", "{\n\t// c\n}", `{"a":[1,2,],"mcpServers":{"x":{"y":"\"}"},},}`, "{\r\n \"mcpServers\" : { } /* x */ }", `{"mcpServers":{"shop":{"command":"pagetools","k":[{}]}}}`} {
		f.Add(s)
	}
	c := Named("cursor")
	f.Fuzz(func(t *testing.T, before string) {
		after, err := editJSON(before, c, shop())
		if err != nil {
			return
		}
		was, is := plainJSON(t, before), plainJSON(t, after)
		servers, _ := is["mcpServers"].(map[string]any)
		entry, _ := servers["shop"].(map[string]any)
		if entry["command"] != "/opt/pagetools" || !reflect.DeepEqual(entry["args"], []any{"mcp", "https://shop.example/"}) {
			t.Fatalf("%q gives %q", before, after)
		}
		old, _ := was["mcpServers"].(map[string]any)
		delete(old, "shop")
		delete(servers, "shop")
		if was["mcpServers"] == nil {
			delete(is, "mcpServers")
		}
		if !reflect.DeepEqual(was, is) {
			t.Errorf("%q gives %q", before, after)
		}
		if again, err := editJSON(after, c, shop()); err != nil || again != after {
			t.Errorf("%q, twice, gives %q (%v)", after, again, err)
		}
	})
}

func plainJSON(t *testing.T, text string) map[string]any {
	t.Helper()
	out := map[string]any{}
	if strings.TrimSpace(text) == "" {
		return out
	}
	bare, err := hujson.Standardize([]byte(strings.TrimPrefix(text, "\ufeff") + "\n"))
	if err != nil || json.Unmarshal(bare, &out) != nil {
		t.Fatalf("%q is not JSON: %v", text, err)
	}
	return out
}

// TestWriteClient looks at what a script cannot: backups of one second, and a file
// that its client writes meanwhile.
func TestWriteClient(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	c := Named("cursor")
	now := func() time.Time { return time.Date(2026, 11, 21, 1, 2, 3, 0, time.UTC) }
	if err := os.WriteFile(path, []byte("{}"), 0o640); err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"", "-2", "-3"} {
		s := shop()
		s.Args = append(s.Args, strings.Repeat("x", i+1))
		w, err := c.write(path, s, now)
		if err != nil || w.Backup != path+".bak-20261121-010203"+want {
			t.Fatalf("the backup is %q: %v", w.Backup, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v (%v)", info.Mode(), err)
		}
	}
	if w, err := c.write(filepath.Dir(path), shop(), now); err == nil || w != (Written{}) {
		t.Error("a folder is edited")
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.Symlink(filepath.Join(t.TempDir(), "gone"), link)); err != nil {
		t.Fatal(err)
	}
	if _, err := c.write(link, shop(), now); err == nil || !strings.Contains(err.Error(), "link to nothing") {
		t.Errorf("a link to nothing: %v", err)
	}
}

// TestClientWritesMeanwhile has the client write its file between our reading and
// our writing: what it wrote stays, and no backup is left.
func TestClientWritesMeanwhile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	const theirs = `{"new": 1}`
	for _, interferes := range []bool{true, false} {
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		now := func() time.Time { // asked for between the two
			if interferes {
				if err := os.WriteFile(path, []byte(theirs), 0o600); err != nil {
					t.Error(err)
				}
			}
			return time.Now()
		}
		_, err := Named("cursor").write(path, shop(), now)
		text, readErr := os.ReadFile(path)
		backups, globErr := filepath.Glob(path + ".bak-*")
		if err := errors.Join(readErr, globErr); err != nil {
			t.Fatal(err)
		}
		if refused := err != nil && strings.Contains(err.Error(), "changed meanwhile"); refused != interferes || (string(text) == theirs) != interferes || (len(backups) == 0) != interferes {
			t.Errorf("when the client writes (%v): %v, %s, %v", interferes, err, text, backups)
		}
	}
}
