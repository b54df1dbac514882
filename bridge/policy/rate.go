package policy

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Rate is so many calls in so much time, all of which may come at once. The zero value limits
// nothing.
type Rate struct {
	N   int
	Per time.Duration
}

const (
	maxRateN   = 1_000_000
	maxRatePer = 24 * time.Hour
)

// ParseRate reads "60/1m": a count from 1 to 1,000,000 and a duration from 1ms to 24h, as
// time.ParseDuration has it.
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

// String writes what ParseRate reads, and nothing for a rate that limits nothing.
func (r Rate) String() string {
	if !r.limits() {
		return ""
	}
	return fmt.Sprintf("%d/%v", r.N, r.Per)
}

func (r Rate) limits() bool { return r.N > 0 && r.Per > 0 }

func (r Rate) perSecond() float64 { return float64(r.N) / r.Per.Seconds() }

// MarshalText writes the rate, for JSON and YAML.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText reads the rate.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}
