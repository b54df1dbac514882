package authserver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// How long a token is believed until the store is asked again, which other processes may have
// changed, and how many are.
const (
	believed  = 5 * time.Second
	maxTokens = 1000
)

// kept are the tokens that were looked at of late, and the connections whose callers can be
// revoked.
type kept struct {
	mu      sync.Mutex
	tokens  map[bridge.Digest]seen
	live    map[string]*live // by the ID of the connection
	changes int              // how often connections were dropped
}

// live is a connection that let somebody in.
type live struct {
	bridge.Connection

	person  *Person
	revoked chan struct{}
}

// seen is a token that was found.
type seen struct {
	*live

	until, asked time.Time
}

// Owns reports whether a token has the form of those of this server: nobody else is asked about it.
func (s *Server) Owns(token string) bool {
	return strings.HasPrefix(token, accessPrefix) || strings.HasPrefix(token, refreshPrefix)
}

// Holder returns the caller of a token, and the resource that it is for. known is false for a token
// that does not count; an error means that this cannot be told now.
func (s *Server) Holder(ctx context.Context, token string) (caller bridge.Caller, resource string, known bool, err error) {
	digest := bridge.Digest(sha256.Sum256([]byte(token)))
	for {
		found, changes := s.kept.find(digest, s.o.Now())
		if found.live == nil {
			if found, err = s.look(ctx, digest); err != nil || found.live == nil {
				return bridge.Caller{}, "", false, err
			}
			if found, changes = s.kept.keep(digest, found, changes, s.o.Now()); changes != 0 {
				continue // something was revoked meanwhile: maybe this
			}
		}
		p := found.person
		sum := sha256.Sum256([]byte("pagetools\x00" + s.o.Public + "\x00" + p.Name))
		return bridge.Caller{Name: prefix + p.Name, Credential: hex.EncodeToString(sum[:16]), May: p.May, Sites: p.Sites,
			Revoked: found.revoked, Expires: found.until, Client: found.Client, CredentialID: found.ID}, found.Resource, true, nil
	}
}

// look asks the store about a token.
func (s *Server) look(ctx context.Context, digest bridge.Digest) (seen, error) {
	c, secret, err := s.o.Connections.Find(ctx, digest)
	if err != nil || secret.Kind != bridge.SecretAccess {
		return seen{}, err
	}
	p := s.person(c.Person)
	if p == nil {
		return seen{}, nil
	}
	return seen{live: &live{Connection: c, person: p}, until: secret.Until, asked: s.o.Now()}, nil
}

// find returns a token that was found a moment ago.
func (k *kept) find(d bridge.Digest, now time.Time) (seen, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	is, there := k.tokens[d]
	if !there || !now.Before(is.until) || now.Sub(is.asked) >= believed {
		return seen{}, k.changes
	}
	return is, k.changes
}

// keep keeps a token that was found, unless something was dropped since.
func (k *kept) keep(d bridge.Digest, found seen, changes int, now time.Time) (seen, int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.changes != changes {
		return seen{}, 1
	}
	if k.tokens == nil {
		k.tokens, k.live = map[bridge.Digest]seen{}, map[string]*live{}
	}
	if of := k.live[found.ID]; of != nil && of.person.same(found.person) {
		found.live = of
	} else {
		if of != nil { // the person has other rights by now
			close(of.revoked)
		}
		found.revoked = make(chan struct{})
		for id, other := range k.live { // expiry is no revocation
			if !now.Before(other.Until.Add(refreshTime)) {
				delete(k.live, id)
			}
		}
		k.live[found.ID] = found.live
	}
	if len(k.tokens) >= maxTokens {
		clear(k.tokens)
	}
	k.tokens[d] = found
	return found, 0
}

// Compare revokes the callers of connections that another process removed.
func Compare(ctx context.Context, s *Server) {
	s.kept.mu.Lock()
	gone := maps.Clone(s.kept.live) // those that come later are not in the list
	s.kept.mu.Unlock()
	if len(gone) == 0 {
		return
	}
	all, err := s.o.Connections.All(ctx)
	for _, c := range all {
		delete(gone, c.ID)
	}
	if err != nil || len(gone) == 0 {
		return
	}
	s.kept.drop(func(c bridge.Connection) bool { return gone[c.ID] != nil })
	s.o.Revoked()
}

// drop revokes the callers of some connections.
func (k *kept) drop(is func(bridge.Connection) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.changes++
	for id, of := range k.live {
		if is(of.Connection) {
			close(of.revoked)
			delete(k.live, id)
		}
	}
	for d, x := range k.tokens {
		if is(x.Connection) {
			delete(k.tokens, d)
		}
	}
}
