package bridge_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// made are the names that a bridge made, of each kind.
type made map[string]string

// names makes one name of each kind.
func names(t *testing.T, b *bridge.Bridge, r *bridgetest.Router) made {
	t.Helper()
	consent := &bridge.Call{Site: "shop", Tool: "write", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	q, token := parked(t, b, consent, bridge.ApprovalRequired)
	r.Handle("shop", func(_ context.Context, _ bridge.Invocation) bridge.Step {
		return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, bridgetest.Then(`{}`))
	})
	inPage, _ := parked(t, b, reads(`{}`), bridge.InputRequired)
	_, long := b.Detach(t.Context(), reads(`{"a":1}`), 0)
	r.Handle("shop", bridgetest.Saving(file("a.txt", "hello")))
	saved := b.Complete(t.Context(), reads(`{"a":2}`)).Files
	if len(saved) != 1 || long.ID == "" {
		t.Fatalf("files %v, long call %+v", saved, long)
	}
	return made{"token": token, "consent": q.ID, "question of a page": inPage.ID, "long call": long.ID, "file": saved[0].ID}
}

// TestNamesCarryTheirNode: in a cluster, tokens, questions and files begin with the node that made
// them, as it was then, and not with a process of the data folder. Alone, nothing of their
// form changes.
func TestNamesCarryTheirNode(t *testing.T) {
	f := &bridgetest.Folder{}
	open := func(node func() string) (*bridge.Bridge, *bridgetest.Router) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
		b, err := bridge.New(r, bridge.Options{Node: node, Memory: bridge.Memory{Homes: f.Process("FOLDER23")},
			Sites: map[string]bridge.SiteOptions{"shop": {Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "read", Level: policy.Auto}}}}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return b, r
	}
	var node atomic.Value
	node.Store("K3X7QAAB")
	b, r := open(func() string { return node.Load().(string) })
	first := names(t, b, r)
	node.Store("NEWLIFE2")
	for kind, name := range names(t, b, r) {
		was := first[kind]
		if !strings.HasPrefix(was, "K3X7QAAB") || len(was) != 34 {
			t.Errorf("%s is %q", kind, was)
		}
		if !strings.HasPrefix(name, "NEWLIFE2") || len(name) != 34 || name[8:] == was[8:] {
			t.Errorf("%s is %q later", kind, name)
		}
	}
	if got := bridge.NodeOf(b); got != "NEWLIFE2" {
		t.Errorf("the node is %q", got)
	}
	found(t, b, first["long call"]) // what it is found by does not change

	alone, r := open(nil)
	for kind, name := range names(t, alone, r) {
		switch kind {
		case "token", "long call":
			if !strings.HasPrefix(name, "FOLDER23") || len(name) != 34 {
				t.Errorf("alone, %s is %q", kind, name)
			}
		default:
			if len(name) != 26 {
				t.Errorf("alone, %s is %q", kind, name)
			}
		}
	}
	if got := bridge.NodeOf(alone); got != "" {
		t.Errorf("alone, the node is %q", got)
	}
}

// TestFenced: a process that may have lost its sessions runs no call of one, whatever was agreed, and
// says that it did not; other calls go on.
func TestFenced(t *testing.T) {
	var holds atomic.Bool
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b, err := bridge.New(r, bridge.Options{Node: func() string { return "K3X7QAAB" }, Holds: holds.Load})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	call := func(session string) *bridge.Error {
		c := reads(`{}`)
		c.Session = session
		return b.Complete(t.Context(), c).Err
	}
	want(t, call("s"), bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
	if e := call(""); e != nil || len(r.Calls()) != 1 {
		t.Errorf("without a session: %v, %d ran", e, len(r.Calls()))
	}
	passedOn := bridge.WithTicket(t.Context(), func(context.Context) *bridge.Error { return nil })
	want(t, b.Complete(passedOn, reads(`{}`)).Err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
	holds.Store(true)
	if e := call("s"); e != nil || len(r.Calls()) != 2 {
		t.Errorf("the control: %v, %d ran", e, len(r.Calls()))
	}
}
