package recipes

// The authorization server is in four files: its metadata and its clients (this one), how a person
// lets a client in (authorize.go), what the client gets (token.go), and the way of clients without
// a browser (device.go). It has what the Best Current Practice of OAuth (RFC 9700) and OAuth 2.1
// leave of OAuth: codes with PKCE, public clients, refresh tokens that are used once.

import (
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
)

var scopes = []string{readScope, writeScope}

// scopeWords maps scopes to words for people.
var scopeWords = map[string]string{
	readScope:  "Search and read your recipes",
	writeScope: "Save and delete recipes, and spend credits on plans",
}

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

var grantTypes = []string{"authorization_code", "refresh_token", deviceGrant}

// discovery leads to the document (OpenTools).
func (s *server) discovery(*http.Request) reply {
	return asJSON(http.StatusOK, map[string]string{"openapi": "/openapi.json", "auth": "oauth2"})
}

func (s *server) document(*http.Request) reply {
	return reply{http.StatusOK, http.Header{"Content-Type": {"application/json"}}, s.api}
}

// resourceMetadata is RFC 9728, section 2. The resource is the whole origin.
func (s *server) resourceMetadata(*http.Request) reply {
	return asJSON(http.StatusOK, map[string]any{
		"resource":                 s.issuer,
		"resource_name":            "Recipes",
		"authorization_servers":    []string{s.issuer},
		"scopes_supported":         scopes,
		"bearer_methods_supported": []string{"header"},
	})
}

// serverMetadata is RFC 8414, section 2.
func (s *server) serverMetadata(*http.Request) reply {
	none := []string{"none"} // all clients are public
	return asJSON(http.StatusOK, map[string]any{
		"issuer":                                         s.issuer,
		"authorization_endpoint":                         s.issuer + "/oauth/authorize",
		"token_endpoint":                                 s.issuer + "/oauth/token",
		"registration_endpoint":                          s.issuer + "/oauth/register",
		"device_authorization_endpoint":                  s.issuer + "/oauth/device",
		"revocation_endpoint":                            s.issuer + "/oauth/revoke",
		"scopes_supported":                               scopes,
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          grantTypes,
		"token_endpoint_auth_methods_supported":          none,
		"revocation_endpoint_auth_methods_supported":     none,
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
	})
}

// client is a program that may ask. It is public: it has no secret, and its name is its own claim.
type client struct {
	id        string
	name      string
	redirects []*url.URL
}

// register is RFC 7591. Anybody may register, so it does not prove who a client is. A client that
// nobody let in is forgotten after an hour.
func (s *server) register(r *http.Request) reply {
	var in struct {
		Redirects []string `json:"redirect_uris"`
		Name      string   `json:"client_name"`
		Grants    []string `json:"grant_types"`
		Responses []string `json:"response_types"`
		Auth      string   `json:"token_endpoint_auth_method"`
	}
	if !isJSON(r) {
		return failed(wrong("invalid_client_metadata", "The body must be application/json."))
	}
	// What is not known is ignored, as section 2 says.
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return failed(wrong("invalid_client_metadata", "invalid body: %v", err))
	}
	if in.Grants == nil {
		in.Grants = grantTypes[:1] // the default of section 2
	}
	c := &client{id: rand.Text(), name: plainName(in.Name)}
	switch unknown := func(g string) bool { return !slices.Contains(grantTypes, g) }; {
	case in.Auth != "" && in.Auth != "none":
		return failed(wrong("invalid_client_metadata",
			"token_endpoint_auth_method must be none: clients have no secrets here."))
	case len(in.Grants) > len(grantTypes) || slices.ContainsFunc(in.Grants, unknown):
		return failed(wrong("invalid_client_metadata", "grant_types must be of %s.",
			strings.Join(grantTypes, ", ")))
	case len(in.Responses) > 1 || len(in.Responses) == 1 && in.Responses[0] != "code":
		return failed(wrong("invalid_client_metadata", "response_types must be code."))
	case len(in.Redirects) > 5,
		len(in.Redirects) == 0 && slices.Contains(in.Grants, "authorization_code"):
		return failed(wrong("invalid_redirect_uri", "There must be 1 to 5 redirect_uris."))
	}
	for _, text := range in.Redirects {
		u := loopback(text)
		if u == nil {
			return failed(wrong("invalid_redirect_uri", "redirect_uris must be http://127.0.0.1/… or "+
				"http://[::1]/…: only clients on the person's own machine register here."))
		}
		c.redirects = append(c.redirects, u)
	}
	s.fresh.put(c.id, c)
	return asJSON(http.StatusCreated, map[string]any{
		"client_id": c.id, "client_id_issued_at": time.Now().Unix(), "client_name": c.name,
		"redirect_uris": append([]string{}, in.Redirects...), "grant_types": in.Grants,
		"response_types": []string{"code"}, "token_endpoint_auth_method": "none",
	})
}

// plainName is the name of a stranger's client, as people may see it.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) { // what steers a terminal, is invisible, or turns text around
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 40 {
		name = string(runes[:40]) + "…"
	}
	if strings.TrimSpace(name) == "" {
		return "A client without a name"
	}
	return name
}

// clientOf returns a client by its id, or nil.
func (s *server) clientOf(id string) *client {
	if c, ok := s.clients.get(id); ok {
		return c
	}
	c, _ := s.fresh.get(id)
	return c
}

// letIn keeps a client that a person let in longer than what strangers register.
func (s *server) letIn(c *client) {
	s.fresh.drop(c.id)
	s.clients.put(c.id, c)
}

// loopback parses a redirect to this machine (RFC 8252, section 7.3), or returns nil. A name such
// as localhost can be made to lead elsewhere (section 8.3).
func loopback(text string) *url.URL {
	u, err := url.Parse(text)
	if err != nil || len(text) > 500 || u.Scheme != "http" || u.User != nil || u.Opaque != "" ||
		strings.Contains(text, "#") || u.Hostname() != "127.0.0.1" && u.Hostname() != "::1" {
		return nil
	}
	return u
}

// redirectOf returns where a response to the client may go, or nil: it equals one that was
// registered in all but its port (RFC 8252, section 7.3).
func (c *client) redirectOf(text string) *url.URL {
	u := loopback(text)
	if u == nil {
		return nil
	}
	withoutPort := func(u *url.URL) string {
		return net.JoinHostPort(u.Hostname(), "") + u.EscapedPath() + "?" + u.RawQuery
	}
	for _, known := range c.redirects {
		if withoutPort(known) == withoutPort(u) {
			return u
		}
	}
	return nil
}

// scopesOf reads a scope parameter; none is all. All must be scopes of this server.
func scopesOf(text string, of []string) ([]string, error) {
	asked := strings.Fields(text)
	if len(asked) == 0 {
		return of, nil
	}
	for _, scope := range asked {
		if !slices.Contains(of, scope) {
			return nil, wrong("invalid_scope", "The scopes that can be had are %s.",
				strings.Join(of, ", "))
		}
	}
	slices.Sort(asked)
	return slices.Compact(asked), nil
}

// once refuses parameters that are there twice (RFC 6749, section 3.1), and resources that are not
// this one (RFC 8707, section 2).
func (s *server) once(form url.Values) error {
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return wrong("invalid_request", "A parameter is there twice.")
		}
	}
	for _, resource := range form["resource"] {
		if strings.TrimSuffix(resource, "/") != s.issuer {
			return wrong("invalid_target", "The resource must be %s.", s.issuer)
		}
	}
	return nil
}
