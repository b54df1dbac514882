package mcp_test

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/pagetools/pagetools/bridge/gatetest"
)

const builtIn = "{built-in: {people: [{name: me}]}}"

// introductions lists how a client becomes known to pagetools' own authorization server: it registers
// itself, or has a document.
var introductions = []string{"registers itself", "has a document"}

// revokes ends the connection of a client, whose access token counts until then, and no longer.
func revokes(t *testing.T, server, access, refresh string) {
	t.Helper()
	status := func() int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+access)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	if got := status(); got == http.StatusUnauthorized {
		t.Error("its token does not count")
	}
	res, err := http.PostForm(server+"/oauth/revoke", url.Values{"token": {refresh}})
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("revoking: %v, %v", res, err)
	}
	_ = res.Body.Close()
	if got := status(); got != http.StatusUnauthorized {
		t.Errorf("when it was revoked, its token is answered with %d", got)
	}
}

// TestSignInByMCPGo has the client of mcp-go log in at pagetools' own authorization server (reach
// 11), in both kinds of protocol version: it registers itself, or has a document, lists and calls,
// and goes on with a token that was renewed. When it is revoked, it must log in again.
func TestSignInByMCPGo(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	document, env := clientDocument(t)
	for _, version := range revisions {
		for _, how := range introductions {
			t.Run(version+" "+how, func(t *testing.T) {
				t.Parallel()
				server, serve := proxied(t, "localhost", builtIn, env...)
				store := client.NewMemoryTokenStore()
				config := client.OAuthConfig{Scopes: []string{"call"}, TokenStore: store}
				if how == "has a document" {
					config.ClientID = document
				}
				connect := func() (*client.Client, error) { return connectMCPGo(t, server+"/mcp", version, config) }
				loginByMCPGo(t, connect, func(address string) string {
					sent, err := url.Parse(address)
					if err != nil || (sent.Query().Get("client_id") == document) != (config.ClientID == document) {
						t.Errorf("it sends its person to %s (%v)", address, err)
					}
					answer := letsIn(t, address, paired(t, serve.Tmp+"-data"))
					config.ClientID = sent.Query().Get("client_id") // as a program keeps it, to renew tokens
					return answer.Get("code")
				})
				c, err := connect()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = c.Close() }()
				looksByMCPGo(t, c, "with the first token")
				renewsByMCPGo(t, c, store)
				kept, err := store.GetToken(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				revokes(t, server, kept.AccessToken, kept.RefreshToken)
				call := mcp.CallToolRequest{}
				call.Params.Name = "look"
				if got, err := c.CallTool(t.Context(), call); client.GetOAuthHandler(err) == nil {
					t.Errorf("when it was revoked, a call: %+v, %v", got, err)
				}
			})
		}
	}
}

// keptToken is the token of a client of MCP's SDK for Go, which renews it when it is over.
type keptToken struct {
	ctx    context.Context
	config *oauth2.Config

	mu  sync.Mutex
	now *oauth2.Token
}

func (k *keptToken) Token() (*oauth2.Token, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	next, err := k.config.TokenSource(k.ctx, k.now).Token()
	if err == nil {
		k.now = next
	}
	return next, err
}

// ends makes the token one that is over, and returns it.
func (k *keptToken) ends() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	over := *k.now
	over.Expiry = time.Now().Add(-time.Hour)
	k.now = &over
	return over.AccessToken
}

// looksByGoSDK lists the tools and calls one.
func looksByGoSDK(t *testing.T, s *gosdk.ClientSession, when string) {
	t.Helper()
	if list, err := s.ListTools(t.Context(), nil); err != nil || len(list.Tools) == 0 {
		t.Errorf("%s, it lists %+v, %v", when, list, err)
	}
	got, err := s.CallTool(t.Context(), &gosdk.CallToolParams{Name: "look"})
	if err != nil || got.IsError || len(got.Content) != 1 {
		t.Errorf("%s, a call: %+v, %v", when, got, err)
	}
}

// TestSignInByGoSDK has the client of MCP's own SDK for Go log in at pagetools' own authorization
// server (reach 11), in both kinds of protocol version: it registers itself, or has a document, lists
// and calls, and goes on with a token that was renewed. When it is revoked, it must log in again. An
// answer of another issuer, or of none, is refused.
func TestSignInByGoSDK(t *testing.T) {
	gatetest.Landing(t)
	t.Parallel()
	document, env := clientDocument(t)
	for _, version := range revisions {
		for _, how := range introductions {
			t.Run(version+" "+how, func(t *testing.T) {
				t.Parallel()
				server, serve := proxied(t, "localhost", builtIn, env...)
				issuer, logins := "", 0
				var kept *keptToken
				config := &auth.AuthorizationCodeHandlerConfig{
					RedirectURL: loginRedirect, RequestRefreshToken: true,
					NewTokenSource: func(ctx context.Context, c *oauth2.Config, got *oauth2.Token) (oauth2.TokenSource, error) {
						kept = &keptToken{ctx: ctx, config: c, now: got}
						return kept, nil
					},
					AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
						if logins++; kept != nil {
							return nil, errors.New("it must log in again")
						}
						answer := letsIn(t, args.URL, paired(t, serve.Tmp+"-data"))
						if got := answer.Get("iss"); got != server {
							t.Errorf("the answer's issuer is %q", got)
						}
						return &auth.AuthorizationResult{Code: answer.Get("code"), State: answer.Get("state"), Iss: issuer}, nil
					},
				}
				if how == "has a document" {
					config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: document}
				} else {
					config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
						ClientName: "go-sdk", RedirectURIs: []string{loginRedirect}, TokenEndpointAuthMethod: "none",
						GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}}}
				}
				handler, err := auth.NewAuthorizationCodeHandler(config)
				if err != nil {
					t.Fatal(err)
				}
				connect := func() (*gosdk.ClientSession, error) {
					return gosdk.NewClient(&gosdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
						&gosdk.StreamableClientTransport{Endpoint: server + "/mcp", OAuthHandler: handler}, &gosdk.ClientSessionOptions{ProtocolVersion: version})
				}
				for _, issuer = range []string{"https://evil.example", ""} {
					if _, err := connect(); err == nil || !strings.Contains(err.Error(), "iss") || kept != nil {
						t.Fatalf("with an answer of the issuer %q: %v", issuer, err)
					}
				}
				issuer, logins = server, 0
				session, err := connect()
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = session.Close() }()
				if (kept.config.ClientID == document) != (how == "has a document") {
					t.Errorf("its id is %s", kept.config.ClientID)
				}
				if got := session.InitializeResult().ProtocolVersion; got != version {
					t.Errorf("it speaks %s", got)
				}
				looksByGoSDK(t, session, "with the first token")
				before := kept.ends()
				looksByGoSDK(t, session, "with a token that was over")
				token, err := kept.Token()
				if err != nil || token.AccessToken == before {
					t.Fatalf("the token was not renewed: %v", err)
				}
				revokes(t, server, token.AccessToken, token.RefreshToken)
				if got, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "look"}); err == nil || !strings.Contains(err.Error(), "it must log in again") || logins != 2 {
					t.Errorf("when it was revoked, a call: %+v, %v, after %d logins", got, err, logins)
				}
			})
		}
	}
}
