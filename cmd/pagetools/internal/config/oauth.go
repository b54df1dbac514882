package config

import (
	"errors"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// OAuth is the section oauth: who may call with a token that an issuer, or this server itself, gave
// them.
type OAuth struct {
	Issuers []Issuer `key:"issuers" help:"authorization servers whose tokens count"`
	BuiltIn BuiltIn  `key:"built-in" help:"the authorization server of pagetools itself, for those who have none"`
	// MCPTools is "" where it is as for all.
	MCPTools string `key:"mcp-tools" enum:"auto,direct,hybrid,meta" help:"what callers with such tokens see over MCP, in place of --mcp-tools; without it, auto is hybrid for them: hosts keep the list that they read first"`
	Line     int
}

func (o *OAuth) check() error {
	if len(o.Issuers) == 0 && len(o.BuiltIn.People) == 0 {
		return errors.New("oauth: issuers or built-in is missing: one of them is needed")
	}
	return nil
}

// BuiltIn is the section built-in: people who let clients in on a page of pagetools.
type BuiltIn struct {
	People []Person `key:"people" required:"true" help:"who may let clients in; 'pagetools pair NAME' shows a code for each"`
	Line   int
}

// Person is one entry of people.
type Person struct {
	Name         string         `key:"name" unique:"true" required:"true" pattern:"^[A-Za-z0-9._-]{1,64}$" must:"must have up to 64 letters, digits, dots, _ and -" help:"who it is: their clients call as pagetools:NAME"`
	May          []bridge.Right `key:"may" default:"call elicit" enum:"call,elicit" help:"the rights, as under callers"`
	Sites        []string       `key:"sites" help:"the sites that their clients see; without names, all"`
	PasswordHash string         `key:"password-hash" secret:"true" help:"a password that lets them in without a code, as 'pagetools pair --hash' prints it"`
	Line         int
}

// Issuer is one entry of issuers.
type Issuer struct {
	Name          string        `key:"name" unique:"true" required:"true" pattern:"^[A-Za-z0-9._-]{1,32}$" not:"local,token,console,socket,terminal,pagetools" must:"must have up to 32 letters, digits, dots, _ and -, and must not be local, token, console, socket, terminal or pagetools, which are callers of pagetools itself" help:"begins the names of its callers, as in NAME:SUBJECT, in questions and records"`
	Issuer        string        `key:"issuer" unique:"true" required:"true" help:"its address, exactly as its tokens have it as iss"`
	Audience      []string      `key:"audience" help:"further values of aud that count, for issuers that do not know the parameter resource"`
	Algorithms    []string      `key:"algorithms" default:"RS256 ES256 PS256 EdDSA" enum:"RS256,PS256,ES256,ES384,EdDSA" help:"signatures that count"`
	NameClaim     string        `key:"name-claim" default:"sub" help:"the claim that says who it is"`
	Scope         OAuthScope    `key:"scope" help:"what a token must be good for"`
	Introspection Introspection `key:"introspection" help:"for tokens that are not JWTs (RFC 7662)"`
	Grants        []OAuthGrant  `key:"grants" required:"true" help:"who may do what: the first that matches counts, and without a match nobody may"`
	Line          int
}

// OAuthScope names the scopes of an issuer.
type OAuthScope struct {
	// Call is nil where the file does not have it.
	Call *string `key:"call" default:"pagetools.call" help:"the scope for calls; \"\" wants none"`
}

// ForCalls lists the scopes that a token needs for calls, with spaces between.
func (s OAuthScope) ForCalls() string {
	if s.Call == nil {
		return "pagetools.call"
	}
	return *s.Call
}

// Introspection says how pagetools asks an issuer about a token.
type Introspection struct {
	ClientID     string `key:"client-id" help:"the client that pagetools is there"`
	ClientSecret string `key:"client-secret" secret:"true" help:"its secret"`
}

// OAuthGrant is one entry of grants.
type OAuthGrant struct {
	Match Patterns       `key:"match" help:"a pattern for each claim that a token must have; * stands for any text"`
	May   []bridge.Right `key:"may" default:"call elicit" enum:"call,elicit" help:"the rights, as under callers"`
	Sites []string       `key:"sites" help:"the sites that they see; without names, all"`
	Rate  policy.Rate    `key:"rate" help:"calls that each of them may make on all sites together"`
}

// Patterns are texts by name.
type Patterns map[string]string

func (p *Patterns) decode(d *decoder, key string, n *yaml.Node) error {
	*p = Patterns{}
	return d.pairs(n, key, func(k, v *yaml.Node) error {
		if v.Kind != yaml.ScalarNode {
			return d.errorf(v, "%s: %s must be a text, such as \"*@acme.example\"", key, k.Value)
		}
		(*p)[k.Value] = v.Value
		return nil
	})
}

func (*Patterns) schema() object {
	return mapOf(object{"type": []string{"string", "boolean", "number"}})
}
