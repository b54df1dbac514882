package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// peersPage has as many tools as its path says; the others' runtime, where they need one,
// comes before its own script. All of the peers take what the tools return.
const peersPage = `<!doctype html><meta charset="utf-8"><title>Bench</title>%s<script>
const reply = (text) => ({content: [{type: "text", text}]});
const add = (name, execute, properties = {}) => (document.modelContext ?? navigator.modelContext).registerTool(
  {name, description: "Does the thing that is called " + name + ".", annotations: {readOnlyHint: true}, inputSchema: {type: "object", properties}, execute});
add("noop", async () => reply("1"));
add("slow", () => new Promise((resolve) => setTimeout(() => resolve(reply("1")), 500)));
add("text", async ({bytes}) => reply("x".repeat(bytes)), {bytes: {type: "integer"}});
for (let i = 3; i < %d; i++) add("tool" + i, async () => reply("1"));
</script><body>%s</body>`

// peerTools sets how many tools the page of most figures has.
const peerTools = 3

// peer is one way from an agent to a page's tools: a server of MCP over stdio.
type peer struct {
	name string
	// command starts it for a page.
	command func(b *peerBench, page string) []string
	env     func(b *peerBench) []string
	// open is the tool that opens the page, from its url; "" where the command does it.
	open string
	// list is called to list the page's tools; nil where they are tools of its own.
	list *peerCall
	// call is the call of a page's tool.
	call func(tool string, arguments map[string]any) peerCall
	// runtime returns what the page needs for it, before its script and after it.
	runtime func(b *peerBench) (before, after string)
	// browser says that it uses a browser that somebody started with the page.
	browser bool
}

// peerCall is a call of a tool of the server.
type peerCall struct {
	tool      string
	arguments map[string]any
}

func direct(tool string, arguments map[string]any) peerCall { return peerCall{tool, arguments} }

// peers lists ours in both browsers, then what npm has that knows WebMCP.
var peers = []peer{
	{name: "pagetools", call: direct, command: func(b *peerBench, page string) []string {
		return []string{b.bin, "mcp", page, "--mcp-tools", "direct", "--executable-path", os.Getenv("PAGETOOLS_HEADLESS_SHELL")}
	}},
	{name: "pagetools, whole browser", call: direct, command: func(b *peerBench, page string) []string {
		return []string{b.bin, "mcp", page, "--mcp-tools", "direct", "--browser", "chromium"}
	}},
	{name: "chrome-devtools-mcp",
		command: func(b *peerBench, _ string) []string {
			args := []string{b.node, b.inPackage("chrome-devtools-mcp", "build/src/bin/chrome-devtools-mcp.js"), "--headless", "--isolated",
				"--executable-path=" + b.browser, "--categoryExperimentalWebmcp=true", "--no-usage-statistics"}
			for _, flag := range b.flags() {
				args = append(args, "--chrome-arg="+flag)
			}
			return args
		},
		open: "new_page",
		list: &peerCall{"list_webmcp_tools", map[string]any{"pageId": 2}},
		call: func(tool string, arguments map[string]any) peerCall {
			input, _ := json.Marshal(arguments) //nolint:errchkjson // it is a map of strings and numbers
			return peerCall{"execute_webmcp_tool", map[string]any{"pageId": 2, "toolName": tool, "input": string(input)}}
		}},
	{name: "Playwright MCP",
		command: func(b *peerBench, _ string) []string {
			return []string{b.node, b.inPackage("@playwright/mcp", "cli.js"), "--config", b.playwright()}
		},
		open: "browser_navigate",
		call: func(tool string, arguments map[string]any) peerCall {
			return peerCall{"webmcp_" + tool, arguments}
		}},
	{name: "MCP-B relay", browser: true, call: direct,
		command: func(b *peerBench, _ string) []string {
			return []string{b.node, b.inPackage("@mcp-b/webmcp-local-relay", "dist/cli.js"), "--port", strconv.Itoa(relayPort)}
		},
		runtime: func(b *peerBench) (before, after string) {
			return `<script src="/global.js"></script>`, fmt.Sprintf(`<script src="/relay/embed.js" data-relay-port="%d"></script>`, relayPort)
		}},
	{name: "Stagehand", call: direct,
		command: func(b *peerBench, page string) []string {
			return []string{b.node, filepath.Join(b.dir, "stagehand.mjs"), page}
		}},
	{name: "agent-browser",
		command: func(b *peerBench, _ string) []string {
			arch := map[string]string{"amd64": "x64"}[runtime.GOARCH]
			if arch == "" {
				arch = runtime.GOARCH
			}
			return []string{b.inPackage("agent-browser", "bin/agent-browser-"+runtime.GOOS+"-"+arch), "mcp", "--tools", "all"}
		},
		env: func(b *peerBench) []string {
			return []string{"AGENT_BROWSER_EXECUTABLE_PATH=" + b.browser, "AGENT_BROWSER_ARGS=" + strings.Join(b.flags(), ",")}
		},
		open: "agent_browser_open",
		list: &peerCall{"agent_browser_webmcp_list", map[string]any{}},
		call: func(tool string, arguments map[string]any) peerCall {
			return peerCall{"agent_browser_webmcp_invoke", map[string]any{"tool": tool, "params": arguments}}
		}},
}

