package main

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

// goldenServers are what every client is asked to describe.
func goldenServers() []struct {
	title  string
	server mcpServer
} {
	return []struct {
		title  string
		server mcpServer
	}{
		{"stdio", mcpServer{name: "shop_example", command: "/opt/pagetools", args: []string{"mcp", "https://shop.example/"}}},
		{"stdio, with flags and variables", mcpServer{
			name: "pagetools", command: "/opt/page tools/it's",
			args: []string{"mcp", "shop=https://shop.example/?a=1&b=<2>", `/srv/a "b" \c`, "--no-sandbox", "--chrome-arg=--lang=de", "--viewport=1280x720"},
			env:  [][2]string{{"PAGETOOLS_EXECUTABLE_PATH", "/usr/lib/chromium"}, {"PAGETOOLS_NO_SANDBOX", "1"}},
		}},
		{"a value with =", mcpServer{name: "s", command: "/p", args: []string{"mcp", "https://s.example/"}, env: [][2]string{{"PAGETOOLS_CHROME_ARG", "--lang=de"}}}},
		{"characters that nobody sees", mcpServer{name: "s", command: "/p", args: []string{"mcp", "/srv/\u202ea\u009b\x1b\U000e0041"}}},
		{"a name that some reserve", mcpServer{name: "workspace", url: "http://127.0.0.1:7300/mcp/workspace"}},
		{"HTTP", mcpServer{name: "shop", url: "http://127.0.0.1:7300/mcp/shop"}},
		{"HTTP with a token", mcpServer{name: "shop", url: "https://tools.example/mcp/shop?session=a", token: true}},
	}
}

// TestClientSnippets compares what is printed for every client with what was
// looked up in its documentation.
func TestClientSnippets(t *testing.T) {
	t.Parallel()
	for _, c := range mcpClients {
		var got bytes.Buffer
		got.WriteString("# " + c.page + "\n")
		for _, g := range goldenServers() {
			s := g.server
			got.WriteString("\n== " + g.title + "\n")
			if err := c.takes(&s); err != nil {
				got.WriteString("refused: " + err.Error() + "\n")
				continue
			}
			got.WriteString(c.snippet(s))
			if command := c.ownCommand(s); command != "" {
				got.WriteString("$ " + command + "\n")
			}
		}
		path := filepath.Join("testdata", "clients", c.name+".golden")
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
		{"gemini", "linux", nil, "/h/.gemini/settings.json"},
		{"gemini", "linux", map[string]string{"GEMINI_CLI_HOME": "/g"}, "/g/.gemini/settings.json"},
	}
	seen := map[string]bool{}
	for _, test := range tests {
		seen[test.client] = true
		l := place{os: test.os, home: "/h", env: func(k string) string { return test.env[k] }}
		if got := clientNamed(test.client).file(l); filepath.ToSlash(got) != test.want {
			t.Errorf("%s on %s with %v is %s, want %s", test.client, test.os, test.env, got, test.want)
		}
	}
	for _, name := range clientNames() {
		if !seen[name] {
			t.Errorf("nothing looks where %s keeps its file", name)
		}
	}
}

