package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// How long the keys of an issuer are used: without asking again, and while it does not answer. How
// often a token with an unknown key makes us ask at most, and how often while nothing is known.
const (
	keysFresh = time.Hour
	keysKept  = 24 * time.Hour
	keysAgain = time.Minute
	awayAgain = retryIssuer
)

// errAway says that an issuer's keys cannot be had.
var errAway = errors.New("the issuer cannot be asked")

// keySet has the keys of an issuer. One request at a time asks for them, at most one a minute,
// whatever strangers send. It is safe for concurrent use.
type keySet struct {
	client *http.Client
	issuer string
	now    func() time.Time

	mu     sync.Mutex
	asking chan struct{} // closed when the issuer has answered; nil: nobody asks it now
	doc    *document
	keys   []jose.JSONWebKey
	had    time.Time // when they came
	asked  time.Time // when they were asked for last
	err    error     // of that
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
	if !s.known() {
		return nil, false
	}
	for _, k := range s.keys {
		if (name == "" || k.KeyID == name) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			found = append(found, k)
		}
	}
	return found, s.now().Sub(s.had) <= keysFresh
}

// known reports whether keys are kept that may be used. Called with mu held.
func (s *keySet) known() bool { return !s.had.IsZero() && s.now().Sub(s.had) <= keysKept }

// refresh asks the issuer for its keys, unless that was done of late, or waits for whoever asks
// now. The error is errAway when there are none.
func (s *keySet) refresh(ctx context.Context) error {
	s.mu.Lock()
	if asking := s.asking; asking != nil {
		s.mu.Unlock()
		select {
		case <-asking:
		case <-ctx.Done():
			return errors.Join(errAway, context.Cause(ctx))
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.away()
	}
	again := keysAgain
	if s.err != nil && !s.known() {
		again = awayAgain
	}
	if !s.asked.IsZero() && s.now().Sub(s.asked) < again {
		defer s.mu.Unlock()
		return s.away()
	}
	doc := s.doc
	s.asking = make(chan struct{})
	s.mu.Unlock()
	doc, keys, err := s.ask(ctx, doc)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = s.now() // now, so that nobody asks again who has waited
	if s.err = err; err == nil {
		s.doc, s.had, s.keys = doc, s.asked, keys
	} else {
		s.doc = nil // it may have moved
	}
	close(s.asking)
	s.asking = nil
	return s.away()
}

// away is errAway when an error of the issuer leaves us without keys. Called with mu held.
func (s *keySet) away() error {
	if s.err == nil || s.known() {
		return nil
	}
	return errors.Join(errAway, s.err)
}

// ask reads the keys of an issuer, and its document where that is not known.
func (s *keySet) ask(ctx context.Context, doc *document) (_ *document, keys []jose.JSONWebKey, err error) {
	// Not the client's: who sent the token may go away, and the next one needs the keys.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
	defer cancel()
	if doc == nil {
		if doc, err = discover(ctx, s.client, s.issuer); err != nil {
			return nil, nil, err
		}
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := fetch(ctx, s.client, s.issuer, doc.Keys, &set); err != nil {
		return nil, nil, err
	}
	if keys = usable(set.Keys); len(keys) == 0 {
		return nil, nil, errors.New("it publishes no key that can verify a token")
	}
	return doc, keys, nil
}

// maxKeys limits how many keys of an issuer count. The sizes of those of RSA, in bytes, bound what
// is too weak (RFC 7518, 3.3), and what takes too long.
const (
	maxKeys      = 32
	minRSA, most = 2048 / 8, 8192 / 8
)

// usable returns the public keys for signatures. Those of a kind that is not known here are left
// out (RFC 7517, 5).
func usable(all []json.RawMessage) (keys []jose.JSONWebKey) {
	for _, text := range all {
		var k jose.JSONWebKey
		if k.UnmarshalJSON(text) != nil || !k.IsPublic() || !k.Valid() || k.Use != "" && k.Use != "sig" {
			continue
		}
		if of, is := k.Key.(*rsa.PublicKey); is && (of.Size() < minRSA || of.Size() > most) {
			continue
		}
		if keys = append(keys, k); len(keys) == maxKeys {
			break
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
