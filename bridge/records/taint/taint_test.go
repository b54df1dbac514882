package taint_test

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/taint"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const (
	mail = "https://mail.example"
	bank = "https://bank.example"
)

// name hides nothing but the letters.
func name(parts ...string) string { return hex.EncodeToString([]byte(strings.Join(parts, "/"))) }

func node(r records.Records) *taint.Taints {
	return taint.New(taint.Options{Records: r, Names: []func(...string) string{name}})
}

func is(t *testing.T, n *taint.Taints, why, caller, but string, want bool) {
	t.Helper()
	if got, err := n.Tainted(t.Context(), caller, but, time.Now()); got != want || err != nil {
		t.Errorf("%s: %v, %v", why, got, err)
	}
}

func note(t *testing.T, n *taint.Taints, caller, origin string, d time.Duration) {
	t.Helper()
	if err := n.Taint(t.Context(), caller, origin, time.Now().Add(d)); err != nil {
		t.Fatal(err)
	}
}

// TestTaints: a taint is of its caller, by another origin, until its end; the later end holds, and more
// origins than are kept apart are one that is any other's.
func TestTaints(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		a, b := node(m), node(m)
		is(t, a, "nothing was read", "agent", bank, false)
		note(t, a, "agent", mail, 10*time.Minute)
		note(t, b, "agent", mail, time.Minute)
		is(t, b, "another origin", "agent", bank, true)
		is(t, b, "the same origin", "agent", mail, false)
		is(t, b, "another caller", "other", bank, false)
		<-time.After(9 * time.Minute)
		is(t, b, "before its end", "agent", bank, true)
		<-time.After(time.Minute + time.Second)
		is(t, b, "after its end", "agent", bank, false)
		note(t, b, "any", "", time.Minute)
		is(t, a, "any origin", "any", bank, true)
		for i := range 300 {
			note(t, a, "agent", fmt.Sprintf("https://%d.example", i), 15*time.Minute)
		}
		is(t, b, "one of many", "agent", "https://299.example", true)
		r, err := m.Get(t.Context(), "x."+name("caller", "agent"))
		if err != nil || len(r.Value) > 64<<10/2 || strings.Contains(string(r.Value), "example") || !strings.HasPrefix(string(r.Value), `{"v":1,"until":{`) {
			t.Errorf("%d bytes: %.80s, %v", len(r.Value), r.Value, err)
		}
		if n := strings.Count(string(r.Value), ":"); n > 259 {
			t.Errorf("it has %d origins", n)
		}
		if err := a.Taint(t.Context(), "agent", mail, time.Now().Add(time.Hour)); err == nil {
			t.Error("a taint that the engine would forget is kept")
		}
	})
}

// TestNodes: none is lost when several nodes note at once, and each is known everywhere at once.
func TestNodes(t *testing.T) {
	t.Parallel()
	m := records.NewMemory()
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			n, other := node(m), node(m)
			for j := range 20 {
				origin := fmt.Sprintf("https://%d-%d.example", i, j)
				caller := fmt.Sprintf("agent %d", j)
				if err := n.Taint(t.Context(), caller, origin, time.Now().Add(15*time.Minute)); err != nil {
					t.Error(err)
				}
				if got, err := other.Tainted(t.Context(), caller, bank, time.Now()); !got || err != nil {
					t.Errorf("%v, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	for j := range 20 {
		r, err := m.Get(t.Context(), "x."+name("caller", fmt.Sprintf("agent %d", j)))
		for i := range 8 {
			if origin := name("origin", fmt.Sprintf("https://%d-%d.example", i, j)); err != nil || !strings.Contains(string(r.Value), origin) {
				t.Errorf("agent %d lost what it read through node %d: %v", j, i, err)
			}
		}
	}
}

// TestFaults: a lost answer is no loss; an engine that is gone is an error within two seconds, as is a
// record that cannot be read.
func TestFaults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		fault := recordstest.Lose
		n := node(&recordstest.Faulty{Records: m, Fault: func(op recordstest.Op) recordstest.Fault {
			if op.Name == "get" && fault == recordstest.Lose {
				return recordstest.None
			}
			return fault
		}})
		for _, origin := range []string{mail, bank} {
			note(t, n, "agent", origin, time.Minute)
		}
		is(t, node(m), "after lost answers", "agent", mail, true)
		is(t, node(m), "after lost answers", "agent", bank, true)
		for _, fault = range []recordstest.Fault{recordstest.Fail, recordstest.Hang} {
			began := time.Now()
			if err := n.Taint(t.Context(), "agent", "https://a.example", time.Now().Add(time.Minute)); err == nil || time.Since(began) > 3*time.Second {
				t.Errorf("without an engine: %v after %v", err, time.Since(began))
			}
		}
		fault = recordstest.Fail
		if got, err := n.Tainted(t.Context(), "agent", mail, time.Now()); got || !errors.Is(err, recordstest.ErrFault) {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := m.Create(t.Context(), "x."+name("caller", "newer"), []byte(`{"v":2}`)); err != nil {
			t.Fatal(err)
		}
		if _, err := node(m).Tainted(t.Context(), "newer", mail, time.Now()); !errors.Is(err, records.ErrNewer) {
			t.Error(err)
		}
	})
}

