package serve_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/evanw/esbuild/pkg/api"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// compare finds each line of a text in what was printed last. What a command prints that cannot run here
// is for the test that notRunHere names.
func (w *reader) compare(text string) {
	w.t.Helper()
	if w.left {
		return
	}
	if w.last == nil {
		w.t.Fatalf("nothing printed this:\n%s", text)
	}
	for _, line := range expected(w.ours(text)) {
		if said := w.last.all.String(); !line.MatchString(said) {
			w.t.Errorf("it did not print %q:\n%s", line, said)
		}
	}
}

// served waits until the running commands have printed each line of a text.
func (w *reader) served(text string) {
	w.t.Helper()
	for _, line := range expected(w.ours(text)) {
		if !suite.Within(suite.ReplyWithin, func() bool {
			return slices.ContainsFunc(w.going, func(s *step) bool { return line.MatchString(s.all.String()) })
		}) {
			w.t.Errorf("no server printed %q", line)
		}
	}
}

// configure checks a configuration as it is pasted, or scenarios, and keeps it under the name of
// its first line.
func (w *reader) configure(text string) {
	w.t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	name, ok := strings.CutPrefix(first, "# ")
	if !ok || filepath.Ext(name) != ".yaml" {
		w.t.Fatalf("the first line of a configuration is the name of its file, not %q", first)
	}
	file := filepath.Join(w.folder, name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	var said bytes.Buffer
	args := []string{"config", "print", "--config", name}
	if strings.HasSuffix(name, ".webtool.yaml") {
		args = []string{"test", "--export-evals", name}
	}
	cmd := exec.CommandContext(w.t.Context(), suite.Pagetools(w.t), args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = w.folder, &said, &said
	cmd.Env = append(slices.Clip(w.env), "PAGETOOLS_BROWSER_URL=") // that of these tests is nobody's
	if err := cmd.Run(); err != nil || strings.Contains(said.String(), "warning") {
		w.t.Errorf("%s: %v\n%s", name, err, &said)
	}
	if err := os.WriteFile(file, []byte(w.ours(text)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// save keeps a page under the name of its first line.
func (w *reader) save(text string) {
	w.t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	name := strings.TrimSuffix(strings.TrimPrefix(first, "<!-- "), " -->")
	if first != "<!-- "+name+" -->" || filepath.Base(name) != "index.html" || !filepath.IsLocal(name) {
		w.t.Fatalf("the first line of a page is the name of its file, not %q", first)
	}
	file := filepath.Join(w.folder, name)
	if err := os.Mkdir(filepath.Dir(file), 0o755); err != nil { // never one of ours, which are links
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// adapt keeps an adapter under its name, and reads what is a part of a tool's declaration.
func (w *reader) adapt(text string) {
	w.t.Helper()
	name := regexp.MustCompile(`(?m)^// @name +([a-z]+)$`).FindStringSubmatch(text)
	if name == nil { // a part of a declaration
		if r := api.Transform("({"+text+"})", api.TransformOptions{}); len(r.Errors) > 0 {
			w.t.Fatalf("this is neither an adapter nor a part of a tool: %s\n%s", r.Errors[0].Text, text)
		}
		return
	}
	if err := os.WriteFile(filepath.Join(w.folder, name[1]+".js"), []byte(w.ours(text)), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// quote finds each function of a text among those that the tests of package e2e run.
func (w *reader) quote(text string) {
	w.t.Helper()
	source, err := os.ReadFile(filepath.Join(docs.Root(w.t), "e2e", "example_test.go"))
	if err != nil {
		w.t.Fatal(err)
	}
	for _, function := range strings.Split("\n"+text, "\nfunc ")[1:] {
		if !strings.Contains(string(source), "\nfunc "+strings.TrimSpace(function)+"\n") {
			w.t.Errorf("e2e/example_test.go does not have func %s", function)
		}
	}
	if !strings.HasPrefix(text, "func ") {
		w.t.Errorf("it does not begin with a function:\n%s", text)
	}
}

// verify lets systemd look at a unit whose first line is its path, with our binary in the
// place that it names.
func (w *reader) verify(text string) {
	w.t.Helper()
	first, _, _ := strings.Cut(text, "\n")
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+/pagetools) (.+)$`).FindStringSubmatch(text)
	if filepath.Ext(first) != ".service" || start == nil {
		w.t.Fatalf("this is no unit that starts pagetools:\n%s", text)
	}
	config := regexp.MustCompile(`--config \S+/(\S+)`).FindStringSubmatch(start[2])
	if _, err := os.Stat(filepath.Join(w.folder, config[1])); err != nil {
		w.t.Errorf("the unit names a file that the page does not have: %v", err)
	}
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		return // the command line in it is held by TestCommands
	}
	file := filepath.Join(w.folder, filepath.Base(first))
	text = strings.ReplaceAll(text, start[1], suite.Pagetools(w.t))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
	out, err := exec.CommandContext(w.t.Context(), analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), filepath.Base(file)+":") {
		w.t.Errorf("systemd says: %v\n%s", err, out)
	}
}

// read parses JSON. The entry of an MCP client starts a server that has tools.
func (w *reader) read(text string) {
	w.t.Helper()
	var got any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		w.t.Fatalf("%v:\n%s", err, text)
	}
	var file struct {
		MCPServers, Servers map[string]struct {
			Command string
			Args    []string
			URL     string
		}
	}
	if err := json.Unmarshal([]byte(w.ours(text)), &file); err != nil {
		return // an array, or something else that is not a client's
	}
	for name, s := range file.MCPServers {
		w.connect(name, s.Command, s.Args, s.URL)
	}
	for name, s := range file.Servers {
		w.connect(name, s.Command, s.Args, s.URL)
	}
}

func (w *reader) connect(name, command string, args []string, url string) {
	w.t.Helper()
	a := &suite.MCPAgent{Version: mcp.LATEST_PROTOCOL_VERSION}
	ctx, cancel := context.WithTimeout(w.t.Context(), suite.ReplyWithin)
	defer cancel()
	var err error
	switch {
	case url != "":
		err = a.OverHTTP(ctx, url, "")
	case !strings.HasSuffix(command, "/bin/pagetools") || !filepath.IsAbs(command) || len(args) == 0 || args[0] != "mcp":
		w.t.Fatalf("%s: the command is %s %q", name, command, args)
	default:
		err = a.OverStdio(ctx, suite.Pagetools(w.t), suite.TempDir(w.t), args[1:]...)
	}
	if err != nil {
		w.t.Fatalf("%s: %v", name, err)
	}
	defer a.Close()
	if tools, err := a.Names(ctx); err != nil || tools == "" {
		w.t.Errorf("%s has the tools %q (%v)", name, tools, err)
	}
}

// TestInstallLinks (D11): the links of README.md that add a server to a client with one
// click name the address at which `demo` serves MCP.
func TestInstallLinks(t *testing.T) {
	t.Parallel()
	w := newReader(t)
	defer w.end()
	w.run("bin/pagetools demo\n", 0)
	clients := 0
	for _, match := range docs.InlineLink.FindAllStringSubmatch(docs.Documents(t)["README.md"], -1) {
		link, err := url.Parse(match[1])
		if err != nil || !strings.Contains(link.Path, "install") {
			continue
		}
		clients++
		config := []byte(link.Query().Get("config"))
		if decoded, err := base64.StdEncoding.DecodeString(string(config)); err == nil { // Cursor's
			config = decoded
		}
		var entry struct{ URL string }
		if err := json.Unmarshal(config, &entry); err != nil || link.Query().Get("name") == "" {
			t.Fatalf("%s: %v", match[1], err)
		}
		w.connect(link.Host, "", nil, w.ours(entry.URL))
	}
	if clients != 2 {
		t.Errorf("there are %d links", clients)
	}
}
