package policy

import (
	"sync"
	"testing"
)

// TestAccount: at the limit, one past it, and never more than all may hold together.
func TestAccount(t *testing.T) {
	all := NewAccount(15, nil)
	a, b := NewAccount(10, all), NewAccount(10, all)
	for _, step := range []struct {
		of    *Account
		n     int64
		taken bool
	}{{a, 10, true}, {a, 1, false}, {b, 6, false}, {b, 5, true}, {b, 1, false}} {
		if got := step.of.Take(step.n); got != step.taken {
			t.Errorf("%d more: %v", step.n, got)
		}
	}
	if a.Used() != 10 || b.Used() != 5 || all.Used() != 15 {
		t.Errorf("used are %d, %d and %d", a.Used(), b.Used(), all.Used())
	}
	a.Give(10)
	if !b.Take(5) || all.Used() != 10 {
		t.Errorf("what is given back is not there for others: %d", all.Used())
	}
	var none *Account
	if !none.Take(1 << 40) {
		t.Error("no account bounds something")
	}
	none.Give(1)
}

func TestAccountAtOnce(t *testing.T) {
	all := NewAccount(1000, nil)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			mine := NewAccount(300, all)
			for range 10_000 {
				if mine.Take(200) {
					mine.Give(200)
				}
			}
		})
	}
	wg.Wait()
	if all.Used() != 0 {
		t.Errorf("%d bytes are left", all.Used())
	}
}
