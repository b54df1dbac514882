package oauth_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport/oauth"
)

// ownServer gives out two tokens.
type ownServer struct{ down bool }

func (*ownServer) Issuer() string         { return public }
func (*ownServer) Scopes() string         { return "call" }
func (*ownServer) Owns(token string) bool { return strings.HasPrefix(token, "pta_") }
func (o *ownServer) Holder(_ context.Context, token string) (c bridge.Caller, resource string, known bool, err error) {
	if o.down {
		return c, "", false, errors.New("the disk is gone")
	}
	c = bridge.Caller{Name: "pagetools:me", May: []bridge.Right{bridge.MayCall}, Sites: []string{"shop"}, Expires: time.Now().Add(time.Hour)}
	return c, map[string]string{"pta_all": public, "pta_mcp": public + "/mcp"}[token], token != "pta_gone", nil
}

// TestOwnTokens (reach 4, 10.1): tokens of this server count beside those of issuers, for what they
// are for. No issuer is asked about one, whether it counts or not.
func TestOwnTokens(t *testing.T) {
	i, own := newIssuer(t), &ownServer{}
	o := i.options()
	o.Own, o.Issuers[0].ClientID, o.Issuers[0].ClientSecret = own, "me", "se/cret"
	s := server(t, oauth.New(o))
	bearer := func(path, token string) reply { return get(t, s, path, "Authorization: Bearer "+token) }
	const challenge = metadataOf + `/mcp", error="invalid_token", scope="pagetools.call call"`
	bearer("/mcp", "pta_all").want(t, "for all", 200, "pagetools:me may [call] on [shop]", "")
	bearer("/webtools/shop", "pta_all").want(t, "for all, at a site", 200, "pagetools:me", "")
	bearer("/mcp/shop", "pta_mcp").want(t, "for MCP", 200, "pagetools:me", "")
	bearer("/mcp/bank", "pta_all").want(t, "another site", 403, "not among your sites", "")
	bearer("/mcp", "pta_gone").want(t, "one that does not count", 401, "", challenge)
	if got := bearer("/webtools/shop", "pta_mcp"); got.StatusCode != http.StatusUnauthorized {
		t.Errorf("for MCP, elsewhere: %d", got.StatusCode)
	}
	own.down = true
	if got := bearer("/mcp", "pta_all"); got.StatusCode != http.StatusServiceUnavailable || strings.Contains(got.body, "disk") {
		t.Errorf("that cannot be looked up: %d %s", got.StatusCode, got.body)
	}
	if n := i.vouched.Load(); n != 0 {
		t.Errorf("the issuer was asked about %d of our tokens", n)
	}
	bearer("/mcp", "opaque-good").want(t, "an issuer's, of somebody without a grant", 403, "no rights", "")
	if n := i.vouched.Load(); n != 1 { // the control
		t.Errorf("the issuer was asked about %d of its tokens", n)
	}
	get(t, s, "/.well-known/oauth-protected-resource").want(t, "the metadata", 200, `"authorization_servers":["`+i.URL+`","`+public+`"],"scopes_supported":["pagetools.call","call"]`, "")
}

// TestResource: the resources of this server are the whole of it, MCP, and single sites.
func TestResource(t *testing.T) {
	t.Parallel()
	v := oauth.New(oauth.Options{Public: public})
	for named, want := range map[string]string{
		public: public, public + "/": public, public + "/mcp": public + "/mcp", public + "/mcp/": public + "/mcp", public + "/mcp/shop": public + "/mcp/shop", public + "/webtools/shop": public + "/webtools/shop",
		"HTTPS://TOOLS.example:443/mcp": public + "/mcp", "": "", "/mcp": "", public + "/metrics": "", public + "/mcp//": "", public + "/mcp/a/b": "", public + "/mcp?": "", public + "/mcp?x": "", public + "/mcp#": "",
		"https://tools.example.evil.test/mcp": "", "https://u@tools.example/mcp": "", "http://tools.example/mcp": "", "https://tools.example:8443/mcp": "", public + "/mcp/a%2Fb": "", "%": "",
	} {
		if got, known := v.Resource(named); got != want || known != (want != "") {
			t.Errorf("%q is %q, %v; want %q", named, got, known, want)
		}
	}
}
