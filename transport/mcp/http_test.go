package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestProtocolVersions: the same list and the same call in every protocol version, on one address.
func TestProtocolVersions(t *testing.T) {
	every(t, `{}`, func(t *testing.T, w *world, c *client) {
		if got := c.names(); got != "buy look" {
			t.Errorf("the list is %q", got)
		}
		r := c.tool("look", `{"n":9007199254740992}`)
		if r.Error != nil || r.Result.IsError || r.text() != `{"n":9007199254740992}` || string(r.Result.Structured) != `{"n":9007199254740992}` {
			t.Errorf("the call gives %s %s, %s", r.text(), r.Result.Structured, r.code())
		}
		if calls := w.router.Calls(); len(calls) != 1 || calls[0].Ref.Session != "mcp" || calls[0].Ref.Caller.Name != "agent" || !calls[0].Ref.Beside {
			t.Errorf("the page got %+v", calls)
		}
		if r := c.tool("none", `{}`); r.code() != "WEBTOOL_NOT_FOUND" {
			t.Errorf("an unknown tool: %s", r.text())
		}
		if modern := r.Result.ResultType == "complete"; modern != c.modern {
			t.Errorf("resultType is %q", r.Result.ResultType)
		}
	})
}

// TestIDs: an id comes back as it was written, also one beyond 2^53, and null.
func TestIDs(t *testing.T) {
	every(t, `{}`, func(t *testing.T, _ *world, c *client) {
		for _, id := range []string{`9007199254740993`, `-1`, `0`, `"a"`, `""`, `1.5`, `null`, `"\u00e9"`} {
			var got struct {
				ID     json.RawMessage
				Result json.RawMessage
			}
			c.call(id, "tools/list", "{}").into(t, &got)
			if string(got.ID) != id || got.Result == nil {
				t.Errorf("id %s comes back as %s with %s", id, got.ID, got.Result)
			}
		}
	})
}

// TestMalformed: what is no message is an error of the protocol, and the next one
// works.
func TestMalformed(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).legacy("2025-11-25", `{}`)
	for body, want := range map[string]int{
		`{`: -32700, `nonsense`: -32700, `{"jsonrpc":"2.0","id":1,"method":"ping"} x`: -32700, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}": -32700,
		`[]`: -32600, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`: -32600, `"ping"`: -32600, `1`: -32600, `null`: -32600, `{}`: -32600,
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`: -32600, `{"id":1,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":{},"method":"ping"}`: -32600,
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":1,"method":1}`: -32600, `{"jsonrpc":"2.0","id":1,"method":""}`: -32600,
		`{"jsonrpc":"2.0","id":1}`: -32600, `{"jsonrpc":"2.0","id":1,"result":1,"error":{}}`: -32600, `{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}`: -32602,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}`: -32600, `{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"!"}}`: -32602,
		`{"jsonrpc":"2.0","id":1,"method":"no/such"}`: -32601, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":1}}`: -32600,
	} {
		var got struct {
			JSONRPC string
			ID      json.RawMessage
			Error   struct{ Code int }
		}
		a := c.send("POST", body)
		a.into(t, &got)
		if got.JSONRPC != "2.0" || got.Error.Code != want || got.ID == nil {
			t.Errorf("%s gives %d %s, want %d", body, a.status, a.body, want)
		}
	}
	if got := c.names(); got != "buy look" {
		t.Errorf("after all that the list is %q", got)
	}
}

