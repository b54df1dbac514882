package bridgetest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// CheckLogins checks a bridge.Logins, which is empty: a token finds its login until it is over, by its age, by
// want of use, or because it was ended; the one that was used least recently goes where there are too many.
// now and advance are of its clock.
func CheckLogins(t *testing.T, s bridge.Logins, now func() time.Time, advance func(time.Duration)) {
	t.Helper()
	ctx := t.Context()
	digestOf := func(id string) bridge.Digest { return sha256.Sum256([]byte(id)) }
	begin := func(id string, life time.Duration) bridge.Login {
		t.Helper()
		l := bridge.Login{ID: id, Name: "Name of " + id, May: []bridge.Right{bridge.MayView, bridge.MayCall}, Since: now(), Until: now().Add(life)}
		ok(t, s.Begin(ctx, l, digestOf(id)))
		return l
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
	a := begin("a", 7*24*time.Hour)
	begin("b", 7*24*time.Hour)
	if l := must(s.Find(ctx, digestOf("a")))(t); l.Name != a.Name || fmt.Sprint(l.May) != "[view call]" || !l.Since.Equal(a.Since) || !l.Until.Equal(a.Until) || !l.Used.Equal(a.Since) {
		t.Errorf("it is %+v", l)
	}
	advance(bridge.LoginIdle - time.Second)
	if used := must(s.Use(ctx, "b"))(t); !used {
		t.Error("b is over")
	}
	advance(time.Second) // a was not used for as long as that
	lives("a", false)
	lives("b", true)
	for range 13 { // in use, until its age ends it
		advance(bridge.LoginIdle - time.Hour)
		must(s.Use(ctx, "b"))(t)
	}
	lives("b", true)
	advance(bridge.LoginIdle - time.Hour)
	must(s.Use(ctx, "b"))(t)
	advance(2 * bridge.LoginIdle)
	lives("b", false)
	begin("c", time.Hour)
	if gone := must(s.End(ctx, "c"))(t); !gone {
		t.Error("c cannot be ended")
	}
	lives("c", false)
	if gone := must(s.End(ctx, "c"))(t); gone {
		t.Error("c can be ended twice")
	}
	for n := range bridge.MaxLogins {
		begin(fmt.Sprint(n), time.Hour)
		advance(time.Second)
	}
	advance(time.Minute) // as precisely it is known when one was used
	must(s.Use(ctx, "0"))(t)
	begin("last", time.Hour)
	lives("0", true)
	lives("1", false)
	lives("2", true)
	lives("last", true)
}
