package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
)

// hang is a bound that only a defect reaches.
const hang = 30 * time.Second

// world is a face over scripted sites, behind the guards, with two callers.
type world struct {
	*Face
	t      testing.TB
	bridge *bridge.Bridge
	router *bridgetest.Router
	url    string
	done   chan struct{}
}

var (
	agent = bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall, bridge.MayElicit}}
	other = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall, bridge.MayElicit}}
	quiet = bridge.Caller{Name: "quiet", May: []bridge.Right{bridge.MayCall}}
)

// newFace is a world that is reached without a network: over its handler, or stdio. It has further
// sites of these names, with one tool each.
func newFace(t testing.TB, o Options, more ...string) *world {
	t.Helper()
	return newFaceOf(t, bridge.Options{}, o, more...)
}

// newFaceOf is newFace with options of the bridge.
func newFaceOf(t testing.TB, of bridge.Options, o Options, more ...string) *world {
	t.Helper()
	router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""), bridgetest.Asking("buy", ""))
	for _, name := range more {
		router.Add(name, bridgetest.Tool("send", ""))
	}
	b, err := bridge.New(router, of)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bridge: b, router: router, done: make(chan struct{})}
	o.Done = w.done
	if w.Face, err = New(b, o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		close(w.done)
		b.Close()
	})
	return w
}

// handler returns the handler for an address.
func (w *world) handler(listen string) http.Handler {
	guards := transport.Options{Listen: listen, JSONRPCUnder: []string{"/mcp"}, MaxBodyUnder: transport.BodiesWithFiles()}
	for _, c := range []bridge.Caller{agent, other, quiet} {
		guards.Callers = append(guards.Callers, transport.Credential{Caller: c, Token: c.Name + "-token"})
	}
	return transport.Guard(transport.NewMux(w.Routes()...), guards)
}

func newWorld(t testing.TB, o Options, more ...string) *world {
	t.Helper()
	return newFace(t, o, more...).listen()
}

// listen serves the world to a network.
func (w *world) listen() *world {
	t := w.t
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + l.Addr().String()
	srv := transport.Server(w.handler(l.Addr().String()), nil)
	served := make(chan struct{})
	go func() { // ends with Close
		defer close(served)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		_ = srv.Close()
		<-served
	})
	return w
}

// client speaks to a world as one caller does.
type client struct {
	*world
	token   string
	path    string
	version string // of the header
	session string
	modern  bool
	caps    string // of a modern request
	header  http.Header
}

func (w *world) as(c bridge.Caller) *client {
	return &client{world: w, token: c.Name + "-token", path: "/mcp", header: http.Header{}}
}

// legacy begins a session.
func (c *client) legacy(version, capabilities string) *client {
	c.t.Helper()
	c.version = version
	r := c.send("POST", rpc(1, "initialize", fmt.Sprintf(`{"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}`, version, capabilities)))
	c.session = r.header.Get("Mcp-Session-Id")
	var got struct {
		Result struct {
			ProtocolVersion string
			Capabilities    struct{ Tools struct{ ListChanged bool } }
		}
	}
	r.into(c.t, &got)
	if got.Result.ProtocolVersion != version || c.session == "" || !got.Result.Capabilities.Tools.ListChanged {
		c.t.Fatalf("initialize gives %d %s", r.status, r.body)
	}
	if r := c.send("POST", `{"jsonrpc":"2.0","method":"notifications/initialized"}`); r.status != http.StatusAccepted {
		c.t.Fatalf("initialized gives %d %s", r.status, r.body)
	}
	return c
}

// since2026 makes the client stateless.
func (c *client) since2026(capabilities string) *client {
	c.modern, c.version, c.caps = true, "2026-07-28", capabilities
	return c
}

// rpc is a request.
func rpc(id any, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":%q,"params":%s}`, id, method, params)
}

// params adds what a modern request has to say about itself.
func (c *client) params(params string) string {
	if !c.modern {
		return params
	}
	meta := fmt.Sprintf(`"io.modelcontextprotocol/protocolVersion":%q,"io.modelcontextprotocol/clientCapabilities":%s`, c.version, c.caps)
	if before, after, ok := strings.Cut(params, `"_meta":{`); ok {
		return before + `"_meta":{` + meta + "," + after
	}
	if params == "{}" {
		return `{"_meta":{` + meta + "}}"
	}
	return `{"_meta":{` + meta + "}," + params[1:]
}

// answer is an HTTP reply, taken apart.
type answer struct {
	status int
	header http.Header
	body   string   // of one JSON text
	events []string // of a stream
}

