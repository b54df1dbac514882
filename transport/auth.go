package transport

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
)

// open are the paths that need no credential: a supervisor has none.
var open = map[string]bool{"/healthz": true, "/readyz": true}

// checkCaller finds out who calls. A credential in the URL does not count: URLs
// are logged.
func (g *guard) checkCaller(w http.ResponseWriter, r *http.Request, in *info) (answered bool) {
	callers := g.credentials.now.Load()
	in.credentials = callers.required || g.o.Verifier != nil
	if !in.credentials && g.loopback {
		in.caller = callers.local
		if _, given := bearer(r); given {
			g.ignoresTokens(r)
		}
		return false
	}
	token, given := bearer(r)
	caller, ok := callers.find(token)
	if given && ok {
		in.caller = caller
		return false
	}
	if given && g.o.Tokens != nil {
		caller, found, err := g.o.Tokens(r, token)
		switch {
		case err != nil:
			g.deny(w, r, "credential", bridge.AsError(err))
			return true
		case found:
			in.caller = caller
			return false
		}
	}
	if path := strings.TrimSuffix(r.URL.EscapedPath(), "/"); open[path] ||
		slices.Contains(g.o.Open, path) || g.isMetadata(path) {
		return false
	}
	if given && g.o.Verifier != nil {
		return g.verify(w, r, in, token)
	}
	if !given {
		challenge := "Bearer"
		if g.o.Verifier != nil {
			challenge = g.o.Verifier.Challenge(r)
		}
		w.Header().Set("WWW-Authenticate", challenge)
		g.deny(w, r, "credential", bridge.Errorf(bridge.Unauthorized, "", bridge.NotRun,
			"A credential is needed: Authorization: Bearer TOKEN."))
		return true
	}
	code := bridge.Forbidden
	if g.o.speaksRPC(r.URL.Path) { // MCP's authorization has one status for both
		code = bridge.Unauthorized
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	g.deny(w, r, "credential", bridge.Errorf(code, "", bridge.NotRun,
		"This credential is not known here: send one that the operator gave out."))
	return true
}

// ignoresTokens says in the log, once, that tokens do not count: who sends one expects that it
// is needed.
func (g *guard) ignoresTokens(r *http.Request) {
	g.ignoring.Do(func() {
		g.log.WarnContext(r.Context(), "ingress: a request has a token, which does not count, because "+
			g.o.Words.Of("no callers are configured"))
	})
}

// TokenProtocol begins the subprotocol that carries a token in base64url (RFC
// 4648, 5, without padding): a page cannot send an Authorization header with a WebSocket.
const TokenProtocol = "pagetools.bearer."

func bearer(r *http.Request) (token string, ok bool) {
	values := r.Header.Values("Authorization")
	if len(values) == 0 && strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		return offered(r)
	}
	if len(values) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// offered returns the token among the subprotocols that a WebSocket offers.
func offered(r *http.Request) (token string, ok bool) {
	for _, line := range r.Header.Values("Sec-WebSocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			encoded, is := strings.CutPrefix(strings.TrimSpace(name), TokenProtocol)
			if !is {
				continue
			}
			text, err := base64.RawURLEncoding.DecodeString(encoded)
			if ok || err != nil || len(text) == 0 {
				return "", false
			}
			token, ok = string(text), true
		}
	}
	return token, ok
}
