package mcp

import (
	"bytes"
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// alone is the node of a process that is in no cluster.
func alone() string { return "" }

// nodeWorld is a world that is a node of a cluster, with the cluster's key.
func nodeWorld(t *testing.T, node string) *world {
	t.Helper()
	return newFaceOf(t, bridge.Options{Node: func() string { return node }}, Options{Key: bytes.Repeat([]byte{7}, KeySize)}).listen()
}

// TestSessionsCarryTheirNode: in a cluster, the id of a session of older protocol versions begins with
// the node that has it, and no other node takes it up; the state of a question, too, but every node
// opens that.
func TestSessionsCarryTheirNode(t *testing.T) {
	one, two, again := nodeWorld(t, "NODEONE2"), nodeWorld(t, "NODETWO2"), nodeWorld(t, "NODEONE2")
	c := one.as(agent).legacy("2025-06-18", forms)
	if !strings.HasPrefix(c.session, "NODEONE2") {
		t.Fatalf("the session is %q", c.session)
	}
	list := rpc(2, "tools/list", "{}")
	at := func(w *world, session string) answer {
		moved := w.as(agent)
		moved.session, moved.version = session, c.version
		return moved.send("POST", list)
	}
	for why, a := range map[string]answer{
		"at another node":                 at(two, c.session),
		"under the name of another node":  at(two, "NODETWO2"+c.session[8:]),
		"under the name of another, here": at(one, "NODETWO2"+c.session[8:]),
		"without a name":                  at(one, c.session[8:]),
		"nothing but a name":              at(one, "NODEONE2"),
		"a part of a name":                at(one, "NODE"),
	} {
		if a.status != http.StatusNotFound || !strings.Contains(a.body, "-32001") {
			t.Errorf("%s: %d %s", why, a.status, a.body)
		}
	}
	for why, a := range map[string]answer{"here": at(one, c.session), "with the same name and key": at(again, c.session)} {
		if a.status != http.StatusOK {
			t.Errorf("%s, the control: %d %s", why, a.status, a.body)
		}
	}

	one.router.Handle("shop", func(_ context.Context, _ bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, bridgetest.Then(`{}`))
	})
	m := one.as(agent).since2026(forms)
	asked := m.call(3, "tools/call", `{"name":"look","arguments":{}}`).tool(t)
	state := asked.Result.RequestState
	var in carried
	if !strings.HasPrefix(state, "NODEONE2") || two.seal.open(forState, state, &in) != nil || !strings.HasPrefix(in.Token, "NODEONE2") {
		t.Errorf("the state %q opens as %+v", state, in)
	}
	if err := two.seal.open(forState, "NODETWO2"+state[8:], &in); err == nil {
		t.Error("a state under the name of another node opens")
	}
	if r := m.retry("look", "{}", asked, "accept", "{}"); r.Result.IsError || len(r.Result.Content) == 0 {
		t.Errorf("it goes on: %+v", r)
	}
}
