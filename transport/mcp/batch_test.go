package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// batchOf is a batch of requests for the tool "look", one for each id.
func batchOf(n int) string {
	var list []string
	for id := range n {
		list = append(list, rpc(id, "tools/call", fmt.Sprintf(`{"name":"look","arguments":{"a":%d}}`, id)))
	}
	return "[" + strings.Join(list, ",") + "]"
}

// batchHandler answers calls of "look" with their arguments; one with "wait" waits until it
// is given up, and says on entered that it runs.
func (w *world) batchHandler() (entered chan struct{}) {
	entered = make(chan struct{}, 10)
	w.router.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		if !strings.Contains(string(inv.Input), "wait") {
			return bridge.Step{Data: inv.Input}
		}
		entered <- struct{}{}
		<-ctx.Done()
		return bridge.Errorf(bridge.Cancelled, "", bridge.Unknown, "The caller gave up.").Step()
	})
	return entered
}

const waits = `{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"look","arguments":{"wait":1}}}`

const cancels = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`

// requestText matches the request's id in an error.
var requestText = regexp.MustCompile(`,"data":\{"request":"[A-Z2-7]{26}(-\d+)?"\}`)

// TestBatches: clients of protocol version 2025-03-26 send several messages at a time, and get
// the replies as one list; no other version has that. E11.
func TestBatches(t *testing.T) {
	every(t, nothing, func(t *testing.T, w *world, c *client) {
		w.batchHandler()
		if c.version != "2025-03-26" {
			if a := c.send("POST", batchOf(1)); a.status != 400 || !strings.Contains(a.body, "Batches are part of protocol version 2025-03-26 only") {
				t.Errorf("a batch gives %d %s", a.status, a.body)
			}
			return
		}
		for sent, want := range map[string]string{
			batchOf(2): `[{"jsonrpc":"2.0","id":0,"result":{"content":[{"type":"text","text":"{\"a\":0}"}],"structuredContent":{"a":0}}},` +
				`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"a\":1}"}],"structuredContent":{"a":1}}}]`,
			`[` + rpc(1, "ping", "{}") + `,{"jsonrpc":"2.0","method":"notifications/initialized"}]`: `[{"jsonrpc":"2.0","id":1,"result":{}}]`,
			`[` + rpc(1, "no/such", "{}") + `,5]`: `[{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method no/such not found: this server has tools, and tools/list lists them"}},` +
				`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"jsonrpc must be \"2.0\"."}}]`,
			`[` + rpc(1, "initialize", `{"protocolVersion":"2025-11-25"}`) + `]`: `[{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"initialize cannot be part of a batch."}}]`,
			`[[]]`: `[{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Batches are part of protocol version 2025-03-26 only: send one message at a time."}}]`,
			`[` + waits + `,` + cancels + `,` + rpc(2, "ping", "{}") + `]`: `[{"jsonrpc":"2.0","id":2,"result":{}}]`,
		} {
			a := c.send("POST", sent)
			if a.status != 200 || requestText.ReplaceAllString(a.body, "") != want {
				t.Errorf("%s gives %d %s\nwant %s", sent, a.status, a.body, want)
			}
		}
		if a := c.send("POST", `[`+cancels+`,`+cancels+`]`); a.status != 202 || a.body != "" {
			t.Errorf("notifications give %d %s", a.status, a.body)
		}
		if a := c.send("POST", `[`+waits+`,`+cancels+`]`); a.status != 200 || a.body != "" || len(a.events) > 0 {
			t.Errorf("a request that was cancelled gives %d %s", a.status, a.body)
		}
		for sent, code := range map[string]int{"[]": -32600, batchOf(maxBatch + 1): -32600, `[{},`: -32700, `[{}]x`: -32700} {
			if a := c.send("POST", sent); a.status != 400 || !strings.Contains(a.body, fmt.Sprintf(`"code":%d`, code)) {
				t.Errorf("%.40s gives %d %s", sent, a.status, a.body)
			}
		}
		if a := c.send("POST", batchOf(maxBatch)); a.status != 200 || strings.Count(a.body, `"result"`) != maxBatch {
			t.Errorf("%d messages give %d %s", maxBatch, a.status, a.body)
		}
	})
}

// TestBatchesOnStdio: as over HTTP; a request of a batch holds up nobody else, and can be
// cancelled as soon as the batch was read.
func TestBatchesOnStdio(t *testing.T) {
	w := newWorld(t, Options{})
	entered := w.batchHandler()
	p := w.stdio(bridge.Local())
	p.send(batchOf(1))
	if got := p.next(); !strings.Contains(got, "2025-03-26 only") {
		t.Errorf("before the handshake a batch gives %s", got)
	}
	p.send(rpc(1, "initialize", `{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
	p.next()
	p.send(`[` + waits + `,` + rpc(2, "ping", "{}") + `]`)
	<-entered
	p.send(rpc(3, "ping", "{}"))
	if got := p.next(); got != `{"jsonrpc":"2.0","id":3,"result":{}}` {
		t.Errorf("beside a batch a request gives %s", got)
	}
	p.send(cancels)
	if got := p.next(); got != `[{"jsonrpc":"2.0","id":2,"result":{}}]` {
		t.Errorf("a batch gives %s", got)
	}
	p.send(`[` + waits + `]`)
	p.send(cancels)
	p.send(batchOf(3))
	var list []json.RawMessage
	if got := p.next(); json.Unmarshal([]byte(got), &list) != nil || len(list) != 3 {
		t.Errorf("after one that was cancelled, a batch gives %s", got)
	}
}
