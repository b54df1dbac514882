package oauth

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// within runs f, which must end in time.
func inTime(t *testing.T, what string, f func()) {
	t.Helper()
	over := make(chan struct{})
	go func() {
		defer close(over)
		f()
	}()
	select {
	case <-over:
	case <-time.After(time.Minute):
		t.Errorf("%s: it does not end", what)
	}
}

// TestSlowRenewal: a caller waits for a renewal as long as it has time; what was begun is saved for
// others.
func TestSlowRenewal(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	wants(t, "the login", w.try(t), "")
	w.spoil(t, expire)
	before, may := f.count("/token"), make(chan struct{})
	f.answer = func(rw http.ResponseWriter, form url.Values) {
		<-may
		f.give(rw, form)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	inTime(t, "a server that does not answer", func() {
		r, _ := http.NewRequestWithContext(ctx, http.MethodGet, w.api.URL, nil)
		if err := w.keeper.Sign(ctx, w.target, r); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("without a token: %v", err)
		}
	})
	close(may)
	r, _ := http.NewRequest(http.MethodGet, w.api.URL, nil)
	if err := w.keeper.Sign(t.Context(), w.target, r); err != nil || r.Header.Get("Authorization") != "Bearer access-2" || f.count("/token") != before+1 {
		t.Errorf("afterwards: %v, %q, %d requests", err, r.Header.Get("Authorization"), f.count("/token")-before)
	}
}

// TestSwitched: a server that switches to another protocol, and then says nothing, holds nobody.
func TestSwitched(t *testing.T) {
	t.Parallel()
	w, f := newFakeWorld(t)
	over := make(chan struct{})
	switches := func(rw http.ResponseWriter) {
		conn, _, err := http.NewResponseController(rw).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n")
		<-over
		_ = conn.Close()
	}
	wants(t, "the login", w.try(t), "")
	f.answer = func(rw http.ResponseWriter, _ url.Values) { switches(rw) }
	inTime(t, "the token endpoint", func() { wants(t, "the token endpoint", w.try(t), "101") })
	f.answer = nil
	f.seen = map[string]func(http.ResponseWriter, *http.Request){"/other": func(rw http.ResponseWriter, _ *http.Request) { switches(rw) }}
	f.says["registration_endpoint"] = f.URL + "/other"
	inTime(t, "the registration endpoint", func() { wants(t, "the registration endpoint", w.try(t), "101") })
	close(over)
}
