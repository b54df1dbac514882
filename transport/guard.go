package transport

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
)

// statusGaveUp is the status, in logs only, of a request whose client is gone.
const statusGaveUp = 499

// guard is the middleware in front of every face. It is immutable but for its credentials and its
// warnings, each logged once.
type guard struct {
	next        http.Handler
	o           Options
	log         *slog.Logger
	loopback    bool
	hosts       hostRule
	origins     originRule
	credentials *Credentials
	checks      []check
	ignoring    sync.Once                  // says that tokens do not count
	idOf        func(*http.Request) string // nil: requests get ids of their own
}

// check is one guard. It reports whether it answered the request itself.
type check struct {
	name string
	run  func(w http.ResponseWriter, r *http.Request, in *info) (answered bool)
}

// Guard puts the guards of the contract in front of next.
func Guard(next http.Handler, o Options) http.Handler {
	o = o.withDefaults()
	g := &guard{next: next, o: o, log: o.Log, loopback: isLoopback(o.Listen) && !o.reachedFromElsewhere() && o.Verifier == nil,
		hosts: newHostRule(o), origins: newOriginRule(o),
		credentials: cmp.Or(o.Credentials, &Credentials{})}
	g.credentials.Replace(o.Callers)
	g.checks = []check{
		{"head", g.checkHead},
		{"host", g.checkHost},
		{"origin", g.checkOrigin},
		{"caller", g.checkCaller},
		{"body", g.checkBody},
	}
	return g
}

// ServeHTTP guards one request.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := &info{id: g.newID(r), given: givenID(r), caller: nobody(), started: time.Now(),
		jsonRPC: g.o.speaksRPC(r.URL.Path), public: g.o.PublicURL}
	rec := &recorder{ResponseWriter: w, timeout: g.o.WriteTimeout}
	r = r.WithContext(context.WithValue(r.Context(), infoKey{}, in))
	h := w.Header()
	h["Pagetools-Request-Id"] = []string{in.id}
	h["X-Request-Id"] = []string{cmp.Or(in.given, in.id)}
	h["X-Content-Type-Options"] = nosniff
	defer g.finish(rec, r, in)
	g.guardBody(rec, r)
	for i := range g.checks {
		if g.checks[i].run(rec, r, in) {
			return
		}
	}
	g.next.ServeHTTP(rec, r)
}

func (g *guard) newID(r *http.Request) string {
	if g.idOf != nil {
		return g.idOf(r)
	}
	return rand.Text()
}

// checkHead refuses a request whose first line and header fields are too long. What
// net/http takes out of the fields counts, too.
func (g *guard) checkHead(w http.ResponseWriter, r *http.Request, _ *info) (answered bool) {
	size := len(r.Method) + len(r.RequestURI) + len(r.Host)
	for name := range r.Trailer {
		size += len(name) + len(", ")
	}
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v) + len(": \r\n")
		}
	}
	if size <= maxHeader {
		return false
	}
	w.Header().Set("Connection", "close")
	e := bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
		"The head of the request is longer than %d bytes.", maxHeader)
	WriteErrorAs(w, r, e, http.StatusRequestHeaderFieldsTooLarge, envelope{"error", bodyOf(r, e)})
	return true
}

// nosniff is shared by all replies and never changed.
var nosniff = []string{"nosniff"}

// deny refuses a request that may be an attack, and says so in the log.
func (g *guard) deny(w http.ResponseWriter, r *http.Request, what string, e *bridge.Error) {
	g.log.WarnContext(r.Context(), "ingress: denied", slog.String("check", what),
		slog.String("request", RequestID(r.Context())),
		slog.String("remote", r.RemoteAddr), slog.String("host",
			text.Short(r.Host, 256)), slog.String("origin", text.Short(r.Header.Get("Origin"), 256)))
	WriteError(w, r, e)
}

// finish turns a panic into a reply, and writes the line of the log.
func (g *guard) finish(w *recorder, r *http.Request, in *info) {
	p := recover()
	abort := false
	if p != nil {
		err, _ := p.(error)
		abort = errors.Is(err, http.ErrAbortHandler)
		if !abort {
			g.log.ErrorContext(r.Context(), "request: panic", slog.String("request", in.id),
				slog.String("panic", fmt.Sprint(p)), slog.String("stack", string(debug.Stack())))
			abort = w.status != 0 // half a reply was written: cut it, so that nobody takes it for a whole one
		}
		if !abort {
			WriteError(w, r, bridge.AsError(errPanic))
		}
	}
	g.logRequest(w, r, in)
	if abort {
		panic(http.ErrAbortHandler)
	}
}

var errPanic = errors.New("panic while serving")

func (g *guard) logRequest(w *recorder, r *http.Request, in *info) {
	level, status := slog.LevelDebug, w.status
	if in.gaveUp {
		status = statusGaveUp
	}
	if g.o.Metrics != nil {
		g.o.Metrics.request(status)
	}
	if in.err == nil && !g.log.Enabled(r.Context(), level) {
		return // the usual case
	}
	attrs := make([]slog.Attr, 0, 11)
	attrs = append(attrs, slog.String("request", in.id), slog.String("method", text.Short(r.Method, 256)),
		slog.String("path", text.Short(r.URL.Path, 256)),
		slog.Int("status", status), slog.String("caller", in.caller.Name), slog.Duration("took",
			time.Since(in.started)))
	if in.given != "" {
		attrs = append(attrs, slog.String("given", in.given))
	}
	if e := in.err; e != nil {
		level = slog.LevelInfo
		if status >= http.StatusInternalServerError {
			level = slog.LevelWarn
		}
		attrs = append(attrs, e.Attrs()...)
	}
	g.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// recorder notes the status, keeps a connection from being used again when its
// body was not read, and bounds how long a client may take to read a reply.
type recorder struct {
	http.ResponseWriter
	body    *guardedBody // nil: no body
	closes  bool         // no second request is read from this connection
	status  int
	timeout time.Duration
}

// Unwrap is for http.ResponseController.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// WriteHeader writes the head of the reply, once.
func (w *recorder) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	if status >= http.StatusOK || status == http.StatusSwitchingProtocols {
		w.status = status
		h := w.Header()
		if w.closes || w.body != nil && !w.body.ended.Load() {
			h.Set("Connection", "close")
		}
		// Streams take as long as they take; whole replies are short.
		var deadline time.Time
		if isWhole(h) {
			deadline = time.Now().Add(w.timeout)
		}
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(deadline)
	}
	w.ResponseWriter.WriteHeader(status)
}

func isWhole(h http.Header) bool {
	t := h["Content-Type"]
	return len(t) == 0 || t[0] != "text/event-stream"
}

// Write writes a part of the reply.
func (w *recorder) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

// FlushError sends what was written, for http.ResponseController. The error says that the
// connection is gone.
func (w *recorder) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(w.ResponseWriter).Flush() //nolint:wrapcheck // as Hijack
}

// Hijack hands the connection to a handler that speaks another protocol on it, such as
// WebSocket. The bounds of requests are off from then on.
func (w *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, buffered, err := http.NewResponseController(w.ResponseWriter).Hijack()
	if err == nil {
		w.status = http.StatusSwitchingProtocols
	}
	return c, buffered, err //nolint:wrapcheck // the caller of Hijack knows what it asked for
}

var (
	_ http.Handler  = (*guard)(nil)
	_ http.Hijacker = (*recorder)(nil)
)
