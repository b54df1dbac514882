package policy

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Rate is so many calls in so much time, all of which may come at once. The zero value limits nothing.
type Rate struct {
	N   int
	Per time.Duration
}

const (
	maxRateN   = 1_000_000
	maxRatePer = 24 * time.Hour
)

// ParseRate reads "60/1m": a count from 1 to 1,000,000 and a duration from 1ms to 24h, as time.ParseDuration has it.
func ParseRate(s string) (Rate, error) {
	count, period, ok := strings.Cut(s, "/")
	n, errN := strconv.Atoi(count)
	per, errPer := time.ParseDuration(period)
	switch {
	case !ok || errN != nil || errPer != nil:
		return Rate{}, fmt.Errorf("unknown rate %q: write a count and a duration, as in 60/1m", s)
	case n < 1 || n > maxRateN:
		return Rate{}, fmt.Errorf("rate %q: the count is from 1 to %d", s, maxRateN)
	case per < time.Millisecond || per > maxRatePer:
		return Rate{}, fmt.Errorf("rate %q: the duration is from 1ms to %v", s, maxRatePer)
	}
	return Rate{N: n, Per: per}, nil
}

// String writes what ParseRate reads.
func (r Rate) String() string { return fmt.Sprintf("%d/%v", r.N, r.Per) }

// MarshalText writes the rate, for JSON and YAML.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the rate.
func (r *Rate) UnmarshalText(text []byte) error {
	parsed, err := ParseRate(string(text))
	if err != nil {
		return err
	}
	*r = parsed
	return nil
}

// defaultKeys is the number of callers that a Limiter tells apart unless told otherwise.
const defaultKeys = 10_000

// LimiterOptions shape a Limiter.
type LimiterOptions struct {
	Rate Rate // of each key; N or Per of zero limits nothing
	Keys int  // that are told apart at once; 0 means 10,000
}

// Limiter holds one token bucket per key. It is safe for concurrent use. Its memory is bounded: when all keys are
// taken, those whose bucket is full again are forgotten, which changes nothing for them; if there is none, new keys
// share one more bucket. So nobody gets a fresh bucket by crowding others out.
type Limiter struct {
	rate Rate
	keys int

	mu       sync.Mutex
	buckets  map[string]*rate.Limiter
	overflow *rate.Limiter
	swept    time.Time
}

// NewLimiter makes a limiter.
func NewLimiter(o LimiterOptions) *Limiter {
	if o.Keys <= 0 {
		o.Keys = defaultKeys
	}
	return &Limiter{rate: o.Rate, keys: o.Keys, buckets: map[string]*rate.Limiter{}, overflow: newBucket(o.Rate)}
}

func newBucket(r Rate) *rate.Limiter {
	if r.N <= 0 || r.Per <= 0 {
		return nil
	}
	return rate.NewLimiter(rate.Limit(float64(r.N)/r.Per.Seconds()), r.N)
}

// Allow takes one call from the bucket of key at the time now. When it is empty it takes nothing and says after how
// long one call will be in it, which is more than 0.
func (l *Limiter) Allow(key string, now time.Time) (ok bool, retryAfter time.Duration) {
	if l.overflow == nil {
		return true, 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	r := l.bucket(key, now).ReserveN(now, 1)
	if wait := r.DelayFrom(now); wait > 0 {
		r.CancelAt(now)
		return false, wait
	}
	return true, 0
}

// sweepEvery bounds how often a full table is searched for keys to forget.
const sweepEvery = time.Second

func (l *Limiter) bucket(key string, now time.Time) *rate.Limiter {
	if b, ok := l.buckets[key]; ok {
		return b
	}
	if len(l.buckets) >= l.keys && now.Sub(l.swept) >= sweepEvery {
		l.swept = now
		for k, b := range l.buckets {
			if b.TokensAt(now) >= float64(l.rate.N) {
				delete(l.buckets, k)
			}
		}
	}
	if len(l.buckets) >= l.keys {
		return l.overflow
	}
	b := newBucket(l.rate)
	l.buckets[key] = b
	return b
}
