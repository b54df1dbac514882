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
// so. Else the request fails in the page as it would without a proxy: the connection just ends, or,
// where the request may have arrived and changed something, so that the browser could repeat it, an
// answer comes that no browser takes. A tunnel has an answer of its own.
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
	tunnels := r.Method == http.MethodConnect
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if ok && op.Op == "dial" && !tunnels || reads || gone {
		panic(http.ErrAbortHandler)
	}
	if tunnels {
		say(w, http.StatusBadGateway, "The site did not answer.")
		return
	}
	near, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer near.Close()
	_, _ = io.WriteString(near, noAnswer)
	if half, ok := near.(*net.TCPConn); ok { // what is unread would keep the answer from arriving
		_ = half.CloseWrite()
		_ = half.SetReadDeadline(time.Now().Add(lingerTime))
		_, _ = io.Copy(io.Discard, half)
	}
}

// lingerTime bounds the wait for the rest of a request that is answered already.
const lingerTime = 500 * time.Millisecond

// noAnswer is the response to a request that the site did not answer: it has two lengths, so that
// clients take it for a fault of the network, and send the request once.
const noAnswer = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nContent-Length: 1\r\n\r\n"

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
	if !g.until.IsZero() {
		over := time.AfterFunc(time.Until(g.until), func() { _ = near.Close(); _ = far.Close() })
		defer over.Stop()
	}
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
