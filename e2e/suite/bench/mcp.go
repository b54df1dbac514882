package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp"
)

// mcpTargets are the most that a call may take, in floors.
var mcpTargets = map[string]float64{"stdio": 1.6, "HTTP of 2025-11-25": 2.1,
	"HTTP of 2026-07-28": 2.4}

const (
	mcpBegin = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"bench","version":"1"}}}`
	mcpCall  = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"noop","arguments":{"s":"ARG"}}}`
	mcpMeta  = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}},`
	mcpNewer = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{` + mcpMeta + `"name":"noop","arguments":{"s":"ARG"}}}`
	// mcpAsks is a call that needs consent. It takes an id, the meta of a protocol version, and a
	// number.
	mcpAsks = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s"name":"edit","arguments":{"n":%d}}}`
)

var mcpNewerHeader = http.Header{"Mcp-Protocol-Version": {"2026-07-28"},
	"Mcp-Method": {"tools/call"}, "Mcp-Name": {"noop"}}

// overMCP is a face of MCP over the sites of a stack.
type overMCP struct {
	face *mcp.Face
	base string
	end  func()
}

func (s *stack) mcp() (*overMCP, error) {
	b, err := bridge.New(s.manager, bridge.Options{})
	if err != nil {
		return nil, err
	}
	face, err := mcp.New(b, mcp.Options{Tools: "direct"}) // lists of 256 tools are measured, too
	if err != nil {
		return nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, err
	}
	server := transport.Server(transport.Guard(transport.NewMux(face.Routes()...), transport.Options{Listen: l.Addr().String(), JSONRPCUnder: []string{"/mcp"}}), nil)
	go func() { _ = server.Serve(l) }() // ends with end
	return &overMCP{face, "http://" + l.Addr().String(),
		func() { _ = server.Close(); b.Close() }}, nil
}

// agent makes clients of a protocol version over HTTP, which share the page of their caller.
func (o *overMCP) agent(body string, header http.Header) func() (func() error, func(), error) {
	return func() (func() error, func(), error) {
		c, err := dial(o.base)
		if err != nil {
			return nil, nil, err
		}
		return func() error {
			said, err := c.doWith(http.MethodPost, "/mcp", argued([]byte(body)), header)
			if err == nil && (!bytes.Contains(said, []byte(`"result"`)) || bytes.Contains(said, []byte(`"isError":true`))) {
				err = fmt.Errorf("it says %s", said)
			}
			return err
		}, c.close, nil
	}
}

// stdio makes a client on a pair of pipes, on which calls wait for consent.
func (o *overMCP) stdio(waiting int) (func() error, func(), error) {
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	go func() { // ends with the client
		_ = o.face.ServeStdio(context.Background(), fromClient, toClient, bridge.Local(), "")
		_ = toClient.Close()
	}()
	lines := bufio.NewReader(fromServer)
	ask := func(line, want string) error {
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			return err
		}
		said, err := lines.ReadString('\n')
		if err == nil && !strings.Contains(said, want) {
			err = fmt.Errorf("it says %s", said)
		}
		return err
	}
	err := ask(mcpBegin, `"protocolVersion"`)
	for i := range waiting {
		err = errors.Join(err, ask(fmt.Sprintf(mcpAsks, 1000+i, "", i), "elicitation/create"))
	}
	return func() error { return ask(string(argued([]byte(mcpCall))), `"result"`) }, func() { _ = toServer.Close() }, err
}

// park makes calls that wait for consent, whose clients have gone for now.
func (o *overMCP) park(waiting int) error {
	c, err := dial(o.base)
	if err != nil {
		return err
	}
	defer c.close()
	header := http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"},
		"Mcp-Name": {"edit"}}
	for i := range waiting {
		said, err := c.doWith(http.MethodPost, "/mcp", fmt.Appendf(nil, mcpAsks, i, mcpMeta, i),
			header)
		if err != nil || !bytes.Contains(said, []byte("input_required")) {
			return fmt.Errorf("a call does not wait for consent: %s, %w", said, err)
		}
	}
	return nil
}

// waitingRows compare calls while others wait for consent with calls when none does,
// on one page.
func waitingRows(s *stack) (rows []row, err error) {
	const waiting = 100
	quiet, err := s.mcp()
	if err != nil {
		return nil, err
	}
	defer quiet.end()
	busy, err := s.mcp()
	if err != nil {
		return nil, err
	}
	defer busy.end()
	if err := busy.park(waiting); err != nil {
		return nil, err
	}
	for _, x := range []struct {
		over          string
		with, without func() (func() error, func(), error)
	}{
		{"stdio", func() (func() error, func(), error) { return busy.stdio(waiting) },
			func() (func() error, func(), error) { return quiet.stdio(0) }},
		{"HTTP of 2026-07-28", busy.agent(mcpNewer, mcpNewerHeader),
			quiet.agent(mcpNewer, mcpNewerHeader)},
	} {
		with, without, err := bothSides(x.with, x.without)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", x.over, err)
		}
		rows = append(rows, latency("MCP over "+x.over+": call of a no-op while 100 wait for consent, p50", with, without, 1.5))
	}
	return rows, nil
}

// legacyHeader begins a session.
func (o *overMCP) legacyHeader(ctx context.Context) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.base+"/mcp",
		bytes.NewReader([]byte(mcpBegin)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	return http.Header{"Mcp-Session-Id": {resp.Header.Get("Mcp-Session-Id")},
		"Mcp-Protocol-Version": {"2025-11-25"}}, resp.Body.Close()
}

// mcpRows compares calls over MCP with raw evaluations on the page that they run on,
// and measures lists.
func mcpRows(ctx context.Context, url string) ([]row, error) {
	s, err := newStack(url, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	o, err := s.mcp()
	if err != nil {
		return nil, err
	}
	defer o.end()
	older, err := o.legacyHeader(ctx)
	if err != nil {
		return nil, err
	}
	agents := map[string]func() (func() error, func(), error){
		"stdio": func() (func() error, func(), error) { return o.stdio(0) }, "HTTP of 2025-11-25": o.agent(mcpCall, older), "HTTP of 2026-07-28": o.agent(mcpNewer, mcpNewerHeader)}
	first, hangUp, err := agents["HTTP of 2025-11-25"]() // which opens the page
	if err != nil {
		return nil, err
	}
	defer hangUp()
	if err := first(); err != nil {
		return nil, err
	}
	tab := s.engine.newest()
	floor := plain(evaluate(ctx, tab))
	var rows []row
	for _, name := range []string{"stdio", "HTTP of 2025-11-25", "HTTP of 2026-07-28"} {
		ours, raw, err := bothSides(agents[name], floor)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, latency("MCP over "+name+": call of a no-op, p50", ours, raw, mcpTargets[name]))
	}
	many, err := rates("MCP over HTTP of 2025-11-25, 64 at once, calls/s", size.calls*2,
		o.agent(mcpCall, older), floor, .2)
	if err != nil {
		return nil, err
	}
	waiting, err := waitingRows(s)
	if err != nil {
		return nil, err
	}
	lists, err := listRows(ctx)
	return slices.Concat(rows, []row{many}, waiting, lists), err
}

// listRows measures tools/list.
func listRows(ctx context.Context) (rows []row, err error) {
	for n, most := range map[int]time.Duration{50: time.Millisecond, 256: 5 * time.Millisecond} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			_, _ = fmt.Fprintf(w, `<!doctype html><script>for (let i = 0; i < %d; i++) document.modelContext.registerTool({name: "tool-" + i, description: "Does the thing that has the number " + i + ".",
				inputSchema: {type: "object", properties: {text: {type: "string", description: "A text."}, count: {type: "integer", minimum: 1}}, required: ["text"]}, execute() {}});</script>`, n)
		}))
		p50, err := listTime(ctx, site.URL, n)
		site.Close()
		if err != nil {
			return nil, err
		}
		rows = append(rows, row{fmt.Sprintf("tools/list of %d tools, p50", n), p50.Round(time.Microsecond).String(), "", "", "under " + most.String(), p50 < most})
	}
	return rows, nil
}

func listTime(ctx context.Context, url string, n int) (p50 time.Duration, err error) {
	s, err := newStack(url, false)
	if err != nil {
		return 0, err
	}
	defer s.close()
	o, err := s.mcp()
	if err != nil {
		return 0, err
	}
	defer o.end()
	header, err := o.legacyHeader(ctx)
	if err != nil {
		return 0, err
	}
	c, err := dial(o.base)
	if err != nil {
		return 0, err
	}
	defer c.close()
	list := func() error {
		said, err := c.doWith(http.MethodPost, "/mcp", []byte(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`), header)
		if err != nil {
			return err
		}
		var got struct {
			Result struct{ Tools []json.RawMessage }
		}
		if len(said) > 0 && said[len(said)-1] != '}' || !bytes.Contains(said, fmt.Appendf(nil, `"tool-%d"`, n-1)) {
			return errors.Join(json.Unmarshal(said, &got),
				fmt.Errorf("a list of %d tools", len(got.Result.Tools)))
		}
		return nil
	}
	if _, err := sample(size.calls/4, list); err != nil {
		return 0, err
	}
	all, err := sample(size.calls, list)
	return quantile(all, .5), err
}
