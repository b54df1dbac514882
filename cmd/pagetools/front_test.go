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
// nothing. What serves no more replies to the requests that it has.
func TestFront(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := newFront(l, slog.New(slog.DiscardHandler))
	t.Cleanup(func() { f.end(); <-f.failed })
	is := func(why string, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+l.Addr().String()+"/webtools", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer a-token-of-an-issuer")
		got, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = got.Body.Close() }()
		if body, _ := io.ReadAll(got.Body); got.StatusCode != status {
			t.Errorf("%s: %d %s", why, got.StatusCode, body)
		}
	}
	guards := transport.Options{Listen: l.Addr().String(), Verifier: &issuers{}} // which has not begun
	f.wait(guards)
	is("it waits", http.StatusServiceUnavailable)
	runs, ends := make(chan struct{}), make(chan struct{})
	f.serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/runs" {
			close(runs)
			<-ends
		}
		w.WriteHeader(http.StatusOK)
	}))
	is("it serves", http.StatusOK)
	f.wait(guards)
	is("late news", http.StatusOK)

	replied := make(chan int, 1)
	go func() {
		defer close(replied)
		if got, err := http.Get("http://" + l.Addr().String() + "/runs"); err == nil {
			_ = got.Body.Close()
			replied <- got.StatusCode
		}
	}()
	select {
	case <-runs:
	case status := <-replied:
		t.Fatalf("it does not run: %d", status)
	}
	f.takeNoMore()
	if c, err := net.Dial("tcp", l.Addr().String()); err == nil {
		_ = c.Close()
		t.Error("it takes connections")
	}
	close(ends)
	if status := <-replied; status != http.StatusOK {
		t.Errorf("the request that was there ends with %d", status)
	}
}