// TestHeaders: headers and body of a request of 2026-07-28 have to agree; what real
// clients of older protocol versions send is taken.
func TestHeaders(t *testing.T) {
	w := newWorld(t, Options{})
	modern := w.as(agent).since2026(`{}`)
	list := rpc(1, "tools/list", modern.params("{}"))
	call := rpc(1, "tools/call", modern.params(`{"name":"look","arguments":{}}`))
	for name, x := range map[string]struct {
		header http.Header
		body   string
		status int
		code   int
	}{
		"all right":              {nil, list, 200, 0},
		"no version":             {http.Header{"Mcp-Protocol-Version": {""}}, list, 400, -32020},
		"another version":        {http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}, list, 400, -32020},
		"another method":         {http.Header{"Mcp-Method": {"tools/call"}}, list, 400, -32020},
		"no method":              {http.Header{"Mcp-Method": {""}}, list, 400, -32020},
		"another name":           {http.Header{"Mcp-Name": {"buy"}}, call, 400, -32020},
		"no meta":                {nil, rpc(1, "tools/list", "{}"), 400, -32602},
		"a notification":         {nil, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, 202, 0}, // E1: it needs no meta
		"a notification, other":  {http.Header{"Mcp-Protocol-Version": {"2025-11-25"}}, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`, 400, -32020},
		"no capabilities":        {nil, rpc(1, "tools/list", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`), 400, -32602},
		"a version to come":      {http.Header{"Mcp-Protocol-Version": {"2099-01-01"}}, strings.Replace(list, "2026-07-28", "2099-01-01", 1), 400, -32022},
		"an unknown method":      {nil, rpc(1, "no/such", modern.params("{}")), 404, -32601},
		"a handshake":            {nil, rpc(1, "ping", modern.params("{}")), 404, -32601},
		"the version sent twice": {http.Header{"Mcp-Protocol-Version": {"2026-07-28, 2026-07-28"}}, list, 200, 0},
		"two versions in a line": {http.Header{"Mcp-Protocol-Version": {"2026-07-28, 2025-11-25"}}, list, 400, -32020},
		"two versions":           {http.Header{"Mcp-Protocol-Version": {"2026-07-28", "2025-11-25"}}, list, 400, -32020},
		"two methods":            {http.Header{"Mcp-Method": {"tools/list", "tools/call"}}, list, 400, -32020},
		"two names":              {http.Header{"Mcp-Name": {"look", "buy"}}, call, 400, -32020},
		"two names in a line":    {http.Header{"Mcp-Name": {"look, buy"}}, call, 400, -32020},
		"the name sent twice":    {http.Header{"Mcp-Name": {"look", "look"}}, call, 200, 0},
		"an encoded name":        {http.Header{"Mcp-Name": {"=?base64?bG9vaw==?="}}, call, 200, 0},
		"another encoded name":   {http.Header{"Mcp-Name": {"=?base64?YnV5?="}}, call, 400, -32020},
	} {
		modern.header = x.header
		var got struct{ Error struct{ Code int } }
		a := modern.send("POST", x.body)
		if a.status != http.StatusAccepted { // which has no body
			a.into(t, &got)
		}
		if a.status != x.status || got.Error.Code != x.code {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	older := w.as(agent).legacy("2025-11-25", `{}`)
	for _, version := range []string{"2025-11-25, 2025-11-25", "2025-06-18", "2026-07-28", ""} { // as clients do
		older.version = version
		if got := older.names(); got != "buy look" {
			t.Errorf("with the header %q the list is %q", version, got)
		}
	}
	older.version = "1999-01-01"
	if a := older.send("POST", rpc(1, "tools/list", "{}")); a.status != 400 {
		t.Errorf("a version that never was: %d %s", a.status, a.body)
	}
	older.version, older.session = "2025-11-25", ""
	if got := older.names(); got != "buy look" { // a client that drops its session
		t.Errorf("without a session the list is %q", got)
	}
}

// TestGuards (defect 7): pages of other origins, names that lead here, bodies without
// end and what is no JSON are refused, in every protocol version.
func TestGuards(t *testing.T) {
	every(t, `{}`, func(t *testing.T, w *world, c *client) {
		call := rpc(1, "tools/call", c.params(`{"name":"look","arguments":{}}`))
		for name, x := range map[string]struct {
			header http.Header
			body   string
			status int
		}{
			"another origin":    {http.Header{"Origin": {"http://evil.test"}}, call, http.StatusForbidden},
			"no origin at all":  {http.Header{"Origin": {"null"}}, call, http.StatusForbidden},
			"no credential":     {http.Header{"Authorization": nil}, call, http.StatusUnauthorized},
			"a form of a page":  {http.Header{"Content-Type": {"text/plain"}}, call, http.StatusUnsupportedMediaType},
			"more than allowed": {nil, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"` + strings.Repeat("x", 4<<20) + `"}}`, http.StatusRequestEntityTooLarge},
		} {
			c.header = x.header
			if a := c.send("POST", x.body); a.status != x.status || !strings.Contains(a.body, `"jsonrpc":"2.0"`) {
				t.Errorf("%s: %d %s", name, a.status, a.body)
			}
		}
		c.header = nil
		foreign, refused := httptest.NewRequest(http.MethodPost, c.path, strings.NewReader(call)), httptest.NewRecorder()
		foreign.Host = "evil.test:7300" // a name that somebody made lead here
		c.head(foreign, call)
		w.handler(stillListens).ServeHTTP(refused, foreign)
		if refused.Code != http.StatusForbidden || !strings.Contains(refused.Body.String(), `"jsonrpc":"2.0"`) {
			t.Errorf("another host: %d %s", refused.Code, refused.Body)
		}
		c.header = http.Header{"Origin": {w.url}} // the control
		if r := c.tool("look", `{}`); r.Error != nil || r.Result.IsError || len(w.router.Calls()) != 1 {
			t.Errorf("our own origin: %s, after %d calls", r.text(), len(w.router.Calls()))
		}
	})
}

// TestSessions (defect 6): a session is its caller's, on its endpoint, until it is deleted.
func TestSessions(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).legacy("2025-11-25", `{}`)
	foreign := w.as(other)
	foreign.session, foreign.version = c.session, c.version
	if a := foreign.send("POST", rpc(1, "tools/list", "{}")); a.status != 404 {
		t.Errorf("another caller's session: %d %s", a.status, a.body)
	}
	elsewhere := *c
	elsewhere.path = "/mcp/shop"
	if a := elsewhere.send("POST", rpc(1, "tools/list", "{}")); a.status != 404 {
		t.Errorf("the session of another endpoint: %d %s", a.status, a.body)
	}
	for _, method := range []string{"GET", "DELETE"} {
		none := w.as(agent)
		if a := none.send(method, ""); a.status != 405 || a.header.Get("Allow") != "POST" {
			t.Errorf("%s without a session: %d %v", method, a.status, a.header)
		}
		unknown := w.as(agent)
		unknown.session = "unknown"
		if a := unknown.send(method, ""); a.status != 404 || !strings.Contains(a.body, `"jsonrpc":"2.0"`) {
			t.Errorf("%s of an unknown session: %d %s", method, a.status, a.body)
		}
	}
	if a := c.send("DELETE", ""); a.status != 204 {
		t.Errorf("deleting gives %d", a.status)
	}
	if a := c.send("POST", rpc(1, "tools/list", "{}")); a.status != 404 {
		t.Errorf("a deleted session: %d %s", a.status, a.body)
	}
	for range maxOfCaller + 100 {
		w.as(other).legacy("2025-11-25", `{}`)
	}
	if n := w.sessions.count(); n > maxOfCaller {
		t.Errorf("one caller has %d sessions", n)
	}
}

// TestScopes: one endpoint for all sites, one for each; names are prefixed where
// there are several; another state is another session.
func TestScopes(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).since2026(`{}`)
	c.path = "/mcp/shop?session=mine"
	if r := c.tool("look", `{}`); r.Result.IsError || r.Error != nil {
		t.Error(r.text())
	}
	if calls := w.router.Calls(); len(calls) != 1 || calls[0].Ref.Session != "mine" {
		t.Errorf("the page got %+v", calls)
	}
	for path, want := range map[string]int{"/mcp/none": 404, "/mcp/shop?session=": 400, "/mcp/shop/more": 404, "/mcp/shop?session=" + strings.Repeat("x", 129): 400} {
		c.path = path
		a := c.send("POST", rpc(1, "tools/list", c.params("{}")))
		if a.status != want || !strings.Contains(a.body, `"jsonrpc":"2.0"`) || !strings.Contains(a.body, `"id":null`) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
	c.path, c.token = "/mcp", "wrong"
	if a := c.send("POST", rpc(1, "tools/list", c.params("{}"))); a.status != 401 || a.header.Get("WWW-Authenticate") != `Bearer error="invalid_token"` || !strings.Contains(a.body, `"jsonrpc":"2.0"`) {
		t.Errorf("a wrong token: %d %s", a.status, a.body)
	}
}

// TestCallOfItsOwnOnly (defect 4): equal ids of clients are calls of their own, and
// a client cancels only its own.
func TestCallOfItsOwnOnly(t *testing.T) {
	w := newWorld(t, Options{})
	entered, release := make(chan context.Context, 2), make(chan struct{})
	w.router.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		entered <- ctx
		select {
		case <-release:
			return bridge.Step{Data: inv.Input}
		case <-ctx.Done():
			return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
		}
	})
	first, second := w.as(agent).legacy("2025-11-25", `{}`), w.as(other).legacy("2025-11-25", `{}`)
	replies := map[*client]chan answer{first: make(chan answer, 1), second: make(chan answer, 1)}
	for c, reply := range replies {
		go func() {
			reply <- c.call(1, "tools/call", fmt.Sprintf(`{"name":"look","arguments":{"who":%q}}`, c.token))
		}()
	}
	ctxs := []context.Context{<-entered, <-entered}
	if a := first.send("POST", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`); a.status != 202 {
		t.Errorf("cancelling gives %d", a.status)
	}
	if a := <-replies[first]; a.status != 200 || a.body != "" { // a stream without a reply. E11
		t.Errorf("the call that was cancelled gives %d %s", a.status, a.body)
	}
	if ctxs[0].Err() != nil && ctxs[1].Err() != nil {
		t.Error("both calls were cancelled")
	}
	close(release)
	if a := <-replies[second]; a.tool(t).text() != `{"who":"other-token"}` {
		t.Errorf("the other call gives %s", a.body)
	}
}

// TestHangUp: a client that goes away ends its call.
func TestHangUp(t *testing.T) {
	every(t, `{}`, func(t *testing.T, w *world, c *client) {
		entered, ended := make(chan struct{}), make(chan struct{})
		w.router.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
			close(entered)
			<-ctx.Done()
			close(ended)
			return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
		})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+c.path, strings.NewReader(rpc(1, "tools/call", c.params(`{"name":"look","arguments":{}}`))))
			if err != nil {
				return
			}
			r.Header = http.Header{"Authorization": {"Bearer " + c.token}, "Content-Type": {"application/json"}, "Mcp-Protocol-Version": {c.version}}
			if c.modern {
				r.Header["Mcp-Method"], r.Header["Mcp-Name"] = []string{"tools/call"}, []string{"look"}
			} else {
				r.Header["Mcp-Session-Id"] = []string{c.session}
			}
			if resp, err := http.DefaultClient.Do(r); err == nil {
				_ = resp.Body.Close()
			}
		}()
		<-entered
		cancel()
		<-ended
		<-done
	})
}

