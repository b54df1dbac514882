package app

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestUnknownHome: a session of which nobody can know who has it is refused as what the engine does not
// answer, and told apart from one that another node has.
func TestUnknownHome(t *testing.T) {
	r, fault := &recordstest.Faulty{Records: records.NewMemory()}, recordstest.None
	r.Fault = func(op recordstest.Op) recordstest.Fault { return fault }
	a := startHomes(t, r, key.Keys{Now: key.New()}, "a")
	name := bridge.SessionName{Caller: "agent", Site: "shop", ID: "s"}
	fault = recordstest.Fail
	_, opened := a.Open(t.Context(), name)
	_, asked := a.Elsewhere(t.Context(), name)
	for _, err := range []error{opened, asked} {
		if e, ok := errors.AsType[*bridge.Error](err); !ok || e.Reason != bridge.NoQuorum || e.Outcome != bridge.NotRun || e.Retry == 0 {
			t.Errorf("without the engine: %v", err)
		}
	}
	fault = recordstest.None
	if _, err := a.Open(t.Context(), name); err != nil {
		t.Errorf("the control: %v", err)
	}
	if err := unknownHome(bridge.ErrElsewhere); !errors.Is(err, bridge.ErrElsewhere) {
		t.Errorf("of another node: %v", err)
	}
}

// startHomes has a node join, and returns its homes.
func startHomes(t *testing.T, all records.Records, keys key.Keys, name string) *homes {
	t.Helper()
	node, err := lease.Join(t.Context(), lease.Options{Records: all, About: func() lease.Facts { return lease.Facts{Node: name} }})
	if err != nil {
		t.Fatal(err)
	}
	dead := func(ctx context.Context, id string) (bool, error) {
		is, err := node.Ask(ctx, id)
		return is == lease.Dead, err
	}
	return &homes{nodes: nodesOf{node, name}, dir: directory.New(directory.Options{Records: all, Sealer: keys.Sealer(key.Records), Dead: dead}),
		namer: keys.Namers()[0], took: &tookOver{}, ending: &atomic.Bool{}, held: map[string]*heldHome{}, opened: map[int64]*openedPage{}}
}

// TestLostHome: a node whose sessions others have needs not give them up; that it could not is an error where they wait
// for it.
func TestLostHome(t *testing.T) {
	t.Parallel()
	r, fault := &recordstest.Faulty{Records: records.NewMemory()}, recordstest.None
	r.Fault = func(recordstest.Op) recordstest.Fault { return fault }
	keys := key.Keys{Now: key.New()}
	a, b := startHomes(t, r, keys, "a"), startHomes(t, r, keys, "b")
	a.ending.Store(true) // callers are told
	var opened []int64
	for _, id := range []string{"taken", "waits"} {
		one, err := a.Open(t.Context(), bridge.SessionName{Caller: "agent", Site: "shop", ID: id})
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, one)
	}
	if err := a.nodes.node.Leave(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 2 { // it is told once that the page is lost
		_, err := b.Open(t.Context(), bridge.SessionName{Caller: "agent", Site: "shop", ID: "taken"})
		if e := bridge.AsError(err); (i == 0) != (e != nil && e.Code == bridge.SessionExpired) {
			t.Fatal(err)
		}
	}
	if err := a.Close(t.Context(), opened[0]); err != nil {
		t.Errorf("another node has it: %v", err)
	}
	fault = recordstest.Fail
	if err := a.Close(t.Context(), opened[1]); err == nil {
		t.Error("the engine does not answer, and the session is given up")
	}
}

