package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
)

// homesConform: a process opens a session again and again; only the newest epoch closes it (N3).
func homesConform(t *testing.T, make func(Options) *Store) {
	ctx := t.Context()
	h := make(Options{}).Homes
	if !regexp.MustCompile(`^[A-Z2-7]{8}$`).MatchString(h.Here()) || h.Lives(h.Here()) || h.Lives("") || h.Lives("AAAAAAAA") {
		t.Errorf("here is %q", h.Here())
	}
	s := bridge.SessionName{Caller: "agent", Site: "shop", ID: "\x00'; --"}
	first := must(h.Open(ctx, s))(t)
	second := must(h.Open(ctx, s))(t)
	if first == 0 || second <= first || must(h.Elsewhere(ctx, s))(t) {
		t.Errorf("the epochs are %d and %d", first, second)
	}
	ok(t, h.Close(ctx, first)) // a session that ended before
	ok(t, h.Close(ctx, second))
	ok(t, h.Close(ctx, second))
}

// endedConforms: an id that ended is known until its time (C3).
func endedConforms(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	e := make(Options{Now: now.now}).Ended
	is := func(why, id string, want bool) {
		t.Helper()
		if got := must(e.HasEnded(ctx, id))(t); got != want {
			t.Errorf("%s: %v", why, got)
		}
	}
	is("nothing ended", "a", false)
	ok(t, e.End(ctx, "agent", "a", now.now().Add(time.Hour)))
	ok(t, e.End(ctx, "agent", "a", now.now().Add(time.Hour)))
	is("it ended", "a", true)
	is("another one", "b", false)
	now.advance(time.Hour)
	is("it is not good any more", "a", false)
}

// endedBoundConforms: of a caller with too many the newest are known (C3).
func endedBoundConforms(t *testing.T, make func(Options) *Store) {
	gatetest.NoRace(t)
	ctx, now := t.Context(), newClock()
	e := make(Options{Now: now.now}).Ended
	ok(t, e.End(ctx, "other", "theirs", now.now().Add(time.Hour)))
	for i := range maxEndedOfCaller + 1 {
		ok(t, e.End(ctx, "agent", fmt.Sprint(i), now.now().Add(time.Hour)))
	}
	for id, want := range map[string]bool{"0": false, "1": true, "theirs": true} {
		if got := must(e.HasEnded(ctx, id))(t); got != want {
			t.Errorf("%s: %v", id, got)
		}
	}
}

// TestHomesOfTheFolder (N2, N3): of several processes one has a session, until it closes it or
// ends; also when it was killed.
func TestHomesOfTheFolder(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	if !two.Homes.Lives(one.Homes.Here()) || one.Homes.Here() == two.Homes.Here() {
		t.Error("two does not know one")
	}
	s := bridge.SessionName{Caller: "agent", Site: "shop", ID: "s"}
	refused := func(why string, by *Store, name bridge.SessionName, want bool) {
		t.Helper()
		epoch, err := by.Homes.Open(ctx, name)
		if got := errors.Is(err, bridge.ErrElsewhere); got != want || err != nil && !got {
			t.Errorf("%s: %d, %v", why, epoch, err)
		}
	}
	epoch := must(one.Homes.Open(ctx, s))(t)
	if !must(two.Homes.Elsewhere(ctx, s))(t) {
		t.Error("it is nowhere else")
	}
	refused("what one has", two, s, true)
	refused("another caller's", two, bridge.SessionName{Caller: "other", Site: "shop", ID: "s"}, false)
	refused("on another site", two, bridge.SessionName{Caller: "agent", Site: "bank", ID: "s"}, false)
	ok(t, one.Homes.Close(ctx, epoch))
	refused("what one closed", two, s, false)
	refused("what two has now", one, s, true)
	here := two.Homes.Here()
	ok(t, two.Close())
	refused("of a process that ended", one, s, false)
	if one.Homes.Lives(here) {
		t.Error("a process that ended lives")
	}
	if homeOf(newID()) == "" || homeOf("short") != "" || homeOf("no hex at all") != "" {
		t.Error("names of owners")
	}
}

// TestKilledProcessesHaveNoSessions (N3): what a process had that was killed is free at once for
// those that live, and its rows go when the folder is opened next.
func TestKilledProcessesHaveNoSessions(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	one := open(t, Options{Dir: dir})
	kill, _ := startCalls(t, dir)
	if _, err := one.Homes.Open(ctx, held); !errors.Is(err, bridge.ErrElsewhere) {
		t.Fatalf("while it lives: %v", err)
	}
	var rows int
	count := func() int {
		t.Helper()
		db := must(openDatabase(ctx, must(openFolder(dir, nil))(t), Options{}.withDefaults()))(t)
		defer func() { ok(t, db.close()) }()
		ok(t, db.r.QueryRowContext(ctx, "SELECT count(*) FROM homes").Scan(&rows))
		return rows
	}
	kill()
	if count() != 1 {
		t.Errorf("%d rows of the dead", rows)
	}
	if must(one.Homes.Elsewhere(ctx, held))(t) {
		t.Error("a dead process has it")
	}
	ok(t, open(t, Options{Dir: dir}).Close())
	if count() != 0 {
		t.Errorf("%d rows are left", rows)
	}
	must(one.Homes.Open(ctx, held))(t)
}

// TestEndedInTheFolder (C3): another process learns that an id ended, and only then has to ask.
func TestEndedInTheFolder(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), folder(t)
	one, two := open(t, Options{Dir: dir}), open(t, Options{Dir: dir})
	before := two.Ended.Changes()
	if two.Ended.Changes() != before {
		t.Error("there is news of nothing")
	}
	until := time.Now().Add(time.Hour)
	ok(t, one.Ended.End(ctx, "agent", "a", until))
	if two.Ended.Changes() == before || !must(two.Ended.HasEnded(ctx, "a"))(t) {
		t.Error("two does not know")
	}
	ok(t, os.Truncate(filepath.Join(dir, changesFile), maxChanges))
	before = two.Ended.Changes()
	ok(t, one.Ended.End(ctx, "agent", "b", until))
	if two.Ended.Changes() == before || two.Ended.Changes() >= maxChanges {
		t.Error("the file grows, or nobody notices that it does not")
	}
	ok(t, one.Close())
	ok(t, two.Close())
	if !must(open(t, Options{Dir: dir}).Ended.HasEnded(ctx, "a"))(t) {
		t.Error("it is forgotten")
	}
}

// The benchmarks measure what a request of a session of MCP costs, a call of a named session that
// is not here, and the opening and closing of one.
func BenchmarkChanges(b *testing.B) {
	s := toMeasure(b)
	for b.Loop() {
		s.Ended.Changes()
	}
}

func BenchmarkElsewhere(b *testing.B) {
	s := toMeasure(b)
	for b.Loop() {
		if _, err := s.Homes.Elsewhere(b.Context(), held); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpenHome(b *testing.B) {
	s := toMeasure(b)
	for b.Loop() {
		epoch, err := s.Homes.Open(b.Context(), held)
		if err == nil {
			err = s.Homes.Close(b.Context(), epoch)
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}

func toMeasure(b *testing.B) *Store {
	b.Helper()
	s, err := Open(b.Context(), Options{Dir: filepath.Join(b.TempDir(), "data")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}
