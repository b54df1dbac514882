package mcp

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// asking makes all tools of the shop ask a question, whose answer is their result.
func (w *world) asking(q bridge.Question) {
	w.router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridgetest.Asks(q, func(a *bridge.Answer) bridge.Step { return bridge.Step{Data: encode(a)} })
	})
}

// ticketIn is the first ticket in a result.
func ticketIn(r toolReply) string {
	var of struct{ Ticket string }
	_ = json.Unmarshal(r.Result.Meta[metaCard], &of)
	return of.Ticket
}

// cardOf is the card of a client: it has the key.
type cardOf struct {
	*client
	key []byte
}

// card reads the page, as a host does, and takes the key.
func (c *client) card() *cardOf {
	c.t.Helper()
	var got struct {
		Result struct{ Contents []struct{ Text string } }
	}
	c.read("ui://pagetools/card").into(c.t, &got)
	if len(got.Result.Contents) != 1 {
		c.t.Fatal("the card cannot be read")
	}
	key, err := base64.RawURLEncoding.DecodeString(cardKey(c.t, got.Result.Contents[0].Text))
	if err != nil || len(key) != 32 {
		c.t.Fatalf("the key is %d bytes: %v", len(key), err)
	}
	return &cardOf{c, key}
}

// prove makes a proof; rest is canonical JSON.
func (c *cardOf) prove(ticket, op, rest string) string {
	mac := hmac.New(sha256.New, c.key)
	mac.Write([]byte(ticket + "\n" + op + "\n" + rest))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// do is a request of the card. rest is canonical JSON, "{}" for nothing.
func (c *cardOf) do(ticket, op, rest string) toolReply {
	c.t.Helper()
	return c.raw(ticket, op, c.prove(ticket, op, rest), rest)
}

// raw is a request with that proof.
func (c *cardOf) raw(ticket, op, proof, rest string) toolReply {
	c.t.Helper()
	more := strings.TrimSuffix(strings.TrimPrefix(rest, "{"), "}")
	if more != "" {
		more = "," + more
	}
	return c.tool("pagetools_card", fmt.Sprintf(`{"ticket":%q,"op":%q,"proof":%q%s}`, ticket, op, proof, more))
}

// stateReply holds what the card gets of a call.
type stateReply struct {
	State    string
	Ticket   string
	Picture  *bool
	Question *struct {
		ID, Kind, Title, Detail, Tool, Site, Origin string
		InputText                                   string
		Schema, Input                               json.RawMessage
		Form                                        bool
		Facts                                       []struct{ Name, Text string }
		ExpiresAt                                   string
	}
}

func (r toolReply) state(t *testing.T) stateReply {
	t.Helper()
	var s stateReply
	if r.Result.IsError || r.text() != "ok" || json.Unmarshal(r.Result.Structured, &s) != nil {
		t.Fatalf("it is %s %s", r.text(), r.Result.Structured)
	}
	return s
}
