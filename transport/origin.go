package transport

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// What a page of an allowed origin may send and read.
const (
	corsMethods = "GET, HEAD, POST, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Pagetools-Resume, Idempotency-Key, If-None-Match, Prefer, X-Request-Id, " +
		"MCP-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Last-Event-ID"
	corsExposed = "Pagetools-Resume, ETag, Retry-After, Location, Preference-Applied, X-Request-Id, Pagetools-Request-Id, " +
		"MCP-Protocol-Version, Mcp-Session-Id, WWW-Authenticate, Allow"
	corsMaxAge = "600"
)

// originRule says which origins of the operator's list may call.
type originRule struct {
	any    bool
	listed map[string]bool
}

func newOriginRule(o Options) originRule {
	rule := originRule{listed: map[string]bool{}}
	for _, allowed := range o.Origins {
		switch {
		case allowed == "*":
			rule.any = len(o.Callers) > 0 || o.Verifier != nil
		case validOrigin(allowed):
			rule.listed[origin.Of(allowed)] = true
		}
	}
	if _, ok := publicHost(o.PublicURL); ok {
		rule.listed[o.PublicURL] = true
	}
	return rule
}

func (rule originRule) empty() bool { return !rule.any && len(rule.listed) == 0 }

func (rule originRule) allows(given string) bool {
	return validOrigin(given) && (rule.any || rule.listed[origin.Of(given)])
}

// validOrigin accepts scheme://host[:port] and nothing else; not "null".
func validOrigin(s string) bool {
	u, err := url.Parse(s)
	if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil ||
		!strings.EqualFold(u.Scheme+"://"+u.Host, s) {
		return false
	}
	_, ok := parseHost(u.Host)
	return ok
}

// sameOrigin reports whether the origin is the host that the request came to. A proxy
// may have ended TLS, so https counts too.
func sameOrigin(given string, r *http.Request) bool {
	return validOrigin(given) &&
		(origin.Same(given, "http://"+r.Host) || origin.Same(given, "https://"+r.Host))
}

// checkOrigin refuses pages of foreign origins, and answers preflights of
// allowed ones.
func (g *guard) checkOrigin(w http.ResponseWriter, r *http.Request, _ *info) (answered bool) {
	if !g.origins.empty() {
		w.Header().Add("Vary", "Origin")
	}
	given := r.Header.Values("Origin")
	if len(given) == 0 {
		return false
	}
	switch path := strings.TrimSuffix(r.URL.EscapedPath(), "/"); {
	case g.isMetadata(path):
		return forAllPages(w, r, "GET, HEAD", "MCP-Protocol-Version")
	case slices.Contains(g.o.ForPages, path):
		return forAllPages(w, r, "GET, HEAD, POST", "Content-Type, MCP-Protocol-Version")
	}
	from := given[0]
	listed := len(given) == 1 && g.origins.allows(from)
	if !listed && (len(given) > 1 || !sameOrigin(from, r)) {
		g.deny(w, r, "origin", bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			g.o.Words.Of("Pages of the origin %q may not call pagetools."),
			text.Brief(strings.Join(given, ", "), maxShown)))
		return true
	}
	if !listed {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", from)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders+paramHeaders(r))
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// forAllPages lets pages of every origin use a path that answers everybody alike, with these
// methods and headers.
func forAllPages(w http.ResponseWriter, r *http.Request, methods, headers string) (answered bool) {
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", "*")
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", methods)
	h.Set("Access-Control-Allow-Headers", headers)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}

// paramHeader is the form of the headers in which clients of MCP repeat arguments.
var paramHeader = regexp.MustCompile(`(?i)^Mcp-Param-[A-Za-z0-9_-]{1,128}$`)

// paramHeaders lists those that a preflight asks for, as the end of a list.
func paramHeaders(r *http.Request) (list string) {
	for name := range strings.SplitSeq(strings.Join(r.Header.Values("Access-Control-Request-Headers"), ","), ",") {
		if name = strings.TrimSpace(name); paramHeader.MatchString(name) {
			list += ", " + name
		}
	}
	return list
}
