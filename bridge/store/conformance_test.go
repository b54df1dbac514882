package store

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// clock is a time that a test moves.
type clock struct{ nano atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.nano.Store(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC).UnixNano())
	return c
}

func (c *clock) now() time.Time          { return time.Unix(0, c.nano.Load()).UTC() }
func (c *clock) advance(d time.Duration) { c.nano.Add(int64(d)) }

// TestConformance holds both stores to what bridge/memory.go promises.
func TestConformance(t *testing.T) {
	t.Parallel()
	stores := map[string]func(*testing.T, Options) *Store{
		"sqlite": func(t *testing.T, o Options) *Store {
			o.Dir = folder(t)
			return open(t, o)
		},
		"memory": func(t *testing.T, o Options) *Store {
			s := Memory(o)
			closeLater(t, s)
			return s
		},
	}
	cases := map[string]func(*testing.T, func(Options) *Store){
		"versions":          versionsConform,
		"version conflicts": versionConflictsConform,
		"version bound":     versionBoundConforms,
		"grants":            grantsConform,
		"known tools":       knownToolsConform,
		"known bound":       knownBoundConforms,
		"taints":            taintsConform,
		"rates":             ratesConform,
		"homes":             homesConform,
		"ended":             endedConforms,
		"ended bound":       endedBoundConforms,
		"clients":           clientsConform,
		"connections":       connectionsConform,
		"connection bounds": connectionBoundsConform,
		"browsers":          browsersConform,
		"logins":            loginsConform,
		"replies":           repliesConform,
		"reply bounds":      replyBoundsConform,
		"one claim of many": oneClaimConforms,
		"audit":             auditConforms,
		"audit together":    auditTogetherConforms,
		"calls":             callsConform,
		"call bounds":       callBoundsConform,
		"version bytes":     versionBytesConform,
		"closed":            closedConforms,
		"giving up":         givingUpConforms,
	}
	for store, make := range stores {
		for name, check := range cases {
			t.Run(store+"/"+name, func(t *testing.T) {
				t.Parallel()
				check(t, func(o Options) *Store { return make(t, o) })
			})
		}
	}
}

func grantsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	g := make(Options{Now: now.now}).Grants
	put := func(by string) bridge.Grant {
		t.Helper()
		return must(g.Put(ctx, bridge.Grant{GrantUse: bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "buy", Digest: "d1", Credential: "c1", Config: "p1"}, GivenBy: by, GivenAt: now.now()}))(t)
	}
	exact := put("ann")
	if len(exact.ID) != 32 {
		t.Errorf("the ID is %q", exact.ID)
	}
	use := bridge.GrantUse{Caller: "agent", Site: "shop", Tool: "buy", Digest: "d1", Credential: "c1", Config: "p1"}
	if got, found, err := g.Find(ctx, use); err != nil || !found || got != exact {
		t.Errorf("found %v %v %v, want %v", got, found, err, exact)
	}
	for name, change := range map[string]func(*bridge.GrantUse){
		"caller": func(u *bridge.GrantUse) { u.Caller = "other" }, "site": func(u *bridge.GrantUse) { u.Site = "other" },
		"tool": func(u *bridge.GrantUse) { u.Tool = "Buy" }, "digest": func(u *bridge.GrantUse) { u.Digest = "d2" },
		"space": func(u *bridge.GrantUse) { u.Digest = "d1 " }, "nothing": func(u *bridge.GrantUse) { *u = bridge.GrantUse{} },
		"credential": func(u *bridge.GrantUse) { u.Credential = "c2" }, "no credential": func(u *bridge.GrantUse) { u.Credential = "" },
		"config": func(u *bridge.GrantUse) { u.Config = "p2" }, "no config": func(u *bridge.GrantUse) { u.Config = "" },
	} {
		other := use
		change(&other)
		if got, found, err := g.Find(ctx, other); err != nil || found {
			t.Errorf("another %s: %v %v %v", name, got, found, err)
		}
	}
	newer := put("bob")
	if got, found, _ := g.Find(ctx, use); !found || got != newer {
		t.Errorf("the newest is %v, found %v", newer, got)
	}
	if got := must(g.All(ctx))(t); !slices.Equal(got, []bridge.Grant{exact, newer}) {
		t.Errorf("all are %v", got)
	}
	if !must(g.Revoke(ctx, newer.ID))(t) {
		t.Error("the newest is not revoked")
	}
	if got, found, _ := g.Find(ctx, use); !found || got != exact {
		t.Errorf("found %v, want %v", got, exact)
	}
	if !must(g.Revoke(ctx, exact.ID))(t) || must(g.Revoke(ctx, exact.ID))(t) {
		t.Error("a grant is revoked once")
	}
	if _, found, _ := g.Find(ctx, use); found {
		t.Error("a revoked grant is found")
	}
	for _, bad := range []bridge.Grant{exact, {}, {GrantUse: bridge.GrantUse{Caller: "a", Site: "s", Tool: "t"}, GivenBy: "p"}} {
		if _, err := g.Put(ctx, bad); err == nil {
			t.Errorf("%v was kept", bad)
		}
	}
}

