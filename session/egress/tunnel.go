package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// verbatim undoes what httputil takes out of a request for servers behind it.
func verbatim(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if all := r.In.Header[name]; all != nil {
			r.Out.Header[name] = all
		}
	}
}

// answerError answers a request whose connection failed. What is refused gets a page that says
// so. Else the connection just ends, so that a page's request fails as it would without a proxy,
// unless it may have arrived and changed something: the browser could repeat it.
func (g *Grant) answerError(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		say(w, http.StatusForbidden, refused.Error()+".")
		return
	}
	op, ok := errors.AsType[*net.OpError](err)
	gone := r.Context().Err() != nil
	if !gone {
		g.remember(net.JoinHostPort(origin.HostPort(r.URL)), err)
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if ok && op.Op == "dial" && r.Method != http.MethodConnect || reads || gone {
		panic(http.ErrAbortHandler)
	}
	say(w, http.StatusBadGateway, "The site did not answer.")
}

// say answers with a sentence.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// tunnel connects the browser with a host, and knows nothing of what they say.
func (g *Grant) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err == nil {
		err = g.literal(host, port)
	}
	var far net.Conn
	if err == nil {
		far, err = g.reachFar(r.Context(), r.Host)
	}
	if err != nil {
		g.answerError(w, r, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		say(w, http.StatusInternalServerError, "The connection cannot be taken over.")
		return
	}
	defer near.Close()
	_ = near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	stop := context.AfterFunc(g.life, func() { _ = near.Close(); _ = far.Close() })
	defer stop()
	done := make(chan struct{})
	go func() { // ends with either connection
		defer close(done)
		relay(far, buffered.Reader)
	}()
	relay(near, far)
	<-done
}

// relay copies until the source ends, and tells the sink.
func relay(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}
