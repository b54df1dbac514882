package authserver

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// The grants that clients can trade for tokens.
const (
	grantCode    = "authorization_code"
	grantRefresh = "refresh_token"
)

// How long tokens are good.
const (
	accessTime  = time.Hour
	refreshTime = 30 * 24 * time.Hour
)

// What tokens begin with.
const accessPrefix, refreshPrefix = "pta_", "ptr_"

// tokens is the answer with new tokens (RFC 6749, 5.1).
type tokens struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int    `json:"expires_in"`
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// token trades a code, or a refresh token, for tokens.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Pragma", "no-cache")
	v, p := readForm(r)
	if p == nil && v.Get("client_id") == "" {
		p = nameless(w, r)
	}
	var t *tokens
	if p == nil {
		switch v.Get("grant_type") {
		case grantCode:
			t, p = s.byCode(r.Context(), v)
		case grantRefresh:
			t, p = s.byRefresh(r.Context(), v)
		case "":
			p = fault("invalid_request", "The request needs a grant_type.")
		default:
			p = fault("unsupported_grant_type", "The grant_type must be authorization_code or refresh_token.")
		}
	}
	if p != nil {
		answer(w, r, p)
		return
	}
	transport.WriteJSON(w, r, http.StatusOK, t)
}

// nameless refuses a request without client_id, before its code counts as used: libraries try whether
// a client is named in the header Authorization, and then name it in the form.
func nameless(w http.ResponseWriter, r *http.Request) *problem {
	p := fault("invalid_client", "The form needs the client_id: clients have no secret here, and are not named in a header.")
	if r.Header.Get("Authorization") != "" { // RFC 6749, 5.2
		w.Header().Set("WWW-Authenticate", `Basic realm="pagetools"`)
		p.status = http.StatusUnauthorized
	}
	return p
}

// answer tells a client of a problem (RFC 6749, 5.2).
func answer(w http.ResponseWriter, r *http.Request, p *problem) {
	if p.retry > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(p.retry))
	}
	e := p.bridged()
	e.Retry = time.Duration(p.retry) * time.Second
	transport.WriteErrorAs(w, r, e, p.status, p)
}

// badGrant is the answer to what is not good for tokens. It says no more: what is wrong is nobody's
// business who does not have it.
func badGrant() *problem {
	return fault("invalid_grant", "This code or token does not count here, or not any more: log in again.")
}

// formOfVerifier follows RFC 7636, 4.1.
var formOfVerifier = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// issue makes the tokens of a connection, with what is kept of them.
func issue(now time.Time) (*tokens, []bridge.Secret) {
	access, a := newSecret(accessPrefix)
	refresh, b := newSecret(refreshPrefix)
	return &tokens{Access: access, Type: "Bearer", Expires: int(accessTime / time.Second), Refresh: refresh, Scope: Scope},
		[]bridge.Secret{{Digest: a, Kind: bridge.SecretAccess, Until: now.Add(accessTime)},
			{Digest: b, Kind: bridge.SecretRefresh, Until: now.Add(refreshTime)}}
}

func (s *Server) byCode(ctx context.Context, v url.Values) (*tokens, *problem) {
	digest := bridge.Digest(sha256.Sum256([]byte(v.Get("code"))))
	g, again, err := s.codes.take(ctx, digest)
	switch {
	case err != nil:
		return nil, failed(err)
	case g == nil:
		return nil, s.usedTwice(ctx, digest, again)
	}
	resource, ours := s.resource(v["resource"], g.Resource)
	sum := sha256.Sum256([]byte(v.Get("code_verifier")))
	switch {
	case v.Get("client_id") != g.Client, v.Has("redirect_uri") && v.Get("redirect_uri") != g.Redirect, s.person(g.Person) == nil,
		!formOfVerifier.MatchString(v.Get("code_verifier")),
		subtle.ConstantTimeCompare([]byte(b64.EncodeToString(sum[:])), []byte(g.Challenge)) != 1:
		return nil, badGrant()
	case !ours || resource != g.Resource:
		return nil, fault("invalid_target", "The resource is not the one that the person was asked for.")
	}
	t, secrets := issue(s.o.Now())
	now := s.o.Now()
	secrets = append(secrets, bridge.Secret{Digest: digest, Kind: bridge.SecretCode, Until: now.Add(refreshTime)})
	err = s.o.Connections.Open(ctx, bridge.Connection{ID: g.Connection, Person: g.Person, Client: g.Client, ClientName: g.Name,
		Redirect: g.Redirect, Resource: g.Resource, Since: now, Until: now.Add(refreshTime)}, secrets...)
	twice := false
	if err == nil {
		twice, err = s.codes.wasTwice(ctx, digest)
	}
	switch {
	case err != nil:
		return nil, failed(err)
	case twice: // while it was kept
		return nil, s.usedTwice(ctx, digest, g.Connection)
	}
	return t, nil
}

