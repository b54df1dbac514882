package oauth

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/text"
)

// Secret is a text that is never shown: neither fmt nor slog writes it.
type Secret string

// Format implements fmt.Formatter for all verbs.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// String returns a word that says that there is a secret, or "" where there is none.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "[secret]"
}

// LogValue hides it from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// maxSecret is the most bytes of a secret that is sent in a header.
const maxSecret = 16 << 10

// isVisible reports whether a text is of visible ASCII characters, as tokens are (RFC 6750 2.1),
// and of at most limit bytes.
func isVisible(s string, limit int) bool {
	hidden := func(r rune) bool { return r < 0x21 || r > 0x7e }
	return len(s) <= limit && !strings.ContainsFunc(s, hidden)
}

// Kind is a kind of credential.
type Kind string

// The kinds of credentials.
const (
	Token       Kind = "oauth2"
	APIKey      Kind = "apiKey"
	Basic       Kind = "basic"
	Bearer      Kind = "bearer"
	Certificate Kind = "mutualTLS"
)

// record is one credential, as it is encrypted.
type record struct {
	Kind Kind `json:"kind"`
	// Value is the secret of all kinds but tokens: an API key, a bearer token, USER:PASSWORD, or a
	// certificate with its key in PEM.
	Value Secret `json:"value,omitempty"`

	// Of tokens:

	Access  Secret    `json:"access,omitempty"`
	Refresh Secret    `json:"refresh,omitempty"`
	Expires time.Time `json:"expires,omitzero"` // zero: the server did not say
	Scopes  []string  `json:"scopes,omitempty"`
	Client  client    `json:"client,omitzero"` // no pointer: fmt would show what is behind it
}

// client describes our client at an authorization server, and the server's endpoints.
type client struct {
	ID        string `json:"id"`
	Secret    Secret `json:"secret,omitempty"`
	InHeader  bool   `json:"inHeader,omitempty"` // the secret is sent with HTTP Basic
	TokenURL  string `json:"tokenUrl"`
	RevokeURL string `json:"revokeUrl,omitempty"`
	Resource  string `json:"resource,omitempty"` // RFC 8707
	Flow      Flow   `json:"flow"`
}

// early sets how long before its end a token is renewed.
const early = 20 * time.Second

// expired reports whether a token is not worth sending.
func (r *record) expired(now time.Time) bool {
	return !r.Expires.IsZero() && !now.Before(r.Expires.Add(-early))
}

// renews reports whether a token can be replaced without a person.
func (r *record) renews() bool {
	return r.Client.ID != "" && (r.Refresh != "" || r.Client.Flow == ClientFlow)
}

// union returns the texts of all lists, each once, in their order.
func union(lists ...[]string) (all []string) {
	for _, s := range slices.Concat(lists...) {
		if !slices.Contains(all, s) {
			all = append(all, s)
		}
	}
	return all
}

// clean makes a stranger's text fit for a message: text.Brief, or "" when it has a
// secret that was sent.
func clean(s string, limit int, secrets ...Secret) string {
	for _, secret := range secrets {
		if secret != "" && strings.Contains(s, string(secret)) {
			return ""
		}
	}
	return text.Brief(s, limit)
}

// cleanScopes returns the scopes of a text that are scopes (RFC 6749 3.3), at most 64.
func cleanScopes(texts ...string) (scopes []string) {
	for _, s := range strings.Fields(strings.Join(texts, " ")) {
		if isVisible(s, 256) && !strings.ContainsAny(s, `"\`) && len(scopes) < 64 {
			scopes = union(scopes, []string{s})
		}
	}
	return scopes
}
