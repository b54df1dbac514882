package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// How long a token that was verified is believed, and how many are.
const (
	believed    = time.Minute
	mostTokens  = 1_000
	retryIssuer = 5 * time.Second
)

// Verifier finds the callers of tokens, and serves the metadata of the resource. It is safe for
// concurrent use.
type Verifier struct {
	o   Options
	now atomic.Pointer[[]*source]

	mu   sync.Mutex
	kept map[[sha256.Size]byte]seen
}

// seen is a token that was verified.
type seen struct {
	*identity

	until time.Time
}

var _ transport.Verifier = (*Verifier)(nil)

// New makes a verifier. It asks nobody until a token comes.
func New(o Options) *Verifier {
	v := &Verifier{o: o.withDefaults(), kept: map[[sha256.Size]byte]seen{}}
	v.now.Store(new([]*source))
	v.Replace(o.Issuers)
	return v
}

func (v *Verifier) sources() []*source { return *v.now.Load() }

// Replace makes these the issuers. Callers of an issuer, or of a grant, that is there no more are
// revoked.
func (v *Verifier) Replace(issuers []Issuer) {
	old := v.sources()
	next := make([]*source, 0, len(issuers))
	gone := map[*given]bool{}
	for _, s := range old {
		for _, g := range s.grants {
			gone[g] = true
		}
	}
	for _, i := range issuers {
		if i.NameClaim == "" {
			i.NameClaim = "sub"
		}
		s := &source{Issuer: i, algorithms: i.algorithms(),
			keys: &keySet{client: v.o.Client, issuer: i.URL, now: v.o.Now}}
		at := slices.IndexFunc(old, func(was *source) bool { return was.URL == i.URL })
		if at >= 0 {
			s.keys = old[at].keys
		}
		for _, g := range i.Grants {
			of := &given{Grant: g, revoked: make(chan struct{})}
			if at >= 0 && old[at].Name == i.Name {
				if k := slices.IndexFunc(old[at].grants, func(was *given) bool { return gone[was] && was.same(&g) }); k >= 0 {
					of = old[at].grants[k]
					delete(gone, of)
				}
			}
			s.grants = append(s.grants, of)
		}
		next = append(next, s)
	}
	v.mu.Lock()
	v.now.Store(&next)
	clear(v.kept)
	v.mu.Unlock()
	for g := range gone {
		close(g.revoked)
	}
}

// Verify returns the caller of a token for a request.
func (v *Verifier) Verify(r *http.Request, token string) (bridge.Caller, *transport.Refusal) {
	id, err := v.identity(r.Context(), token)
	if err != nil {
		v.o.Log.WarnContext(r.Context(), "oauth: a token is refused", slog.String("why", err.Error()))
	}
	switch {
	case errors.Is(err, errAway):
		e := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"The issuer of this token does not answer, so that the token cannot be verified. Try again.")
		e.Retry = retryIssuer
		return bridge.Caller{}, &transport.Refusal{Error: e}
	case err != nil || !v.isFor(id, r.URL.Path):
		return bridge.Caller{}, &transport.Refusal{
			Error: bridge.Errorf(bridge.Unauthorized, "", bridge.NotRun,
				"This token does not count here, or not any more: log in again."),
			Challenge: v.challenge(r, `error="invalid_token"`, v.scopes())}
	case id.issuer.Scope != "" && !slices.Contains(id.scopes, id.issuer.Scope):
		return bridge.Caller{}, &transport.Refusal{
			Error: bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
				"This token is not good for calls: it lacks the scope %s.", id.issuer.Scope),
			Challenge: v.challenge(r, `error="insufficient_scope"`, id.issuer.Scope)}
	case id.grant == nil:
		return bridge.Caller{}, &transport.Refusal{Error: bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"The operator lets nobody call who is like this.")}
	}
	c := id.caller()
	if site := siteOf(r.URL.Path); site != "" && !c.Sees(site) {
		return bridge.Caller{}, &transport.Refusal{Error: bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"This is not among your sites.")}
	}
	if only := v.only(id); only != nil {
		c.Sites = slices.DeleteFunc(slices.Clone(only), func(s string) bool { return !id.caller().Sees(s) })
	}
	return c, nil
}

