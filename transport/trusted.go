package transport

import (
	"net/http"

	"github.com/pagetools/pagetools/bridge"
)

// Trusted serves next to one caller: on a listener that only its user can reach,
// such as a socket in a folder of theirs. It stands in the place of [Guard], and
// keeps the guards of bodies and of panics; there is no Host and no Origin to
// check, and no credential.
func Trusted(next http.Handler, caller bridge.Caller, o Options) http.Handler {
	o = o.withDefaults()
	g := &guard{next: next, o: o, log: o.Log, origins: newOriginRule(o)}
	g.checks = []check{
		{"caller", func(_ http.ResponseWriter, _ *http.Request, in *info) bool {
			in.caller, in.credentials = caller, true
			return false
		}},
		{"body", g.checkBody},
	}
	return g
}
