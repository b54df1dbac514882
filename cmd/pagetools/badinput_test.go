package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp"
	"github.com/pagetools/pagetools/transport/webtool"
)

// hang is a bound that only a defect reaches: what is wrong is refused at once.
const hang = 30 * time.Second

// leastWrong sets how many wrong uses the table has at least.
const leastWrong = 130

// gosOwn are words of Go and of its libraries, which say nothing to people.
var gosOwn = regexp.MustCompile(`strconv|time: |parsing|invalid syntax|unmarshal|%!|missing unit|context canceled|pflag|(^|[^.a-z])yaml: |json: |\bEOF\b|<nil>`)

// nextStep are words that say what would be right, or what to do.
var nextStep = regexp.MustCompile(`\bmust\b|\bmay be\b|\bmay only\b|such as|\bsee \S|Look at|did you mean|Did you mean|\bAvailable: |\bneeds?\b|\bneeded\b|--[a-z]|\bone of\b|\bonly\b|` +
	`\btakes\b|` + "`pagetools |" + `There (is|are):|are supported|\buse\b|\bgive\b|\bgo with\b|again|lists|\bis required\b|[Ll]eave|run pagetools|It may have|/mcp has|has only|Send |send |Begin|begin|remove|at most|accept |known (keys|are)|Supported|apart`)

