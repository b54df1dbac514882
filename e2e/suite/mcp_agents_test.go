package suite_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// mcpVersions are the eras of MCP.
var mcpVersions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// mcpAgent is a client of the library that speaks one version.
type mcpAgent struct {
	*client.Client

	version string
	hears   func(mcp.JSONRPCNotification)
	elicits client.ElicitationHandler
}

// overHTTP connects to an address, with a token or without.
func (a *mcpAgent) overHTTP(ctx context.Context, url, token string) error {
	// The library cancels the post of an answer when its call ends. With the reply to that post just
	// read, net/http passes the cancellation on to the next request of the connection.
	single := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	o := []transport.StreamableHTTPCOption{
		transport.WithHTTPLogger(slog.New(slog.DiscardHandler)), transport.WithHTTPBasicClient(single),
	}
	if token != "" {
		o = append(o, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	if !a.modern() {
		o = append(o, transport.WithContinuousListening()) //nolint:staticcheck // older eras have no other stream
	}
	over, err := transport.NewStreamableHTTP(url, o...)
	if err != nil {
		return err
	}
	return a.connect(ctx, over)
}

// overStdio starts "pagetools mcp", which writes below tmp.
func (a *mcpAgent) overStdio(ctx context.Context, path, tmp string, args ...string) error {
	env := append(os.Environ(), "TMPDIR="+tmp, "PAGETOOLS_DATA_DIR="+tmp+"-data")
	ctx = context.WithoutCancel(ctx) // the library kills the process when it ends; Close lets it end by itself
	return a.connect(ctx, transport.NewStdioWithOptions(path, env, append([]string{"mcp"}, args...)))
}

func (a *mcpAgent) modern() bool { return mcp.IsModernProtocol(a.version) }

func (a *mcpAgent) connect(ctx context.Context, over transport.Interface) error {
	o := []client.ClientOption{client.WithProtocolVersion(a.version)}
	if a.elicits != nil {
		o = append(o, client.WithElicitationHandler(a.elicits))
	}
	a.Client = client.NewClient(over, o...)
	if a.hears != nil {
		a.OnNotification(a.hears)
	}
	if err := a.Start(ctx); err != nil {
		return err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = a.version
	hello.Params.ClientInfo = mcp.Implementation{Name: "e2e", Version: "1"}
	got, err := a.Initialize(ctx, hello)
	if err == nil && got.ProtocolVersion != a.version {
		err = fmt.Errorf("it speaks %s", got.ProtocolVersion)
	}
	return err
}

// names lists the tools.
func (a *mcpAgent) names(ctx context.Context) (string, error) {
	all, err := a.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return "", err
	}
	var names []string
	for _, tool := range all.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " "), nil
}

// run calls a tool. A progress token asks for progress; "" does not. What a tool
// refuses is a toolRefused.
func (a *mcpAgent) run(ctx context.Context, tool string, arguments any, progress string, into any) error {
	r := mcp.CallToolRequest{Params: mcp.CallToolParams{Name: tool, Arguments: arguments}}
	if progress != "" {
		r.Params.Meta = &mcp.Meta{ProgressToken: progress}
	}
	got, err := a.CallTool(ctx, r)
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
		return toolRefused(said.String())
	}
	if text, ok := into.(*string); ok { // a string of the page is its text
		*text = said.String()
		return nil
	}
	return json.Unmarshal([]byte(said.String()), into)
}

// toolRefused is the text of a failed tool.
type toolRefused string

func (e toolRefused) Error() string { return "the tool says: " + string(e) }

// waitsForAPerson reports whether the call goes on when it is made again.
func waitsForAPerson(err error) bool {
	var refused toolRefused
	return errors.As(err, &refused) && strings.Contains(string(refused), "The user can answer")
}

// TestMCPAgents holds that the agents of these tests see a refusal as one.
func TestMCPAgents(t *testing.T) {
	if err := fmt.Errorf("calling: %w", toolRefused("The user can answer in pagetools.")); !waitsForAPerson(err) || waitsForAPerson(errors.New("The user can answer")) {
		t.Error("a call that waits is not told from one that failed")
	}
}
