package authserver

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// What strangers may do, how often.
const (
	minute, hour         = time.Minute, time.Hour
	registrationsPerHour = 20 // an address
	fetchesPerMinute     = 20 // an address
	attemptsPerMinute    = 5  // an address, wrong ones
	guessesPerHour       = 20 // of all, wrong ones
	maxAddresses         = 1000
)

// limiter lets each key do something a few times in a span of time. It is safe for concurrent use.
// Addresses that it has no room for share one place.
type limiter struct {
	now  func() time.Time
	most int
	span time.Duration

	mu    sync.Mutex
	times map[string][]time.Time
}

func newLimiter(now func() time.Time, most int, span time.Duration) *limiter {
	return &limiter{now: now, most: most, span: span, times: map[string][]time.Time{}}
}

// take takes one, or returns how long there is none.
func (l *limiter) take(key string) (wait time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	key = l.place(key, now)
	of := l.recent(key, now)
	if len(of) >= l.most {
		return l.span - now.Sub(of[len(of)-l.most])
	}
	l.times[key] = append(of, now)
	return 0
}

// giveBack undoes the newest take of a key.
func (l *limiter) giveBack(key string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, own := l.times[key]; !own {
		key = ""
	}
	if of := l.times[key]; len(of) > 0 {
		l.times[key] = of[:len(of)-1]
	}
}

// recent drops what was too long ago.
func (l *limiter) recent(key string, now time.Time) []time.Time {
	of := l.times[key]
	for len(of) > 0 && now.Sub(of[0]) >= l.span {
		of = of[1:]
	}
	return of
}

// place returns the key under which an address is counted.
func (l *limiter) place(key string, now time.Time) string {
	if _, known := l.times[key]; known || len(l.times) < maxAddresses {
		return key
	}
	for other := range l.times {
		if len(l.recent(other, now)) == 0 {
			delete(l.times, other)
		}
	}
	if len(l.times) < maxAddresses {
		return key
	}
	return ""
}

// addressOf returns the address of a client. Behind a proxy on this machine or network, the proxy
// names it; what else a client says of itself does not count. Of IPv6, a subscriber has a /64.
func addressOf(r *http.Request) string {
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	at, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	at = at.Unmap()
	if at.IsLoopback() || at.IsPrivate() {
		said := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
		last := said[strings.LastIndexByte(said, ',')+1:]
		if other, err := netip.ParseAddr(strings.TrimSpace(last)); err == nil {
			at = other.Unmap()
		}
	}
	if at.Is6() {
		if p, err := at.WithZone("").Prefix(64); err == nil {
			return p.String()
		}
	}
	return at.String()
}
