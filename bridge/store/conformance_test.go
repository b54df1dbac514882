package store

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
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
		"reply age":         replyAgeConforms,
		"audit":             auditConforms,
		"audit together":    auditTogetherConforms,
		"calls":             callsConform,
		"call bounds":       callBoundsConform,
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
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			open := func(t *testing.T, o bridgetest.MemoryOptions) bridge.Memory {
				t.Helper()
				return make(t, Options{MaxKeys: o.MaxKeys, MaxReplyBytes: o.MaxReplyBytes, MaxVersionBytes: o.MaxVersionBytes}).Memory
			}
			bridgetest.CheckReplies(t, open)
			bridgetest.CheckGrants(t, open)
			bridgetest.CheckVersions(t, open)
		})
	}
}

func replyAgeConforms(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	r := make(Options{Now: now.now}).Replies
	first := must(r.Begin(ctx, "agent", "k", "b"))(t)
	ok(t, r.Finish(ctx, first.Claim, nil))
	now.advance(24*time.Hour - 1)
	if got := must(r.Begin(ctx, "agent", "k", "b"))(t); got.Status != bridge.ReplyFinished {
		t.Errorf("before the day ends: %v", got)
	}
	now.advance(1)
	if got := must(r.Begin(ctx, "agent", "k", "b"))(t); got.Status != bridge.ReplyClaimed {
		t.Errorf("after a day: %v", got)
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