// relayPort says where the relay listens: its page must know it before it starts.
const relayPort = 19444

// peerBench holds what the peers of a run share.
type peerBench struct {
	dir, node, browser, bin string
	scratch                 string
	site                    *httptest.Server
	started                 int
}

// inPackage is a file of a package of npm.
func (b *peerBench) inPackage(name, file string) string {
	return filepath.Join(b.dir, "node_modules", name, file)
}

// flags returns the flags of a browser that somebody else starts.
func (b *peerBench) flags() []string { return append(b.plain(), "--enable-features=WebMCP") }

// plain returns the flags without WebMCP of its own.
func (b *peerBench) plain() []string {
	flags := []string{"--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run"}
	if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
		flags = append(flags, "--no-sandbox")
	}
	return flags
}

// playwright writes Playwright's configuration and returns its path.
func (b *peerBench) playwright() string {
	config, _ := json.Marshal(map[string]any{"browser": map[string]any{ //nolint:errchkjson // constants
		"browserName": "chromium", "isolated": true, "launchOptions": map[string]any{"executablePath": b.browser,
			"headless": true, "chromiumSandbox": os.Getenv("PAGETOOLS_NO_SANDBOX") != "1", "args": b.flags()}}})
	path := filepath.Join(b.scratch, "playwright.json")
	if err := os.WriteFile(path, config, 0o600); err != nil {
		return ""
	}
	return path
}

// newPeerBench prepares a run. npm installed the packages in dir.
func newPeerBench(ctx context.Context, dir string) (*peerBench, func(), error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, err
	}
	b := &peerBench{dir: dir, browser: os.Getenv("PAGETOOLS_EXECUTABLE_PATH")}
	nodes, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err != nil || len(nodes) == 0 {
		return nil, nil, fmt.Errorf("there is no Node below %s: run `make bench-peers`", dir)
	}
	b.node = nodes[0]
	bin, remove, err := build(ctx)
	if err != nil {
		return nil, nil, err
	}
	b.bin, b.scratch = bin, filepath.Dir(bin)
	b.site = httptest.NewServer(http.HandlerFunc(b.serve))
	return b, func() {
		b.site.Close()
		remove()
	}, nil
}

