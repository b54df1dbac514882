package bridge

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// tooMany has a sentence for each rate that can refuse a call.
var tooMany = map[policy.Limit]string{
	policy.LimitCaller: "You make too many calls.",
	policy.LimitSite:   "This webtool gets too many calls.",
	policy.LimitTool:   "This tool gets too many calls.",
}

// take takes one from each rate that counts, or refuses. Site and tool may be empty.
func (pl *pipeline) take(ctx context.Context, caller *Caller, site, tool string) *Error {
	now := pl.now()
	limit, wait := pl.rates.TakeOwn(caller.Rate, caller.Name, site, tool, now)
	if limit == "" && pl.shares.store != nil {
		limit, wait = pl.shares.take(ctx, pl.rates.Uses(caller.Rate, caller.Name, site, tool), now)
	}
	if limit == "" {
		return nil
	}
	e := Errorf(RateLimit, "", NotRun, "%s %s", tooMany[limit], TryAgain(wait)).
		Detail("limit", string(limit))
	e.Retry = wait
	return e
}

// shares holds the calls that this process may let through of the rates of its data folder. They
// are taken from the store several at a time, so that most calls write nothing.
type shares struct {
	store Rates
	log   *slog.Logger

	mu sync.Mutex
	of map[policy.Use]share
}

// share has the calls that are left of a rate, and until when the store has none.
type share struct {
	left  int
	empty time.Time
}

// maxShares bounds the rates of callers that are kept; the store has what they used.
const maxShares = 10_000

// batch returns how many calls of a rate are taken at a time: at most a twentieth of it lies idle
// here.
func batch(r policy.Rate) int { return max(1, r.N/20) }

// take takes one call of each rate, or none, and says which rate refuses it and how long. A store
// that fails refuses nothing: the rates of this process hold.
func (s *shares) take(ctx context.Context, uses []policy.Use, now time.Time) (policy.Limit, time.Duration) {
	for {
		missing, wait := s.spend(uses, now)
		switch {
		case missing == nil:
			return "", 0
		case wait > 0:
			return missing.Limit, wait
		}
		got, wait, err := s.store.Take(context.WithoutCancel(ctx), *missing, batch(missing.Rate), now)
		if err != nil {
			s.log.WarnContext(ctx, "rates: those of the other processes do not count now", slog.Any("error", err))
			return "", 0
		}
		s.mu.Lock()
		is := s.of[*missing]
		is.left += got
		if got == 0 {
			is.empty = now.Add(wait)
		}
		s.of[*missing] = is
		s.mu.Unlock()
	}
}

// spend takes one call of each rate when all have one; else it returns one that has none, and how
// long the store has none either.
func (s *shares) spend(uses []policy.Use, now time.Time) (missing *policy.Use, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) > maxShares {
		s.of = map[policy.Use]share{}
	}
	for i := range uses {
		if is := s.of[uses[i]]; is.left == 0 {
			return &uses[i], is.empty.Sub(now)
		}
	}
	for _, u := range uses {
		is := s.of[u]
		is.left--
		s.of[u] = is
	}
	return nil, 0
}
