package app

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records/lease"
)

// TestOneNodeSweeps: of the nodes that live, the one with the smallest incarnation removes old marks, once
// in ten minutes; one whose lease may be over does not.
func TestOneNodeSweeps(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		var mu sync.Mutex
		living := []string{"B", "C", "A"}
		holds, swept, tidied, fails := true, map[string]int{}, map[string]int{}, error(nil)
		for _, id := range []string{"A", "B", "C"} {
			h := housekeeper{log: slog.New(slog.DiscardHandler), every: 4 * time.Second,
				self: func() (string, bool) {
					mu.Lock()
					defer mu.Unlock()
					return id, holds && slices.Contains(living, id)
				},
				others: func() (all []lease.Member) {
					mu.Lock()
					defer mu.Unlock()
					for _, other := range living {
						if other != id {
							all = append(all, lease.Member{ID: other})
						}
					}
					return all
				},
				sweep: func(ctx context.Context, age time.Duration) (int, error) {
					if left, bounded := ctx.Deadline(); !bounded || time.Until(left) > time.Minute || age < time.Minute {
						t.Errorf("it sweeps what is %v old, until %v", age, left)
					}
					mu.Lock()
					defer mu.Unlock()
					swept[id]++
					return 3, fails
				},
				tidy: func(_ context.Context, _, age time.Duration) (int, error) {
					mu.Lock()
					defer mu.Unlock()
					if tidied[id]++; age != 24*time.Hour {
						t.Errorf("it removes sessions of %v ago", age)
					}
					return 0, fails
				}}
			go h.run(ctx)
		}
		sweeps := func(a, b, c int) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !maps.Equal(swept, tidied) || swept["A"] != a || swept["B"] != b || swept["C"] != c {
				t.Errorf("%v; not %d, %d, %d", swept, a, b, c)
			}
		}
		<-time.After(10*time.Minute - 1)
		sweeps(0, 0, 0)
		<-time.After(21 * time.Minute)
		sweeps(3, 0, 0)
		change := func(do func()) { mu.Lock(); defer mu.Unlock(); do() }
		change(func() { living, fails = []string{"B", "C"}, errors.New("no right to") })
		<-time.After(20 * time.Minute)
		sweeps(3, 2, 0)
		change(func() { holds = false })
		<-time.After(time.Hour)
		sweeps(3, 2, 0)
		stop()
		synctest.Wait()
	})
}

// TestNodesThatDiffer: a node tells of each other one that has another configuration, once for each.
func TestNodesThatDiffer(t *testing.T) {
	t.Parallel()
	var said []string
	own, others := "D1", []lease.Member{}
	h := housekeeper{config: func() string { return own }, differs: func(node string) { said = append(said, node) },
		others: func() []lease.Member { return others }}
	node := func(name, id, config string) lease.Member {
		return lease.Member{ID: id, Facts: lease.Facts{Node: name, Config: config}}
	}
	says := func(why string, want ...string) {
		t.Helper()
		h.compare()
		h.compare()
		if !slices.Equal(said, want) {
			t.Errorf("%s: %q, not %q", why, said, want)
		}
		said = nil
	}
	others = []lease.Member{node("b", "B1", "D1"), node("c", "C1", "")}
	says("they agree, or do not say")
	others[0] = node("b", "B1", "D2")
	says("one differs", "b")
	others[0] = node("b", "B1", "D3")
	says("it differs in another way", "b")
	own = "D3"
	says("they agree")
	own = "D1"
	says("and differ again", "b")
}
