package oauth

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"encoding/base64"
)

// Scheme is a Security Scheme Object of OpenAPI (4.8.27), which must not be a reference, with its
// name in the document and the scopes that are needed.
type Scheme struct {
	Name   string
	Object json.RawMessage
	Scopes []string
}

// schemeObject holds the members that are read.
type schemeObject struct {
	Type, Scheme, Name, In string
	Flows                  map[string]flowObject
	OpenIDConnectURL       string `json:"openIdConnectUrl"`
	MetadataURL            string `json:"oauth2MetadataUrl"`

	kind Kind
}

// flowObject is an OAuth Flow Object (OpenAPI 4.8.29).
type flowObject struct {
	AuthorizationURL string            `json:"authorizationUrl"`
	TokenURL         string            `json:"tokenUrl"`
	DeviceURL        string            `json:"deviceAuthorizationUrl"`
	Scopes           map[string]string `json:"scopes"`
}

// The names of flows in documents.
const (
	flowCode   = "authorizationCode"
	flowDevice = "deviceAuthorization"
	flowClient = "clientCredentials"
)

// unsendable are headers that no key is sent in: they are the connection's.
var unsendable = []string{"Host", "Cookie", "Content-Length", "Content-Type", "Connection",
	"Keep-Alive", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	"Proxy-Authorization", "Proxy-Connection", "Expect"}

// read reads the scheme. The error says why it cannot be used.
func (s *Scheme) read() (*schemeObject, error) {
	o := &schemeObject{}
	name := clean(s.Name, 64)
	if err := json.Unmarshal(s.Object, o); err != nil {
		return nil, fmt.Errorf("the security scheme %q cannot be read: it must be an object with a type",
			name)
	}
	switch {
	case o.Type == "oauth2", o.Type == "openIdConnect":
		o.kind = Token
	case o.Type == "mutualTLS":
		o.kind = Certificate
	case o.Type == "http" && strings.EqualFold(o.Scheme, "basic"):
		o.kind = Basic
	case o.Type == "http" && strings.EqualFold(o.Scheme, "bearer"):
		o.kind = Bearer
	case o.Type == "apiKey":
		o.kind = APIKey
		token := isToken(o.Name)
		switch {
		case o.In == "header" && token && !slices.Contains(unsendable, http.CanonicalHeaderKey(o.Name)):
		case o.In == "cookie" && token, o.In == "query" && o.Name != "" && len(o.Name) < 256:
		default:
			return nil, fmt.Errorf("the security scheme %q sends its key in %q as %q, which is not possible",
				name, clean(o.In, 32), clean(o.Name, 64))
		}
	default:
		return nil, fmt.Errorf("the security scheme %q is of type %q %s, which is not known: oauth2, "+
			"openIdConnect, apiKey, http basic, http bearer and mutualTLS are", name,
			clean(o.Type, 32), clean(o.Scheme, 32))
	}
	return o, nil
}

// KindOf returns the kind of credential that a scheme needs. The error says why it cannot be used.
func KindOf(s Scheme) (Kind, error) {
	o, err := s.read()
	if err != nil {
		return "", err
	}
	return o.kind, nil
}

// isToken reports whether a text is a token of HTTP (RFC 9110 5.6.2).
func isToken(s string) bool {
	return s != "" && len(s) < 256 && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= 0x20 || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// readSecret checks what a person gave for a scheme. The errors do not have it.
func (o *schemeObject) readSecret(s Secret) error {
	text := string(s)
	switch o.kind {
	case Certificate:
		if _, err := tls.X509KeyPair([]byte(text), []byte(text)); err != nil {
			return errors.New("a certificate and its private key are needed, both in PEM, one after the " +
				"other")
		}
		return nil
	case Basic:
		user, _, ok := strings.Cut(text, ":")
		if !ok || user == "" || len(text) > maxSecret {
			return errors.New("a user and a password are needed, as USER:PASSWORD")
		}
		return nil
	case APIKey, Bearer:
		if o.In == "cookie" && strings.ContainsAny(text, `",;\`) {
			return errors.New("a key in a cookie must have no quote, comma, semicolon or backslash")
		}
		if text == "" || !isVisible(text, maxSecret) {
			return fmt.Errorf("a key must have 1 to %d visible characters of ASCII", maxSecret)
		}
		return nil
	default:
		return errors.New("this scheme needs no key, but a login")
	}
}

// place says where the scheme puts its credential; "" is nowhere in the request. No two schemes of
// one request may have the same.
func (o *schemeObject) place() string {
	switch {
	case o.kind == Certificate:
		return ""
	case o.kind == APIKey && o.In == "header":
		return "header " + http.CanonicalHeaderKey(o.Name)
	case o.kind == APIKey:
		return o.In + " " + o.Name
	}
	return "header Authorization"
}

// apply puts a credential into a request. What the request has in its place is removed.
func (o *schemeObject) apply(r *http.Request, c *record) {
	switch {
	case o.kind == Token:
		r.Header.Set("Authorization", "Bearer "+string(c.Access))
	case o.kind == Bearer:
		r.Header.Set("Authorization", "Bearer "+string(c.Value))
	case o.kind == Basic:
		r.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(c.Value)))
	case o.kind == APIKey && o.In == "header":
		r.Header.Set(o.Name, string(c.Value))
	case o.kind == APIKey && o.In == "query":
		u := *r.URL
		u.RawQuery = join(without(u.RawQuery, "&", func(name string) bool {
			plain, err := url.QueryUnescape(name)
			return err == nil && plain == o.Name
		}), "&", url.QueryEscape(o.Name)+"="+url.QueryEscape(string(c.Value)))
		r.URL = &u
	case o.kind == APIKey:
		rest := without(strings.Join(r.Header.Values("Cookie"), "; "), ";", func(name string) bool {
			return strings.TrimSpace(name) == o.Name
		})
		r.Header.Set("Cookie", join(rest, "; ", o.Name+"="+string(c.Value)))
	}
}

// without leaves out the pairs of those names.
func without(pairs, separator string, drop func(name string) bool) string {
	kept := slices.DeleteFunc(strings.Split(pairs, separator), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return drop(name)
	})
	return strings.TrimSpace(strings.Join(kept, separator))
}

func join(pairs, separator, pair string) string {
	if pairs == "" {
		return pair
	}
	return pairs + separator + pair
}
