package store

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// loginsConform: a token finds its login until it is over, by its age, by want of use, or because
// it was ended; the one that was used least recently goes where there are too many.
func loginsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now}).Logins
	begin := func(id string, life time.Duration) {
		t.Helper()
		ok(t, s.Begin(ctx, bridge.Login{ID: id, Name: "Name of " + id, May: []bridge.Right{bridge.MayView, bridge.MayCall}, Since: now.now(), Until: now.now().Add(life)}, digestOf(id)))
	}
	lives := func(id string, want bool) {
		t.Helper()
		all := must(s.All(ctx))(t)
		if listed := slices.ContainsFunc(all, func(l bridge.Login) bool { return l.ID == id }); listed != want {
			t.Errorf("%s is listed: %v", id, listed)
		}
		if l := must(s.Find(ctx, digestOf(id)))(t); (l.ID == id) != want {
			t.Errorf("%s is found: %+v", id, l)
		}
	}
	begin("a", 7*24*time.Hour)
	begin("b", 7*24*time.Hour)
	if l := must(s.Find(ctx, digestOf("a")))(t); l.Name != "Name of a" || fmt.Sprint(l.May) != "[view call]" || !l.Since.Equal(now.now()) || !l.Until.Equal(now.now().Add(7*24*time.Hour)) {
		t.Errorf("it is %+v", l)
	}
	now.advance(bridge.LoginIdle - time.Second)
	if used := must(s.Use(ctx, "b"))(t); !used {
		t.Error("b is over")
	}
	now.advance(time.Second) // a was not used for as long as that
	lives("a", false)
	lives("b", true)
	for range 13 { // in use, until its age ends it
		now.advance(bridge.LoginIdle - time.Hour)
		must(s.Use(ctx, "b"))(t)
	}
	lives("b", true)
	now.advance(bridge.LoginIdle - time.Hour)
	must(s.Use(ctx, "b"))(t)
	now.advance(2 * bridge.LoginIdle)
	lives("b", false)
	begin("c", time.Hour)
	if gone := must(s.End(ctx, "c"))(t); !gone {
		t.Error("c cannot be ended")
	}
	lives("c", false)
	if gone := must(s.End(ctx, "c"))(t); gone {
		t.Error("c can be ended twice")
	}
	for n := range maxLogins {
		begin(fmt.Sprint(n), time.Hour)
		now.advance(time.Second)
	}
	now.advance(touchAfter)
	must(s.Use(ctx, "0"))(t)
	begin("last", time.Hour)
	lives("0", true)
	lives("1", false)
	lives("2", true)
	lives("last", true)
}
