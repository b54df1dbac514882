package oauth

import (
	"net/http"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/transport"
)

// metadata is the resource as RFC 9728 has it.
type metadata struct {
	Resource string   `json:"resource"`
	Servers  []string `json:"authorization_servers"`
	Scopes   []string `json:"scopes_supported,omitempty"`
	Methods  []string `json:"bearer_methods_supported"`
	Name     string   `json:"resource_name"`
}

// Routes are the paths of the metadata: of the whole server, and of those below it that clients
// name as a resource. A site that is not there is answered like one that is.
func (v *Verifier) Routes() []transport.Route {
	var all []transport.Route
	for _, of := range []string{"", "/mcp", "/mcp/{site}", "/webtools/{site}"} {
		all = append(all, transport.Get(transport.ResourceMetadata+of, v.describe))
	}
	return all
}

func (v *Verifier) describe(w http.ResponseWriter, r *http.Request) {
	m := metadata{Methods: []string{"header"}, Name: "pagetools",
		Resource: v.o.Public + strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), transport.ResourceMetadata), "/")}
	for _, s := range v.sources() {
		m.Servers = append(m.Servers, s.URL)
	}
	if v.o.Own != nil {
		m.Servers = append(m.Servers, v.o.Own.Issuer())
	}
	m.Scopes = strings.Fields(v.scopes())
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "max-age=300")
	transport.WriteJSON(w, r, http.StatusOK, m)
}

// Challenge says where to log in, for a request without a token.
func (v *Verifier) Challenge(r *http.Request) string { return v.challenge(r, "", v.scopes()) }

func (v *Verifier) challenge(r *http.Request, problem, scopes string) string {
	at := strings.TrimSuffix(r.URL.EscapedPath(), "/")
	if at != "/mcp" && siteOf(at) == "" || len(at) > maxName {
		at = ""
	}
	said := `Bearer resource_metadata="` + v.o.Public + transport.ResourceMetadata + at + `"`
	if problem != "" {
		said += ", " + problem
	}
	if scopes != "" {
		said += `, scope="` + scopes + `"`
	}
	return said
}

// scopes lists the scopes that tokens need, of whatever issuer.
func (v *Verifier) scopes() string {
	var all []string
	for _, s := range v.sources() {
		all = append(all, strings.Fields(s.Scope)...)
	}
	if v.o.Own != nil {
		all = append(all, strings.Fields(v.o.Own.Scopes())...)
	}
	var once []string
	for _, one := range all {
		if !slices.Contains(once, one) {
			once = append(once, one)
		}
	}
	return strings.Join(once, " ")
}