// TestReadingStands (scale 25.1): without an engine, what was read less than a lease ago stands, and
// nothing else; what this node wrote since then is not forgotten.
func TestReadingStands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		fault := recordstest.None
		n := taint.New(taint.Options{Names: []func(...string) string{name}, Lease: 4 * time.Second,
			Records: &recordstest.Faulty{Records: records.NewMemory(), Fault: func(recordstest.Op) recordstest.Fault { return fault }},
			Clocks:  func() lease.Instant { return lease.Instant{Mono: time.Duration(time.Now().UnixNano())} }})
		unreadable := func(why, caller string) {
			t.Helper()
			if got, err := n.Tainted(t.Context(), caller, bank, time.Now()); err == nil {
				t.Errorf("%s: %v", why, got)
			}
		}
		note(t, n, "reader", mail, time.Hour/6)
		is(t, n, "it read", "reader", bank, true)
		is(t, n, "it read nothing", "agent", bank, false)
		is(t, n, "it read nothing, either", "other", bank, false)
		note(t, n, "other", mail, time.Hour/6)
		fault = recordstest.Fail
		<-time.After(4*time.Second - 1)
		is(t, n, "within a lease", "reader", bank, true)
		is(t, n, "within a lease", "agent", bank, false)
		unreadable("it read since then", "other")
		unreadable("nobody asked before", "nobody")
		<-time.After(1)
		unreadable("after a lease", "agent")
		unreadable("after a lease", "reader")
	})
}

// TestNames: while the key of the cluster is replaced, what was written with either counts.
func TestNames(t *testing.T) {
	t.Parallel()
	m := records.NewMemory()
	other := func(parts ...string) string { return "Z" + name(parts...) }
	newer := taint.New(taint.Options{Records: m, Names: []func(...string) string{name, other}})
	older := taint.New(taint.Options{Records: m, Names: []func(...string) string{other, name}})
	note(t, older, "one", mail, time.Minute)
	note(t, newer, "two", mail, time.Minute)
	for _, n := range []*taint.Taints{newer, older} {
		is(t, n, "written with one key", "one", bank, true)
		is(t, n, "written with the other", "two", bank, true)
		is(t, n, "of the same origin", "one", mail, false)
		is(t, n, "of another caller", "three", bank, false)
	}
}

// TestThroughNodes: what a caller read through one node counts in the next call through another.
func TestThroughNodes(t *testing.T) {
	t.Parallel()
	m := records.NewMemory()
	inbox := bridgetest.Tool("inbox", "")
	inbox.Annotations, inbox.Origin = json.RawMessage(`{"readOnlyHint":true,"untrustedContentHint":true}`), mail
	through := func(id string) func(caller, site, tool string) *bridge.Error {
		auto := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
		b, err := bridge.New(bridgetest.NewRouter().Add("mail", inbox).Add("shop", bridgetest.Asking("write", "")), bridge.Options{Node: func() string { return id },
			Sites: map[string]bridge.SiteOptions{"shop": auto, "mail": auto}, Memory: bridge.Memory{Taints: node(m)}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(b.Close)
		return func(caller, site, tool string) *bridge.Error {
			_, end := b.Serve(t.Context(), &bridge.Call{Site: site, Tool: tool, Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}}, Input: bridgetest.JSON(`{}`)})
			return end.Err
		}
	}
	a, b := through("AAAAAAAA"), through("BBBBBBBB")
	if e := b("agent", "shop", "write"); e != nil {
		t.Fatalf("the control: %v", e)
	}
	if e := a("agent", "mail", "inbox"); e != nil {
		t.Fatal(e)
	}
	if e := b("agent", "shop", "write"); e == nil || e.Code != bridge.ApprovalRequired {
		t.Errorf("after it read through the other node: %v", e)
	}
	if e := b("other", "shop", "write"); e != nil {
		t.Errorf("another caller: %v", e)
	}
}
