package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// maxMetadata is the most bytes of a document of metadata.
const maxMetadata = 1 << 20

// askTime limits how long a server may take to answer.
const askTime = 20 * time.Second

// resourceMetadata names the authorization servers of an API (RFC 9728 2).
type resourceMetadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported"`
}

// serverMetadata describes an authorization server (RFC 8414 2, OpenID Connect Discovery 3).
type serverMetadata struct {
	Issuer      string   `json:"issuer"`
	Authorize   string   `json:"authorization_endpoint"`
	Token       string   `json:"token_endpoint"`
	Register    string   `json:"registration_endpoint"`
	Revoke      string   `json:"revocation_endpoint"`
	Device      string   `json:"device_authorization_endpoint"`
	PKCE        []string `json:"code_challenge_methods_supported"` // nil: not said
	AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
	Scopes      []string `json:"scopes_supported"`
	SendsIss    bool     `json:"authorization_response_iss_parameter_supported"`
	ClientURLs  bool     `json:"client_id_metadata_document_supported"`
}

// errAbsent is the error of an address that has no document.
var errAbsent = errors.New("there is no metadata")

// readResource reads the metadata of an API. It must be of the API at that address, or of what is
// around it (RFC 9728 3.3).
func readResource(text []byte, api *url.URL) (*resourceMetadata, error) {
	var m resourceMetadata
	if json.Unmarshal(text, &m) != nil || m.Resource == "" || len(m.Servers) == 0 {
		return nil, errAbsent
	}
	u, err := readAddress(m.Resource, nil)
	if err != nil || !within(canonical(api), canonical(u)) {
		return nil, fmt.Errorf("the metadata of %s is of another resource: %q", canonical(api),
			clean(m.Resource, 200))
	}
	m.Scopes = cleanScopes(m.Scopes...)
	return &m, nil
}

// readServer reads the metadata of an authorization server, whose issuer must match (RFC 8414 3.3).
func readServer(text []byte, issuer func(string) bool) (*serverMetadata, error) {
	var m serverMetadata
	if json.Unmarshal(text, &m) != nil || m.Issuer == "" {
		return nil, errAbsent
	}
	if !isVisible(m.Issuer, maxAddress) || !issuer(m.Issuer) {
		return nil, fmt.Errorf("the metadata is of another authorization server: its issuer is %q",
			clean(m.Issuer, 200))
	}
	m.Scopes = cleanScopes(m.Scopes...)
	return &m, nil
}

// wellKnown puts a name between host and path (RFC 8414 3, RFC 9728 3.1).
func wellKnown(u *url.URL, name string) string {
	return origin.OfURL(u) + "/.well-known/" + name + strings.TrimRight(u.EscapedPath(), "/")
}

// placesOf returns where the metadata of an issuer can be, in the order in which they are asked.
func placesOf(issuer *url.URL) []string {
	places := []string{wellKnown(issuer, "oauth-authorization-server"),
		wellKnown(issuer, "openid-configuration")}
	appended := canonical(issuer) + "/.well-known/openid-configuration"
	if !slices.Contains(places, appended) {
		places = append(places, appended)
	}
	return places
}

// fetch asks an address for JSON.
func (k *Keeper) fetch(ctx context.Context, address string, local bool) ([]byte, error) {
	u, err := endpoint("the metadata", address, nil, local)
	if err != nil {
		return nil, err
	}
	res, err := k.get(ctx, u.String())
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%w: %s answers %d", errAbsent, u, res.StatusCode)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxMetadata+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", u, err)
	case len(text) > maxMetadata:
		return nil, fmt.Errorf("%s has more than %d bytes", u, maxMetadata)
	}
	return text, nil
}

// get asks an address. Redirects stay within its origin.
func (k *Keeper) get(ctx context.Context, address string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := k.following.Do(req)
	if err != nil {
		cancel()
		return nil, unreached(err)
	}
	res.Body = &cancelBody{res.Body, cancel}
	return res, nil
}

// cancelBody ends the request with its body.
type cancelBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *cancelBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// challenge holds the parts of WWW-Authenticate that are used (RFC 9110 11.6.1, RFC 6750 3, RFC
// 9728 5.1).
type challenge struct {
	metadata string
	failure  string
	scopes   []string
}

// readChallenge reads the challenges of a response. What cannot be read is left out.
func readChallenge(headers []string) (c challenge) {
	for _, h := range headers {
		if len(h) > maxMetadata {
			continue
		}
		for name, value := range parameters(h) {
			switch name {
			case "resource_metadata":
				c.metadata = value
			case "error":
				c.failure = clean(value, 64)
			case "scope":
				c.scopes = union(c.scopes, cleanScopes(value))
			}
		}
	}
	return c
}

// parameters yields the parameters of challenges, with their names in lower case.
func parameters(h string) func(yield func(name, value string) bool) {
	return func(yield func(name, value string) bool) {
		for h != "" {
			h = strings.TrimLeft(h, " \t,")
			end := strings.IndexAny(h, " \t,=")
			if end < 0 {
				return
			}
			name := h[:end]
			if h = h[end:]; h[0] != '=' { // the name of a scheme
				continue
			}
			var value string
			if h = h[1:]; strings.HasPrefix(h, `"`) {
				value, h = quoted(h[1:])
			} else if end = strings.IndexAny(h, " \t,"); end >= 0 {
				value, h = h[:end], h[end:]
			} else {
				value, h = h, ""
			}
			if !yield(strings.ToLower(name), value) {
				return
			}
		}
	}
}

// quoted reads a quoted string after its first quote.
func quoted(s string) (value, rest string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return b.String(), s[i+1:]
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String(), ""
}
