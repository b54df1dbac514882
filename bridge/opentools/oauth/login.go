package oauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"golang.org/x/oauth2"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Flow is a way to get a token.
type Flow string

// The flows.
const (
	CodeFlow   Flow = "code"   // a person logs in with a browser on this machine
	DeviceFlow Flow = "device" // a person logs in with a browser anywhere
	ClientFlow Flow = "client" // the client has credentials of its own, and no person logs in
)

// Login says how to log in.
type Login struct {
	Scheme Scheme
	// Scopes are asked for beside those that the principal has already; none: those of the scheme,
	// or what the API says.
	Scopes []string
	// Flow defaults to the scheme's.
	Flow Flow
	// ClientID and ClientSecret identify a client that was registered with the server by hand; it
	// may have no secret.
	ClientID     string
	ClientSecret Secret
	// ClientDocument is the https address of a document that describes the client, for servers that
	// read such (draft-ietf-oauth-client-id-metadata-document).
	ClientDocument string
	// Show shows the person where to log in. It is needed where a person is.
	Show func(Prompt)
	// Warn says what is not as it should be; nil is nobody.
	Warn func(string)
}

// Prompt tells a person how to log in.
type Prompt struct {
	// URL is the address to open, at most 4 kB of ASCII.
	URL string
	// Code is the code to type there; "" means none.
	Code string
	// Resource is the API, Issuer the server that asks the person to log in, and Scopes the
	// requested scopes.
	Resource, Issuer string
	Scopes           []string
	// Expires says when it is too late.
	Expires time.Time
}

// loginTime limits how long a person may take.
const loginTime = 10 * time.Minute

// Login logs a principal in with OAuth 2, and keeps the token. It waits for the person, for ten
// minutes at most. A token that the principal had for the same scheme is replaced.
func (k *Keeper) Login(ctx context.Context, t Target, l Login) (Entry, error) {
	o, err := l.Scheme.read()
	switch {
	case err != nil:
		return Entry{}, err
	case o.kind != Token:
		return Entry{}, fmt.Errorf("the security scheme %q needs a key, and no login",
			clean(l.Scheme.Name, 64))
	}
	if err := secure(t.Resource, true); err != nil {
		return Entry{}, fmt.Errorf("nobody logs in for %s: %w", origin.OfURL(t.Resource), err)
	}
	s, err := k.find(ctx, t, o)
	if err != nil {
		return Entry{}, err
	}
	if err := s.check(); err != nil {
		return Entry{}, err
	}
	l.Flow = cmp.Or(l.Flow, o.flow())
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime,
		errors.New("nobody logged in within ten minutes"))
	defer cancel()
	if l.Show == nil && l.Flow != ClientFlow {
		return Entry{}, errors.New("there is nobody to show where to log in")
	}
	scopes := k.scopes(t, &l, s)
	var r *record
	switch l.Flow {
	case DeviceFlow:
		r, err = k.device(ctx, s, &l, scopes)
	case ClientFlow:
		r, err = k.asClient(ctx, s, &l, scopes)
	default:
		r, err = k.code(ctx, s, &l, scopes)
	}
	if err != nil {
		return Entry{}, err
	}
	key := Key{Principal: t.Principal, Resource: canonical(t.Resource), Scheme: l.Scheme.Name,
		Issuer: s.issuer}
	unlock, err := k.store.lockKey(ctx, key)
	if err != nil {
		return Entry{}, err
	}
	defer unlock()
	if err := k.store.put(ctx, key, r); err != nil {
		return Entry{}, err
	}
	return entry{key: key, record: *r}.public(), nil
}

// flow returns the document's flow. Implicit flows and flows with passwords are not used (RFC 9700
// 2.1.2, 2.4).
func (o *schemeObject) flow() Flow {
	_, code := o.Flows[flowCode]
	_, device := o.Flows[flowDevice]
	_, own := o.Flows[flowClient]
	switch {
	case device && !code:
		return DeviceFlow
	case own && !code:
		return ClientFlow
	}
	return CodeFlow
}

// check reads the endpoints of the server.
func (s *server) check() error {
	for _, e := range []struct{ what, text string }{
		{"the token endpoint", s.Token}, {"the authorization endpoint", s.Authorize},
		{"the device endpoint", s.Device},
		{"the registration endpoint", s.Register}, {"the revocation endpoint", s.Revoke},
	} {
		if e.text == "" && e.what != "the token endpoint" {
			continue
		}
		if _, err := endpoint(e.what, e.text, nil, s.local); err != nil {
			return err
		}
	}
	return nil
}

