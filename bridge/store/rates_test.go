package store

import (
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// ratesConform: N calls may be taken at once, and N come back per period; callers share a rule
// equally, and each rule and rate has its own (N7).
func ratesConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now}).Rates
	six := policy.Use{Limit: policy.LimitCaller, Caller: "agent", Rate: policy.Rate{N: 6, Per: time.Minute}}
	take := func(why string, u policy.Use, n, want int, wait time.Duration) {
		t.Helper()
		got, until, err := s.Take(ctx, u, n, now.now())
		if err != nil || got != want || until != wait {
			t.Errorf("%s: %d, %v, %v; want %d, %v", why, got, until, err, want, wait)
		}
	}
	take("some of it", six, 4, 4, 0)
	take("what is left", six, 4, 2, 0)
	take("nothing is left", six, 1, 0, 10*time.Second)
	now.advance(4 * time.Second)
	take("nothing yet", six, 1, 0, 6*time.Second)
	now.advance(6 * time.Second)
	take("one came back", six, 4, 1, 0)
	other := six
	other.Caller = "other"
	take("another caller", other, 6, 6, 0)
	other = six
	other.Rate.N = 60
	take("another rate", other, 3, 3, 0)
	site := policy.Use{Limit: policy.LimitSite, Of: "shop", Caller: "agent", Rate: policy.Rate{N: 6, Per: time.Minute}}
	take("a site's, alone", site, 9, 6, 0)
	site.Caller = "other"
	take("a part of a site's", site, 9, 3, 0)
	now.advance(time.Hour)
	take("all came back", six, 9, 6, 0)
}
