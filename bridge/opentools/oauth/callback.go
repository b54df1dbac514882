package oauth

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// back is the address of this machine to which the browser comes back (RFC 8252 7.3).
type back struct {
	redirect string
	server   *http.Server
	answers  chan url.Values

	mu    sync.Mutex
	state string // "" before it is known, and after it was used
}

// listen begins to wait at a random port.
func listen(ctx context.Context) (*back, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for the browser: %w", err)
	}
	b := &back{redirect: "http://" + l.Addr().String() + "/callback",
		answers: make(chan url.Values, 1)}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 5 * time.Second, MaxHeaderBytes: 16 << 10}
	go func() { _ = b.server.Serve(l) }() // ends with close
	return b, nil
}

// close lets the last page be sent.
func (b *back) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if b.server.Shutdown(ctx) != nil {
		_ = b.server.Close()
	}
}

func (b *back) expect(state string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.state = state
}

// take reports whether a state is the awaited one. Each state is accepted once.
func (b *back) take(state string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.state == "" || subtle.ConstantTimeCompare([]byte(b.state), []byte(state)) != 1 {
		return false
	}
	b.state = ""
	return true
}

// ServeHTTP implements http.Handler. A request without the state is not the answer that is waited
// for: any page can make one.
func (b *back) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cache-Control", "no-store")
	h.Set("Connection", "close")
	query, err := url.ParseQuery(r.URL.RawQuery)
	if r.Method != http.MethodGet || r.URL.Path != "/callback" ||
		"http://"+r.Host+"/callback" != b.redirect ||
		err != nil || !once(query) || !b.take(query.Get("state")) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, page("This is not the login that pagetools waits for."))
		return
	}
	b.answers <- query
	_, _ = io.WriteString(w,
		page("You can close this page. pagetools says in its terminal whether you are logged in."))
}

// once reports whether no parameter is there twice (RFC 6749 3.1).
func once(query url.Values) bool {
	for _, values := range query {
		if len(values) != 1 {
			return false
		}
	}
	return true
}

func page(text string) string {
	return "<!doctype html><html lang=en><title>pagetools</title><p>" + text + "\n"
}

func (b *back) wait(ctx context.Context, s *server) (Secret, error) {
	var answer url.Values
	select {
	case answer = <-b.answers:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	code := Secret(answer.Get("code"))
	// The answer must be of the server that was asked (RFC 9207 2.4): another one could be given
	// its code.
	iss := answer.Get("iss")
	switch {
	case iss == "" && s.SendsIss:
		return "", errors.New("the answer does not say of which authorization server it is, which " +
			"that server promised: the login is refused")
	case iss != "" && s.Issuer != "" && iss != s.Issuer,
		iss != "" && s.Issuer == "" && origin.Of(iss) != s.issuer: // only its endpoints are known
		return "", fmt.Errorf("the answer is of another authorization server, %q, and not of %q: the "+
			"login is refused", clean(iss, 200, code), clean(s.issuer, 200))
	case answer.Has("error"):
		return "", &failure{clean(answer.Get("error"), 64, code),
			clean(answer.Get("error_description"), 200, code)}
	case code == "" || !isVisible(string(code), maxSecret):
		return "", errors.New("the authorization server sent the browser back without a code")
	}
	return code, nil
}
