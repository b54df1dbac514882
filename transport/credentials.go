package transport

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
)

// Credentials hold the callers of a guarded listener, so that they can be replaced
// while it serves. The zero value is ready; Options.Credentials passes it to Guard. It
// is safe for concurrent use: a request reads one immutable table, without a lock.
type Credentials struct {
	replacing sync.Mutex
	now       atomic.Pointer[table]
}

// table holds the callers. It is immutable.
type table struct {
	secrets []secret
	// required is true when there are callers, or were: a listener that asked for
	// a credential once asks for ever.
	required bool
	// local is the caller of a listener that asks for none; open is closed when
	// it begins to.
	local bridge.Caller
	open  chan struct{}
}

// secret is a caller with the hash of its token: hashes have one length, so
// that comparing them tells nothing of the token's.
type secret struct {
	caller  bridge.Caller
	sum     [sha256.Size]byte
	revoked chan struct{} // the caller's
}

// Callers returns the callers as they are now, in their order.
func (c *Credentials) Callers() []bridge.Caller {
	t := c.now.Load()
	switch {
	case t == nil:
		return nil
	case !t.required:
		return []bridge.Caller{t.local}
	}
	all := make([]bridge.Caller, len(t.secrets))
	for i := range t.secrets {
		all[i] = t.secrets[i].caller
	}
	return all
}

// Replace makes these the callers, in place of those until now. It returns the names of
// the callers whose credential was revoked by that, in alphabetical order: they are gone,
// or have another token, or fewer rights or sites than before. Their Caller.Revoked is
// closed. A listener without callers serves bridge.Local until there is one; then
// bridge.Local is revoked. Once there were callers, an empty list means that nobody may
// call.
func (c *Credentials) Replace(callers []Credential) (revoked []string) {
	c.replacing.Lock()
	defer c.replacing.Unlock()
	old := c.now.Load()
	first := old == nil
	if first {
		old = &table{open: make(chan struct{})}
		old.local = bridge.Local()
		old.local.Revoked = old.open
	}
	next := &table{required: old.required || len(callers) > 0, local: old.local, open: old.open}
	kept := map[chan struct{}]bool{}
	for _, x := range callers {
		if x.Token == "" {
			continue
		}
		s := secret{caller: x.Caller, sum: sha256.Sum256([]byte(x.Token)),
			revoked: make(chan struct{})}
		if was := old.same(&s); was != nil {
			s.revoked = was.revoked
			kept[was.revoked] = true
		}
		s.caller.Revoked, s.caller.Credential = s.revoked, hex.EncodeToString(s.sum[:16])
		next.secrets = append(next.secrets, s)
	}
	c.now.Store(next) // before the old ones are revoked: from here on no request gets one
	for i := range old.secrets {
		if s := &old.secrets[i]; !kept[s.revoked] {
			close(s.revoked)
			revoked = append(revoked, s.caller.Name)
		}
	}
	if next.required && !old.required {
		close(old.open)
		if !first {
			revoked = append(revoked, old.local.Name)
		}
	}
	slices.Sort(revoked)
	return slices.Compact(revoked)
}

// same finds the credential that a new one goes on with: of that name, with that
// token, and with no more than the new one may do.
func (t *table) same(s *secret) *secret {
	for i := range t.secrets {
		if was := &t.secrets[i]; was.caller.Name == s.caller.Name && was.sum == s.sum &&
			covers(&s.caller, &was.caller) {
			return was
		}
	}
	return nil
}

// covers reports whether a caller may do all that another one may.
func covers(now, was *bridge.Caller) bool {
	for _, r := range was.May {
		if !now.Can(r) {
			return false
		}
	}
	if now.Sites == nil {
		return true
	}
	return was.Sites != nil && !slices.ContainsFunc(was.Sites,
		func(s string) bool { return !slices.Contains(now.Sites, s) })
}

// find compares with every caller, so that the time tells neither which one
// matched nor how far.
func (t *table) find(token string) (bridge.Caller, bool) {
	sum := sha256.Sum256([]byte(token))
	match := -1
	for i := range t.secrets {
		match = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], t.secrets[i].sum[:]),
			i, match)
	}
	if match < 0 {
		return bridge.Caller{}, false
	}
	return t.secrets[match].caller, true
}

// ValidateCallers says what is wrong with a list of callers.
func ValidateCallers(callers []Credential) error {
	var errs []error
	seen := map[string]string{}
	for _, c := range callers {
		if strings.TrimSpace(c.Token) != c.Token || c.Token == "" {
			errs = append(errs, fmt.Errorf("callers: %s has no usable token", c.Name))
		}
		if other, ok := seen[c.Token]; ok {
			errs = append(errs, fmt.Errorf("callers: %s and %s have the same token", other, c.Name))
		}
		seen[c.Token] = c.Name
	}
	return errors.Join(errs...)
}
