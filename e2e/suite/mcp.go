package suite

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge/gatetest"
)

// OverStdio is a client of "pagetools mcp" that writes and reads lines. Its errors fail the test.
type OverStdio struct {
	t      *testing.T
	Cmd    *exec.Cmd
	in     io.WriteCloser
	Out    io.Closer
	lines  chan string
	Stderr *LockedBuffer
	Tmp    string
}

// StartMCP starts pagetools mcp with the arguments, and kills it when the test ends.
func StartMCP(t *testing.T, args ...string) *OverStdio {
	t.Helper()
	return StartMCPWith(t, nil, args...)
}

// StartMCPWith starts pagetools mcp with a file for standard error; nil keeps it in Stderr.
func StartMCPWith(t *testing.T, stderr *os.File, args ...string) *OverStdio {
	t.Helper()
	tmp, err := os.MkdirTemp(Scratch, "m")
	if err != nil {
		t.Fatal(err)
	}
	c := &OverStdio{t: t, Cmd: exec.Command(Pagetools(t), append([]string{"mcp"}, args...)...),
		lines: make(chan string, 1000), Stderr: &LockedBuffer{}, Tmp: tmp}
	c.Cmd.Env = append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	if c.Cmd.Stderr = c.Stderr; stderr != nil {
		c.Cmd.Stderr = stderr
	}
	if c.in, err = c.Cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.Cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Out = out
	if err := c.Cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the process
		defer close(c.lines)
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { _ = c.Cmd.Process.Kill() })
	return c
}

// Send writes one line, which is one message.
func (c *OverStdio) Send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// Next returns the next line with an id: a reply or a request, and not a notification.
func (c *OverStdio) Next() string {
	c.t.Helper()
	hang := time.After(ReplyWithin)
	for {
		select {
		case line, ok := <-c.lines:
			if !ok {
				c.t.Fatalf("it has ended:\n%s", c.Stderr)
			}
			if strings.Contains(line, `"id"`) {
				return line
			}
		case <-hang:
			c.t.Fatalf("it says nothing:\n%s", c.Stderr)
		}
	}
}

// Close closes stdin, and fails the test when the process does not end well within StopWithin.
func (c *OverStdio) Close() {
	c.t.Helper()
	_ = c.in.Close()
	ended := make(chan error, 1)
	go func() { ended <- c.Cmd.Wait() }()
	select {
	case err := <-ended:
		if err != nil {
			c.t.Errorf("it ended with %v:\n%s", err, c.Stderr)
		}
	case <-time.After(StopWithin):
		c.t.Errorf("it goes on without stdin:\n%s", c.Stderr)
	}
}

// MCPVersions lists the protocol versions that pagetools speaks, oldest first.
var MCPVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// SomeVersions returns the n newest of MCPVersions, and all of them at night: transport/mcp tests
// every version in process.
func SomeVersions(n int) []string {
	return MCPVersions[len(MCPVersions)-gatetest.Amount(n, len(MCPVersions)):]
}

// MCPAgent is a client of the library that speaks one version of MCP. Set Version, and Hears and
// Elicits where a test needs them, then connect with OverHTTP or OverStdio, which set Client.
type MCPAgent struct {
	Client  *client.Client
	Version string
	Hears   func(mcp.JSONRPCNotification)
	Elicits client.ElicitationHandler
}

// Close ends the connection, and the process of OverStdio.
func (a *MCPAgent) Close() error { return a.Client.Close() }

// OverHTTP connects to the MCP endpoint at url and initializes. An empty token sends none.
func (a *MCPAgent) OverHTTP(ctx context.Context, url, token string) error {
	// The library cancels the post of an answer when its call ends. With the reply to that post
	// just read, net/http passes the cancellation on to the next request of the connection.
	single := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	o := []transport.StreamableHTTPCOption{
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), transport.WithHTTPBasicClient(single),
	}
	if token != "" {
		o = append(o, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	if !a.Modern() {
		o = append(o, transport.WithContinuousListening()) //nolint:staticcheck // older versions have no other stream
	}
	over, err := transport.NewStreamableHTTP(url, o...)
	if err != nil {
		return err
	}
	return a.connect(ctx, over)
}

// OverStdio starts the binary at path as "pagetools mcp", which writes below tmp, and initializes.
func (a *MCPAgent) OverStdio(ctx context.Context, path, tmp string, args ...string) error {
	env := append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	ctx = context.WithoutCancel(ctx) // the library kills the process when it ends; Close lets it end by itself
	return a.connect(ctx, transport.NewStdioWithOptions(path, env, append([]string{"mcp"}, args...)))
}

// Modern reports whether its version is one without sessions, as since 2026-07-28.
func (a *MCPAgent) Modern() bool { return mcp.IsModernProtocol(a.Version) }

func (a *MCPAgent) connect(ctx context.Context, over transport.Interface) error {
	o := []client.ClientOption{client.WithProtocolVersion(a.Version)}
	if a.Elicits != nil {
		o = append(o, client.WithElicitationHandler(a.Elicits))
	}
	a.Client = client.NewClient(over, o...)
	if a.Hears != nil {
		a.Client.OnNotification(a.Hears)
	}
	if err := a.Client.Start(ctx); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = a.Version
	hello.Params.ClientInfo = mcp.Implementation{Name: "e2e", Version: "1"}
	got, err := a.Client.Initialize(ctx, hello)
	if err == nil && got.ProtocolVersion != a.Version {
		err = fmt.Errorf("it speaks %s", got.ProtocolVersion)
	}
	return err
}

// Names returns the names of the listed tools, with spaces between.
func (a *MCPAgent) Names(ctx context.Context) (string, error) {
	all, err := a.Client.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " "), nil
}

// Run calls a tool, and decodes the text of its result into into; a *string gets the text as it
// is. A progress token asks for progress; "" does not. A failed tool is a ToolRefused.
func (a *MCPAgent) Run(ctx context.Context, tool string, arguments any, progress string, into any) error {
	r := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}}
	if progress != "" {
		r.Params.Meta = &mcp.Meta{ProgressToken: progress}
	}
	got, err := a.Client.CallTool(ctx, r)
	if err != nil {
		return err
	}
	var said strings.Builder
	for _, block := range got.Content {
		if text, ok := mcp.AsTextContent(block); ok {
			said.WriteString(text.Text)
		}
	}
	if got.IsError {
		return ToolRefused(said.String())
	}
	if text, ok := into.(*string); ok { // a string of the page is its text
		*text = said.String()
		return nil
	}
	return json.Unmarshal([]byte(said.String()), into)
}

// ToolRefused is the error of a tool that failed: its text.
type ToolRefused string

func (e ToolRefused) Error() string { return "the tool says: " + string(e) }

// ListChanged waits for a notification that the tool list changed, and skips other messages.
func (c *OverStdio) ListChanged() {
	c.t.Helper()
	for line := range c.lines {
		if strings.Contains(line, "list_changed") {
			return
		}
	}
	c.t.Fatalf("it has ended:\n%s", c.Stderr)
}
