package oauth

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// How long a token that was verified is believed, and how many are. How many an issuer is asked
// about at a time.
const (
	believed    = time.Minute
	mostTokens  = 1_000
	mostAsked   = 8
	retryIssuer = 5 * time.Second
)

// Verifier finds the callers of tokens, and serves the metadata of the resource. It is safe for
// concurrent use.
type Verifier struct {
	o   Options
	now atomic.Pointer[[]*source]

	asking chan struct{} // has a place for each token that an issuer is asked about

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
	v := &Verifier{o: o.withDefaults(), kept: map[[sha256.Size]byte]seen{}, asking: make(chan struct{}, mostAsked)}
	v.now.Store(new([]*source))
	v.Replace(o.Issuers)
	return v
}

func (v *Verifier) sources() []*source { return *v.now.Load() }

// Replace makes these the issuers. Callers of an issuer, or of a grant, that is there no more are
// revoked, and those of an issuer whose tokens are verified in another way.
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
			if at >= 0 && old[at].verifies(&i) {
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
	to := placeOf(r.URL)
	var only []string
	if err == nil {
		var meant bool
		if only, meant = v.isFor(id, to); !meant {
			err = bad("it is not for %q", text.Brief(r.URL.Path, maxName))
		}
	}
	if err != nil {
		return bridge.Caller{}, v.refuse(r, err)
	}
	refused := func(challenge, format string, args ...any) (bridge.Caller, *transport.Refusal) {
		return bridge.Caller{}, &transport.Refusal{Challenge: challenge,
			Error: bridge.Errorf(bridge.Forbidden, "", bridge.NotRun, format, args...)}
	}
	c := v.caller(id)
	switch {
	case !id.isGoodFor(id.issuer.Scope):
		return refused(v.challenge(r, `error="insufficient_scope"`, id.issuer.Scope),
			"This token is not good for calls: it needs the scope %s.", id.issuer.Scope)
	case id.grant == nil:
		return refused("", "The operator has given you no rights here.")
	case to.site != "" && !c.Sees(to.site):
		return refused("", "This is not among your sites.")
	}
	if only != nil {
		c.Sites = slices.DeleteFunc(only, func(s string) bool { return !c.Sees(s) })
	}
	return c, nil
}

// refuse answers a token that does not count, or of which that is not known now.
func (v *Verifier) refuse(r *http.Request, err error) *transport.Refusal {
	why := errors.New(text.Brief(err.Error(), maxWhy)) // strangers' words are in it
	if errors.Is(err, errAway) {
		e := bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun,
			"The issuer of this token does not answer, so that the token cannot be verified. Try again.").
			With(errors.Join(transport.ErrIssuerAway, why))
		e.Retry = retryIssuer
		return &transport.Refusal{Error: e}
	}
	return &transport.Refusal{Challenge: v.challenge(r, `error="invalid_token"`, v.scopes()),
		Error: bridge.Errorf(bridge.Unauthorized, "", bridge.NotRun,
			"This token does not count here, or not any more: log in again.").With(why)}
}

// maxWhy bounds what the log has of why a token is refused.
const maxWhy = 512

