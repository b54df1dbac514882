package transport

import (
	"net/http"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Readiness is the report of /readyz.
type Readiness struct {
	// Ready is true when we listen, the browser runs, and every site was opened
	// or failed once.
	Ready bool
	// Draining is true when calls are refused, because the process is about to end.
	Draining bool
	// Browser says, in a safe sentence, why there is no browser; empty when there is one, or
	// one is being started.
	Browser string
	// Sites says how each site is, by name. Callers see only their own. A request
	// without a credential sees none where the listener has callers.
	Sites map[string]string
	// NextTry says when sites are tried again that cannot be reached, for the callers that see
	// them.
	NextTry map[string]time.Time
	// Findings lists the faults of sites' pages by the site's name, for the callers that see it.
	Findings map[string][]bridge.Finding
	// Audit says why calls cannot be recorded now, so that those that may change
	// something are refused; empty when they can.
	Audit string
}

// Health returns the routes /healthz, which always answers, and /readyz. ready is
// called for each request, and must not block.
func Health(ready func() Readiness) []Route {
	return []Route{
		Get("/healthz", healthz),
		Get("/readyz", func(w http.ResponseWriter, r *http.Request) { readyz(w, r, ready()) }),
	}
}

func healthz(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	WriteBytes(w, r, http.StatusOK, []byte(`{"status":"ok"}`))
}

func readyz(w http.ResponseWriter, r *http.Request, now Readiness) {
	caller := CallerOf(r.Context())
	sites, next, findings := map[string]string{}, map[string]string{}, map[string][]bridge.Finding{}
	for name, state := range now.Sites {
		if !caller.Sees(name) {
			continue
		}
		sites[name] = state
		if at, down := now.NextTry[name]; down {
			next[name] = at.UTC().Format(time.RFC3339)
		}
		if all := now.Findings[name]; len(all) > 0 {
			findings[name] = all[:min(len(all), maxFindings)]
		}
	}
	code, word := http.StatusOK, "ok"
	switch {
	case now.Draining:
		code, word = http.StatusServiceUnavailable, "draining"
	case now.Browser != "":
		code, word = http.StatusServiceUnavailable, "no browser"
	case !now.Ready:
		code, word = http.StatusServiceUnavailable, "starting"
	case now.Audit != "": // what only reads still runs
		word = "degraded"
	}
	w.Header().Set("Cache-Control", "no-store")
	WriteJSON(w, r, code, struct {
		Status   string                      `json:"status"`
		Browser  string                      `json:"browser,omitempty"`
		Sites    map[string]string           `json:"sites"`
		NextTry  map[string]string           `json:"nextTry,omitempty"`
		Findings map[string][]bridge.Finding `json:"findings,omitempty"`
		Audit    string                      `json:"audit,omitempty"`
	}{word, now.Browser, sites, next, findings, now.Audit})
}

// Waiting returns a handler for a process that cannot serve yet: it answers that it lives and is not
// ready, and ends everything else with e.
func Waiting(e *bridge.Error) http.Handler {
	health := NewMux(Health(func() Readiness { return Readiness{} })...)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open[strings.TrimSuffix(r.URL.Path, "/")] {
			health.ServeHTTP(w, r)
			return
		}
		WriteError(w, r, e)
	})
}

// maxFindings bounds those of a site that are told.
const maxFindings = 10
