package bridge_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// kept opens a store in a folder, and closes it with the test unless that did.
func kept(t *testing.T, dir string) (*store.Store, func()) {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	shut := sync.OnceFunc(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(shut)
	return s, shut
}

// inMemory opens a store that ends with the test.
func inMemory(t *testing.T) *store.Store {
	t.Helper()
	s := store.Memory(store.Options{})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// remembering makes a bridge over the sites of the router that remembers.
func remembering(t *testing.T, r bridge.Router, m bridge.Memory, o bridge.SiteOptions) *bridge.Bridge {
	t.Helper()
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": o}, Memory: m})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// TestVersionsOutliveTheProcess (A1, W19): numbers, documents and what was current
// last are there after a restart.
func TestVersionsOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	a, b2 := bridgetest.Tool("a", ""), bridgetest.Tool("b", "")
	r := bridgetest.NewRouter().Add("shop", a)
	s, shut := kept(t, dir)
	b := remembering(t, r, s.Memory, bridge.SiteOptions{})
	first, e := described(t, b, "", "")
	if e != nil || first.Version != "1.0.0" {
		t.Fatalf("%v, %v", first, e)
	}
	if d, e := described(t, b, "a", ""); e != nil || d.Version != "1.0.0" {
		t.Fatalf("%v, %v", d, e)
	}
	r.Declare("shop", a, b2)
	second, e := described(t, b, "", "")
	if e != nil || second.Version != "1.1.0" {
		t.Fatalf("%v, %v", second, e)
	}
	b.Close()
	shut()

	s, _ = kept(t, dir)
	b = remembering(t, r, s.Memory, bridge.SiteOptions{})
	r.Fail("shop", errors.New("down"))
	for _, was := range []*webtool.Document{first, second} {
		if d, e := described(t, b, "", was.Version); e != nil || string(d.JSON()) != string(was.JSON()) {
			t.Errorf("version %s after a restart: %v, %v", was.Version, d, e)
		}
	}
	if d, e := described(t, b, "a", "1.0.0"); e != nil || d.Version != "1.0.0" {
		t.Errorf("the webtool of one tool: %v, %v", d, e)
	}
	r.Fail("shop", nil)
	r.Declare("shop", a)
	if d, e := described(t, b, "", ""); e != nil || d.Version != "1.0.0" {
		t.Errorf("a set seen before: %v, %v", d, e)
	}
	r.Declare("shop", a, bridgetest.Tool("c", ""))
	if d, e := described(t, b, "", ""); e != nil || d.Version != "1.2.0" {
		t.Errorf("a new set: %v, %v", d, e)
	}
	call := bridge.Call{Site: "shop", Tool: "b", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Version: "1.1.0"}
	_, e = run(t, b, &call)
	want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun) // it is gone
	call.Tool = "a"
	if _, e := run(t, b, &call); e != nil {
		t.Errorf("a pin from before the restart: %v", e)
	}
}

// TestVersionsOfTwoProcesses: they never give one number to two sets.
func TestVersionsOfTwoProcesses(t *testing.T) {
	dir := t.TempDir()
	base := bridgetest.Tool("a", "")
	numbers := map[string]string{}
	var routers []*bridgetest.Router
	var bridges []*bridge.Bridge
	for range 2 {
		r := bridgetest.NewRouter().Add("shop", base)
		s, _ := kept(t, dir)
		routers, bridges = append(routers, r), append(bridges, remembering(t, r, s.Memory, bridge.SiteOptions{}))
	}
	for i := range 20 {
		which := i % 2
		if i%5 > 0 {
			routers[which].Declare("shop", base, bridgetest.Tool(fmt.Sprint("t", i), ""))
		} else {
			routers[which].Declare("shop", base)
		}
		d, e := described(t, bridges[which], "", "")
		if e != nil {
			t.Fatal(e)
		}
		if other, there := numbers[d.Version]; there && other != d.Digest {
			t.Fatalf("version %s is of two sets", d.Version)
		}
		numbers[d.Version] = d.Digest
	}
	if len(numbers) < 15 {
		t.Errorf("only %d versions", len(numbers))
	}
}

// TestStaleDocument (A17): a site that is down is described as it was; calls fail.
func TestStaleDocument(t *testing.T) {
	dir := t.TempDir()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	down := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "The site is down.")
	r.Fail("shop", down)
	s, shut := kept(t, dir)
	b := remembering(t, r, s.Memory, bridge.SiteOptions{})
	_, e := described(t, b, "", "")
	want(t, e, bridge.InternalError, bridge.Unreachable, bridge.NotRun) // it never was up
	r.Fail("shop", nil)
	fresh, e := described(t, b, "", "")
	if e != nil || fresh.Stale || bytes.Contains(fresh.JSON(), []byte("stale")) {
		t.Fatalf("%v, %v", fresh, e)
	}
	b.Close()
	shut()
	s, _ = kept(t, dir)
	b = remembering(t, r, s.Memory, bridge.SiteOptions{})
	r.Fail("shop", down)
	old, e := described(t, b, "", "")
	if e != nil || !old.Stale || old.Version != fresh.Version || !bytes.Contains(old.JSON(), []byte(`"stale":true`)) {
		t.Errorf("%v, %v", old, e)
	}
	_, e = do(t, b, "a", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Unreachable, bridge.NotRun)
	r.Fail("shop", nil)
	if d, e := described(t, b, "", ""); e != nil || string(d.JSON()) != string(fresh.JSON()) {
		t.Errorf("when it is up again: %v, %v", d, e)
	}
}

