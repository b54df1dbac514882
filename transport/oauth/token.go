package oauth

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"
	strict "github.com/go-jose/go-jose/v4/json"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
)

// maxToken limits how long a token may be.
const maxToken = 8 << 10

// skew limits how far clocks may differ.
const skew = 30 * time.Second

// maxName limits how long the name of a caller may be.
const maxName = 128

// errToken says that a token does not count. What is wrong with it is for the log only.
var errToken = errors.New("the token does not count")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errToken, fmt.Errorf(format, args...))
}

// identity describes the holder of a token, by its claims. It is immutable.
type identity struct {
	caller   *bridge.Caller // of a token of our own; nil: it is an issuer's
	issuer   *source
	name     string // of the caller
	grant    *given // nil: no grant matches
	audience []string
	scopes   []string
	client   string // for whom the token was issued
	id       string // the SHA-256 of its jti
	expires  time.Time
}

// source is an issuer that is asked.
type source struct {
	Issuer

	keys       *keySet
	algorithms []jose.SignatureAlgorithm
	grants     []*given
}

// given is a grant as callers have it.
type given struct {
	Grant

	revoked chan struct{}
}

// read verifies a token against what the sources publish. An error is errToken, or errAway when
// that cannot be told now.
func (v *Verifier) read(ctx context.Context, sources []*source, token string) (*identity, error) {
	if len(token) > maxToken {
		return nil, bad("it has %d bytes", len(token))
	}
	if strings.Count(token, ".") != 2 {
		return v.ask(ctx, sources, token)
	}
	parsed, err := jwt.ParseSigned(token, signatures)
	if err != nil {
		return nil, bad("reading it: %w", err)
	}
	var unproved jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&unproved); err != nil {
		return nil, bad("reading its claims: %w", err)
	}
	at := slices.IndexFunc(sources, func(s *source) bool { return s.URL == unproved.Issuer })
	if at < 0 || len(parsed.Headers) != 1 {
		return nil, bad("nobody here trusts its issuer")
	}
	s, head := sources[at], parsed.Headers[0]
	kind, err := kindOf(head)
	if err != nil {
		return nil, err
	}
	if !slices.Contains(s.algorithms, jose.SignatureAlgorithm(head.Algorithm)) {
		return nil, bad("%s is not among the algorithms of %s", head.Algorithm, s.Name)
	}
	keys, err := s.keys.find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", s.Name, err)
	}
	for _, k := range keys {
		var body json.RawMessage
		if parsed.Claims(k.Key, &body) == nil {
			return v.identify(s, kind, body)
		}
	}
	return nil, bad("no key of %s has signed it", s.Name)
}

// kindAccess is the type of access tokens whose issuer says so (RFC 9068, 2.1).
const kindAccess = "at+jwt"

// kindOf returns the type of a token. Tokens of another use have types of their own, and what a
// token calls critical must be known (RFC 7515, 4.1.11): nothing is. Keys in it do not count.
func kindOf(head jose.Header) (string, error) {
	if _, is := head.ExtraHeaders["crit"]; is {
		return "", bad("it has critical headers")
	}
	kind, _ := head.ExtraHeaders[jose.HeaderType].(string)
	kind = strings.TrimPrefix(strings.ToLower(kind), "application/")
	if _, is := head.ExtraHeaders[jose.HeaderType]; is && kind != "jwt" && kind != kindAccess {
		return "", bad("it is of another type")
	}
	return kind, nil
}

// ask asks the issuer that has introspection about a token that is no JWT. It is asked about a few
// at a time, so that nobody can have us flood it.
func (v *Verifier) ask(ctx context.Context, sources []*source, token string) (*identity, error) {
	at := slices.IndexFunc(sources, func(s *source) bool { return s.ClientID != "" })
	if at < 0 {
		return nil, bad("it is no JWT, and no issuer can be asked about it")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
	case <-ctx.Done():
		return nil, errors.Join(errAway, context.Cause(ctx))
	}
	if id := v.known(token); id != nil { // others had the same
		return id, nil
	}
	s := sources[at]
	doc, err := s.keys.document(ctx)
	if err != nil {
		return nil, err
	}
	var body json.RawMessage
	if err := introspect(ctx, v.o.Client, doc.Introspection, &s.Issuer, token, &body); err != nil {
		return nil, errors.Join(errAway, err)
	}
	return v.identify(s, kindVouched, body)
}

// kindVouched is the type of tokens that their issuer was asked about.
const kindVouched = "introspection"

// notSaid sets how long a token lives of which its issuer does not say that.
const notSaid = time.Hour

