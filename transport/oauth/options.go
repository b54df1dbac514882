package oauth

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
)

// Options configures a [Verifier].
type Options struct {
	// Public is the origin under which people and hosts reach the server.
	Public string
	// Issuers give out the tokens that count.
	Issuers []Issuer
	// Own finds the callers of tokens that this server gives out itself; nil: it gives out none.
	Own Own
	// Client fetches what issuers publish: it decides which addresses may be reached, and follows
	// no redirect to another origin. Nil means http.DefaultClient.
	Client *http.Client
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Own is an authorization server in this process. It is safe for concurrent use.
type Own interface {
	// Issuer is its address.
	Issuer() string
	// Scopes lists the scopes of its tokens, with spaces between.
	Scopes() string
	// Owns reports whether a token has the form of its tokens: nobody else is asked about such a
	// token.
	Owns(token string) bool
	// Holder returns the caller of a token, and the resource that it is for. known is false for a
	// token that does not count; an error means that this cannot be told now.
	Holder(ctx context.Context, token string) (caller bridge.Caller, resource string, known bool, err error)
}

// Issuer gives out tokens that count, and says who their holders are.
type Issuer struct {
	// Name begins the names of its callers, as in NAME:SUBJECT.
	Name string
	// URL equals the iss of its tokens exactly.
	URL string
	// Audience are further values of aud that count for the whole server, for issuers that do not
	// know the parameter resource.
	Audience []string
	// Algorithms lists the signatures that count; nil means RS256, ES256, PS256 and EdDSA.
	Algorithms []string
	// NameClaim says who it is; empty means sub.
	NameClaim string
	// Scope lists the scopes that a token needs for calls, with spaces between; empty wants none.
	Scope string
	// ClientID and ClientSecret authenticate us when we ask about a token without the form of a JWT
	// (RFC 7662). Without them nobody asks. At most one issuer may have them: such a token does not
	// say whose it is, and an issuer must not see those of another one.
	ClientID, ClientSecret string
	// Grants say who may what. The first that matches counts, and without one nobody may.
	Grants []Grant
}

// Grant lets the holders of some tokens do something.
type Grant struct {
	// Match has a pattern, in which * stands for any text, for each claim that must be there.
	Match map[string]string
	May   []bridge.Right
	// Sites names the sites that they may use; nil means all.
	Sites []string
	// Rate limits each caller; the zero Rate limits none.
	Rate policy.Rate
}

// The signatures that can count, and those that do unless the operator says otherwise.
var (
	signatures = []jose.SignatureAlgorithm{jose.RS256, jose.PS256, jose.ES256, jose.ES384, jose.EdDSA}
	usual      = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.PS256, jose.EdDSA}
)

// reserved lists names of callers of our own, which no issuer may have.
var reserved = []string{"console", "local", "pagetools", "socket", "terminal", "token"}

// The forms of an issuer's name, which ends with the colon in the names of callers, and of its
// scopes (RFC 6749, 3.3), which are in headers.
var (
	formOfName  = regexp.MustCompile(`^[A-Za-z0-9._-]{1,32}$`)
	formOfScope = regexp.MustCompile(`^[^"\\\x00-\x1f\x7f-\x{10FFFF}]*$`)
)

// Validate says what an operator has to change.
func (i *Issuer) Validate() error {
	u, err := url.Parse(i.URL)
	switch {
	case !formOfName.MatchString(i.Name) || slices.Contains(reserved, i.Name):
		return fmt.Errorf("the name %q is not one for an issuer: use up to 32 letters, digits, dots, _ and -, "+
			"and none of %s", i.Name, strings.Join(reserved, ", "))
	case !formOfScope.MatchString(i.Scope):
		return fmt.Errorf("the scope %q of %s has characters that scopes do not have", i.Scope, i.Name)
	case err != nil || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil:
		return fmt.Errorf("%q is not the address of an issuer", i.URL)
	case u.Scheme != "https" && (u.Scheme != "http" || !origin.Loopback(u.Hostname())):
		return fmt.Errorf("the issuer %s must have https", i.URL)
	case len(i.Grants) == 0:
		return fmt.Errorf("the issuer %s has no grants, so that nobody may call", i.Name)
	}
	for _, a := range i.Algorithms {
		if !slices.Contains(signatures, jose.SignatureAlgorithm(a)) {
			return fmt.Errorf("%q is not one of %v", a, signatures)
		}
	}
	return nil
}

func (i *Issuer) algorithms() []jose.SignatureAlgorithm {
	if i.Algorithms == nil {
		return usual
	}
	all := make([]jose.SignatureAlgorithm, len(i.Algorithms))
	for k, a := range i.Algorithms {
		all[k] = jose.SignatureAlgorithm(a)
	}
	return all
}

func (o Options) withDefaults() Options {
	o.Client = cmp.Or(o.Client, http.DefaultClient)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