// TestListChanges: each client hears of a change once, on its own stream, and its
// list is the page's.
func TestListChanges(t *testing.T) {
	every(t, `{}`, func(t *testing.T, w *world, c *client) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var resp *http.Response
		if c.modern {
			resp = c.open(ctx, "POST", rpc(`"sub"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)))
		} else {
			resp = c.open(ctx, "GET", "")
		}
		defer resp.Body.Close()
		heard := make(chan string, 100)
		go func() { // ends with the stream
			defer close(heard)
			for e := range events(resp.Body) {
				heard <- e
			}
		}()
		next := func() string {
			t.Helper()
			select {
			case e := <-heard:
				return e
			case <-time.After(hang):
				t.Fatal("the stream says nothing")
				return ""
			}
		}
		if c.modern {
			if ack := next(); !strings.Contains(ack, "notifications/subscriptions/acknowledged") || !strings.Contains(ack, `"io.modelcontextprotocol/subscriptionId":"sub"`) || !strings.Contains(ack, `"toolsListChanged":true`) {
				t.Fatalf("it begins with %s", ack)
			}
		}
		c.names()
		w.router.Declare("shop", bridgetest.Tool("look", ""), bridgetest.Asking("buy", "")) // the same again: no news
		for n := range 5 {
			for i := range 20 { // in one go
				w.router.Declare("shop", bridgetest.Tool(fmt.Sprintf("t%d-%d", n, i), ""))
			}
			note := next()
			if !strings.Contains(note, `"method":"notifications/tools/list_changed"`) || strings.Contains(note, "subscriptionId") != c.modern {
				t.Errorf("it says %s", note)
			}
			for want := fmt.Sprintf("t%d-19", n); c.names() != want; { // told in the middle: told again at the end
				next()
			}
		}
	})
}

// TestNeverReads (R49): a client that opens a stream and reads nothing of it holds up
// nobody.
func TestNeverReads(t *testing.T) {
	w := newWorld(t, Options{})
	c := w.as(agent).legacy("2025-11-25", `{}`)
	conn, err := net.Dial("tcp", strings.TrimPrefix(w.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(1 << 10); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /mcp HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\nAccept: text/event-stream\r\n\r\n",
		strings.TrimPrefix(w.url, "http://"), c.token, c.session); err != nil {
		t.Fatal(err)
	}
	listener := *c
	resp := listener.open(t.Context(), "GET", "")
	defer resp.Body.Close()
	heard := make(chan string, 100)
	go func() { // ends with the stream
		defer close(heard)
		for e := range events(resp.Body) {
			heard <- e
		}
	}()
	for i := range 20 {
		w.router.Declare("shop", bridgetest.Tool(fmt.Sprintf("t%d", i), ""))
		select {
		case <-heard:
		case <-time.After(hang):
			t.Fatal("the other stream says nothing")
		}
		if got := c.names(); got != fmt.Sprintf("t%d", i) {
			t.Errorf("the list is %q", got)
		}
	}
}

// TestFindingsAreLogged: what MCP clients see otherwise than the page says is logged
// once for each list, until it changes.
func TestFindingsAreLogged(t *testing.T) {
	var said bytes.Buffer
	w := newFace(t, Options{Log: slog.New(slog.NewTextHandler(&said, nil))})
	w.router.Declare("shop", named("cart.add")...)
	sc := scope{caller: agent, session: defaultSession}
	for range 3 {
		w.list(t.Context(), sc)
	}
	if n := strings.Count(said.String(), "rule=mcp-name-changed"); n != 1 {
		t.Errorf("it is logged %d times: %s", n, said.String())
	}
	w.router.Declare("shop", named("cart.add", "look")...)
	w.list(t.Context(), sc)
	w.router.Declare("shop", named("cart.put")...)
	w.list(t.Context(), sc)
	if n := strings.Count(said.String(), "rule=mcp-name-changed"); n != 2 {
		t.Errorf("after changes it was logged %d times: %s", n, said.String())
	}
}

// TestUnknownMode: a word that is none of --mcp-tools is refused, and said.
func TestUnknownMode(t *testing.T) {
	if _, err := New(newFace(t, Options{}).bridge, Options{Tools: "some"}); err == nil || !strings.Contains(err.Error(), `"some"`) {
		t.Errorf("it is taken: %v", err)
	}
}
