package transport

import (
	"cmp"
	"net/http"
)

// Passed serves requests that another node of a cluster passes on: its guards have judged Host and
// Origin, and given the request the id that idOf returns. Credentials and bodies are checked again, so
// that a node cannot lend a caller rights. It stands beside the [Guard] of the public listener, with
// the same options, and shares its Credentials.
func Passed(next http.Handler, o Options, idOf func(*http.Request) string) http.Handler {
	o = o.withDefaults()
	g := &guard{next: next, o: o, log: o.Log, credentials: cmp.Or(o.Credentials, &Credentials{}), idOf: idOf}
	if g.credentials.now.Load() == nil {
		g.credentials.Replace(o.Callers)
	}
	g.checks = []check{
		{"head", g.checkHead},
		{"caller", g.checkCaller},
		{"body", g.checkBody},
	}
	return g
}
