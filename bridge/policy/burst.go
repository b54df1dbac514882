package policy

import (
	"time"

	"golang.org/x/time/rate"
)

// Burst lets something happen n times at once, and then once in each interval: the function
// reports whether it may happen at that time, and counts it. It is safe for concurrent use.
func Burst(n int, interval time.Duration) func(now time.Time) bool {
	l := rate.NewLimiter(rate.Every(interval), n)
	return func(now time.Time) bool { return l.AllowN(now, 1) }
}
