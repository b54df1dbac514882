package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/transport/cluster"
)

const inSession = `{"action":"read","sessionId":"s","request":{}}`

// briefly gives up soon.
func briefly(o *cluster.Options) { o.Patience = 50 * time.Millisecond }

// TestSessionsFindTheirHome: a call of a session, and a list of it, go to the node that has it, by
// whatever face. The session of another caller with the same name is another one.
func TestSessionsFindTheirHome(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	a.send("POST", "/webtools/shop", inSession).wants(t, "before anybody has it", 200, fmt.Sprintf(on, "a"))
	m.put("s", b, 3)
	m.put("mcp", b, 1)
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{}}}`
	a.send("POST", "/webtools/shop", inSession).wants(t, "a webtool", 200, fmt.Sprintf(on, "b"))
	a.send("POST", "/tools/shop/read?sessionId=s", `{}`).wants(t, "an operation", 200, fmt.Sprintf(on, "b"))
	a.send("POST", "/mcp/shop?session=s", list, "Mcp-Protocol-Version", "2025-06-18").wants(t, "MCP", 200, `\"node\":\"b\"`)
	a.send("POST", "/mcp", list, "Mcp-Protocol-Version", "2025-06-18").wants(t, "MCP without a session", 200, `\"node\":\"b\"`)
	hops := b.hops.Load()
	a.send("GET", "/webtools/shop?sessionId=s", "").wants(t, "its list", 200, `"read"`)
	if b.hops.Load() != hops+1 {
		t.Error("its list is the entry's")
	}
	a.send("POST", "/webtools/shop/batch", `{"sessionId":"s","steps":[{"id":"x","action":"read","request":{}}]}`).wants(t, "a batch", 200, fmt.Sprintf(on, "b"))
	sendTo(t, a.url, otherToken, "POST", "/webtools/shop", inSession).wants(t, "of another caller", 200, fmt.Sprintf(on, "a"))
	a.send("POST", "/webtools/shop", strings.Replace(inSession, `"s"`, `"t"`, 1)).wants(t, "another session", 200, fmt.Sprintf(on, "a"))
	b.send("POST", "/webtools/shop", inSession).wants(t, "at its home", 200, fmt.Sprintf(on, "b"))
}

// TestSessionsMove: an entry whose directory is old is told so by the node that is not the home any
// more, or has the session in another epoch, and by none else: nothing runs there.
func TestSessionsMove(t *testing.T) {
	m := newMembers(t)
	a, b, c := m.start("a", nil), m.start("b", nil), m.start("c", nil)
	m.put("s", b, 3)
	a.send("GET", "/webtools/shop?sessionId=s", "").wants(t, "at first", 200) // a knows b now, and b itself
	m.put("s", b, 4)
	b.cluster.Forget(m.namer().Name("agent", "s"))
	a.send("POST", "/webtools/shop", inSession).wants(t, "in the next epoch", 200, fmt.Sprintf(on, "b"))
	if n := b.hops.Load(); n != 3 {
		t.Errorf("%d hops: it was served in an epoch that is over", n)
	}
	m.put("s", c, 5)
	b.cluster.Forget(m.namer().Name("agent", "s"))
	a.send("POST", "/webtools/shop", inSession).wants(t, "at another node", 200, fmt.Sprintf(on, "c"))
	if a.ran.Load()+b.ran.Load()+c.ran.Load() != 2 || b.ran.Load() != 1 {
		t.Errorf("%d, %d and %d ran", a.ran.Load(), b.ran.Load(), c.ran.Load())
	}
	// A node that knows of another home does not pass the request on again.
	if c.hops.Load() != 1 {
		t.Errorf("%d hops", c.hops.Load())
	}
}

// TestSessionIsTaken: of two nodes that would open a session, one has it, and the call of the other one runs
// there, once. In a batch another call may have run: it is not passed on again.
func TestSessionIsTaken(t *testing.T) {
	const over = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"read","arguments":{}}}`
	for _, x := range []struct{ path, body, want string }{
		{"/webtools/shop", inSession, fmt.Sprintf(on, "b")},
		{"/tools/shop/read?sessionId=s", `{}`, fmt.Sprintf(on, "b")},
		{"/mcp/shop?session=s", over, `\"node\":\"b\"`},
		{"/webtools/shop/batch", `{"sessionId":"s","steps":[{"id":"x","action":"read","request":{}}]}`, `"ELSEWHERE"`},
	} {
		m := newMembers(t)
		a, b := m.start("a", nil), m.start("b", nil)
		late := func() { m.put("s", b, 1) }
		a.taken.by.Store(&late)
		a.send("POST", x.path, x.body, "Mcp-Protocol-Version", "2025-03-26", "Idempotency-Key", "a-key-of-tests").wants(t, x.path, 200, x.want)
		if a.ran.Load() != 0 || b.ran.Load() > 1 {
			t.Errorf("%s: %d and %d ran", x.path, a.ran.Load(), b.ran.Load())
		}
	}
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	m.put("s", b, 1)
	moves := func() { m.put("s", a, 2) }
	b.taken.by.Store(&moves)
	a.send("POST", "/webtools/shop", inSession).wants(t, "at its home", 200, fmt.Sprintf(on, "a"))
	if a.ran.Load() != 1 || b.ran.Load() != 0 {
		t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
	}
}