// identify holds claims that are proved against the clock and the issuer, and finds the grant.
func (v *Verifier) identify(s *source, kind string, body []byte) (*identity, error) {
	proved, all, err := decode(body)
	if err != nil {
		return nil, bad("reading its claims: %w", err)
	}
	if kind == kindVouched {
		if all["active"] != true {
			return nil, bad("%s does not know it", s.Name)
		}
		if proved.Issuer == "" { // RFC 7662 makes both optional
			proved.Issuer = s.URL
		}
		if proved.Expiry == nil {
			proved.Expiry = jwt.NewNumericDate(v.o.Now().Add(notSaid))
		}
	}
	if proved.Expiry == nil {
		return nil, bad("it never expires")
	}
	expected := jwt.Expected{Issuer: s.URL, Time: v.o.Now()}
	if err := proved.ValidateWithLeeway(expected, skew); err != nil {
		return nil, bad("%w", err)
	}
	if kind != kindAccess && all.notForAccess() {
		return nil, bad("it is not an access token")
	}
	id := &identity{issuer: s, audience: proved.Audience, scopes: all.scopes(), expires: proved.Expiry.Time()}
	who := ""
	switch claim := all[s.NameClaim].(type) {
	case string:
		who = claim
	case strict.Number:
		who = claim.String()
	}
	if who == "" || strings.ContainsRune(who, utf8.RuneError) { // what is no text, two people could have
		return nil, bad("it has no %s", s.NameClaim)
	}
	id.name = nameOf(s.Name, who)
	for _, name := range []string{"azp", "client_id"} { // the later one counts
		if client, _ := all[name].(string); client != "" {
			id.client = text.Short(client, maxClient)
		}
	}
	if proved.ID != "" {
		sum := sha256.Sum256([]byte(proved.ID))
		id.id = hex.EncodeToString(sum[:])
	}
	for _, g := range s.grants {
		if all.match(g.Match) {
			id.grant = g
			break
		}
	}
	return id, nil
}

// maxClient bounds the name of a client, in bytes.
const maxClient = 256

// decode reads claims. Names are as they are written, and none may be there twice: two programs
// would read two tokens. Numbers stay as they are, because two long ones can be one float.
func decode(body []byte) (known jwt.Claims, all claims, err error) {
	d := strict.NewDecoder(bytes.NewReader(body))
	d.SetNumberType(strict.UnmarshalJSONNumber)
	if err = d.Decode(&all); err == nil {
		err = strict.Unmarshal(body, &known)
	}
	return known, all, err
}

// digested begins the names of callers that are digests. No other name begins so.
const digested = "sha256:"

// nameOf is the name of a caller: what the issuer says, or its digest where that cannot be a name.
func nameOf(issuer, who string) string {
	name := issuer + ":" + who
	printable := func(r rune) bool { return r > ' ' && r < 0x7f }
	if len(name) <= maxName && !strings.HasPrefix(who, digested) &&
		!strings.ContainsFunc(who, func(r rune) bool { return !printable(r) }) {
		return name
	}
	sum := sha256.Sum256([]byte(who))
	return issuer + ":" + digested + hex.EncodeToString(sum[:])
}

// claims holds the claims of a token.
type claims map[string]any

// texts returns the values of a claim as texts.
func (c claims) texts(name string) (all []string) {
	list, is := c[name].([]any)
	if !is {
		list = []any{c[name]}
	}
	for _, v := range list {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case bool:
			all = append(all, strconv.FormatBool(v))
		case strict.Number:
			all = append(all, v.String())
		}
	}
	return all
}

// notForAccess reports whether claims belong to a token for the client itself: an ID
// token (OpenID Connect Core 1.0, 2), or what issuers mark as that or as a refresh token (Keycloak by typ,
// Cognito and Hydra by token_use, others by token_type), or one that tells of an event (RFC 8417).
func (c claims) notForAccess() bool {
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash", "events"} {
		if c[name] != nil {
			return true
		}
	}
	kind, _ := c["typ"].(string)
	as, _ := c["token_type"].(string)
	return slices.Contains([]string{"ID", "Refresh", "Offline", "Logout"}, kind) ||
		strings.HasPrefix(strings.ToLower(as), "refresh") ||
		c["token_use"] != nil && c["token_use"] != "access" && c["token_use"] != "access_token"
}

// scopes returns what the token is good for: scope as text (RFC 9068) or list, or scp.
func (c claims) scopes() (all []string) {
	for _, name := range []string{"scope", "scp"} {
		for _, text := range c.texts(name) {
			all = append(all, strings.Fields(text)...)
		}
	}
	return all
}

// match reports whether each claim has a value that fits its pattern.
func (c claims) match(patterns map[string]string) bool {
	for name, pattern := range patterns {
		fits := func(v string) bool { return policy.Matches(pattern, v) }
		if !slices.ContainsFunc(c.texts(name), fits) {
			return false
		}
	}
	return true
}