// TestBadInput types what testdata/badinput.txtar has, and holds what is said, whole, with the
// exit code or the status. A message names the value, which stands between « and » in the
// table, then the reason, then the next step; and it is one line.
func TestBadInput(t *testing.T) {
	path, err := filepath.Abs("testdata/badinput.txtar")
	if err != nil {
		t.Fatal(err)
	}
	table, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	anew := flag.Lookup("update").Value.String() == "true"
	w := newWrongUses(t, table.Files)
	lines := strings.Split(strings.TrimRight(string(table.Comment), "\n"), "\n")
	var now []string
	count := 0
	for i, line := range lines {
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
			now = append(now, line)
			continue
		case strings.HasPrefix(line, "\t"):
			continue
		}
		count++
		said := "\t" + w.typed(t, line)
		now = append(now, line, said)
		if !anew && (i+1 == len(lines) || lines[i+1] != said) {
			t.Errorf("%s\n%s\nis not what the table has", line, said)
		}
		w.holds(t, line, said)
	}
	if count < leastWrong {
		t.Errorf("there are %d wrong uses, want %d", count, leastWrong)
	}
	if anew {
		table.Comment = []byte(strings.Join(now, "\n") + "\n")
		if err := os.WriteFile(path, txtar.Format(table), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks what every message must be.
func (w *wrongUses) holds(t *testing.T, line, said string) {
	t.Helper()
	for _, part := range strings.Split(line, "«")[1:] {
		value, _, _ := strings.Cut(part, "»")
		if !strings.Contains(said, value) && !strings.Contains(said, strings.Trim(fmt.Sprintf("%q", value), `"`)) {
			t.Errorf("%s\n%s\nThe message does not name %s.", line, said, value)
		}
	}
	switch {
	case gosOwn.MatchString(said):
		t.Errorf("%s\n%s\nThese are words of a library: %q.", line, said, gosOwn.FindString(said))
	case !nextStep.MatchString(said):
		t.Errorf("%s\n%s\nNothing says what to do.", line, said)
	}
}

// wrongUses says where wrong things are typed.
type wrongUses struct {
	dir    string
	names  *strings.Replacer // of what differs from run to run, to the names that the table has
	values *strings.Replacer // and back
	face   http.Handler
	bridge *bridge.Bridge
	router *bridgetest.Router
}

func newWrongUses(t *testing.T, files []txtar.File) *wrongUses {
	t.Helper()
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = busy.Close() })
	stamps, err := filepath.Abs("../../examples/stampdb")
	if err != nil {
		t.Fatal(err)
	}
	w := &wrongUses{dir: t.TempDir()}
	for _, f := range files {
		path := filepath.Join(w.dir, f.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, f.Data, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	w.values = strings.NewReplacer("BUSY", busy.Addr().String(), "STAMPS", stamps, "DIR", w.dir, "«", "", "»", "")
	w.names = strings.NewReplacer(busy.Addr().String(), "BUSY", stamps, "STAMPS", w.dir, "DIR")
	for _, name := range config.Keys() { // those of the person who runs the test
		t.Setenv(config.EnvName(name), "")
	}
	t.Setenv("PAGETOOLS_DATA_DIR", filepath.Join(w.dir, "data"))
	t.Setenv("PAGETOOLS_CONSOLE_TOKEN", "")
	w.router = bridgetest.NewRouter().Add("shop", bridgetest.Tool("find_stamps", `{"type":"object","properties":{
		"country":{"type":"string","minLength":2},"year":{"type":"integer","minimum":1840},"sort":{"enum":["year","price"]},"used":{"type":"boolean"},"ids":{"type":"array","items":{"type":"integer"}}},
		"required":["country"],"additionalProperties":false}`), bridgetest.Asking("buy", "")).Add("news", bridgetest.Tool("read", ""))
	w.bridge, err = bridge.New(w.router, bridge.Options{Sites: map[string]bridge.SiteOptions{
		"shop": {AllowConfig: []string{"viewport", "path"}, Approval: policy.Operator{Mode: policy.ModeAsk}}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.bridge.Close)
	done := make(chan struct{})
	t.Cleanup(func() { close(done) })
	face, err := mcp.New(w.bridge, mcp.Options{Done: done})
	if err != nil {
		t.Fatal(err)
	}
	routes := append(webtool.New(w.bridge, webtool.Options{}).Routes(), face.Routes()...)
	agent := bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}
	w.face = transport.Guard(transport.NewMux(routes...), transport.Options{Listen: "127.0.0.1:7300", Words: optionWords, JSONRPCUnder: []string{"/mcp"},
		Callers: []transport.Credential{{Caller: agent, Token: "agent-token"}}})
	return w
}

// typed types one line of the table, and returns what comes back: the exit code or the
// status, and the message.
func (w *wrongUses) typed(t *testing.T, line string) string {
	t.Helper()
	kind, rest, _ := strings.Cut(w.values.Replace(line), " ")
	switch kind {
	case "$":
		return w.names.Replace(w.command(t, words(rest)))
	case "yaml":
		text := strings.NewReplacer(`\n`, "\n").Replace(rest)
		if err := os.WriteFile(filepath.Join(w.dir, "x.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return w.names.Replace(w.command(t, []string{"config", "print", "--config", "x.yaml"}))
	case "call":
		return w.call(t, words(rest))
	case "rpc":
		return w.request(t, http.MethodPost, "/mcp/shop", rest)
	case "tool":
		return w.tool(t, rest)
	}
	path, body, _ := strings.Cut(rest, " ")
	return w.request(t, kind, path, body)
}

// words splits a command line; single quotes keep spaces.
func words(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
			continue
		}
		all = append(all, strings.Fields(part)...)
	}
	return all
}

// command runs the program. Words with = before the verb are variables; -C is a folder.
func (w *wrongUses) command(t *testing.T, args []string) string {
	t.Helper()
	back := map[string]string{}
	for len(args) > 0 && strings.Contains(args[0], "=") && !strings.HasPrefix(args[0], "-") {
		name, value, _ := strings.Cut(args[0], "=")
		back[name] = os.Getenv(name)
		t.Setenv(name, value)
		args = args[1:]
	}
	dir := w.dir
	if len(args) > 1 && args[0] == "-C" {
		dir, args = filepath.Join(dir, args[1]), args[2:]
	}
	t.Chdir(dir)
	var out, said bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	code := run(ctx, args, strings.NewReader(""), &out, &said)
	for name, value := range back {
		t.Setenv(name, value)
	}
	return fmt.Sprintf("%d %s", code, oneLine(t, args, said.String()))
}

// oneLine returns what a failure says. Which file was read is said before.
func oneLine(t *testing.T, args []string, said string) string {
	t.Helper()
	if first, rest, ok := strings.Cut(said, "\n"); ok && strings.HasPrefix(first, "pagetools: settings read from") {
		said = rest
	}
	if strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "pagetools: ") {
		t.Errorf("%q: %q is not one line", args, said)
	}
	return strings.TrimSuffix(strings.TrimPrefix(said, "pagetools: "), "\n")
}

// call is `pagetools call` of a page that is open.
func (w *wrongUses) call(t *testing.T, args []string) string {
	t.Helper()
	var out, said bytes.Buffer
	p := &program{stdin: strings.NewReader(""), stdout: terminal.NewStream(&out), stderr: terminal.NewStream(&said), log: slog.New(slog.DiscardHandler)}
	cmd := callCommand(p)
	root := p.command()
	root.SetArgs([]string{"version", "--format", "text"})
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	args = cmd.Flags().Args()
	err := func() error {
		catalog, err := w.router.Catalog(bridge.Ref{Site: "shop"})
		if err != nil {
			return err
		}
		input, _ := cmd.Flags().GetString("input")
		c, err := readCall(catalog, args[0], args[1:], input, p.stdin)
		if err != nil {
			return err
		}
		c.Site, c.Caller = "shop", bridge.Local()
		_, err = runCall(t.Context(), p, w.bridge, c)
		return err
	}()
	code := p.finish(context.Background(), err)
	return fmt.Sprintf("%d %s", code, oneLine(t, args, said.String()))
}

// header is a header of a request: [Name: value] before the body. Without a value it is left out.
var header = regexp.MustCompile(`^\[([A-Za-z-]+): ?([^\]]*)\] ?`)

// request sends a request to the faces, and returns the status, the code and the message.
func (w *wrongUses) request(t *testing.T, method, path, body string) string {
	t.Helper()
	set := http.Header{"Content-Type": {"application/json"}, "Authorization": {"Bearer agent-token"}, "Accept": {"application/json, text/event-stream"}}
	host := "127.0.0.1:7300"
	for found := header.FindStringSubmatch(body); found != nil; found = header.FindStringSubmatch(body) {
		body = body[len(found[0]):]
		if found[1] == "Host" {
			host = found[2]
			continue
		}
		set.Del(found[1])
		if found[2] != "" {
			set.Set(found[1], found[2])
		}
	}
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	r.Host, r.Header = host, set
	rec := httptest.NewRecorder()
	w.face.ServeHTTP(rec, r)
	var got struct {
		Error *struct {
			Code    any
			Message string
		}
		Result *struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	text := rec.Body.Bytes()
	if i := bytes.Index(text, []byte("data: ")); i >= 0 {
		text = text[i+len("data: "):]
	}
	if err := json.Unmarshal(bytes.TrimSpace(text), &got); err != nil {
		var older struct{ Error string }
		if json.Unmarshal(text, &older) == nil && older.Error != "" {
			return fmt.Sprintf("%d %s", rec.Code, older.Error)
		}
		t.Fatalf("%s %s %s: %d %s (%v)", method, path, body, rec.Code, rec.Body, err)
	}
	switch {
	case got.Error != nil:
		return fmt.Sprintf("%d %v %s", rec.Code, got.Error.Code, strings.ReplaceAll(got.Error.Message, "\n", " / "))
	case got.Result != nil && got.Result.IsError:
		return fmt.Sprintf("%d %s", rec.Code, strings.ReplaceAll(got.Result.Content[0].Text, "\n", " / "))
	}
	t.Errorf("%s %s %s: %d %s is no error", method, path, body, rec.Code, rec.Body)
	return ""
}

// tool calls a tool over MCP: NAME and arguments as JSON.
func (w *wrongUses) tool(t *testing.T, line string) string {
	t.Helper()
	name, arguments, _ := strings.Cut(line, " ")
	const version = "2026-07-28"
	body := fmt.Sprintf(`[Mcp-Protocol-Version: %s] [Mcp-Method: tools/call] [Mcp-Name: %s] `+
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":%q,`+
		`"io.modelcontextprotocol/clientInfo":{"name":"x","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, version, name, name, arguments, version)
	return w.request(t, http.MethodPost, "/mcp/shop", body)
}
