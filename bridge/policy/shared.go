package policy

import (
	"math"
	"time"

	"golang.org/x/time/rate"
)

// maxSharing bounds the callers that have a bucket of their own in one rate. Further ones share
// one.
const maxSharing = 10_000

// crowd is the bucket of the callers beyond maxSharing. No caller has the empty name.
const crowd = ""

// shared is a rate that callers share equally: each has a bucket with its part. A caller counts
// until it has not called for one period, when its bucket would be full again.
type shared struct {
	rate    Rate
	whole   bool // nobody shares: each caller has all of it
	most    int
	members map[string]*member
	swept   time.Time
}

type member struct {
	bucket *rate.Limiter
	called time.Time
}

// newShared returns nil for a rate that limits nothing.
func newShared(r Rate) *shared {
	if !r.limits() {
		return nil
	}
	return &shared{rate: r, most: maxSharing, members: map[string]*member{}}
}

// newBucket makes the bucket of one of n callers that share a rate. At least one call may always
// come at once.
func newBucket(r Rate, n int) *rate.Limiter {
	return rate.NewLimiter(r.part(n))
}

// part is one of n equal parts of a rate.
func (r Rate) part(n int) (rate.Limit, int) {
	return rate.Limit(r.perSecond() / float64(n)), int(math.Max(1, float64(r.N/n)))
}

// Part is one of n equal parts of a rate: how many calls may come at once, and how long one takes
// to come back.
func (r Rate) Part(n int) (burst int, interval time.Duration) {
	_, burst = r.part(n)
	return burst, time.Duration(float64(r.Per) * float64(n) / float64(r.N))
}

// of returns the bucket of a caller, or nil without a rate.
func (s *shared) of(caller string, now time.Time) *rate.Limiter {
	if s == nil {
		return nil
	}
	before := len(s.members)
	if now.Sub(s.swept) >= s.rate.Per {
		s.swept = now
		for name, m := range s.members {
			if now.Sub(m.called) >= s.rate.Per {
				delete(s.members, name)
			}
		}
	}
	caller = s.named(caller)
	m := s.members[caller]
	if m == nil {
		m = &member{bucket: newBucket(s.rate, s.parts(len(s.members)+1))}
		s.members[caller] = m
	}
	m.called = now
	if n := len(s.members); n != before && !s.whole {
		limit, burst := s.rate.part(n)
		for _, m := range s.members {
			m.bucket.SetLimitAt(now, limit)
			m.bucket.SetBurstAt(now, burst)
		}
	}
	return m.bucket
}

// named returns whose bucket a caller has: the crowd's where there are too many.
func (s *shared) named(caller string) string {
	if s.members[caller] == nil && len(s.members) >= s.most {
		return crowd
	}
	return caller
}

// parts is in how many parts n callers divide the rate.
func (s *shared) parts(n int) int {
	if s.whole {
		return 1
	}
	return n
}

// idle reports whether nobody has called for a period: every bucket is full.
func (s *shared) idle(now time.Time) bool {
	for _, m := range s.members {
		if now.Sub(m.called) < s.rate.Per {
			return false
		}
	}
	return true
}