// TestSentOnce: a call whose connection ends without a reply is not sent again, although it has a key and no
// body, for which net/http does so.
func TestSentOnce(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", briefly), m.start("b", nil)
	m.put("s", b, 1)
	for i, status := range []int{200, 503} {
		b.peers.breaks.Store(i > 0) // of a connection that was used before
		a.send("POST", "/tools/shop/read?sessionId=s", "", "Content-Type", "application/json", "Idempotency-Key", fmt.Sprint("a-key-of-tests-", i)).wants(t, "a call", status)
		if b.ran.Load() != int64(i+1) || b.hops.Load() != int64(i+1) {
			t.Fatalf("call %d: %d ran, of %d requests", i, b.ran.Load(), b.hops.Load())
		}
	}
}

// TestNobodyKnows: while the directory does not answer, or the home cannot renew its lease, requests
// about sessions run nowhere, and say so in the form of their face. Others go on.
func TestNobodyKnows(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", briefly), m.start("b", briefly)
	const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read","arguments":{}}}`
	refused := func(n *node) {
		t.Helper()
		r := n.send("POST", "/webtools/shop", inSession).wants(t, "a call", 503, `"NO_QUORUM"`, `"outcome":"not_run"`)
		if r.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
		n.send("POST", "/tools/shop/read?sessionId=s", `{}`).wants(t, "an operation", 503, `"NO_QUORUM"`)
		n.send("POST", "/mcp?session=s", call, "Mcp-Protocol-Version", "2025-06-18").wants(t, "MCP", 200, `"id":7`, `"isError":true`, `"NO_QUORUM"`, `"not_run"`)
		n.send("GET", "/webtools/shop?sessionId=s", "").wants(t, "a list", 503, `"NO_QUORUM"`)
		n.send("POST", "/mcp?session=s", `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`).wants(t, "a list over MCP", 503, `"NO_QUORUM"`, `"jsonrpc"`)
		n.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "without a session", 200)
		n.send("GET", "/webtools", "").wants(t, "the index", 200)
	}
	m.homes.Fail(errors.New("no quorum"))
	refused(a)
	c := m.start("c", func(o *cluster.Options) { o.Patience = time.Hour }) // but it has no lease
	m.Cut(c.ID, true)
	refused(c)
	m.homes.Fail(nil)
	m.put("s", b, 1)
	m.Cut(b.ID, true)
	refused(a)
	refused(b)
	if a.ran.Load() != 2 || b.ran.Load() != 1 {
		t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
	}
	m.Cut(b.ID, false)
	a.send("POST", "/webtools/shop", inSession).wants(t, "the control", 200, fmt.Sprintf(on, "b"))
}

// TestSharedPages: a site with one page is served by the node that has it, without a session; a session
// of it is not.
func TestSharedPages(t *testing.T) {
	m := newMembers(t)
	var owner string
	owned := func(o *cluster.Options) {
		o.Owner = func(site string) string {
			if site != "shop" {
				return ""
			}
			return owner
		}
	}
	a, b := m.start("a", owned), m.start("b", owned)
	for _, n := range []*node{a, b} {
		owner = n.ID
		a.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "a call", 200, fmt.Sprintf(on, n.Name))
		a.send("POST", "/webtools/shop", inSession).wants(t, "in a session", 200, fmt.Sprintf(on, "a"))
	}
	owner = "NOBODY23"
	a.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "without an owner", 200, fmt.Sprintf(on, "a"))
}