func knownToolsConform(t *testing.T, make func(Options) *Store) {
	ctx, k := t.Context(), make(Options{}).KnownTools
	at := newClock().now()
	if got := must(k.Known(ctx, "shop"))(t); got != nil {
		t.Errorf("a new site knows %v", got)
	}
	b, a := bridge.KnownTool{Tool: "b", SeenAt: at}, bridge.KnownTool{Tool: "a", SeenAt: at}
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{b, a}))
	ok(t, k.SetKnown(ctx, "other", []bridge.KnownTool{{Tool: "c"}}))
	if got := must(k.Known(ctx, "shop"))(t); !slices.Equal(got, []bridge.KnownTool{a, b}) {
		t.Errorf("known are %v", got)
	}
	b.SeenAt = at.Add(time.Hour)
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{b}))
	if got := must(k.Known(ctx, "shop"))(t); !slices.Equal(got, []bridge.KnownTool{a, b}) {
		t.Errorf("known are %v", got)
	}
}

func knownBoundConforms(t *testing.T, make func(Options) *Store) {
	gatetest.NoRace(t)
	ctx, k := t.Context(), make(Options{}).KnownTools
	at := newClock().now()
	var tools []bridge.KnownTool
	for i := range maxKnown {
		tools = append(tools, bridge.KnownTool{Tool: fmt.Sprintf("t%05d", i), SeenAt: at.Add(time.Duration(i))})
	}
	ok(t, k.SetKnown(ctx, "shop", tools))
	if got := must(k.Known(ctx, "shop"))(t); len(got) != maxKnown {
		t.Fatalf("at the limit %d are known", len(got))
	}
	ok(t, k.SetKnown(ctx, "shop", []bridge.KnownTool{{Tool: "new", SeenAt: at.Add(time.Hour)}}))
	got := must(k.Known(ctx, "shop"))(t)
	if len(got) != maxKnown || got[0].Tool != "new" || got[1].Tool != "t00001" {
		t.Errorf("one past the limit %d are known, from %v", len(got), got[:2])
	}
}

func repliesConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	r := make(Options{Now: now.now}).Replies
	begin := func(caller, key, body string) bridge.ReplyState {
		t.Helper()
		return must(r.Begin(ctx, caller, key, body))(t)
	}
	first := begin("agent", "k", "b")
	if first.Status != bridge.ReplyClaimed || len(first.Claim) != 32 {
		t.Fatalf("the first gets %v", first)
	}
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyInFlight || got.Claim != first.Claim {
		t.Errorf("the second gets %v", got)
	}
	if got := begin("agent", "k", "c"); got.Status != bridge.ReplyOtherBody || got.Claim != first.Claim {
		t.Errorf("another body gets %v", got)
	}
	if got := begin("other", "k", "c"); got.Status != bridge.ReplyClaimed {
		t.Errorf("another caller gets %v", got)
	}
	reply := []byte("{\"a\":\x00}")
	ok(t, r.Finish(ctx, first.Claim, reply))
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyFinished || string(got.Reply) != string(reply) {
		t.Errorf("after the end: %v", got)
	}
	if got := begin("agent", "k", "c"); got.Status != bridge.ReplyOtherBody {
		t.Errorf("another body after the end: %v", got)
	}
	for name, err := range map[string]error{
		"finish twice": r.Finish(ctx, first.Claim, reply), "abandon the finished": r.Abandon(ctx, first.Claim),
		"finish nothing": r.Finish(ctx, "none", reply), "abandon nothing": r.Abandon(ctx, "none"),
	} {
		if !errors.Is(err, bridge.ErrClaimLost) {
			t.Errorf("%s: %v", name, err)
		}
	}
	given := begin("agent", "free", "b")
	ok(t, r.Abandon(ctx, given.Claim))
	if got := begin("agent", "free", "c"); got.Status != bridge.ReplyClaimed || got.Claim == given.Claim {
		t.Errorf("an abandoned key gives %v", got)
	}
	empty := begin("agent", "empty", "b")
	ok(t, r.Finish(ctx, empty.Claim, nil))
	if got := begin("agent", "empty", "b"); got.Status != bridge.ReplyFinished || len(got.Reply) != 0 {
		t.Errorf("an empty reply gives %v", got)
	}
	now.advance(24*time.Hour - 1)
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyFinished {
		t.Errorf("before the day ends: %v", got)
	}
	now.advance(1)
	if got := begin("agent", "k", "b"); got.Status != bridge.ReplyClaimed {
		t.Errorf("after a day: %v", got)
	}
}

