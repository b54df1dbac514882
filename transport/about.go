package transport

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// AboutPaths are the paths of About, for Options.Open: what they say without a credential is the
// same of every pagetools.
var AboutPaths = []string{"", "/llms.txt"}

// About returns the routes / and /llms.txt: what this server is, and where to go on, for people and
// agents that have nothing but its address. Only a caller with a credential is told of its sites.
func About(sites func(bridge.Caller) []bridge.Site) []Route {
	known := func(r *http.Request) []bridge.Site {
		if !HasCredentials(r.Context()) {
			return nil
		}
		return sites(CallerOf(r.Context()))
	}
	return []Route{
		Get("/", func(w http.ResponseWriter, r *http.Request) { about(w, r, known(r)) }),
		Get("/llms.txt", func(w http.ResponseWriter, r *http.Request) { aboutForModels(w, known(r)) }),
	}
}

// aboutSite is a site, and where its tools are.
type aboutSite struct {
	Name    string `json:"name"`
	Webtool string `json:"webtool"`
	MCP     string `json:"mcp"`
}

func about(w http.ResponseWriter, r *http.Request, known []bridge.Site) {
	var sites []aboutSite
	for _, s := range known {
		name := url.PathEscape(s.Name)
		sites = append(sites, aboutSite{s.Name, "/webtools/" + name, "/mcp/" + name})
	}
	w.Header().Set("Cache-Control", "no-cache")
	WriteJSON(w, r, http.StatusOK, struct {
		Name     string      `json:"name"`
		About    string      `json:"about"`
		Webtools string      `json:"webtools"`
		MCP      string      `json:"mcp"`
		OpenAPI  string      `json:"openapi"`
		LLMs     string      `json:"llms"`
		Ready    string      `json:"ready"`
		Sites    []aboutSite `json:"sites,omitempty"`
	}{"pagetools", "Tools of web applications, for agents.", "/webtools", "/mcp", "/openapi.json", "/llms.txt", "/readyz", sites})
}

const llmsText = `# pagetools

> Tools of web applications, for agents: over MCP, as webtools over plain HTTP, and as an API with an OpenAPI document.

A server that has credentials wants one with each request: ` + "`Authorization: Bearer TOKEN`" + `. Error replies have an
` + "`outcome`" + `: ` + "`not_run`" + ` may be repeated, ` + "`unknown`" + ` must not be repeated blindly. A call that needs a
person's consent says so; an agent never answers for its person.

## Use it

- [MCP](/mcp): Streamable HTTP, all sites together; ` + "`/mcp/SITE`" + ` is one of them
- [Webtools](/webtools): the sites and their tools; ` + "`GET /webtools/SITE`" + ` describes the actions of one with JSON
  Schemas, and ` + "`POST`" + ` of ` + "`{\"action\":NAME,\"request\":{…}}`" + ` runs one
- [OpenAPI](/openapi.json): an operation for each tool
- [Readiness](/readyz): whether the server takes calls
`

func aboutForModels(w http.ResponseWriter, known []bridge.Site) {
	text := llmsText
	if len(known) > 0 {
		var b strings.Builder
		for _, s := range known {
			fmt.Fprintf(&b, "- [%s](/webtools/%s)\n", s.Name, url.PathEscape(s.Name))
		}
		text += "\n## Sites\n\n" + b.String()
	}
	h := w.Header()
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Type", "text/markdown; charset=utf-8")
	h["X-Content-Type-Options"] = nosniff
	_, _ = w.Write([]byte(text)) // a client that is gone needs nothing; the server drops the body of a HEAD itself
}
