package bridge

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestOrderOfStages guards the one readable list: the order is a promise of the
// design.
func TestOrderOfStages(t *testing.T) {
	var names []string
	for _, s := range (&Bridge{}).pipe.stages() {
		names = append(names, s.name)
	}
	if want := []string{"audit", "resolve", "validate", "limit", "approve"}; !slices.Equal(names, want) {
		t.Errorf("the stages are %v, want %v", names, want)
	}
}

// TestTaintsOfManyCallers: issuers can name any number of callers; those that have read nothing of
// late are forgotten, and no other.
func TestTaintsOfManyCallers(t *testing.T) {
	var all taints
	now := time.Unix(1000, 0)
	for n := range 1000 {
		all.note(fmt.Sprint("acme:", n), "https://ads.example", now)
	}
	now = now.Add(taintFor / 2)
	all.note("acme:late", "https://ads.example", now)
	now = now.Add(taintFor/2 + taintStep)
	all.note("acme:now", "https://ads.example", now)
	if len(all.byCaller) != 2 || !all.of("acme:late", "https://shop.example", now) || all.of("acme:1", "https://shop.example", now) {
		t.Errorf("%d callers are kept", len(all.byCaller))
	}
}

// TestTaintsAreBounded: a crowd of callers makes pagetools forget who read what, and never believe
// that somebody read nothing.
func TestTaintsAreBounded(t *testing.T) {
	var all taints
	now := time.Unix(1000, 0)
	all.note("acme:first", "https://ads.example", now)
	if all.of("acme:nobody", "https://shop.example", now) {
		t.Fatal("the control: a caller that read nothing is tainted")
	}
	for n := range 2 * maxTainted {
		now = now.Add(time.Millisecond)
		all.note(fmt.Sprint("acme:", n), "https://ads.example", now)
	}
	if len(all.byCaller) > maxTainted {
		t.Errorf("%d callers are kept", len(all.byCaller))
	}
	if _, kept := all.byCaller["acme:first"]; kept || !all.of("acme:first", "https://shop.example", now) {
		t.Error("a caller that was forgotten counts as one that read nothing")
	}
	all.note("acme:first", "https://shop.example", now)
	if !all.of("acme:first", "https://shop.example", now) {
		t.Error("a caller that was forgotten, and read again, counts as one that read that alone")
	}
	if all.of("acme:nobody", "https://shop.example", now.Add(taintFor+time.Second)) {
		t.Error("it counts for ever")
	}
}

// TestKeysOfAllAreBounded: callers without number cannot keep keys without number, and those that
// are kept name their calls as before.
func TestKeysOfAllAreBounded(t *testing.T) {
	const most = 100
	g := newRegistry(1<<20, nil)
	g.mostKeys = most
	claim := func(caller int, key string) (*Run, *Error) {
		r := &Run{pass: passage{call: Call{Caller: Caller{Name: fmt.Sprint("acme:", caller)}, Key: key}}}
		g.add(r)
		return g.claim(r)
	}
	for n := range most {
		if _, e := claim(n, "k"); e != nil {
			t.Fatalf("key %d: %v", n, e)
		}
	}
	if _, e := claim(most, "k"); e == nil || e.Code != RateLimit || e.Outcome != NotRun {
		t.Errorf("one more is %v", e)
	}
	if known, e := claim(7, "k"); known == nil || e != nil {
		t.Errorf("a key that is kept: %v", e)
	}
	if len(g.found[byKey]) != most || len(g.all) != most {
		t.Errorf("%d keys and %d calls are kept", len(g.found[byKey]), len(g.all))
	}
}