func replyBoundsConform(t *testing.T, make func(Options) *Store) {
	ctx := t.Context()
	r := make(Options{MaxKeys: 4, MaxReplyBytes: 100}).Replies
	var states []bridge.ReplyState
	for i := range 4 {
		states = append(states, must(r.Begin(ctx, "agent", strconv.Itoa(i), "b"))(t))
	}
	if _, err := r.Begin(ctx, "agent", "4", "b"); !errors.Is(err, bridge.ErrTooManyKeys) {
		t.Errorf("one key too many: %v", err)
	}
	if got := must(r.Begin(ctx, "other", "4", "b"))(t); got.Status != bridge.ReplyClaimed {
		t.Errorf("another caller gets %v", got)
	}
	body := []byte(strings.Repeat("x", 49)) // two of them are 100 bytes
	for i := range 3 {
		ok(t, r.Finish(ctx, states[i].Claim, body))
	}
	ok(t, r.Finish(ctx, states[3].Claim, []byte(strings.Repeat("x", 100))))
	var got []bridge.ReplyStatus
	for i := range 4 {
		got = append(got, must(r.Begin(ctx, "agent", strconv.Itoa(i), "b"))(t).Status)
	}
	if want := []bridge.ReplyStatus{bridge.ReplyUnknown, bridge.ReplyFinished, bridge.ReplyFinished, bridge.ReplyUnknown}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func oneClaimConforms(t *testing.T, make func(Options) *Store) {
	ctx, r := t.Context(), make(Options{}).Replies
	var claimed atomic.Int64
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			state, err := r.Begin(ctx, "agent", "k", "b")
			if err != nil {
				t.Error(err)
			}
			if state.Status == bridge.ReplyClaimed {
				claimed.Add(1)
			}
		})
	}
	all.Wait()
	if claimed.Load() != 1 {
		t.Errorf("%d of 50 got the claim", claimed.Load())
	}
}

func auditConforms(t *testing.T, make func(Options) *Store) {
	ctx, s := t.Context(), make(Options{})
	if s.Audit == nil { // in memory
		if report := must(s.Verify(ctx))(t); !reflect.DeepEqual(report, Report{}) {
			t.Errorf("the report of nothing is %+v", report)
		}
		return
	}
	long := strings.Repeat("ä", maxText) + "\xff"
	one := must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true, Caller: "agent", Site: "shop", Tool: "buy", Call: "c1", Origin: long}))(t)
	two := must(s.Audit.Intent(ctx, bridge.AuditRecord{Caller: "agent", Site: "shop", Tool: "list", Call: "c2"}))(t)
	if one != 1 || two != 2 {
		t.Errorf("the tickets are %d and %d", one, two)
	}
	ok(t, s.Audit.Outcome(ctx, one, bridge.AuditRecord{Wait: true, Outcome: "ok", ResultBytes: 12}))
	ok(t, s.Flush(ctx))
	ok(t, s.Audit.Healthy())
	report := must(s.Verify(ctx))(t)
	if report.Bad != nil || report.Records != 3 || report.OpenCount != 1 || len(report.Open) != 1 || report.Open[0].Call != "c2" || report.Open[0].Seq != 2 {
		t.Errorf("the report is %+v", report)
	}
}

// recordPair adds a pair of records, if there is an audit.
func recordPair(ctx context.Context, audit bridge.Audit, wait bool) error {
	if audit == nil {
		return nil
	}
	ticket, err := audit.Intent(ctx, bridge.AuditRecord{Wait: wait})
	if err == nil {
		err = audit.Outcome(ctx, ticket, bridge.AuditRecord{Wait: !wait})
	}
	return err
}

