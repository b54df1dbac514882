package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/transport"
)

// maxBatch bounds the messages of one batch, and so what its reply can hold.
const maxBatch = 20

// errNoBatches is for clients of other versions.
var errNoBatches = badRequest("Batches are part of protocol version %s only: send one message at a time.",
	mcpgo.ProtocolVersion20250326)

// isBatch reports whether a text is a list of messages.
func isBatch(text []byte) bool {
	trimmed := bytes.TrimLeft(text, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '['
}

// readBatch takes a list of messages of the client apart. Only one protocol version has them.
func (p *peer) readBatch(text []byte) ([]json.RawMessage, *rpcError) {
	if p == nil {
		return nil, errNoBatches
	}
	if version, _ := p.client(); version != mcpgo.ProtocolVersion20250326 {
		return nil, errNoBatches
	}
	if !json.Valid(text) {
		return nil, rpcErrorf(mcpgo.PARSE_ERROR, "The batch is not valid JSON.")
	}
	var list []json.RawMessage
	d := json.NewDecoder(bytes.NewReader(text))
	_, _ = d.Token() // it is a list
	for d.More() && len(list) <= maxBatch {
		var one json.RawMessage
		_ = d.Decode(&one) // all of it is valid
		list = append(list, one)
	}
	if len(list) == 0 || len(list) > maxBatch {
		return nil, badRequest("A batch must have 1 to %d messages.", maxBatch)
	}
	return list, nil
}

// batch is a list of messages of a client on its way.
type batch struct {
	replies   [][]byte    // to each message; nil: none
	exchanges []*exchange // of the replies
	running   sync.WaitGroup
	asks      bool // there is something to reply to, if nobody cancels it
}

// beginBatch takes the messages of a batch, and runs its requests beside each other. They can be
// cancelled when it returns.
func (p *peer) beginBatch(ctx context.Context, texts []json.RawMessage, notified func(*message),
	exchangeOf func(*message) *exchange, refusal func(id json.RawMessage, e *rpcError) []byte) *batch {
	b := &batch{replies: make([][]byte, len(texts)), exchanges: make([]*exchange, len(texts))}
	for i, text := range texts {
		m, failed := readMessage(text)
		if failed == nil && m.method == string(mcpgo.MethodInitialize) {
			failed = badRequest("initialize cannot be part of a batch.")
		}
		switch {
		case failed != nil:
			b.asks, b.replies[i] = true, refusal(m.id, failed)
		case m.isReply():
			p.replied(m)
		case m.id == nil:
			notified(m)
		default:
			b.asks = true
			x := exchangeOf(m)
			running, end := p.begin(ctx, m.id)
			b.running.Go(func() {
				defer end()
				if reply, _ := x.serve(running); !errors.Is(context.Cause(running), errCancelled) {
					b.replies[i], b.exchanges[i] = reply, x
				}
			})
		}
	}
	return b
}

// reply waits for all requests of a batch, and returns the list of the replies to write; it
// is nil when there is none.
func (b *batch) reply(ctx context.Context) (text []byte) {
	b.running.Wait()
	for i, reply := range b.replies {
		if reply != nil {
			text = append(append(text, ','), reply...)
		}
		if x := b.exchanges[i]; x != nil {
			x.pause(ctx)
		}
	}
	if text == nil {
		return nil
	}
	text[0] = '['
	return append(text, ']')
}

// deliver writes the reply of all; see exchange.deliver.
func (b *batch) deliver(write func() error) {
	for _, x := range b.exchanges {
		if within := write; x != nil {
			write = func() error { return x.deliver(within) }
		}
	}
	_ = write() // a client that is gone needs no reply
}

// postBatch takes a batch over HTTP.
func (f *Face) postBatch(w http.ResponseWriter, r *http.Request, sc scope, body []byte) {
	id := r.Header.Get(headerSession)
	session := f.sessions.find(r.Context(), id, sc)
	if id != "" && session == nil {
		f.refuse(w, r, http.StatusNotFound, nil, noSuchSession())
		return
	}
	var p *peer
	if session != nil {
		p = session.peer
	}
	texts, failed := p.readBatch(body)
	if failed != nil {
		f.refuse(w, r, http.StatusBadRequest, nil, failed)
		return
	}
	ctx, out, end := streamOf(w, r)
	defer end()
	n := 0
	b := p.beginBatch(ctx, texts, p.notified, func(m *message) *exchange {
		n++
		x := f.exchange(r, sc, m, p, out)
		x.id = fmt.Sprintf("%s-%d", x.id, n) // each is a call of its own
		return x
	}, func(id json.RawMessage, e *rpcError) []byte {
		return f.refusal(transport.RequestID(r.Context()), sc.caller.Name, id, e)
	})
	reply := b.reply(ctx)
	switch {
	case !b.asks:
		w.WriteHeader(http.StatusAccepted)
	case reply == nil:
		out.nothing()
	default:
		b.deliver(func() error { return out.reply(r, http.StatusOK, reply) })
	}
}
