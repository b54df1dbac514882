package mcp_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/modelcontextprotocol/go-sdk/auth"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
	"golang.org/x/oauth2"

	"github.com/pagetools/pagetools/e2e/suite"
)

// loginServer is an authorization server that is not ours: zitadel's, with the storage of its
// example. Its person is there already, and its access tokens are JWTs. It does not know the
// parameter resource.
type loginServer struct {
	*httptest.Server
	storage *storage.Storage
}

const loginClient, loginRedirect = "host", "http://127.0.0.1/callback"

type hostClient struct{ *storage.Client }

func (hostClient) AccessTokenType() op.AccessTokenType { return op.AccessTokenTypeJWT }
func (hostClient) IsScopeAllowed(string) bool          { return true }

// loginStorage puts scopes into access tokens, as RFC 9068 has them.
type loginStorage struct{ *storage.Storage }

func (s loginStorage) GetClientByClientID(ctx context.Context, id string) (op.Client, error) {
	c, err := s.Storage.GetClientByClientID(ctx, id)
	if known, ok := c.(*storage.Client); ok && err == nil {
		return hostClient{known}, nil
	}
	return c, err
}

// CreateAuthRequest lets every client renew its tokens, also one that does not ask for that.
func (s loginStorage) CreateAuthRequest(ctx context.Context, r *oidc.AuthRequest, user string) (op.AuthRequest, error) {
	if !slices.Contains(r.Scopes, oidc.ScopeOfflineAccess) {
		r.Scopes = append(r.Scopes, oidc.ScopeOfflineAccess)
	}
	return s.Storage.CreateAuthRequest(ctx, r, user)
}

func (loginStorage) GetPrivateClaimsFromRequest(_ context.Context, r op.TokenRequest, _ []string) (map[string]any, error) {
	return map[string]any{"scope": strings.Join(r.GetScopes(), " ")}, nil
}

func newLoginServer(t *testing.T) *loginServer {
	t.Helper()
	a := &loginServer{}
	mux := http.NewServeMux()
	a.Server = httptest.NewServer(mux)
	t.Cleanup(a.Close)
	a.storage = storage.NewStorageWithClients(storage.NewUserStore(a.URL),
		map[string]*storage.Client{loginClient: storage.NativeClient(loginClient, loginRedirect)})
	provider, err := op.NewProvider(&op.Config{CryptoKey: sha256.Sum256([]byte("test")), CodeMethodS256: true, GrantTypeRefreshToken: true},
		loginStorage{a.storage}, op.StaticIssuer(a.URL), op.WithAllowInsecure(), op.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	mux.HandleFunc("/login/username", func(w http.ResponseWriter, r *http.Request) {
		id := r.FormValue("authRequestID")
		if err := a.storage.CheckUsernamePassword("test-user2", "verysecure", id); err != nil {
			http.Error(w, err.Error(), http.StatusForbidden)
			return
		}
		http.Redirect(w, r, op.AuthCallbackURL(provider)(op.ContextWithIssuer(r.Context(), a.URL), id), http.StatusFound)
	})
	mux.Handle("/", provider)
	return a
}

// logsIn goes where a client sends its person, and returns the code that the client gets.
func logsIn(t *testing.T, address string) (code string) {
	t.Helper()
	arrived := errors.New("arrived")
	browser := &http.Client{CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if code = r.URL.Query().Get("code"); strings.HasPrefix(r.URL.String(), loginRedirect) {
			return arrived
		}
		return nil
	}}
	res, err := browser.Get(address)
	if res != nil {
		_ = res.Body.Close()
	}
	if !errors.Is(err, arrived) || code == "" {
		t.Fatalf("logging in: %v", err)
	}
	return code
}

// token logs the person in for some scopes, without MCP.
func (a *loginServer) token(t *testing.T, scopes ...string) string {
	t.Helper()
	c := oauth2.Config{ClientID: loginClient, RedirectURL: loginRedirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: a.URL + "/authorize", TokenURL: a.URL + "/oauth/token", AuthStyle: oauth2.AuthStyleInParams}}
	verifier := oauth2.GenerateVerifier()
	code := logsIn(t, c.AuthCodeURL("x", oauth2.S256ChallengeOption(verifier)))
	got, err := c.Exchange(t.Context(), code, oauth2.VerifierOption(verifier))
	if err != nil {
		t.Fatal(err)
	}
	return got.AccessToken
}

// behindProxy serves a page for the logins of an issuer. It returns the address of its proxy.
func behindProxy(t *testing.T, a *loginServer) string {
	t.Helper()
	public, _ := proxied(t, "127.0.0.1", fmt.Sprintf("{issuers: [{name: zitadel, issuer: %q, audience: [%s], grants: [{match: {sub: id2}}]}]}", a.URL, loginClient))
	return public
}