// identity verifies a token, or knows it from a moment ago.
func (v *Verifier) identity(ctx context.Context, token string) (*identity, error) {
	sum := sha256.Sum256([]byte(token))
	now := v.o.Now()
	v.mu.Lock()
	known, is := v.kept[sum]
	sources := v.now.Load()
	v.mu.Unlock()
	if is && now.Before(known.until) {
		return known.identity, nil
	}
	id, err := v.read(ctx, token)
	if err != nil {
		return nil, err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now.Load() != sources {
		return id, nil // the operator changed the issuers meanwhile
	}
	if len(v.kept) >= mostTokens {
		v.forget(now)
	}
	until := now.Add(believed)
	if id.expires.Before(until) {
		until = id.expires
	}
	v.kept[sum] = seen{id, until}
	return id, nil
}

// forget makes room for a token: those that are over go, or any one.
func (v *Verifier) forget(now time.Time) {
	for sum, s := range v.kept {
		if !now.Before(s.until) {
			delete(v.kept, sum)
		}
	}
	for sum := range v.kept {
		if len(v.kept) < mostTokens {
			return
		}
		delete(v.kept, sum)
	}
}

// caller returns the caller whom the grant makes of the identity. Its credential is the person, not
// the token: a new token of theirs goes on.
func (id *identity) caller() bridge.Caller {
	sum := sha256.Sum256([]byte("oauth\x00" + id.issuer.URL + "\x00" + id.name))
	return bridge.Caller{Name: id.name, Credential: hex.EncodeToString(sum[:16]), May: id.grant.May,
		Sites: id.grant.Sites, Revoked: id.grant.revoked}
}

// same reports whether a grant gives the same to the same.
func (g *given) same(o *Grant) bool {
	return len(g.Match) == len(o.Match) && containsAll(o.Match, g.Match) && slices.Equal(g.May, o.May) &&
		slices.Equal(g.Sites, o.Sites) && (g.Sites == nil) == (o.Sites == nil) && g.Rate == o.Rate
}

func containsAll(all, some map[string]string) bool {
	for name, pattern := range some {
		if is, ok := all[name]; !ok || is != pattern {
			return false
		}
	}
	return true
}

// siteOf returns the site that a path names; empty when it names none.
func siteOf(path string) string {
	for _, of := range []string{"/mcp/", "/webtools/", "/tools/", "/sites/"} {
		if rest, is := strings.CutPrefix(path, of); is {
			site, _, _ := strings.Cut(rest, "/")
			return site
		}
	}
	return ""
}

// isFor reports whether a token is meant for the path of a request: for all of the server, for MCP,
// or for one site.
func (v *Verifier) isFor(id *identity, path string) bool {
	for _, aud := range id.audience {
		at, ours := strings.CutPrefix(aud, v.o.Public)
		switch {
		case slices.Contains(id.issuer.Audience, aud), ours && (at == "" || at == "/"):
			return true
		case !ours:
		case at == "/mcp":
			if path == at || strings.HasPrefix(path, at+"/") {
				return true
			}
		case siteOf(at) != "" && at == strings.TrimSuffix(at, "/"):
			if siteOf(path) == siteOf(at) || isOfCaller(path) {
				return true
			}
		}
	}
	return false
}

// isOfCaller reports whether a path is of what a caller has, whose site is looked at there.
func isOfCaller(path string) bool {
	return strings.HasPrefix(path, "/calls/") || strings.HasPrefix(path, "/files/")
}

// only returns the sites that a token is for; nil means all.
func (v *Verifier) only(id *identity) (sites []string) {
	for _, aud := range id.audience {
		at, ours := strings.CutPrefix(aud, v.o.Public)
		if slices.Contains(id.issuer.Audience, aud) || ours && (at == "" || at == "/" || at == "/mcp") {
			return nil
		}
		if site := siteOf(at); ours && site != "" {
			sites = append(sites, site)
		}
	}
	return sites
}
