package e2e

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/check"
	"github.com/pagetools/pagetools/e2e/scenario"
)

// Effects lists what a call touched: requests of the page, its frames and workers, what it wrote,
// where it went, windows and downloads. GET and HEAD requests change nothing, and count only where
// an [Effect] names them; cookies that a response sets are the server's doing. They belong to the
// test that asked for them.
type Effects struct {
	t      testing.TB
	result *Result
	got    check.Effects
}

// Effects waits until the page did nothing for 100 ms, at most for three seconds, and returns what
// the call touched. What the page does by itself does not count: what it did before its first call,
// and what another page of its path does that is opened for that and left alone, until it is as old
// as this one, at most for five seconds. Ask before the next call of the page.
func (r *Result) Effects(tb testing.TB) *Effects {
	tb.Helper()
	got, err := r.called.Effects(tb.Context())
	if err != nil {
		tb.Fatalf("the effects of the call: %s", plain(err))
	}
	return &Effects{t: tb, result: r, got: *got}
}

// Effect is one thing that a call may touch. Addresses are paths of the app, such as "/orders",
// which match with any query, or whole URLs; "" is any address.
type Effect struct{ kind, method, at string }

// POST is a POST request to an address.
func POST(at string) Effect { return Request("POST", at) }

// Request is a request with a method, such as "DELETE", to an address.
func Request(method, at string) Effect { return Effect{"network", method, at} }

// Storage is something written to an area: "cookie", "localStorage", "sessionStorage", "indexedDB"
// or "cache".
func Storage(area string) Effect { return Effect{kind: "storage", at: area} }

// Navigation is another document in the page, also one that a form was sent to.
func Navigation(at string) Effect { return Effect{kind: "navigation", at: at} }

// Window is a window that was opened.
func Window(at string) Effect { return Effect{kind: "windows", at: at} }

// Download is a download, which the browser refuses.
func Download(at string) Effect { return Effect{kind: "downloads", at: at} }

// None fails the test when the call touched anything.
func (e *Effects) None() {
	e.t.Helper()
	e.Only()
}

// Only fails the test when the call touched anything else, or did not touch one of these. How often
// does not count.
func (e *Effects) Only(allowed ...Effect) {
	e.t.Helper()
	want := scenario.Effects{Network: &scenario.Touched{}, Storage: &scenario.Touched{},
		Navigation: &scenario.Touched{}, Windows: &scenario.Touched{}, Downloads: &scenario.Touched{}}
	lists := map[string]*scenario.Touched{"network": want.Network, "storage": want.Storage,
		"navigation": want.Navigation, "windows": want.Windows, "downloads": want.Downloads}
	for _, x := range allowed {
		list := lists[x.kind]
		if list == nil {
			e.t.Fatal("an Effect says nothing: use POST, Request, Storage, Navigation, Window or Download")
		}
		v, err := x.expected(e.result.page.app.stand.Origin())
		if err != nil {
			e.t.Fatalf("an Effect cannot be read: %s", plain(err))
		}
		list.Items = append(list.Items, v)
	}
	if m := want.Match(e.got); m != nil {
		e.t.Error(textOf(e.result.called.Mismatch(e.t.Context(), m)))
	}
}

// expected returns a matcher of the effect, as scenario files write it.
func (x Effect) expected(origin string) (scenario.Value, error) {
	var at any = x.at
	switch {
	case x.kind == "storage":
	case x.at == "":
		at = map[string]any{"$any": true}
	case strings.HasPrefix(x.at, "/") && !strings.ContainsAny(x.at, "?#"):
		at = map[string]any{"$pattern": "^" + regexp.QuoteMeta(origin+x.at) + "([?#].*)?$"}
	case strings.HasPrefix(x.at, "/"):
		at = origin + x.at
	}
	if text, ok := at.(string); ok {
		at = strings.ReplaceAll(text, "${", "$${") // no reference
	}
	if x.kind == "network" {
		at = map[string]any{"method": strings.ToUpper(x.method), "url": at}
	}
	text, err := json.Marshal(at)
	if err != nil {
		return scenario.Value{}, err
	}
	return scenario.Expected(text)
}