// scopes returns the scopes to request: of the person or the operations, of the API, and those that
// the principal has. A server that knows offline_access grants a refresh token only with it.
func (k *Keeper) scopes(t Target, l *Login, s *server) []string {
	scopes := l.Scopes
	if len(scopes) == 0 {
		scopes = l.Scheme.Scopes
	}
	if len(scopes) == 0 {
		scopes = s.scopes
	}
	if entries, err := k.store.entries(); err == nil {
		if i := t.find(entries, l.Scheme.Name, Token); i >= 0 {
			scopes = union(scopes, entries[i].record.Scopes)
		}
	}
	if l.Flow != ClientFlow && slices.Contains(s.Scopes, "offline_access") {
		scopes = union(scopes, []string{"offline_access"})
	}
	return scopes
}

func (l *Login) warn(format string, args ...any) {
	if l.Warn != nil {
		l.Warn(fmt.Sprintf(format, args...))
	}
}

func (c *client) config(s *server, scopes []string) *oauth2.Config {
	return &oauth2.Config{ClientID: c.ID, ClientSecret: string(c.Secret), Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: s.Authorize, TokenURL: s.Token, DeviceAuthURL: s.Device,
			AuthStyle: c.style()}}
}

// code logs in with a code (RFC 6749 4.1), PKCE (RFC 7636) and a redirect to this machine (RFC
// 8252 7.3).
func (k *Keeper) code(ctx context.Context, s *server, l *Login, scopes []string) (*record, error) {
	if s.Authorize == "" {
		return nil, errors.New("the authorization server has no authorization endpoint: it has no " +
			"login with a browser on this machine")
	}
	if s.PKCE == nil {
		l.warn("the authorization server does not say that it checks PKCE, which keeps others from " +
			"using the login's code")
	} else if !slices.Contains(s.PKCE, "S256") {
		return nil, fmt.Errorf("the authorization server does not take PKCE with S256, only %q: its "+
			"logins can be stolen, and are not used", cleanScopes(s.PKCE...))
	}
	b, err := listen(ctx)
	if err != nil {
		return nil, err
	}
	defer b.close()
	c, err := k.client(ctx, s, l, b.redirect)
	if err != nil {
		return nil, err
	}
	conf := c.config(s, scopes)
	conf.RedirectURL = b.redirect
	verifier, state := oauth2.GenerateVerifier(), rand.Text()
	resource := oauth2.SetAuthURLParam("resource", s.resource)
	deadline, _ := ctx.Deadline()
	b.expect(state)
	p := s.prompt(conf.AuthCodeURL(state, oauth2.S256ChallengeOption(verifier), resource), scopes)
	p.Expires = deadline
	l.Show(p)
	code, err := b.wait(ctx, s)
	if err != nil {
		return nil, err
	}
	tok, err := conf.Exchange(k.withClient(ctx), string(code), oauth2.VerifierOption(verifier),
		resource)
	if err != nil {
		return nil, k.failed(err, code, Secret(verifier), c.Secret)
	}
	return readToken(tok, c, scopes)
}

func (s *server) prompt(address string, scopes []string) Prompt {
	return Prompt{URL: address, Resource: s.resource, Issuer: s.issuer, Scopes: scopes}
}

// device logs in on another device (RFC 8628).
func (k *Keeper) device(ctx context.Context, s *server, l *Login, scopes []string,
) (*record, error) {
	if s.Device == "" {
		return nil, fmt.Errorf("the authorization server has no device endpoint: %s",
			k.words.Of("log in another way"))
	}
	c, err := k.client(ctx, s, l, "")
	if err != nil {
		return nil, err
	}
	conf := c.config(s, scopes)
	options := []oauth2.AuthCodeOption{oauth2.SetAuthURLParam("resource", s.resource)}
	if c.Secret != "" && !c.InHeader {
		options = append(options, oauth2.SetAuthURLParam("client_secret", string(c.Secret)))
	}
	d, err := conf.DeviceAuth(k.withClient(ctx), options...)
	if err != nil {
		return nil, k.failed(err, c.Secret)
	}
	page := cmp.Or(d.VerificationURIComplete, d.VerificationURI)
	u, err := endpoint("the page for the code", page, nil, s.local)
	if err != nil {
		return nil, err
	}
	if !isVisible(d.DeviceCode, maxSecret) || len(d.UserCode) > 64 || d.Interval < 0 ||
		d.Interval > 60 {
		return nil, errors.New("the authorization server returned a device code that cannot be used")
	}
	p := s.prompt(u.String(), scopes)
	p.Code, p.Expires = clean(d.UserCode, 64), d.Expiry
	l.Show(p)
	tok, err := conf.DeviceAccessToken(k.withClient(ctx), d, options...)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, errors.New("nobody typed the code in time: log in again")
	}
	if err != nil {
		return nil, k.failed(err, Secret(d.DeviceCode), c.Secret)
	}
	return readToken(tok, c, scopes)
}

