package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/clients"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// runConfig runs config in this process.
func runConfig(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"config"}, args...), strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// load reads the configuration as a command does.
func load(p *program) (err error) {
	p.conf, err = p.flags.Load()
	return err
}

// TestClientStartsTheSame passes the arguments of a snippet to another process's
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
	p := &program{stderr: terminal.NewStream(&bytes.Buffer{})}
	root := p.command()
	if err := root.ParseFlags([]string{"--no-sandbox", "--headless=false", "--chrome-arg=--a=b", "--chrome-arg=-c", "--proxy-server=true", "--user-data-dir=data", "--config=here.yaml", "--rate=600/1m", "--call-timeout=20s"}); err != nil {
		t.Fatal(err)
	}
	if err := load(p); err != nil {
		t.Fatal(err)
	}
	d := &clientConfig{p: p, c: clients.Named("cursor")}
	if err := d.local([]string{"mine=site"}); err != nil {
		t.Fatal(err)
	}
	s := d.s
	t.Chdir(t.TempDir())
	if err := os.Unsetenv("PAGETOOLS_VIEWPORT"); err != nil {
		t.Fatal(err)
	}
	for k, v := range s.Env {
		t.Setenv(k, v)
	}
	q := &program{stderr: terminal.NewStream(&bytes.Buffer{})}
	other := q.command()
	if err := other.ParseFlags(s.Args[1:]); err != nil {
		t.Fatal(err)
	}
	if err := load(q); err != nil {
		t.Fatal(err)
	}
	want := *p.conf
	want.File, want.UserDataDir, want.DataDir = filepath.Join(home, "here.yaml"), filepath.Join(home, "data"), filepath.Join(home, "state")
	if q.conf.Viewport != (config.Viewport{Width: 800, Height: 600}) || q.conf.Warm != 5 {
		t.Errorf("%q with %q gives %+v", s.Args, s.Env, q.conf)
	}
	for i, x := range want.Settings() {
		if got := q.conf.Settings()[i]; !slices.Equal(got.Values, x.Values) {
			t.Errorf("%q with %q gives %s %q, want %q", s.Args, s.Env, x.Key, got.Values, x.Values)
		}
	}
	if targets, err := q.targets(other.Flags().Args()); err != nil || len(targets) != 1 || targets[0].Name != "mine" || s.Name != "mine" {
		t.Errorf("the targets of %q are %v (%v), the name is %s", s.Args, targets, err, s.Name)
	}
	if !filepath.IsAbs(s.Command) {
		t.Errorf("the command is %s", s.Command)
	}
}

// TestSecretsStayBehind passes secrets in every way that there is, and looks for
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
			for _, c := range clients.All {
				args := append([]string{c.Name}, test.args...)
				if test.target {
					args = append(args, "https://shop.example/")
				}
				code, stdout, stderr := runConfig(t, args...)
				want, said := test.code, test.said
				if c.Remote != nil && said != "password" { // it starts nothing, and reaches no 127.0.0.1
					want, said = terminal.ExitUsage, "public https"
				}
				if !test.target && c.LocalOnly != "" && !strings.Contains(said, "--config") {
					want, said = terminal.ExitUsage, "" // no URL goes into its file
				}
				if code != want || strings.Contains(stdout+stderr, secret) || !strings.Contains(stderr, said) || (code == 0) != strings.Contains(stdout, "{") && c.Name != "codex" {
					t.Errorf("%s gives %d\n%s%s", c.Name, code, stdout, stderr)
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
		{[]string{"zed"}, "claude-code, claude-desktop, cursor, vscode, codex, gemini-cli, claude-web, chatgpt, openai-api, anthropic-api, gemini-api"},
		{[]string{"print", "x"}, "no argument"},
		{[]string{"--install"}, "are for clients"},
		{[]string{"schema", "--http=http://127.0.0.1/mcp"}, "are for clients"},
		{[]string{"cursor"}, "needs a TARGET"},
		{[]string{"cursor", "nowhere"}, "there is no folder nowhere, and it is not an http(s) URL"},
		{[]string{"cursor", "--http=http://127.0.0.1/mcp", "https://shop.example/"}, "one that runs already"},
		{[]string{"cursor", "--http=ftp://x/"}, "URL of an MCP server"},
		{[]string{"claude-desktop", "--http=http://127.0.0.1/mcp"}, "Connectors"},
		{[]string{"cursor", "--via=bunx", "https://shop.example/"}, "must be npx"},
		{[]string{"cursor", "--via=npx", "--http=https://tools.example/mcp"}, "leave out one of them"},
		{[]string{"print", "--via=npx"}, "are for clients"},
		{[]string{"cursor", "--via=npx", "https://shop.example/"}, "not a release"},
		{[]string{"openai-api", "https://shop.example/"}, "public https"},
		{[]string{"claude-web", "--http=http://tools.example/mcp"}, "public https"},
		{[]string{"chatgpt", "--http=https://localhost/mcp"}, "public https"},
		{[]string{"gemini-api", "--http=https://tools.example/mcp", "--install"}, "no file"},
		{[]string{"cursor", "https://shop.example/?${env:HOME}"}, "variable"},
		{[]string{"gemini", "https://shop.example/?$HOME"}, "variable"},
		{[]string{"cursor", "https://shop.example/?\xff"}, "UTF-8"},
	} {
		code, stdout, stderr := runConfig(t, test.args...)
		if code != terminal.ExitUsage || stdout != "" || !strings.Contains(stderr, test.said) {
			t.Errorf("config %q gives %d, %s%s", test.args, code, stdout, stderr)
		}
	}
	for _, args := range [][]string{{"codex", "https://shop.example/?${X}"}, {"cursor", "https://shop.example/?$HOME"}} {
		if code, _, stderr := runConfig(t, args...); code != 0 {
			t.Errorf("config %q gives %d, %s", args, code, stderr)
		}
	}
}

