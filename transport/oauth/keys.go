package oauth

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long the keys of an issuer are used: without asking again, and while it does not answer; and
// how often a token with an unknown key makes us ask at most.
const (
	keysFresh = time.Hour
	keysKept  = 24 * time.Hour
	keysAgain = time.Minute
)

// errAway says that an issuer's keys cannot be had.
var errAway = errors.New("its keys cannot be had")

// keySet has the keys of an issuer. One request at a time asks for them, at most one a minute,
// whatever strangers send. It is safe for concurrent use.
type keySet struct {
	client *http.Client
	issuer string
	now    func() time.Time

	asking sync.Mutex // held while the issuer is asked

	mu    sync.Mutex
	doc   *document
	keys  []jose.JSONWebKey
	had   time.Time // when they came
	asked time.Time // when they were asked for last
	err   error     // of that
}

// find returns the keys that may have signed with an algorithm: of a name, where the signature has
// one.
func (s *keySet) find(ctx context.Context, name, algorithm string) ([]jose.JSONWebKey, error) {
	found, fresh := s.kept(name, algorithm)
	if fresh && len(found) > 0 {
		return found, nil
	}
	err := s.refresh(ctx)
	if found, _ = s.kept(name, algorithm); len(found) > 0 || err == nil {
		return found, nil
	}
	return nil, err
}

// kept returns what is known now, and whether that is fresh.
func (s *keySet) kept(name, algorithm string) (found []jose.JSONWebKey, fresh bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	age := s.now().Sub(s.had)
	if s.had.IsZero() || age > keysKept {
		return nil, false
	}
	for _, k := range s.keys {
		if (name == "" || k.KeyID == name) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			found = append(found, k)
		}
	}
	return found, age <= keysFresh
}

// refresh asks the issuer for its keys, unless that was done of late. The error is errAway when there
// are none.
func (s *keySet) refresh(ctx context.Context) error {
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	now := s.now()
	soon, err, doc := !s.asked.IsZero() && now.Sub(s.asked) < keysAgain, s.err, s.doc
	if !soon {
		s.asked = now
	}
	s.mu.Unlock()
	if soon {
		return s.away(err)
	}
	// Not the client's: who sent the token may go away, and the next one needs the keys.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	var set jose.JSONWebKeySet
	if err = nil; doc == nil {
		doc, err = discover(ctx, s.client, s.issuer)
	}
	if err == nil {
		err = fetch(ctx, s.client, doc.Keys, &set)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err = err; err == nil {
		s.doc, s.had, s.keys = doc, now, usable(set.Keys)
	} else {
		s.doc = nil // it may have moved
	}
	return s.awayLocked(err)
}

func (s *keySet) away(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.awayLocked(err)
}

// awayLocked is errAway when an error of the issuer leaves us without keys.
func (s *keySet) awayLocked(err error) error {
	if err == nil || !s.had.IsZero() && s.now().Sub(s.had) <= keysKept {
		return nil
	}
	return errors.Join(errAway, err)
}

// maxKeys is how many keys of an issuer count.
const maxKeys = 32

// usable returns the public keys for signatures.
func usable(all []jose.JSONWebKey) (keys []jose.JSONWebKey) {
	for _, k := range all {
		if k.IsPublic() && k.Valid() && (k.Use == "" || k.Use == "sig") && len(keys) < maxKeys {
			keys = append(keys, k)
		}
	}
	return keys
}

// document returns what the issuer says of itself.
func (s *keySet) document(ctx context.Context) (*document, error) {
	s.mu.Lock()
	doc := s.doc
	s.mu.Unlock()
	if doc != nil {
		return doc, nil
	}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.doc == nil {
		return nil, errAway
	}
	return s.doc, nil
}
