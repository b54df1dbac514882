package oauth

import (
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

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/pagetools/pagetools/bridge/policy"
)

// maxToken is how long a token may be.
const maxToken = 8 << 10

// skew is how far clocks may differ.
const skew = 30 * time.Second

// maxName is how long the name of a caller may be.
const maxName = 128

// errToken says that a token does not count. What is wrong with it is for the log only.
var errToken = errors.New("the token does not count")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: %w", errToken, fmt.Errorf(format, args...))
}

// identity describes the holder of a token, by its claims. It is immutable.
type identity struct {
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

// read verifies a token. An error is errToken, or errAway when that cannot be told now.
func (v *Verifier) read(ctx context.Context, token string) (*identity, error) {
	if len(token) > maxToken {
		return nil, bad("it has %d bytes", len(token))
	}
	if strings.Count(token, ".") != 2 {
		return v.ask(ctx, token)
	}
	parsed, err := jwt.ParseSigned(token, signatures)
	if err != nil {
		return nil, bad("reading it: %w", err)
	}
	var unproved jwt.Claims
	if err := parsed.UnsafeClaimsWithoutVerification(&unproved); err != nil {
		return nil, bad("reading its claims: %w", err)
	}
	at := slices.IndexFunc(v.sources(), func(s *source) bool { return s.URL == unproved.Issuer })
	if at < 0 || len(parsed.Headers) != 1 {
		return nil, bad("nobody here trusts its issuer")
	}
	s := v.sources()[at]
	head := parsed.Headers[0]
	if !slices.Contains(s.algorithms, jose.SignatureAlgorithm(head.Algorithm)) {
		return nil, bad("%s is not among the algorithms of %s", head.Algorithm, s.Name)
	}
	keys, err := s.keys.find(ctx, head.KeyID, head.Algorithm)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", s.Name, err)
	}
	for _, k := range keys {
		var proved jwt.Claims
		all := claims{}
		if parsed.Claims(k.Key, &proved, &all) == nil {
			return v.identify(s, proved, all)
		}
	}
	return nil, bad("no key of %s has signed it", s.Name)
}

// ask asks the issuers that have introspection about a token that is no JWT.
func (v *Verifier) ask(ctx context.Context, token string) (*identity, error) {
	away := errToken
	for _, s := range v.sources() {
		if s.ClientID == "" {
			continue
		}
		bounded, cancel := context.WithTimeout(ctx, fetchTime)
		id, err := v.askOne(bounded, s, token)
		cancel()
		if err == nil {
			return id, nil
		}
		if errors.Is(err, errAway) {
			away = err
		}
	}
	return nil, away
}

func (v *Verifier) askOne(ctx context.Context, s *source, token string) (*identity, error) {
	doc, err := s.keys.document(ctx)
	if err != nil {
		return nil, err
	}
	var proved jwt.Claims
	var text json.RawMessage
	if err := introspect(ctx, v.o.Client, doc.Introspection, &s.Issuer, token, &text); err != nil {
		return nil, errors.Join(errAway, err)
	}
	all := claims{}
	if err := errors.Join(json.Unmarshal(text, &all), json.Unmarshal(text, &proved)); err != nil {
		return nil, errors.Join(errAway, err)
	}
	if all["active"] != true {
		return nil, bad("%s does not know it", s.Name)
	}
	if proved.Issuer == "" {
		proved.Issuer = s.URL // RFC 7662 lets it out
	}
	return v.identify(s, proved, all)
}

// identify holds claims that are proved against the clock and the issuer, and finds the grant.
func (v *Verifier) identify(s *source, proved jwt.Claims, all claims) (*identity, error) {
	if proved.Expiry == nil {
		return nil, bad("it never expires")
	}
	expected := jwt.Expected{Issuer: s.URL, Time: v.o.Now()}
	if err := proved.ValidateWithLeeway(expected, skew); err != nil {
		return nil, bad("%w", err)
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash"} { // only tokens for a client itself have these
		if all[name] != nil {
			return nil, bad("it is an ID token")
		}
	}
	id := &identity{issuer: s, audience: proved.Audience, scopes: all.scopes(), expires: proved.Expiry.Time()}
	who := all.texts(s.NameClaim)
	if len(who) != 1 || who[0] == "" {
		return nil, bad("it has no %s", s.NameClaim)
	}
	id.name = nameOf(s.Name, who[0])
	if ids := all.texts("client_id"); len(ids) == 1 {
		id.client = ids[0]
	} else if ids = all.texts("azp"); len(ids) == 1 {
		id.client = ids[0]
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

// nameOf is the name of a caller: what the issuer says, or its digest where that cannot be a name.
func nameOf(issuer, who string) string {
	name := issuer + ":" + who
	printable := func(r rune) bool { return r > ' ' && r < 0x7f }
	if len(name) <= maxName && !strings.ContainsFunc(who, func(r rune) bool { return !printable(r) }) {
		return name
	}
	sum := sha256.Sum256([]byte(who))
	return issuer + ":" + hex.EncodeToString(sum[:])
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
		case float64:
			all = append(all, strconv.FormatFloat(v, 'f', -1, 64))
		case json.Number:
			all = append(all, v.String())
		}
	}
	return all
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