func auditTogetherConforms(t *testing.T, make func(Options) *Store) {
	ctx, s := t.Context(), make(Options{CheckpointRecords: 7})
	const callers, calls = 16, 25
	var all sync.WaitGroup
	for i := range callers {
		all.Go(func() {
			for j := range calls {
				err := recordPair(ctx, s.Audit, (i+j)%2 == 0)
				if err == nil {
					err = s.Calls.Log(ctx, bridge.CallRecord{Time: time.Now()})
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	ok(t, s.Flush(ctx))
	if report := must(s.Verify(ctx))(t); s.Audit != nil && (report.Bad != nil || report.Records != 2*callers*calls || report.OpenCount != 0) {
		t.Errorf("the report is %+v", report)
	}
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{Limit: maxListed}))(t); len(got) != callers*calls {
		t.Errorf("%d calls are logged", len(got))
	}
}

func callsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now})
	for i := range 6 {
		ok(t, s.Calls.Log(ctx, bridge.CallRecord{
			ID: 99, Time: now.now(), Took: time.Duration(i), Call: strconv.Itoa(i), Site: []string{"shop", "bank"}[i%2],
			Tool: []string{"a", "b", "c"}[i%3], Caller: "agent", Outcome: []string{"ok", "failed"}[i/3], ArgumentBytes: 5,
		}))
	}
	ok(t, s.Flush(ctx))
	names := func(f bridge.CallFilter) string {
		t.Helper()
		var got []string
		for _, c := range must(s.Calls.Calls(ctx, f))(t) {
			got = append(got, c.Call)
		}
		return strings.Join(got, " ")
	}
	all := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t)
	want := bridge.CallRecord{ID: 1, Time: now.now(), Call: "0", Site: "shop", Tool: "a", Caller: "agent", Outcome: "ok", ArgumentBytes: 5}
	if len(all) != 6 || all[5] != want {
		t.Fatalf("all are %v", all)
	}
	for want, f := range map[string]bridge.CallFilter{
		"5 4 3 2 1 0": {}, "4 2 0": {Site: "shop"}, "3 0": {Tool: "a"}, "5 4 3": {Outcome: "failed"}, "": {Caller: "nobody"},
		"5": {Site: "bank", Outcome: "failed", Tool: "c"}, "5 4": {Limit: 2}, "3 2": {Before: all[1].ID, Limit: 2},
	} {
		if got := names(f); got != want {
			t.Errorf("%+v gives %q, want %q", f, got, want)
		}
	}
}

func callBoundsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now, MaxCalls: 10, CallAge: time.Hour})
	for range 25 {
		ok(t, s.Calls.Log(ctx, bridge.CallRecord{Time: now.now()}))
	}
	ok(t, s.Flush(ctx))
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) != 10 || got[9].ID != 16 {
		t.Errorf("%d calls are kept: %v", len(got), got)
	}
	now.advance(time.Hour)
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) != 10 {
		t.Errorf("%d calls are as old as they may be", len(got))
	}
	now.advance(1)
	if got := must(s.Calls.Calls(ctx, bridge.CallFilter{}))(t); len(got) != 0 {
		t.Errorf("%d calls are too old", len(got))
	}
}

// A reader that gives up takes nothing with it: in memory, the connection that it
// used is the database.
func givingUpConforms(t *testing.T, make func(Options) *Store) {
	s := make(Options{})
	ok(t, s.Versions.Append(t.Context(), "shop", version("1.0.0", "a")))
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_, err := s.Versions.Load(ctx, "shop")
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		cancel()
		if err := s.Versions.Seen(ctx, "shop", "1.0.0", time.Now()); err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	if got := must(s.Versions.Load(t.Context(), "shop"))(t); len(got) != 1 {
		t.Errorf("kept are %v", got)
	}
}

func closedConforms(t *testing.T, make func(Options) *Store) {
	ctx, s := context.Background(), make(Options{})
	ok(t, s.Close())
	if err := s.Calls.Log(ctx, bridge.CallRecord{}); !errors.Is(err, ErrClosed) {
		t.Errorf("a call after the end: %v", err)
	}
	if s.Audit == nil {
		return
	}
	for _, wait := range []bool{false, true} {
		if _, err := s.Audit.Intent(ctx, bridge.AuditRecord{Wait: wait}); !errors.Is(err, ErrClosed) {
			t.Errorf("an intent after the end: %v", err)
		}
	}
	if err := s.Audit.Outcome(ctx, 1, bridge.AuditRecord{}); !errors.Is(err, ErrClosed) {
		t.Errorf("an outcome after the end: %v", err)
	}
}