// asClient gets a token for the client itself (RFC 6749 4.4).
func (k *Keeper) asClient(ctx context.Context, s *server, l *Login, scopes []string,
) (*record, error) {
	if l.ClientID == "" || l.ClientSecret == "" {
		return nil, fmt.Errorf("the API takes clients with a secret of their own: give %s",
			k.words.Of("its ID and its secret"))
	}
	c, err := k.client(ctx, s, l, "")
	if err != nil {
		return nil, err
	}
	tok, err := k.direct(ctx, c, scopes, url.Values{})
	if err != nil {
		return nil, k.failed(err, c.Secret)
	}
	return readToken(tok, c, scopes)
}

// client returns our client at a server: one registered by hand, one that a document describes, or
// one that it registers now (RFC 7591).
func (k *Keeper) client(ctx context.Context, s *server, l *Login, redirect string,
) (*client, error) {
	c := &client{ID: l.ClientID, Secret: l.ClientSecret, TokenURL: s.Token, RevokeURL: s.Revoke,
		Resource: s.resource, Flow: l.Flow}
	switch {
	case c.ID != "":
	case l.ClientDocument != "" && s.ClientURLs:
		c.ID, c.Secret = l.ClientDocument, ""
	case s.Register != "":
		return c, k.register(ctx, s, c, redirect)
	default:
		return nil, fmt.Errorf("the authorization server %s registers no clients by itself: register "+
			"pagetools there, with the redirect address http://127.0.0.1/callback, and give its %s",
			clean(s.issuer, 200), k.words.Of("client ID"))
	}
	err := c.authenticate(s.AuthMethods)
	return c, err
}

// authenticate chooses how the secret is sent. methods lists the server's; nil when it does not say
// (RFC 8414 2).
func (c *client) authenticate(methods []string) error {
	switch {
	case c.Secret == "":
	case methods == nil, slices.Contains(methods, "client_secret_basic"):
		c.InHeader = true
	case !slices.Contains(methods, "client_secret_post"):
		return fmt.Errorf("the authorization server takes no client secret, only %q",
			cleanScopes(methods...))
	}
	return nil
}

// deviceGrant is the grant of RFC 8628.
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// register makes a client of its own for this login.
func (k *Keeper) register(ctx context.Context, s *server, c *client, redirect string) error {
	asked := map[string]any{"client_name": "pagetools", "application_type": "native",
		"token_endpoint_auth_method": "none", "grant_types": []string{deviceGrant, "refresh_token"}}
	if redirect != "" {
		asked["redirect_uris"], asked["response_types"] = []string{redirect}, []string{"code"}
		asked["grant_types"] = []string{"authorization_code", "refresh_token"}
	}
	body, err := json.Marshal(asked)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.Register, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	res, err := k.posting.Do(req)
	if err != nil {
		return fmt.Errorf("registering with the authorization server: %w", unreached(err))
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(res.Body, maxMetadata))
	if err != nil {
		return fmt.Errorf("registering with the authorization server: %w", err)
	}
	if err := c.readRegistration(res.StatusCode, text); err != nil {
		return fmt.Errorf("registering with the authorization server: %w; register pagetools there by "+
			"hand, with the redirect address http://127.0.0.1/callback, and give its %s", err,
			k.words.Of("client ID"))
	}
	return nil
}

// readRegistration reads the answer (RFC 7591 3.2).
func (c *client) readRegistration(status int, text []byte) error {
	var got struct {
		ID      string `json:"client_id"`
		Secret  Secret `json:"client_secret"`
		Method  string `json:"token_endpoint_auth_method"`
		Failure string `json:"error"`
		Text    string `json:"error_description"`
	}
	if json.Unmarshal(text, &got) != nil {
		return fmt.Errorf("it answers %d without JSON", status)
	}
	switch {
	case got.Failure != "":
		return &failure{clean(got.Failure, 64), clean(got.Text, 200)}
	case status != http.StatusCreated && status != http.StatusOK:
		return fmt.Errorf("it answers %d", status)
	case got.ID == "" || !isVisible(got.ID, maxAddress) || !isVisible(string(got.Secret), maxSecret):
		return errors.New("it returned no usable client_id")
	}
	c.ID = got.ID
	if got.Method != "none" {
		c.Secret = got.Secret
	}
	if got.Method == "" {
		return c.authenticate(nil)
	}
	return c.authenticate([]string{got.Method})
}
