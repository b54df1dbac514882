package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/transport"
)

// TestFront: who cannot serve yet says so, and serves from then on; news of the engine that come late end
// nothing.
func TestFront(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(l, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { _ = f.Close(); <-f.failed })
	is := func(why string, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/webtools", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = got.Body.Close() }()
		if body, _ := io.ReadAll(got.Body); got.StatusCode != status {
			t.Errorf("%s: %d %s", why, got.StatusCode, body)
		}
	}
	guards := transport.Options{Listen: l.Addr().String()}
	f.wait(guards)
	is("it waits", http.StatusServiceUnavailable)
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	is("it serves", http.StatusOK)
	f.wait(guards)
	is("late news", http.StatusOK)
}