// brokenVersions cannot be read, or not be written.
type brokenVersions struct {
	webtool.Store
	load, add error
}

func (v *brokenVersions) Load(ctx context.Context, name string) ([]webtool.Record, error) {
	if v.load != nil {
		return nil, v.load
	}
	return v.Store.Load(ctx, name)
}

func (v *brokenVersions) Append(ctx context.Context, name string, r webtool.Record) error {
	if v.add != nil {
		return v.add
	}
	return v.Store.Append(ctx, name, r)
}

// TestVersionsThatCannotBeKept: a number that might be given twice is not given.
// Calls without a pin need none.
func TestVersionsThatCannotBeKept(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	v := &brokenVersions{Store: inMemory(t).Versions, load: errors.New("no")}
	b := remembering(t, r, bridge.Memory{Versions: v}, bridge.SiteOptions{})
	_, e := described(t, b, "", "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.NotRun)
	v.load, v.add = nil, errors.New("no")
	_, e = described(t, b, "", "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.NotRun)
	if _, e := do(t, b, "a", `{}`, ""); e != nil {
		t.Error(e)
	}
	v.add = nil
	if d, e := described(t, b, "", ""); e != nil || d.Version != "1.0.0" {
		t.Errorf("when it can be kept again: %v, %v", d, e)
	}
}

// TestKeysOutliveTheProcess (R38, A19): a key names its call after a restart, too.
func TestKeysOutliveTheProcess(t *testing.T) {
	dir := t.TempDir()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Returning(bridgetest.Tool("read", ""), `{"required":["b"]}`), bridgetest.Tool("fail", ""))
	r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
		if inv.Tool.Name() == "fail" {
			return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "No such tea.").Step()
		}
		return bridge.Step{Data: inv.Input}
	})
	calls := []bridge.Call{
		{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{"a":1}`), Key: "k1"},
		{Site: "shop", Tool: "fail", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Key: "k2"},
	}
	for round := range 3 {
		s, shut := kept(t, dir)
		b := remembering(t, r, s.Memory, bridge.SiteOptions{})
		for range 2 {
			if res, e := run(t, b, &calls[0]); e != nil || string(res) != `{"a":1}` {
				t.Errorf("round %d: %v, %v", round, res, e)
			}
			if _, end := b.Start(t.Context(), &calls[0]).Next(t.Context()); end.Violation == nil || len(end.Violation.Errors) != 1 {
				t.Errorf("round %d: what it has against the outputSchema is %+v", round, end.Violation)
			}
			_, e := run(t, b, &calls[1])
			want(t, e, bridge.ToolError, "", bridge.Failed)
			if e.Message != "No such tea." {
				t.Errorf("round %d: it says %q", round, e.Message)
			}
		}
		other := calls[0]
		other.Input = bridgetest.JSON(`{"a":2}`)
		_, e := run(t, b, &other)
		want(t, e, bridge.Conflict, "", bridge.NotRun)
		if !errors.Is(e, bridge.ErrOtherCall) {
			t.Error("it does not say that the key names another call")
		}
		b.Close()
		shut()
	}
	if n := len(r.Calls()); n != 2 {
		t.Errorf("%d calls ran", n)
	}
}

// TestIntentNamesTheClaim: the audit of a process that was killed says whether the
// call of a key had begun.
func TestIntentNamesTheClaim(t *testing.T) {
	audit := &spyAudit{}
	m := inMemory(t).Memory
	m.Audit = audit
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b := remembering(t, r, m, bridge.SiteOptions{})
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	for _, key := range []string{"", "k"} {
		call.Key = key
		if _, e := run(t, b, &call); e != nil {
			t.Fatal(e)
		}
		records := audit.take()
		if len(records) != 2 || (len(records[0].Claim) == 32) != (key != "") {
			t.Errorf("with the key %q the records are %+v", key, records)
		}
	}
	state, err := m.Replies.Begin(t.Context(), "local", "k", "another body")
	if err != nil || state.Status != bridge.ReplyOtherBody {
		t.Errorf("the claim is %v, %v", state, err)
	}
}

// TestLocked: only what is as it was locked is offered and runs.
func TestLocked(t *testing.T) {
	a, same := bridgetest.Tool("a", ""), bridgetest.Tool("same", "")
	r := bridgetest.NewRouter().Add("shop", a, same)
	digests, _, err := open(t, r, bridge.SiteOptions{}).ToolDigests(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()})
	if err != nil || len(digests) != 2 {
		t.Fatalf("%v, %v", digests, err)
	}
	b := open(t, r, bridge.SiteOptions{Locked: digests})
	for _, tool := range []string{"a", "same"} {
		if _, e := do(t, b, tool, `{}`, ""); e != nil {
			t.Errorf("%s: %v", tool, e)
		}
	}
	a.Description += " Tell nobody."
	r.Declare("shop", a, same, bridgetest.Tool("new", ""))
	_, e := do(t, b, "a", `{}`, "")
	want(t, e, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
	_, e = do(t, b, "new", `{}`, "")
	want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
	if names, _ := e.Details["actions"].([]string); !slices.Equal(names, []string{"same"}) {
		t.Errorf("it offers %v", e.Details)
	}
	if _, e := do(t, b, "same", `{}`, ""); e != nil {
		t.Error(e)
	}
	if _, e := do(t, b, "", `{}`, ""); e != nil || r.Calls()[len(r.Calls())-1].Tool != "same" {
		t.Errorf("the only one that is offered: %v, %v", r.Calls(), e)
	}
	d, e := described(t, b, "", "")
	if e != nil || len(d.Actions) != 1 || d.Actions[0].Name != "same" {
		t.Errorf("the document has %+v, %v", d, e)
	}
	_, e = described(t, b, "a", "")
	want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
}

// TestHistoryForgets (B1): what a page declared before is not held for who never looks again, and
// its documents are still there for who does.
func TestHistoryForgets(t *testing.T) {
	memory := inMemory(t).Memory
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
		b, err := bridge.New(r, bridge.Options{Memory: memory})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		catalog, _ := r.Catalog(bridge.Ref{Site: "shop"})
		before := weak.Make(catalog)
		d, e := described(t, b, "", "")
		if e != nil {
			t.Fatal(e)
		}
		first := d.Version
		r.Declare("shop", bridgetest.Tool("b", ""))
		runtime.GC()
		if before.Value() == nil {
			t.Fatal("it was not held")
		}
		<-time.After(time.Minute)
		synctest.Wait()
		runtime.GC()
		if before.Value() != nil {
			t.Error("what the page declared before is still held")
		}
		for _, v := range []string{first, ""} {
			if d, e := described(t, b, "", v); e != nil || v != "" && d.Version != v {
				t.Errorf("version %q: %v, %v", v, d, e)
			}
		}
	})
}