// proxied serves a page behind a proxy of this machine, under whose address everybody knows it,
// with that for oauth in its configuration.
func proxied(t *testing.T, name, logins string, env ...string) (public string, s *suite.Server) {
	t.Helper()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><script>
document.modelContext.registerTool({name: 'look', description: 'Looks.', annotations: {readOnlyHint: true}, execute: () => 'looked'});</script>`)
	}))
	t.Cleanup(site.Close)
	proxy := httptest.NewUnstartedServer(nil)
	_, port, _ := strings.Cut(proxy.Listener.Addr().String(), ":")
	public = "http://" + name + ":" + port
	config := suite.WriteFile(t, "x.yaml", fmt.Sprintf("public-url: %s\nsites: [{name: site, target: %q}]\noauth: %s\n", public, site.URL+"/", logins))
	s, err := suite.Start("/usr/bin/env", "", suite.TempDir(t), append(env, suite.Pagetools(t), "serve", "--config", config, "--console-listen", "off")...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	to, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy.Config.Handler = &httputil.ReverseProxy{FlushInterval: -1, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.SetXForwarded()
			r.Out.Host = r.In.Host
		}}
	proxy.Start()
	t.Cleanup(func() { proxy.CloseClientConnections(); proxy.Close() })
	return public, s
}

// testLogins has the SDKs log in at an authorization server (reach 11): they find it, log in, call,
// renew a token that does not count, and ask for a scope that is missing.
func (c *clients) testLogins(t *testing.T) {
	t.Helper()
	a := newLoginServer(t)
	server := behindProxy(t, a)
	narrow := a.token(t, oidc.ScopeOpenID)
	for _, s := range []script{{file: "login1", era: "legacy"}, {file: "login2", era: "legacy"}, {file: "login2", era: "modern"}} {
		t.Run(s.file+"-"+s.era, func(t *testing.T) {
			c.runTAP(t, s.file, map[string]any{"era": s.era, "server": server, "client": loginClient, "redirect": loginRedirect, "narrow": narrow})
		})
	}
}

// connectMCPGo connects the client of mcp-go in a protocol version, as a public client of these
// settings.
func connectMCPGo(t *testing.T, endpoint, version string, o client.OAuthConfig) (*client.Client, error) {
	t.Helper()
	o.RedirectURI, o.PKCEEnabled, o.TokenEndpointAuthMethod = loginRedirect, true, "none"
	c, err := client.NewOAuthStreamableHttpClient(endpoint, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(t.Context()); err != nil {
		return nil, err
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion, hello.Params.ClientInfo = version, mcp.Implementation{Name: "e2e", Version: "1"}
	got, err := c.Initialize(t.Context(), hello)
	if err == nil && got.ProtocolVersion != version {
		t.Errorf("it speaks %s, not %s", got.ProtocolVersion, version)
	}
	return c, err
}

// loginByMCPGo logs the person of mcp-go's client in, who goes where it sends them and returns with
// what the authorization server answers. connect must fail, as it has no token.
func loginByMCPGo(t *testing.T, connect func() (*client.Client, error), person func(address string) (code string)) {
	t.Helper()
	_, err := connect()
	login := client.GetOAuthHandler(err)
	if login == nil {
		t.Fatalf("without a token: %v", err)
	}
	if login.GetClientID() == "" {
		if err := login.RegisterClient(t.Context(), "mcp-go"); err != nil {
			t.Fatal(err)
		}
	}
	verifier := oauth2.GenerateVerifier()
	address, err := login.GetAuthorizationURL(t.Context(), "state", oauth2.S256ChallengeFromVerifier(verifier))
	if err != nil {
		t.Fatal(err)
	}
	if err := login.ProcessAuthorizationResponse(t.Context(), person(address), "state", verifier); err != nil {
		t.Fatal(err)
	}
}

// looksByMCPGo lists the tools and calls one.
func looksByMCPGo(t *testing.T, c *client.Client, when string) {
	t.Helper()
	if list, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil || len(list.Tools) == 0 {
		t.Errorf("%s, it lists %+v, %v", when, list, err)
	}
	call := mcp.CallToolRequest{}
	call.Params.Name = "look"
	got, err := c.CallTool(t.Context(), call)
	if err != nil || got.IsError || len(got.Content) != 1 {
		t.Errorf("%s, a call: %+v, %v", when, got, err)
	}
}

// renewsByMCPGo has the client renew its token: by itself, when that is over. One that the server
// does not take is an error to mcp-go, whose program renews it.
func renewsByMCPGo(t *testing.T, c *client.Client, store client.TokenStore) {
	t.Helper()
	keep := func(change func(*client.Token)) (before string) {
		kept, err := store.GetToken(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		next := *kept
		change(&next)
		if err := store.SaveToken(t.Context(), &next); err != nil {
			t.Fatal(err)
		}
		return kept.AccessToken
	}
	before := keep(func(k *client.Token) { k.ExpiresAt = time.Now().Add(-time.Hour) })
	looksByMCPGo(t, c, "with a token that was over")
	if keep(func(*client.Token) {}) == before {
		t.Error("the token was not renewed")
	}
	var refresh string
	keep(func(k *client.Token) { k.AccessToken, refresh = "x"+k.AccessToken, k.RefreshToken })
	_, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	login := client.GetOAuthHandler(err)
	if login == nil {
		t.Fatalf("with a token that does not count: %v", err)
	}
	if _, err := login.RefreshToken(t.Context(), refresh); err != nil {
		t.Fatal(err)
	}
	looksByMCPGo(t, c, "with a token that its program renewed")
}

// TestLogin has the client of mcp-go log in at an authorization server (reach 11), in both kinds of
// protocol version: it finds it, logs in and calls, and goes on with a token that was renewed. The
// client neither hears of a scope that is missing nor looks at iss: docs/internal/clients.md.
func TestLogin(t *testing.T) {
	t.Parallel()
	a := newLoginServer(t)
	endpoint := behindProxy(t, a) + "/mcp"
	for _, version := range revisions {
		t.Run(version, func(t *testing.T) {
			store := client.NewMemoryTokenStore()
			connect := func() (*client.Client, error) {
				return connectMCPGo(t, endpoint, version, client.OAuthConfig{ClientID: loginClient, Scopes: []string{"pagetools.call"}, TokenStore: store})
			}
			loginByMCPGo(t, connect, func(address string) string { return logsIn(t, address) })
			c, err := connect()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			looksByMCPGo(t, c, "with the first token")
			renewsByMCPGo(t, c, store)
		})
	}
}

// TestLoginOfGoSDK has the client of MCP's own SDK for Go log in at an authorization server (reach
// 11), in both kinds of protocol version: it finds the server, logs in, calls, renews its token,
// and asks once for a scope that is missing. An answer of another issuer is refused.
func TestLoginOfGoSDK(t *testing.T) {
	t.Parallel()
	a := newLoginServer(t)
	endpoint := behindProxy(t, a) + "/mcp"
	narrow := a.token(t, oidc.ScopeOpenID)
	tests := []struct {
		name, version, token, issuer string
		logins                       int
		fails                        string
	}{
		{name: "legacy", version: "2025-11-25", logins: 1},
		{name: "modern", version: "2026-07-28", logins: 1},
		{name: "a scope is missing", version: "2026-07-28", token: narrow, logins: 1},
		{name: "a token that does not count", version: "2026-07-28", token: narrow + "x", logins: 1},
		{name: "another issuer", version: "2026-07-28", issuer: "https://evil.example", logins: 1, fails: "iss"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			logins, renewed := 0, 0
			config := &auth.AuthorizationCodeHandlerConfig{
				PreregisteredClient: &oauthex.ClientCredentials{ClientID: loginClient}, RedirectURL: loginRedirect, RequestRefreshToken: true,
				AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
					logins++
					sent, err := url.Parse(args.URL)
					return &auth.AuthorizationResult{Code: logsIn(t, args.URL), State: sent.Query().Get("state"), Iss: test.issuer}, err
				},
				NewTokenSource: func(ctx context.Context, c *oauth2.Config, got *oauth2.Token) (oauth2.TokenSource, error) {
					over := *got
					over.Expiry = time.Now().Add(-time.Hour) // so that the first use renews it
					next, err := c.TokenSource(ctx, &over).Token()
					if err == nil && next.AccessToken != got.AccessToken {
						renewed++
					}
					return oauth2.StaticTokenSource(next), err
				},
			}
			if test.token != "" {
				config.InitialTokenSource = oauth2.StaticTokenSource(&oauth2.Token{AccessToken: test.token})
			}
			handler, err := auth.NewAuthorizationCodeHandler(config)
			if err != nil {
				t.Fatal(err)
			}
			session, err := gosdk.NewClient(&gosdk.Implementation{Name: "e2e", Version: "1"}, nil).Connect(t.Context(),
				&gosdk.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler}, &gosdk.ClientSessionOptions{ProtocolVersion: test.version})
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("it connected, or failed for another reason: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = session.Close() }()
			got, err := session.CallTool(t.Context(), &gosdk.CallToolParams{Name: "look"})
			if err != nil || got.IsError || len(got.Content) != 1 {
				t.Errorf("calling: %+v, %v", got, err)
			}
			if version := session.InitializeResult().ProtocolVersion; version != test.version || logins != test.logins || renewed != logins {
				t.Errorf("version %s, %d logins, %d renewed", version, logins, renewed)
			}
		})
	}
}