func (c *client) open(ctx context.Context, method, body string) *http.Response {
	c.t.Helper()
	r, err := http.NewRequestWithContext(ctx, method, c.url+c.path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	c.head(r, body)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return resp
}

// head writes the headers of a request with that body.
func (c *client) head(r *http.Request, body string) {
	r.Header.Set("Authorization", "Bearer "+c.token)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	set := func(name, value string) {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	set("Mcp-Protocol-Version", c.version)
	set("Mcp-Session-Id", c.session)
	if c.modern {
		var m struct {
			Method string
			Params struct{ Name, TaskID string }
		}
		_ = json.Unmarshal([]byte(body), &m)
		set("Mcp-Method", m.Method)
		set("Mcp-Name", m.Params.Name+m.Params.TaskID)
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
}

func (c *client) send(method, body string) answer {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), hang)
	defer cancel()
	resp := c.open(ctx, method, body)
	defer resp.Body.Close()
	a := answer{status: resp.StatusCode, header: resp.Header}
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for e := range events(resp.Body) {
			a.events = append(a.events, e)
		}
		if len(a.events) > 0 {
			a.body = a.events[len(a.events)-1]
		}
		return a
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	a.body = string(text)
	return a
}

// events returns the data of a stream's events.
func events(r io.Reader) func(func(string) bool) {
	return func(yield func(string) bool) {
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && !yield(data) {
				return
			}
		}
	}
}

// call sends a request and returns the reply.
func (c *client) call(id any, method, params string) answer {
	c.t.Helper()
	return c.send("POST", rpc(id, method, c.params(params)))
}

// tool runs a tool.
func (c *client) tool(name, arguments string) toolReply {
	c.t.Helper()
	return c.call(7, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, arguments)).tool(c.t)
}

// toolReply holds a tool's result, or the error of the protocol.
type toolReply struct {
	ID     json.RawMessage
	Result struct {
		ResultType    string
		Content       []struct{ Type, Text string }
		Structured    json.RawMessage `json:"structuredContent"`
		IsError       bool
		RequestState  string
		InputRequests map[string]struct {
			Method string
			Params struct {
				Mode, Message, URL string
				RequestedSchema    json.RawMessage
			}
		}
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	Error *struct {
		Code    int
		Message string
		Data    json.RawMessage
	}
	status int
}

func (r toolReply) text() string {
	if r.Error != nil {
		return fmt.Sprintf("error %d: %s", r.Error.Code, r.Error.Message)
	}
	var b strings.Builder
	for _, c := range r.Result.Content {
		b.WriteString(c.Text)
	}
	return b.String()
}

// code returns the code in a failed tool's error.
func (r toolReply) code() string {
	var e struct{ Code string }
	_ = json.Unmarshal(r.Result.Meta[metaError], &e)
	return e.Code
}

func (a answer) into(t testing.TB, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
}

func (a answer) tool(t testing.TB) toolReply {
	t.Helper()
	var r toolReply
	a.into(t, &r)
	r.status = a.status
	return r
}

// names lists the tools.
func (c *client) names() string {
	c.t.Helper()
	a := c.call(3, "tools/list", "{}")
	var got struct {
		Result struct{ Tools []struct{ Name string } }
	}
	a.into(c.t, &got)
	var names []string
	for _, tool := range got.Result.Tools {
		names = append(names, tool.Name)
	}
	return strings.Join(names, " ")
}

// every runs a test in each protocol version over HTTP. The client declares capabilities.
func every(t *testing.T, capabilities string, test func(t *testing.T, w *world, c *client)) {
	t.Helper()
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		t.Run(version, func(t *testing.T) {
			w := newWorld(t, Options{})
			c := w.as(agent)
			if version == "2026-07-28" {
				c.since2026(capabilities)
			} else {
				c.legacy(version, capabilities)
			}
			test(t, w, c)
		})
	}
}

// pipe is a client on stdio.
type pipe struct {
	t     testing.TB
	in    *io.PipeWriter
	lines chan written
	ended chan error
}

// written is a text that came, and when.
type written struct {
	at   time.Time
	text string
}

func (w *world) stdio(c bridge.Caller) *pipe {
	w.t.Helper()
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	p := &pipe{t: w.t, in: toServer, lines: make(chan written, 1000), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { // ends with in, or with ctx
		err := w.ServeStdio(ctx, fromClient, toClient, c, "")
		_ = toClient.Close()
		p.ended <- err
	}()
	read := make(chan struct{})
	go func() { // ends with ServeStdio
		defer close(read)
		lines := bufio.NewScanner(fromServer)
		lines.Buffer(nil, 8<<20)
		for lines.Scan() {
			p.lines <- written{time.Now(), lines.Text()}
		}
	}()
	w.t.Cleanup(func() {
		cancel()
		_ = toServer.Close()
		<-read
	})
	return p
}

func (p *pipe) send(line string) {
	p.t.Helper()
	if _, err := io.Copy(p.in, bytes.NewBufferString(line+"\n")); err != nil {
		p.t.Fatal(err)
	}
}

func (p *pipe) next() string {
	p.t.Helper()
	select {
	case l := <-p.lines:
		return l.text
	case <-time.After(hang):
		p.t.Fatal("stdout says nothing")
		return ""
	}
}

// count returns how many there are.
func (s *sessions) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.byID)
}