// usedTwice ends the connection of a code that was used before: somebody else may have it.
func (s *Server) usedTwice(ctx context.Context, code bridge.Digest, connection string) *problem {
	if connection == "" {
		c, secret, err := s.o.Connections.Find(ctx, code)
		if err != nil {
			return failed(err)
		}
		if secret.Kind == bridge.SecretCode {
			connection = c.ID
		}
	}
	if connection == "" {
		return badGrant()
	}
	if _, err := s.Disconnect(ctx, connection); err != nil {
		return failed(err)
	}
	s.o.Log.WarnContext(ctx, "sign-in: a code was used twice, and its connection is revoked", "connection", connection)
	return badGrant()
}

func (s *Server) byRefresh(ctx context.Context, v url.Values) (*tokens, *problem) {
	digest := bridge.Digest(sha256.Sum256([]byte(v.Get("refresh_token"))))
	c, secret, err := s.o.Connections.Find(ctx, digest)
	switch {
	case err != nil:
		return nil, failed(err)
	case secret.Kind == bridge.SecretSpent:
		return nil, s.spent(ctx, c)
	case secret.Kind != bridge.SecretRefresh || v.Get("client_id") != c.Client || s.person(c.Person) == nil:
		return nil, badGrant()
	}
	if resource, ours := s.resource(v["resource"], c.Resource); !ours || resource != c.Resource {
		return nil, fault("invalid_target", "The resource is not the one that the person was asked for.")
	}
	if !hasScope(v.Get("scope")) {
		return nil, fault("invalid_scope", "The one scope here is "+Scope+".")
	}
	t, secrets := issue(s.o.Now())
	renewed, err := s.o.Connections.Renew(ctx, digest, s.o.Now().Add(refreshTime), secrets...)
	switch {
	case err != nil:
		return nil, failed(err)
	case !renewed: // somebody was faster with the same
		return nil, s.spent(ctx, c)
	}
	return t, nil
}

// spent ends a connection whose refresh token came once more: somebody else may have it.
func (s *Server) spent(ctx context.Context, c bridge.Connection) *problem {
	if _, err := s.Disconnect(ctx, c.ID); err != nil {
		return failed(err)
	}
	s.o.Log.WarnContext(ctx, "sign-in: a refresh token was used twice, and its connection is revoked", "connection", c.ID)
	return badGrant()
}

// revoke ends a connection whose token a client shows (RFC 7009). A token that is not known needs
// no end.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	v, p := readForm(r)
	if p == nil && v.Get("token") == "" {
		p = fault("invalid_request", "The request needs a token.")
	}
	if p == nil {
		p = s.revokeToken(r.Context(), v)
	}
	if p != nil {
		answer(w, r, p)
		return
	}
	w.WriteHeader(http.StatusOK)
}

func (s *Server) revokeToken(ctx context.Context, v url.Values) *problem {
	c, secret, err := s.o.Connections.Find(ctx, sha256.Sum256([]byte(v.Get("token"))))
	switch {
	case err != nil:
		return failed(err)
	case secret.Kind != bridge.SecretAccess && secret.Kind != bridge.SecretRefresh:
		return nil
	case v.Has("client_id") && v.Get("client_id") != c.Client:
		return fault("invalid_client", "The token is another client's.")
	}
	if _, err = s.Disconnect(ctx, c.ID); err != nil {
		return failed(err)
	}
	return nil
}
