package store

import (
	"fmt"
	"testing"
	"time"
)

// taintsConform: a taint is of its caller, by another origin, until its end; the later end holds,
// and more origins than are kept apart are one that is any other's (N1).
func taintsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now}).Taints
	is := func(why, caller, but string, want bool) {
		t.Helper()
		if got := must(s.Tainted(ctx, caller, but, now.now()))(t); got != want {
			t.Errorf("%s: %v", why, got)
		}
	}
	taint := func(caller, origin string, d time.Duration) {
		t.Helper()
		if err := s.Taint(ctx, caller, origin, now.now().Add(d)); err != nil {
			t.Fatal(err)
		}
	}
	is("nothing was read", "agent", "https://bank.example", false)
	taint("agent", "https://mail.example", 10*time.Minute)
	taint("agent", "https://mail.example", time.Minute)
	is("another origin", "agent", "https://bank.example", true)
	is("the same origin", "agent", "https://mail.example", false)
	is("another caller", "other", "https://bank.example", false)
	now.advance(9 * time.Minute)
	is("before its end", "agent", "https://bank.example", true)
	now.advance(2 * time.Minute)
	is("after its end", "agent", "https://bank.example", false)
	for i := range maxTaints + 1 {
		taint("agent", fmt.Sprintf("https://%d.example", i), time.Hour)
	}
	is("one of many", "agent", fmt.Sprintf("https://%d.example", maxTaints), true)
}
