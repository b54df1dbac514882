package authserver_test

import (
	"net/http"
	"testing"
)

// BenchmarkSignIn lets a client in by a browser that is known: the page, the person's click with
// its redirect, and the tokens. It takes no time of the person's.
func BenchmarkSignIn(b *testing.B) {
	w := newWorld(b)
	person := w.browser()
	person.code(w.query(nil)) // the browser is known from here on
	for b.Loop() {
		if t, got := w.trade(w.byCode(person.code(w.query(nil)))); t.Access == "" {
			b.Fatalf("the tokens: %d %s", got.StatusCode, got.body)
		}
	}
}

// BenchmarkMetadata reads what says where to log in, and is refused without a token.
func BenchmarkMetadata(b *testing.B) {
	w := newWorld(b)
	for path, status := range map[string]int{"/.well-known/oauth-protected-resource/mcp": http.StatusOK, "/mcp": http.StatusUnauthorized} {
		b.Run(path[1:], func(b *testing.B) {
			for b.Loop() {
				if got := w.do("GET", path, ""); got.StatusCode != status {
					b.Fatal(got.StatusCode)
				}
			}
		})
	}
}
