package recipes

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// grant records what a person let a client do: one family of tokens. There is one access token
// and one refresh token at a time. Both name the grant, so that a refresh token which was used
// before is known as such however long ago that was, and costs no memory.
type grant struct {
	client *client
	person *person
	scopes []string

	access, refresh string // digests
	accessScopes    []string
	accessEnds      time.Time
}

// grantOf finds the grant that a token names. current is false for a token that is not its newest
// one.
func (s *server) grantOf(kind, token string) (id string, g *grant, current bool) {
	parts := strings.Split(token, ".") // access.GRANT.SECRET or refresh.GRANT.SECRET
	if len(parts) != 3 || parts[0] != kind {
		return "", nil, false
	}
	g, ok := s.grants.get(digest(parts[1]))
	if !ok {
		return "", nil, false
	}
	newest := g.access
	if kind == "refresh" {
		newest = g.refresh
	}
	return parts[1], g, same(newest, digest(token))
}

// form reads a request of a client: its parameters, each once, and which client it is. Public
// clients say who they are; what they hold proves the rest.
func (s *server) form(r *http.Request) (url.Values, *client, error) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return nil, nil, wrong("invalid_request",
			"The body must be application/x-www-form-urlencoded.")
	}
	if err := s.once(r.PostForm); err != nil {
		return nil, nil, err
	}
	c := s.clientOf(r.PostForm.Get("client_id"))
	if c == nil {
		return nil, nil, fail(http.StatusUnauthorized, "invalid_client",
			"client_id is not known here. Register again.")
	}
	return r.PostForm, c, nil
}

// token is the token endpoint (RFC 6749, section 3.2).
func (s *server) token(r *http.Request) reply {
	in, c, err := s.form(r)
	if err != nil {
		return failed(err)
	}
	var out reply
	switch kind := in.Get("grant_type"); kind {
	case "authorization_code":
		out, err = s.redeem(c, in)
	case "refresh_token":
		out, err = s.refresh(c, in)
	case deviceGrant:
		out, err = s.poll(c, in)
	default:
		err = wrong("unsupported_grant_type", "grant_type must be one of %s.",
			strings.Join(grantTypes, ", "))
	}
	if err != nil {
		return failed(err)
	}
	return out
}

// verifierForm is RFC 7636, section 4.1.
var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// redeem exchanges a code. It works once; the second time, what the first one got is revoked, for
// one of the two is a thief (RFC 6749, section 4.1.2). An attempt that fails counts, too.
func (s *server) redeem(c *client, in url.Values) (reply, error) {
	of, ok := s.codes.get(digest(in.Get("code")))
	if !ok || of.client.id != c.id {
		return reply{}, wrong("invalid_grant", "The code is not, or no longer, valid.")
	}
	if of.used {
		s.grants.drop(of.grant)
		return reply{}, wrong("invalid_grant",
			"The code was used before. What it was exchanged for is revoked.")
	}
	of.used = true
	verifier := in.Get("code_verifier")
	sum := sha256.Sum256([]byte(verifier))
	challenge := base64.RawURLEncoding.EncodeToString(sum[:])
	switch {
	case in.Get("redirect_uri") != of.redirect:
		return reply{}, wrong("invalid_grant", "redirect_uri is not that of the code.")
	case !verifierForm.MatchString(verifier) || !same(challenge, of.challenge):
		return reply{}, wrong("invalid_grant", "code_verifier is not that of the code.")
	}
	var out reply
	of.grant, out = s.grant(c, of.person, of.scopes)
	return out, nil
}

// grant begins a family, and returns the key of its shelf with the first tokens.
func (s *server) grant(c *client, p *person, scopes []string) (key string, out reply) {
	id := rand.Text()
	g := &grant{client: c, person: p, scopes: scopes}
	s.grants.put(digest(id), g)
	return digest(id), g.issue(id, scopes)
}

// issue makes the next pair of tokens; those before are no longer valid.
func (g *grant) issue(id string, scopes []string) reply {
	access, refresh := "access."+id+"."+rand.Text(), "refresh."+id+"."+rand.Text()
	g.access, g.refresh = digest(access), digest(refresh)
	g.accessScopes, g.accessEnds = scopes, time.Now().Add(accessLife)
	return asJSON(http.StatusOK, map[string]any{
		"access_token": access, "token_type": "Bearer", "expires_in": int(accessLife / time.Second),
		"refresh_token": refresh, "scope": strings.Join(scopes, " "),
	})
}

// refresh exchanges a refresh token for the next one (RFC 9700, section 4.14.2). One that was used
// before is with two parties, so it ends the family.
func (s *server) refresh(c *client, in url.Values) (reply, error) {
	id, g, current := s.grantOf("refresh", in.Get("refresh_token"))
	if g == nil || g.client.id != c.id {
		return reply{}, wrong("invalid_grant", "The refresh token is not, or no longer, valid.")
	}
	if !current {
		s.grants.drop(digest(id))
		return reply{}, wrong("invalid_grant",
			"The refresh token was used before. Its grant is revoked.")
	}
	scopes, err := scopesOf(in.Get("scope"), g.scopes)
	if err != nil {
		return reply{}, err
	}
	return g.issue(id, scopes), nil
}

// revoke is RFC 7009: either token ends its grant. What is not known is revoked already.
func (s *server) revoke(r *http.Request) reply {
	in, c, err := s.form(r)
	if err != nil {
		return failed(err)
	}
	for _, kind := range []string{"access", "refresh"} {
		id, g, _ := s.grantOf(kind, in.Get("token"))
		switch {
		case g == nil:
		case g.client.id != c.id:
			return failed(wrong("invalid_grant", "The token is another client's."))
		default:
			s.grants.drop(digest(id))
		}
	}
	return reply{status: http.StatusOK}
}
