package bridge_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	tickets := 0
	passedOn := bridge.WithTicket(t.Context(), func(context.Context) *bridge.Error {
		tickets++
		holds.Store(false)
		return nil
	})
	for began := range 2 { // it may lose them before its ticket, and meanwhile
		want(t, b.Complete(passedOn, reads(`{}`)).Err, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
		if tickets != began {
			t.Errorf("%d tickets, want %d", tickets, began)
		}
		holds.Store(true)
	}
	if e := call("s"); e != nil || len(r.Calls()) != 2 {
		t.Errorf("the control: %v, %d ran", e, len(r.Calls()))
	}
}

// silentGrants do not answer to one kind of request, before its reader gives up or free is closed.
type silentGrants struct {
	bridge.Grants
	silent string
	asked  chan struct{}
	free   chan struct{}
}

func (g *silentGrants) ask(ctx context.Context, what string) error {
	if what != g.silent {
		return nil
	}
	g.asked <- struct{}{}
	select {
	case <-g.free:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g *silentGrants) All(ctx context.Context) ([]bridge.Grant, error) {
	return nil, g.ask(ctx, "all")
}

func (g *silentGrants) Find(ctx context.Context, _ bridge.GrantUse) (none bridge.Grant, ok bool, err error) {
	return none, false, g.ask(ctx, "find")
}

func (g *silentGrants) Put(ctx context.Context, put bridge.Grant) (bridge.Grant, error) {
	return put, g.ask(ctx, "put")
}

// TestLapses: while a call of a session waits for what is kept, its process may lose it: it does not wait for longer,
// nobody is asked about it, and it did not run. A call without a session waits, and asks or runs.
func TestLapses(t *testing.T) {
	for _, silent := range []string{"all", "find", "put"} {
		for _, session := range []string{"s", ""} {
			t.Run(silent+session, func(t *testing.T) {
				s, _ := kept(t, t.TempDir())
				m, grants := s.Memory, &silentGrants{silent: silent, asked: make(chan struct{}, 100), free: make(chan struct{})}
				m.Grants = grants
				held, lapse := context.WithCancel(t.Context())
				r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
				b, err := bridge.New(r, bridge.Options{Memory: m,
					Node: func() string { return "K3X7QAAB" }, Holds: func() bool { return held.Err() == nil },
					While: func(ctx context.Context) (context.Context, context.CancelFunc) {
						ctx, cancel := context.WithCancel(ctx)
						context.AfterFunc(held, cancel)
						return ctx, cancel
					}, Sites: map[string]bridge.SiteOptions{"shop": once}})
				if err != nil {
					t.Fatal(err)
				}
				defer b.Close()
				call, end := write(`{}`), make(chan *bridge.Error, 1)
				call.Session = session
				if silent == "put" {
					q, token := parked(t, b, &call, bridge.ApprovalRequired)
					go func() {
						_ = b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true}) // the call says what became of it
						_, e := resume(t, b, call, resuming(token))
						end <- e
					}()
				} else {
					go func() { end <- serve(t.Context(), b, &call).Err }()
				}
				<-grants.asked
				lapse()
				if session == "" {
					close(grants.free)
				}
				var e *bridge.Error
				select {
				case e = <-end:
				case <-time.After(20 * time.Second):
					t.Fatal("it waits for longer")
				}
				switch open := bridgetest.Questions(b, operator); {
				case session == "" && silent == "put":
					if e != nil || len(r.Calls()) != 1 {
						t.Errorf("%v, %d ran", e, len(r.Calls()))
					}
				case session == "":
					want(t, e, bridge.ApprovalRequired, "", bridge.NotRun)
				case e == nil || e.Code != bridge.InternalError || e.Outcome != bridge.NotRun || len(open)+len(r.Calls()) > 0:
					t.Errorf("%+v, %d are asked, %d ran", e, len(open), len(r.Calls()))
				case silent != "put":
					want(t, e, bridge.InternalError, bridge.NoQuorum, bridge.NotRun)
				}
			})
		}
	}
}