// runConfig runs config in this process.
func runConfig(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"config"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// TestClientStartsTheSame gives the arguments of a snippet to another process's
// worth of flags, in another folder, and compares the settings.
func TestClientStartsTheSame(t *testing.T) {
	home := t.TempDir()
	t.Chdir(home)
	t.Setenv("PAGETOOLS_VIEWPORT", "800x600")
	t.Setenv("PAGETOOLS_DATA_DIR", "state")
	if err := os.MkdirAll("site", 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"site/index.html": "", "here.yaml": "warm: 5\n"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p := &program{stderr: &bytes.Buffer{}}
	root := p.command()
	if err := root.ParseFlags([]string{"--no-sandbox", "--headless=false", "--chrome-arg=--a=b", "--chrome-arg=-c", "--user-data-dir=data", "--config=here.yaml", "--rate=600/1m", "--call-timeout=20s"}); err != nil {
		t.Fatal(err)
	}
	if err := p.resolve(root.PersistentFlags()); err != nil {
		t.Fatal(err)
	}
	s, err := p.localServer(clientNamed("cursor"), []string{"mine=site"})
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	if err := os.Unsetenv("PAGETOOLS_VIEWPORT"); err != nil {
		t.Fatal(err)
	}
	for _, e := range s.env {
		t.Setenv(e[0], e[1])
	}
	q := &program{stderr: &bytes.Buffer{}}
	other := q.command()
	if err := other.ParseFlags(s.args[1:]); err != nil {
		t.Fatal(err)
	}
	if err := q.resolve(other.PersistentFlags()); err != nil {
		t.Fatal(err)
	}
	want := p.set
	want.config, want.userDataDir, want.dataDir = filepath.Join(home, "here.yaml"), filepath.Join(home, "data"), filepath.Join(home, "state")
	if q.set.chromeArgs == nil || !slices.Equal(q.set.chromeArgs, want.chromeArgs) || q.set.viewport != "800x600" || q.set.warm != 5 {
		t.Errorf("%q with %q gives %+v", s.args, s.env, q.set)
	}
	q.set.chromeArgs, want.chromeArgs = nil, nil
	if a, b := q.set, want; a.config != b.config || a.userDataDir != b.userDataDir || a.dataDir != b.dataDir || a.noSandbox != b.noSandbox ||
		a.headless != b.headless || a.rate != b.rate || a.callTimeout != b.callTimeout {
		t.Errorf("%q with %q gives\n%+v, want\n%+v", s.args, s.env, a, b)
	}
	if targets, err := q.targets(other.Flags().Args()); err != nil || len(targets) != 1 || targets[0].name != "mine" || s.name != "mine" {
		t.Errorf("the targets of %q are %v (%v), the name is %s", s.args, targets, err, s.name)
	}
	if !filepath.IsAbs(s.command) {
		t.Errorf("the command is %s", s.command)
	}
}

// TestSecretsStayBehind gives secrets in every way that there is, and looks for
// them in what is printed.
func TestSecretsStayBehind(t *testing.T) {
	const secret = "s3cr3t-value"
	t.Chdir(t.TempDir())
	tests := []struct {
		name   string
		env    map[string]string
		args   []string
		target bool // one is added
		code   int
		said   string
	}{
		{"a token of the environment", map[string]string{"PAGETOOLS_TOKEN": secret}, nil, true, 0, ""},
		{"a token of a flag", nil, []string{"--token=" + secret}, true, 0, "asks for none"},
		{"a header of the environment", map[string]string{"PAGETOOLS_WS_HEADER": "Authorization: Bearer " + secret, "PAGETOOLS_WS_ENDPOINT": "wss://b.example/"}, nil, true, 0, "PAGETOOLS_WS_HEADER"},
		{"a header of a flag", nil, []string{"--ws-endpoint=wss://b.example/", "--ws-header=X-Key: " + secret}, true, 0, "PAGETOOLS_WS_HEADER"},
		{"a key in an endpoint", nil, []string{"--ws-endpoint=wss://b.example/?token=" + secret}, true, 0, "PAGETOOLS_WS_ENDPOINT"},
		{"a password in an address", nil, []string{"--browser-url=http://me:" + secret + "@b.example/"}, true, 0, "PAGETOOLS_BROWSER_URL"},
		{"a password for a proxy", nil, []string{"--proxy-server=me:" + secret + "@p.example:3128"}, true, 0, "PAGETOOLS_PROXY_SERVER"},
		{"a password in a browser flag", nil, []string{"--chrome-arg=--proxy-server=http://me:" + secret + "@p.example"}, true, 0, "PAGETOOLS_CHROME_ARG"},
		{"a password in a target", nil, []string{"https://me:" + secret + "@shop.example/"}, false, 2, "--config"},
		{"a password in a URL", nil, []string{"--http=https://me:" + secret + "@shop.example/mcp"}, false, 2, "password"},
		{"a token for a URL", map[string]string{"PAGETOOLS_TOKEN": secret}, []string{"--http=http://127.0.0.1:7300/mcp"}, false, 0, "as PAGETOOLS_TOKEN"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for k, v := range test.env {
				t.Setenv(k, v)
			}
			for _, c := range mcpClients {
				args := append([]string{c.name}, test.args...)
				if test.target {
					args = append(args, "https://shop.example/")
				}
				code, stdout, stderr := runConfig(t, args...)
				want, said := test.code, test.said
				if !test.target && c.localOnly != "" && !strings.Contains(said, "--config") {
					want, said = exitUsage, "" // no URL goes into its file
				}
				if code != want || strings.Contains(stdout+stderr, secret) || !strings.Contains(stderr, said) || (code == 0) != strings.Contains(stdout, "{") && !c.toml {
					t.Errorf("%s gives %d\n%s%s", c.name, code, stdout, stderr)
				}
			}
		})
	}
	// The control: what is no secret is there.
	if _, stdout, _ := runConfig(t, "cursor", "--proxy-server=http://p.example:3128", "--ws-endpoint=wss://b.example/x", "https://shop.example/?token="+secret); !strings.Contains(stdout, "p.example:3128") ||
		!strings.Contains(stdout, "wss://b.example/x") || !strings.Contains(stdout, secret) {
		t.Errorf("what is not a secret is gone: %s", stdout)
	}
}

func TestClientUsage(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		args []string
		said string
	}{
		{[]string{"zed"}, "claude-code, claude-desktop, cursor, vscode, codex, gemini"},
		{[]string{"print", "x"}, "no argument"},
		{[]string{"--install"}, "are for clients"},
		{[]string{"schema", "--http=http://127.0.0.1/mcp"}, "are for clients"},
		{[]string{"cursor"}, "needs a TARGET"},
		{[]string{"cursor", "nowhere"}, "neither an http(s) URL nor a folder"},
		{[]string{"cursor", "--http=http://127.0.0.1/mcp", "https://shop.example/"}, "one that runs already"},
		{[]string{"cursor", "--http=ftp://x/"}, "URL of an MCP server"},
		{[]string{"claude-desktop", "--http=http://127.0.0.1/mcp"}, "Connectors"},
		{[]string{"cursor", "https://shop.example/?${env:HOME}"}, "variable"},
		{[]string{"gemini", "https://shop.example/?$HOME"}, "variable"},
		{[]string{"cursor", "https://shop.example/?\xff"}, "UTF-8"},
	} {
		code, stdout, stderr := runConfig(t, test.args...)
		if code != exitUsage || stdout != "" || !strings.Contains(stderr, test.said) {
			t.Errorf("config %q gives %d, %s%s", test.args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"codex", "https://shop.example/?${X}"}, {"cursor", "https://shop.example/?$HOME"}} {
		if code, _, stderr := runConfig(t, args...); code != 0 {
			t.Errorf("config %q gives %d, %s", args, code, stderr)
		}
	}
}