// TestTakeovers: what a node kept of the pages of a session is the next one's, by site and with the next epoch. A page
// that ended with its node is told once; who has the session last closes what nobody went on with.
func TestTakeovers(t *testing.T) {
	t.Parallel()
	all := records.NewMemory()
	keys := key.Keys{Now: key.New()}
	var disposed []string
	var took tookOver
	start := func(name string) *homes {
		h := startHomes(t, all, keys, name)
		h.took, h.dispose = &took, func(_ context.Context, box []byte) { disposed = append(disposed, string(box)) }
		return h
	}
	a, b := start("a"), start("b")
	on := func(site string) bridge.SessionName { return bridge.SessionName{Caller: "agent", Site: site, ID: "s"} }
	open := func(h *homes, site string, epoch int64, inherits, keeps string) int64 {
		t.Helper()
		opened, err := h.Open(t.Context(), on(site))
		if err != nil {
			t.Fatalf("%s: %v", site, err)
		}
		if is := h.Owner(opened); is.Epoch != epoch || !is.Holds() || string(h.Inherited(opened)) != inherits {
			t.Errorf("%s: epoch %d, inherited %s", site, is.Epoch, h.Inherited(opened))
		}
		var page []byte
		if keeps != "" {
			page = []byte(keeps)
		}
		if err := h.Keep(t.Context(), opened, page); err != nil {
			t.Fatalf("%s: %v", site, err)
		}
		return opened
	}
	shop, mail, plain := open(a, "shop", 1, "", `{"p":1}`), open(a, "mail", 1, "", `{"p":2}`), open(a, "plain", 1, "", "")
	if _, err := b.Open(t.Context(), on("shop")); !errors.Is(err, bridge.ErrElsewhere) {
		t.Errorf("a session of a living node: %v", err)
	}
	for _, opened := range []int64{shop, mail, plain} {
		if err := a.Leave(t.Context(), opened); err != nil {
			t.Fatal(err)
		}
	}
	opened := open(b, "shop", 2, `{"p":1}`, `{"p":3}`)
	fresh := open(b, "other", 2, "", `{"p":4}`)
	if err := b.Close(t.Context(), open(b, "shop", 2, "", `{"p":5}`)); err != nil { // that page has ended here, and is not the next one's
		t.Fatal(err)
	}
	for i := range 2 {
		again, err := b.Open(t.Context(), on("plain"))
		if e, _ := errors.AsType[*bridge.Error](err); (i == 0) != (e != nil && e.Code == bridge.SessionExpired) {
			t.Errorf("a page that ended with its node, asked for the %d. time: %v", i+1, err)
		} else if err == nil {
			if err := b.Close(t.Context(), again); err != nil {
				t.Error(err)
			}
		}
	}
	for _, opened := range []int64{fresh, opened} {
		if err := b.Close(t.Context(), opened); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{`{"mail":{"p":2}}`}; !slices.Equal(disposed, want) {
		t.Errorf("disposed of %q, and not %q", disposed, want)
	}
	if attached, expired, fresh := took.attached.Load(), took.expired.Load(), took.fresh.Load(); attached != 1 || expired != 1 || fresh != 2 {
		t.Errorf("attached %d, expired %d, fresh %d", attached, expired, fresh)
	}
	open(b, "shop", 1, "", "") // anew
}

// TestSweeper: what nodes of this cluster that ended left in browsers is closed, where no session has it; what nodes of
// other clusters have there is left alone. Where a session cannot be read, nothing is closed.
func TestSweeper(t *testing.T) {
	t.Parallel()
	keys, all := key.Keys{Now: key.New()}, records.NewMemory()
	dead := func(_ context.Context, id string) (bool, error) { return id != "LIVING22", nil }
	dir := directory.New(directory.Options{Records: all, Sealer: keys.Sealer(key.Records), Dead: dead})
	browser := sessiontest.NewEngine()
	handles := map[string][]byte{}
	for name, by := range map[string]string{
		"left": makerOf(keys.Namers()[0], "ENDED222"), "kept": makerOf(keys.Namers()[0], "ENDED222"), "living": makerOf(keys.Namers()[0], "LIVING22"),
		"of another cluster": makerOf(key.Keys{Now: key.New()}.Namers()[0], "ENDED222"), "not named": "ENDED222",
	} {
		tab, err := browser.Another().Open(t.Context(), session.TabOptions{Owner: session.Owner{Epoch: 1, By: by, Holds: func() bool { return true }}})
		if err != nil {
			t.Fatal(err)
		}
		handles[name] = tab.(session.Detachable).Handle()
		if err := tab.(session.Detachable).Detach(t.Context()); err != nil {
			t.Fatal(err)
		}
		for range tab.Events() { // up to the last
			continue
		}
	}
	page, err := json.Marshal(map[string]json.RawMessage{"tab": handles["kept"]})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := dir.Open(t.Context(), "k", "ENDED222", box{"shop": page, "mail": json.RawMessage("null")}.text()); err != nil {
		t.Fatal(err)
	}
	m := session.New(session.Options{Engine: browser})
	t.Cleanup(func() { _ = m.Close() })
	s := sweeper{dir, keys.Namers(), dead}
	unread, err := all.Create(t.Context(), "s.unread", []byte(`{"v":99}`))
	if err != nil {
		t.Fatal(err)
	}
	if n, err := s.sweep(t.Context(), m); n != 0 || err == nil {
		t.Errorf("where a session cannot be read it closed %d, %v", n, err)
	}
	if err := all.Delete(t.Context(), "s.unread", unread); err != nil {
		t.Fatal(err)
	}
	if n, err := s.sweep(t.Context(), m); n != 1 || err != nil {
		t.Errorf("it closed %d, %v", n, err)
	}
	for name, handle := range handles {
		if is := browser.Has(handle); is != (name != "left") {
			t.Errorf("%s: it is there: %v", name, is)
		}
	}
}
