package recipes

import (
	"crypto/sha256"
	"crypto/subtle"
	"time"
)

// What is stored, and for how long. Strangers make guests, registrations and device codes; the rest
// needs a person who signed in.
const (
	mostGuests = 200 // each with a cookbook
	mostKept   = 1000

	sessionLife = 24 * time.Hour
	freshLife   = time.Hour
	clientLife  = 90 * 24 * time.Hour
	codeLife    = time.Minute
	deviceLife  = 10 * time.Minute
	accessLife  = 10 * time.Minute
	grantLife   = 30 * 24 * time.Hour
)

// shelf keeps a bounded number of things for a time. When it is full, the oldest makes room.
type shelf[T any] struct {
	most int
	life time.Duration
	held map[string]kept[T]
}

type kept[T any] struct {
	thing T
	since time.Time
}

func newShelf[T any](most int, life time.Duration) shelf[T] {
	return shelf[T]{most, life, map[string]kept[T]{}}
}

func (s shelf[T]) put(key string, thing T) {
	if len(s.held) >= s.most {
		s.makeRoom()
	}
	s.held[key] = kept[T]{thing, time.Now()}
}

// makeRoom drops what is over, or else the oldest.
func (s shelf[T]) makeRoom() {
	oldest := ""
	for key, k := range s.held {
		if time.Since(k.since) >= s.life {
			delete(s.held, key)
		} else if first, ok := s.held[oldest]; !ok || k.since.Before(first.since) {
			oldest = key
		}
	}
	if len(s.held) >= s.most {
		delete(s.held, oldest)
	}
}

// get returns what is there and not over.
func (s shelf[T]) get(key string) (thing T, ok bool) {
	k, ok := s.held[key]
	if !ok || time.Since(k.since) >= s.life {
		return thing, false
	}
	return k.thing, true
}

func (s shelf[T]) drop(key string) { delete(s.held, key) }

// digest is the key for a secret: how long a look-up takes says nothing about the secret.
func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return string(sum[:])
}

// same compares secrets in a time that does not depend on what is in them.
func same(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }

// throttle counts what happens in a window of time.
type throttle struct {
	n     int
	since time.Time
}

// take reports whether there may be one more: at most n within the window.
func (t *throttle) take(n int, window time.Duration) bool {
	if time.Since(t.since) >= window {
		*t = throttle{since: time.Now()}
	}
	t.n++
	return t.n <= n
}