// TestConfigTokenOfOthers: a listener of this machine needs no token, however its address is
// written.
func TestConfigTokenOfOthers(t *testing.T) {
	for address, wants := range map[string]bool{
		"http://localhost:7300/mcp": false, "http://LOCALHOST:7300/mcp": false, "http://localhost.:7300/mcp": false,
		"http://app.localhost:7300/mcp": false, "http://[::1]:7300/mcp": false, "http://127.0.0.1/mcp": false,
		"https://pagetools.example/mcp": true, "http://localhost.example:7300/mcp": true, "http://10.0.0.1/mcp": true,
	} {
		code, stdout, stderr := runConfig(t, "cursor", "--http="+address)
		if code != 0 || strings.Contains(stdout, "Authorization") != wants {
			t.Errorf("%s: %d\n%s%s", address, code, stdout, stderr)
		}
	}
}

// TestViaNPX: the version is this one's own, and pinned.
func TestViaNPX(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"v1.2.3": "1.2.3", "v1.2.3-rc.1": "1.2.3-rc.1", "devel": "", "v1.2.4-0.20261127010203-0123456789ab": "", "v1.2.3+dirty": "",
		"v0.0.0-20261127010203-0123456789ab": "",
	} {
		d := &clientConfig{c: clients.Named("cursor"), s: clients.Server{Name: "shop", Args: []string{"mcp", "https://shop.example/"}}}
		err := d.viaNPX(version)
		if (err == nil) != (want != "") || d.s.NPX != want {
			t.Errorf("%s: %q (%v)", version, d.s.NPX, err)
		}
		if err == nil && (d.c.Fit(&d.s) != nil || !strings.Contains(d.c.Snippet(d.s), `"args": ["-y", "pagetools@`+want+`", "mcp", "https://shop.example/"]`)) {
			t.Errorf("%s: %s", version, d.c.Snippet(d.s))
		}
	}
}

// TestWarnOfPath: a path that will not stay is told, before a client has it.
func TestWarnOfPath(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/home/me/.npm/_npx/0123/node_modules/@pagetools/linux-x64/bin/pagetools": "--via npx", "/tmp/go-build12/b001/exe/pagetools": "build it first",
		"/usr/bin/pagetools": "", "/home/me/node_modules/@pagetools/linux-x64/bin/pagetools": "", "": "",
	} {
		var errs bytes.Buffer
		d := &clientConfig{p: &program{conf: &config.Config{}, stderr: terminal.NewStream(&errs)}, c: clients.Named("cursor"), s: clients.Server{Command: path}}
		d.warnOfPath()
		if got := errs.String(); (got != "") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("of %q it says %q", path, got)
		}
	}
}