// TestHomeIsLost: what is known of a call whose home ends is said as it is, and nothing runs twice.
func TestHomeIsLost(t *testing.T) {
	const waiting = `{"action":"read","sessionId":"s","request":{"waits":1}}`
	begin := func(t *testing.T, change func(*cluster.Options)) (m *members, a, b *node, end chan reply) {
		m = newMembers(t)
		a, b = m.start("a", change), m.start("b", nil)
		m.put("s", b, 1)
		end = make(chan reply, 1)
		go func() { end <- a.send("POST", "/webtools/shop", waiting) }()
		<-b.waits
		return m, a, b, end
	}
	t.Run("declared dead", func(t *testing.T) {
		m, a, b, end := begin(t, nil)
		m.Kill(b.ID)
		(<-end).wants(t, "a call in it", 502, `"NODE_LOST"`, `"unknown"`)
		<-b.aborted
		a.send("POST", "/webtools/shop", inSession).wants(t, "the next call", 200, fmt.Sprintf(on, "a"))
		if a.ran.Load() != 1 || b.ran.Load() != 1 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("killed, and declared dead later", func(t *testing.T) {
		m, a, b, end := begin(t, nil)
		b.stop()
		select {
		case r := <-end:
			t.Fatalf("it is told before it is known: %d %s", r.status, r.body)
		default:
		}
		m.Kill(b.ID)
		(<-end).wants(t, "a call in it", 502, `"NODE_LOST"`, `"unknown"`)
		if a.ran.Load() != 0 {
			t.Error("it ran again")
		}
	})
	t.Run("out of reach", func(t *testing.T) {
		_, a, b, end := begin(t, briefly)
		b.stop()
		(<-end).wants(t, "a call in it", 503, `"NO_QUORUM"`, `"unknown"`)
		a.send("POST", "/webtools/shop", inSession).wants(t, "the next call", 503, `"NO_QUORUM"`, `"not_run"`)
		a.send("GET", "/webtools/shop?sessionId=s", "").wants(t, "its list", 503, `"NO_QUORUM"`)
		if a.ran.Load() != 0 {
			t.Error("it ran")
		}
	})
	t.Run("between calls", func(t *testing.T) {
		m, a, b, end := begin(t, nil)
		b.stop()
		listed := make(chan reply, 1)
		go func() { listed <- a.send("GET", "/webtools/shop?sessionId=s", "") }()
		called := make(chan reply, 1)
		go func() { called <- a.send("POST", "/webtools/shop", inSession) }()
		m.Kill(b.ID)
		(<-end).wants(t, "a call in it", 502, `"NODE_LOST"`)
		(<-listed).wants(t, "a list", 200, `"read"`)
		(<-called).wants(t, "a call that was not sent", 200, fmt.Sprintf(on, "a"))
	})
	t.Run("its caller leaves", func(t *testing.T) {
		m := newMembers(t)
		a, b := m.start("a", nil), m.start("b", nil)
		m.put("s", b, 1)
		ctx, leave := context.WithCancel(t.Context())
		gone := make(chan error, 1)
		go func() {
			resp, err := client.Do(request(t, a.url, agentToken, http.MethodPost, "/webtools/shop", waiting).WithContext(ctx))
			if err == nil {
				_ = resp.Body.Close()
			}
			gone <- err
		}()
		<-b.waits
		leave()
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("it ends with %v", err)
		}
		<-b.aborted // the call in the page is aborted, through both nodes
	})
}

// TestNamesOfTheDead: what a node had that has ended is told so; a name of no node is any unknown name.
func TestNamesOfTheDead(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	const call = `{"action":"write","request":{}`
	token := b.send("POST", "/webtools/shop", call+`}`).wants(t, "consent", 403).at(t, "error", "details", "resume")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	session := b.send("POST", "/mcp", initialize).wants(t, "initialize", 200).header.Get("Mcp-Session-Id")
	modern := []string{"Mcp-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", "write"}
	params := `{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write","arguments":{"n":1},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}%s}}`
	state := b.send("POST", "/mcp", fmt.Sprintf(params, ""), modern...).wants(t, "consent over MCP", 200).at(t, "result", "requestState")
	m.Kill(b.ID)
	for range 2 { // it answers still, and then it does not
		a.send("POST", "/webtools/shop", call+`}`, "Pagetools-Resume", token).wants(t, "a token", 502, `"NODE_LOST"`, `"unknown"`)
		a.send("POST", "/webtools/shop", `{"action":"write","payload":{}}`, "Pagetools-Resume", token).wants(t, "a token in the older dialect", 502, `{"error":"`)
		a.send("GET", "/calls/"+token, "").wants(t, "a long call", 502, `"NODE_LOST"`)
		a.send("POST", "/mcp", fmt.Sprintf(params, `,"requestState":"`+state+`"`), modern...).wants(t, "a state", 200, `"error"`, `"NODE_LOST"`, `"unknown"`, `"id":5`)
		a.send("POST", "/mcp", `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`, "Mcp-Session-Id", session).wants(t, "a session of MCP", 404, "-32001")
		a.send("GET", "/files/"+token, "").wants(t, "a file", 404)
		b.stop()
	}
	unknown := "NOBODY23" + token[8:]
	a.send("POST", "/webtools/shop", call+`}`, "Pagetools-Resume", unknown).wants(t, "a token of no node", 404, `"RESUME_NOT_FOUND"`, `"unknown"`)
	a.send("GET", "/calls/"+unknown, "").wants(t, "a long call of no node", 404)
	if n := a.ran.Load(); n != 0 {
		t.Errorf("%d ran", n)
	}
}
