package clients

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// goldenServers lists what every client is asked to describe.
func goldenServers() []struct {
	title  string
	server Server
} {
	return []struct {
		title  string
		server Server
	}{
		{"stdio", Server{Name: "shop_example", Command: "/opt/pagetools", Args: []string{"mcp", "https://shop.example/"}}},
		{"stdio, with flags and variables", Server{
			Name: "pagetools", Command: "/opt/page tools/it's",
			Args: []string{"mcp", "shop=https://shop.example/?a=1&b=<2>", `/srv/a "b" \c`, "--no-sandbox", "--chrome-arg=--lang=de", "--viewport=1280x720"},
			Env:  map[string]string{"PAGETOOLS_EXECUTABLE_PATH": "/usr/lib/chromium", "PAGETOOLS_NO_SANDBOX": "1"},
		}},
		{"a value with =", Server{Name: "s", Command: "/p", Args: []string{"mcp", "https://s.example/"}, Env: map[string]string{"PAGETOOLS_CHROME_ARG": "--lang=de"}}},
		{"characters that nobody sees", Server{Name: "s", Command: "/p", Args: []string{"mcp", "/srv/\u202ea\u009b\x1b\U000e0041"}}},
		{"a name that some reserve", Server{Name: "workspace", URL: "http://127.0.0.1:7300/mcp/workspace"}},
		{"HTTP", Server{Name: "shop", URL: "http://127.0.0.1:7300/mcp/shop"}},
		{"npx", Server{Name: "shop_example", NPX: "1.2.3", Args: []string{"mcp", "https://shop.example/", "--no-sandbox"}}},
		{"HTTP, public", Server{Name: "shop", URL: "https://tools.example/mcp/shop"}},
		{"HTTP with a token", Server{Name: "shop", URL: "https://tools.example/mcp/shop?session=a", Token: true}},
	}
}

// TestClientSnippets compares what is printed for every client with what was
// looked up in its documentation.
func TestClientSnippets(t *testing.T) {
	t.Parallel()
	for _, c := range All {
		var got bytes.Buffer
		got.WriteString("# " + c.page + "\n")
		for _, g := range goldenServers() {
			s := g.server
			got.WriteString("\n== " + g.title + "\n")
			if err := c.Fit(&s); err != nil {
				got.WriteString("refused: " + err.Error() + "\n")
				continue
			}
			got.WriteString(c.Snippet(s))
			if command := c.Command(s); command != "" {
				got.WriteString("$ " + command + "\n")
			}
		}
		path := filepath.Join("testdata", c.Name+".golden")
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
			t.Errorf("%s has changed (-update writes it anew):\n%s", path, got.String())
		}
	}
}

// TestClientFiles looks where each client keeps its file.
func TestClientFiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		client, os string
		env        map[string]string
		want       string
	}{
		{"claude-code", "linux", nil, "/h/.claude.json"},
		{"claude-code", "windows", map[string]string{"CLAUDE_CONFIG_DIR": "/c"}, "/c/.claude.json"},
		{"claude-desktop", "darwin", nil, "/h/Library/Application Support/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", map[string]string{"APPDATA": "/roaming"}, "/roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "windows", nil, "/h/AppData/Roaming/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", nil, "/h/.config/Claude/claude_desktop_config.json"},
		{"claude-desktop", "linux", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/Claude/claude_desktop_config.json"},
		{"cursor", "linux", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/h/.cursor/mcp.json"},
		{"vscode", "linux", nil, "/h/.config/Code/User/mcp.json"},
		{"vscode", "linux", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/x/Code/User/mcp.json"},
		{"vscode", "darwin", map[string]string{"XDG_CONFIG_HOME": "/x"}, "/h/Library/Application Support/Code/User/mcp.json"},
		{"vscode", "windows", map[string]string{"APPDATA": "/roaming"}, "/roaming/Code/User/mcp.json"},
		{"vscode", "darwin", map[string]string{"VSCODE_APPDATA": "/a"}, "/a/Code/User/mcp.json"},
		{"vscode", "linux", map[string]string{"VSCODE_APPDATA": "/a", "VSCODE_PORTABLE": "/p"}, "/p/user-data/User/mcp.json"},
		{"codex", "linux", nil, "/h/.codex/config.toml"},
		{"codex", "darwin", map[string]string{"CODEX_HOME": "/c"}, "/c/config.toml"},
		{"gemini-cli", "linux", nil, "/h/.gemini/settings.json"},
		{"gemini-cli", "linux", map[string]string{"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		seen[test.client] = true
		l := place{os: test.os, home: "/h", env: func(k string) string { return test.env[k] }}
		if got := Named(test.client).file(l); filepath.ToSlash(got) != test.want {
			t.Errorf("%s on %s with %v is %s, want %s", test.client, test.os, test.env, got, test.want)
		}
	}
	for _, name := range Names() {
		if !seen[name] && Named(name).Remote == nil {
			t.Errorf("nothing looks where %s keeps its file", name)
		}
	}
}

// TestNPXOnWindows: cmd reads what npx is given there, so what it would read otherwise is refused.
func TestNPXOnWindows(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		client, system, target string
		want                   []string // nil: refused
	}{
		{"claude-code", "windows", "https://shop.example/", []string{"cmd", "/c", "npx", "-y", "pagetools@1.2.3", "mcp", "https://shop.example/"}},
		{"claude-code", "linux", "https://shop.example/?a&b", []string{"npx", "-y", "pagetools@1.2.3", "mcp", "https://shop.example/?a&b"}},
		{"cursor", "windows", "https://shop.example/", []string{"npx", "-y", "pagetools@1.2.3", "mcp", "https://shop.example/"}},
		{"claude-code", "windows", "https://shop.example/?a&calc.exe", nil},
		{"cursor", "windows", "https://shop.example/?%PATH%", nil},
		{"vscode", "windows", `C:\a "b"`, nil},
	} {
		s := Server{NPX: "1.2.3", Args: []string{"mcp", test.target}}
		err := Named(test.client).byNPX(&s, test.system)
		if got := append([]string{s.Command}, s.Args...); (err == nil) != (test.want != nil) || err == nil && !slices.Equal(got, test.want) {
			t.Errorf("%s on %s starts %q (%v)", test.client, test.system, got, err)
		}
	}
}

// TestStartsNPX knows an entry of ours among those of others.
func TestStartsNPX(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"npx -y pagetools@1.2.3 mcp https://x/": true, "npx pagetools mcp https://x/": true, "npx.cmd -y pagetools@latest mcp": true,
		"cmd /c npx -y pagetools@1.2.3 mcp": true, "cmd.exe /C npx.cmd pagetools": true,
		"npx -y other pagetools": false, "npx -y pagetools-extra": false, "npx": false, "npx -y": false, "cmd /c": false,
		"cmd /c echo pagetools": false, "node npx pagetools": false,
	} {
		words := strings.Fields(command)
		if got := (Server{}).isOurs(words[0], words[1:], ""); got != want {
			t.Errorf("%s is ours: %v", command, got)
		}
	}
}
