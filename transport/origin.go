package transport

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// What a page of an allowed origin may send and read.
const (
	corsMethods = "GET, HEAD, POST, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Pagetools-Resume, Idempotency-Key, If-None-Match, X-Request-Id"
	corsExposed = "Pagetools-Resume, ETag, Retry-After, X-Request-Id, Pagetools-Request-Id"
	corsMaxAge  = "600"
)

// originRule says which origins of the operator's list may call.
type originRule struct {
	any    bool
	listed map[string]bool
}

func newOriginRule(o Options) originRule {
	rule := originRule{listed: map[string]bool{}}
	for _, origin := range o.Origins {
		switch {
		case origin == "*":
			rule.any = len(o.Callers) > 0
		case validOrigin(origin):
			rule.listed[strings.ToLower(origin)] = true
		}
	}
	return rule
}

func (rule originRule) empty() bool { return !rule.any && len(rule.listed) == 0 }

func (rule originRule) allows(origin string) bool {
	return validOrigin(origin) && (rule.any || rule.listed[strings.ToLower(origin)])
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
func sameOrigin(origin string, r *http.Request) bool {
	u, err := url.Parse(origin)
	if err != nil || !validOrigin(origin) {
		return false
	}
	theirs, _ := parseHost(u.Host)
	ours, _ := parseHost(r.Host)
	switch strings.ToLower(u.Scheme) {
	case "http":
		return theirs.or80() == ours.or80()
	case "https":
		if theirs.port == "" || theirs.port == "443" {
			return theirs.name == ours.name && (ours.port == "" || ours.port == "443")
		}
		return theirs == ours
	}
	return false
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
	origin := given[0]
	listed := len(given) == 1 && g.origins.allows(origin)
	if !listed && (len(given) > 1 || !sameOrigin(origin, r)) {
		g.deny(w, r, "origin", bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			"Pages of the origin %q may not call pagetools; --cors allows an origin.", bridge.Brief(strings.Join(given, ", "), maxShown)))
		return true
	}
	if !listed {
		return false
	}
	h := w.Header()
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	h.Set("Access-Control-Allow-Methods", corsMethods)
	h.Set("Access-Control-Allow-Headers", corsHeaders)
	h.Set("Access-Control-Max-Age", corsMaxAge)
	w.WriteHeader(http.StatusNoContent)
	return true
}
