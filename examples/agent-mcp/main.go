// Command agent-mcp is a small agent over MCP: it lists the tools of a server, calls
// one, asks its person when the call needs one, and says which tools came with it.
//
// Usage: agent-mcp [-token TOKEN] URL [TOOL [ARGUMENTS]]
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

func main() {
	token := flag.String("token", os.Getenv("PAGETOOLS_TOKEN"), "the credential, when the server asks for one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, *token, flag.Args(), os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent-mcp:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, token string, args []string, in io.Reader, out io.Writer) (err error) {
	if len(args) == 0 || len(args) > 3 {
		return errors.New("usage: agent-mcp [-token TOKEN] URL [TOOL [ARGUMENTS]]")
	}
	c, err := connect(ctx, args[0], token, &person{in: bufio.NewReader(in), out: out})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	before, err := list(ctx, c)
	if err != nil {
		return err
	}
	if len(args) == 1 {
		for _, t := range before {
			fmt.Fprintf(out, "%s: %s\n", t.Name, t.Description)
		}
		return nil
	}
	var arguments map[string]any
	if len(args) == 3 {
		if err := json.Unmarshal([]byte(args[2]), &arguments); err != nil {
			return fmt.Errorf("the arguments: %w", err)
		}
	}
	result, err := c.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: args[1], Arguments: arguments}})
	if err != nil {
		return fmt.Errorf("calling %s: %w", args[1], err)
	}
	for _, block := range result.Content {
		if text, ok := mcp.AsTextContent(block); ok {
			fmt.Fprintln(out, text.Text)
		}
	}
	after, err := list(ctx, c) // a page offers what fits its state
	if err != nil {
		return err
	}
	for _, t := range after {
		if !slices.ContainsFunc(before, func(old mcp.Tool) bool { return old.Name == t.Name }) {
			fmt.Fprintf(out, "new: %s: %s\n", t.Name, t.Description)
		}
	}
	if result.IsError {
		return errors.New("the tool failed")
	}
	return nil
}

// connect begins to speak to a server, in the newest version that both know.
func connect(ctx context.Context, url, token string, p *person) (*client.Client, error) {
	var o []transport.StreamableHTTPCOption
	if token != "" {
		o = append(o, transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	}
	over, err := transport.NewStreamableHTTP(url, o...)
	if err != nil {
		return nil, fmt.Errorf("the server's address: %w", err)
	}
	c := client.NewClient(over, client.WithElicitationHandler(p))
	if err := c.Start(ctx); err != nil {
		return nil, fmt.Errorf("connecting: %w", err)
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "agent-mcp", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return nil, errors.Join(fmt.Errorf("greeting the server: %w", err), c.Close())
	}
	return c, nil
}

func list(ctx context.Context, c *client.Client) ([]mcp.Tool, error) {
	all, err := c.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return nil, fmt.Errorf("listing the tools: %w", err)
	}
	return all.Tools, nil
}

// person answers questions at the terminal.
type person struct {
	in  *bufio.Reader
	out io.Writer
}

// Elicit shows a question and reads the answer: y, n, or, for a question with a
// field, its text.
func (p *person) Elicit(_ context.Context, r mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	fmt.Fprintln(p.out, r.Params.Message)
	if r.Params.URL != "" {
		fmt.Fprintln(p.out, "Open", r.Params.URL)
	}
	fmt.Fprint(p.out, "[y/n] or a text: ")
	line, err := p.in.ReadString('\n')
	said := strings.TrimSpace(line)
	answer := &mcp.ElicitationResult{}
	switch {
	case err != nil && said == "":
		answer.Action = mcp.ElicitationResponseActionCancel
	case said == "n":
		answer.Action = mcp.ElicitationResponseActionDecline
	case said == "y":
		answer.Action, answer.Content = mcp.ElicitationResponseActionAccept, map[string]any{}
	default:
		answer.Action, answer.Content = mcp.ElicitationResponseActionAccept, map[string]any{"value": said}
	}
	return answer, nil
}
