package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestStdio: both protocol versions in one process, decided for each message; replies are lines.
func TestStdio(t *testing.T) {
	w := newWorld(t, Options{})
	p := w.stdio(bridge.Local())
	modern := w.as(agent).since2026(`{}`)
	for _, x := range [][2]string{
		{rpc(1, "server/discover", modern.params("{}")), `"supportedVersions":["2026-07-28"`}, // then the handshake, as one client does
		{rpc(2, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`), `"protocolVersion":"2025-11-25"`},
		{rpc(`9007199254740993`, "tools/list", "{}"), `"id":9007199254740993,"result":{`},
		{rpc(3, "tools/call", `{"name":"look","arguments":{"a":1}}`), `{\"a\":1}`},
		{rpc(4, "tools/call", modern.params(`{"name":"look","arguments":{"a":2}}`)), `"resultType":"complete"`},
		{`{"jsonrpc":"2.0","id":5,"method":"no/such"}`, `-32601`},
		{`nonsense`, `-32700`},
		{strings.Repeat("x", maxLine+1), `longer than`},
		{rpc(null, "ping", "{}"), `{"jsonrpc":"2.0","id":null,"result":{}}`},
	} {
		p.send(x[0])
		if got := p.next(); !strings.Contains(got, x[1]) {
			t.Errorf("%.80s gives %s, want %s", x[0], got, x[1])
		}
	}
	_ = p.in.Close()
	select {
	case err := <-p.ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(hang):
		t.Fatal("it goes on without stdin")
	}
}

const null = "null"

// TestStdioManyWait (defect 8): calls that wait for a person hold up nobody: not
// another call, and not their own cancellation.
func TestStdioManyWait(t *testing.T) {
	w := newWorld(t, Options{})
	entered := make(chan struct{}, 200)
	w.router.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		if string(inv.Input) == `{"fast":true}` {
			return bridge.Step{Data: inv.Input}
		}
		entered <- struct{}{}
		<-ctx.Done()
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
	})
	p := w.stdio(bridge.Local())
	for i := range 200 {
		p.send(rpc(i, "tools/call", `{"name":"look","arguments":{}}`))
	}
	for range 200 {
		<-entered
	}
	p.send(rpc(`"fast"`, "tools/call", `{"name":"look","arguments":{"fast":true}}`))
	if got := p.next(); !strings.Contains(got, `"id":"fast"`) || !strings.Contains(got, `fast\":true`) {
		t.Errorf("beside 200 that wait a call gives %s", got)
	}
	for i := range 200 {
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
	}
	p.send(rpc(`"after"`, "ping", `{}`))
	if got := p.next(); !strings.Contains(got, `"id":"after"`) { // who cancelled gets no reply
		t.Errorf("after they were cancelled it says %s", got)
	}
}

// TestStdioListChanges (defect 9): a client of an older protocol version hears of changes, one
// of 2026-07-28 only what it asked for.
func TestStdioListChanges(t *testing.T) {
	w := newWorld(t, Options{})
	older, modern := w.stdio(bridge.Local()), w.stdio(bridge.Local())
	older.send(rpc(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	older.next()
	older.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c := w.as(agent).since2026(`{}`)
	modern.send(rpc(1, "subscriptions/listen", c.params(`{"notifications":{"promptsListChanged":true}}`)))
	if ack, end := modern.next(), modern.next(); !strings.Contains(ack, "acknowledged") || strings.Contains(ack, "true") || !strings.Contains(end, `"result"`) {
		t.Errorf("who asked for prompts hears %s %s", ack, end)
	}
	modern.send(rpc(`"l"`, "subscriptions/listen", c.params(`{"notifications":{"toolsListChanged":true}}`)))
	if ack := modern.next(); !strings.Contains(ack, `"toolsListChanged":true`) {
		t.Fatalf("it says %s", ack)
	}
	older.send(rpc(2, "tools/list", "{}")) // it listens when this is answered, or hears of the next change at the latest
	older.next()
	heard := func(p *pipe, tag bool) {
		t.Helper()
		note := p.next()
		if !strings.Contains(note, "notifications/tools/list_changed") || strings.Contains(note, `subscriptionId":"l"`) != tag {
			t.Errorf("it says %s", note)
		}
	}
	w.router.Declare("shop", bridgetest.Tool("other", ""))
	heard(modern, true)
	heard(older, false)
}

// TestStdinCloses: what runs is ended in the page, and nothing is waited for long.
func TestStdinCloses(t *testing.T) {
	w := newWorld(t, Options{})
	entered, left := make(chan struct{}), make(chan struct{})
	w.router.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step {
		close(entered)
		<-ctx.Done()
		close(left)
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
	})
	p := w.stdio(bridge.Local())
	p.send(rpc(1, "tools/call", `{"name":"look","arguments":{}}`))
	<-entered
	_ = p.in.Close()
	<-left
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

// TestStdioElicitation: a client of an older protocol version is asked with a request, and a
// confirmation is answered with its reply.
func TestStdioElicitation(t *testing.T) {
	w := newWorld(t, Options{})
	runs := w.confirms(bridge.Confirm)
	p := w.stdio(bridge.Local())
	p.send(rpc(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`))
	p.next()
	p.send(rpc(2, "tools/call", `{"name":"look","arguments":{}}`))
	var asked struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal([]byte(p.next()), &asked); err != nil || asked.Method != "elicitation/create" {
		t.Fatalf("it says %+v, %v", asked, err)
	}
	p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{}}}`, asked.ID))
	if got := p.next(); !strings.Contains(got, `{\"ok\":true}`) || *runs != 1 {
		t.Errorf("it gives %s after %d runs", got, *runs)
	}
}