// identity verifies a token, or knows it from a moment ago.
func (v *Verifier) identity(ctx context.Context, token string) (*identity, error) {
	if v.o.Own != nil && v.o.Own.Owns(token) {
		return v.own(ctx, token)
	}
	if id := v.known(token); id != nil {
		return id, nil
	}
	sources := v.now.Load()
	id, err := v.read(ctx, *sources, token)
	if err != nil {
		return nil, err
	}
	now := v.o.Now()
	until := now.Add(believed)
	if id.expires.Before(until) {
		until = id.expires
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now.Load() != sources || !now.Before(until) {
		return id, nil // the operator changed the issuers meanwhile, or it is over by our clock
	}
	if len(v.kept) >= mostTokens {
		v.forget(now)
	}
	v.kept[sha256.Sum256([]byte(token))] = seen{id, until}
	return id, nil
}

// own returns the holder of a token that this server gave out.
func (v *Verifier) own(ctx context.Context, token string) (*identity, error) {
	c, resource, known, err := v.o.Own.Holder(ctx, token)
	switch {
	case err != nil:
		return nil, errors.Join(errAway, err)
	case !known:
		return nil, bad("no connection of this server has it")
	}
	return &identity{caller: &c, issuer: &source{}, grant: &given{}, audience: []string{resource}}, nil
}

// Resource returns the form in which a resource of this server is named, and whether it is one: all
// of it, MCP, or one site.
func (v *Verifier) Resource(named string) (string, bool) {
	u, err := url.Parse(named)
	if err != nil || u.User != nil || u.ForceQuery || u.RawQuery != "" || strings.Contains(named, "#") || origin.OfURL(u) != v.o.Public {
		return "", false
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	if path != "" && path != "/mcp" && (siteOf(path) == "" || len(path) > maxName) {
		return "", false
	}
	return v.o.Public + path, true
}

// known returns the holder of a token that was verified a moment ago, or nil.
func (v *Verifier) known(token string) *identity {
	sum, now := sha256.Sum256([]byte(token)), v.o.Now()
	v.mu.Lock()
	defer v.mu.Unlock()
	if is, there := v.kept[sum]; there && now.Before(is.until) {
		return is.identity
	}
	return nil
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
func (v *Verifier) caller(id *identity) bridge.Caller {
	switch {
	case id.grant == nil:
		return bridge.Caller{}
	case id.caller != nil:
		return *id.caller
	}
	sum := sha256.Sum256([]byte("oauth\x00" + id.issuer.URL + "\x00" + id.name))
	c := bridge.Caller{Name: id.name, Credential: hex.EncodeToString(sum[:16]), May: id.grant.May,
		Sites: id.grant.Sites, Revoked: id.grant.revoked, Rate: id.grant.Rate, Expires: id.expires,
		Client: id.client, CredentialID: id.id}
	if !v.o.Now().Before(c.Expires) { // their clock is behind ours, and it counts that much longer
		c.Expires = c.Expires.Add(skew)
	}
	return c
}

// isGoodFor reports whether a token has all of some scopes.
func (id *identity) isGoodFor(scopes string) bool {
	return !slices.ContainsFunc(strings.Fields(scopes), func(s string) bool { return !slices.Contains(id.scopes, s) })
}

// verifies reports whether tokens are verified as an issuer says, and their holders are called so.
func (s *source) verifies(i *Issuer) bool {
	return s.Name == i.Name && s.NameClaim == i.NameClaim && s.Scope == i.Scope && s.ClientID == i.ClientID &&
		slices.Equal(s.Audience, i.Audience) && slices.Equal(s.Algorithms, i.Algorithms)
}

// same reports whether a grant gives the same to the same.
func (g *given) same(o *Grant) bool {
	return maps.Equal(g.Match, o.Match) && slices.Equal(g.May, o.May) &&
		slices.Equal(g.Sites, o.Sites) && (g.Sites == nil) == (o.Sites == nil) && g.Rate == o.Rate
}

// place says where a request goes: a face, and the site of it that the path names, if it names one.
type place struct{ face, site string }

// placeOf reads a path as the routes do: what is escaped stays in its segment.
func placeOf(u *url.URL) (p place) {
	segments := strings.Split(strings.TrimPrefix(u.EscapedPath(), "/"), "/")
	for i, s := range segments {
		segments[i], _ = url.PathUnescape(s) // a path that was parsed
	}
	p.face = segments[0]
	if len(segments) > 1 && slices.Contains([]string{"mcp", "webtools", "tools", "sites"}, p.face) {
		p.site = segments[1]
	}
	return p
}

// isOfCaller reports whether a place has what a caller began, on whichever site: it is looked at
// there.
func (p place) isOfCaller() bool { return p.face == "calls" || p.face == "files" }

// isFor reports whether a token is meant for a place: it is for all of the server, for MCP, or for
// one site. Only lists the sites that it is for there; nil is all.
func (v *Verifier) isFor(id *identity, to place) (only []string, meant bool) {
	for _, aud := range id.audience {
		at, ours := strings.CutPrefix(aud, v.o.Public)
		switch {
		case slices.Contains(id.issuer.Audience, aud), ours && (at == "" || at == "/"),
			ours && at == "/mcp" && to.face == "mcp":
			return nil, true
		case !ours:
		default:
			if site := siteOf(at); site != "" && (site == to.site || to.isOfCaller()) {
				only, meant = append(only, site), true
			}
		}
	}
	return only, meant
}

// siteOf returns the site that a resource of ours is for, or "": /mcp/SITE or /webtools/SITE.
func siteOf(resource string) string {
	for _, of := range []string{"/mcp/", "/webtools/"} {
		if site, is := strings.CutPrefix(resource, of); is && !strings.ContainsAny(site, "/%") {
			return site
		}
	}
	return ""
}