// serve is the site: /PEER/TOOLS is the page with so many tools for a peer, and what the relay
// needs comes from its packages.
func (b *peerBench) serve(w http.ResponseWriter, r *http.Request) {
	if file, ok := strings.CutPrefix(r.URL.Path, "/relay/"); ok {
		http.ServeFile(w, r, b.inPackage("@mcp-b/webmcp-local-relay", "dist/browser/"+filepath.Base(file)))
		return
	}
	if r.URL.Path == "/global.js" {
		http.ServeFile(w, r, b.inPackage("@mcp-b/global", "dist/index.iife.js"))
		return
	}
	var of, tools int
	if _, err := fmt.Sscanf(r.URL.Path, "/%d/%d", &of, &tools); err != nil || of < 0 || of >= len(peers) {
		http.NotFound(w, r)
		return
	}
	var before, after string
	if peers[of].runtime != nil {
		before, after = peers[of].runtime(b)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = fmt.Fprintf(w, peersPage, before, tools, after)
}

// peerMark is the variable by which the processes of a peer are found, even those that leave
// their parents.
const peerMark = "PAGETOOLS_BENCH_PEER"

// running is a peer with the page open.
type running struct {
	client  *client.Client
	peer    *peer
	mark    string
	beside  *exec.Cmd // the browser that somebody started
	profile string
}

// start starts a peer on the page with so many tools, and returns when it lists the last of them.
func (b *peerBench) start(ctx context.Context, of, tools int) (*running, error) {
	b.started++
	p := &peers[of]
	page := fmt.Sprintf("%s/%d/%d", b.site.URL, of, tools)
	r := &running{peer: p, mark: fmt.Sprintf("%s=%d-%d", peerMark, os.Getpid(), b.started)}
	home := filepath.Join(b.scratch, strconv.Itoa(b.started)) // what one leaves behind is not the next one's
	if err := os.Mkdir(home, 0o700); err != nil {
		return nil, err
	}
	env := []string{r.mark, "HOME=" + home, "XDG_RUNTIME_DIR=" + home, "PAGETOOLS_DATA_DIR=" + filepath.Join(home, "data")}
	if p.env != nil {
		env = append(env, p.env(b)...)
	}
	command := p.command(b, page)
	over := transport.NewStdioWithOptions(command[0], append(os.Environ(), env...), command[1:],
		transport.WithCommandLogger(slog.New(slog.DiscardHandler)), transport.WithCommandFunc(b.inScratch))
	r.client = client.NewClient(over, client.WithProtocolVersion("2025-11-25"))
	err := r.begin(ctx)
	if err == nil && p.browser { // when the relay listens: its page gives up for long
		r.profile = filepath.Join(b.scratch, fmt.Sprintf("profile%d", b.started))
		args := append([]string{"--headless", "--user-data-dir=" + r.profile}, b.plain()...) // its page brings its runtime
		r.beside = exec.CommandContext(context.WithoutCancel(ctx), b.browser, append(args, page)...)
		r.beside.Env = append(os.Environ(), r.mark)
		err = r.beside.Start()
	}
	if err == nil {
		err = r.opened(ctx, page, tools)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", p.name, err), r.stop())
	}
	return r, nil
}

// inScratch makes a command that writes where it likes in the scratch folder.
func (b *peerBench) inScratch(ctx context.Context, command string, env, args []string) (*exec.Cmd, error) {
	c := exec.CommandContext(ctx, command, args...)
	c.Env, c.Dir = env, b.scratch
	return c, nil
}

func (r *running) begin(ctx context.Context) error {
	if err := r.client.Start(context.WithoutCancel(ctx)); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = "2025-11-25"
	hello.Params.ClientInfo = mcp.Implementation{Name: "bench", Version: "1"}
	_, err := r.client.Initialize(ctx, hello)
	return err
}

// opened opens the page where that is a call, and waits until its tools are listed.
func (r *running) opened(ctx context.Context, page string, tools int) error {
	if open := r.peer.open; open != "" {
		if _, err := r.ask(ctx, peerCall{open, map[string]any{"url": page}}); err != nil {
			return err
		}
	}
	last := "noop"
	if tools > peerTools {
		last = fmt.Sprintf("tool%d", tools-1)
	}
	return r.await(ctx, last)
}

// await lists until the list has a tool.
func (r *running) await(ctx context.Context, tool string) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		if err := r.list(ctx, tool); err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("waiting for the tool %s: %w", tool, ctx.Err())
		}
	}
}

// list lists the page's tools once, and looks for one.
func (r *running) list(ctx context.Context, tool string) error {
	var listed string
	if call := r.peer.list; call != nil {
		text, err := r.ask(ctx, *call)
		if err != nil {
			return err
		}
		listed = text
	} else {
		got, err := r.client.ListTools(ctx, mcp.ListToolsRequest{})
		if err != nil {
			return err
		}
		for _, t := range got.Tools {
			listed += t.Name + "\n"
		}
		tool = r.peer.call(tool, nil).tool
	}
	if !strings.Contains(listed, tool) {
		return fmt.Errorf("the list has no %s", tool)
	}
	return nil
}

// use calls a tool of the page and returns the text of the result.
func (r *running) use(ctx context.Context, tool string, arguments map[string]any) (string, error) {
	return r.ask(ctx, r.peer.call(tool, arguments))
}

func (r *running) ask(ctx context.Context, call peerCall) (string, error) {
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = call.tool, call.arguments
	got, err := r.client.CallTool(ctx, request)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	for _, c := range got.Content {
		if t, ok := c.(mcp.TextContent); ok {
			text.WriteString(t.Text)
		}
	}
	if got.IsError {
		return "", fmt.Errorf("%s: %.200s", call.tool, text.String())
	}
	return text.String(), nil
}
