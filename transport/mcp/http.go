package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// headerSession is the header of sessions of older protocol versions.
const headerSession = "Mcp-Session-Id"

// sessionNotFound is the code of a session that is not there (the older
// specifications have the status only).
const sessionNotFound = -32001

func noSuchSession() *rpcError {
	return rpcErrorf(sessionNotFound, "There is no such session. Begin with initialize.")
}

// maxSessionName bounds what ?session= may be.
const maxSessionName = 128

// scopeOf returns what the endpoint offers to the caller. It is false after it has
// answered.
func (f *Face) scopeOf(w http.ResponseWriter, r *http.Request) (scope, bool) {
	sc := scope{caller: transport.CallerOf(r.Context()), site: r.PathValue("site"),
		session: defaultSession}
	if given := r.URL.Query()["session"]; len(given) > 0 {
		if len(given) > 1 || given[0] == "" || len(given[0]) > maxSessionName {
			transport.WriteError(w, r, bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
				"session must be one name of 1 to %d bytes.", maxSessionName))
			return sc, false
		}
		sc.session = given[0]
	}
	if sc.site != "" && len(f.sites(sc)) == 0 {
		transport.WriteError(w, r, bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"There is no site %q here; /mcp has the tools of all sites.", text.Brief(sc.site, maxSessionName)))
		return sc, false
	}
	return sc, true
}

// post takes one message.
func (f *Face) post(w http.ResponseWriter, r *http.Request) {
	sc, ok := f.scopeOf(w, r)
	if !ok {
		return
	}
	body, err := transport.ReadBody(r)
	if err != nil {
		transport.WriteError(w, r, bridge.AsError(err))
		return
	}
	if isBatch(body) {
		f.postBatch(w, r, sc, body)
		return
	}
	m, failed := readMessage(body)
	if failed != nil {
		f.refuse(w, r, http.StatusBadRequest, m.id, failed)
		return
	}
	version := versions(r)[0]
	id := r.Header.Get(headerSession)
	session := f.sessions.find(r.Context(), id, sc)
	x := f.exchange(r, sc, m, nil, nil)
	x.protocol = protocol(version)
	switch {
	case mcpgo.IsModernProtocol(m.meta.version), mcpgo.IsModernProtocol(version) &&
		session == nil && m.method != string(mcpgo.MethodInitialize) && !m.isReply():
		if e := checkModern(r, m, version); e != nil {
			f.refuse(w, r, http.StatusBadRequest, m.id, e)
			return
		}
		session = nil
	case m.method == string(mcpgo.MethodInitialize):
		if version, can, e := m.handshake(); e == nil { // else the reply says what is wrong
			session = f.sessions.open(sc, version, can)
			w.Header().Set(headerSession, session.id)
		}
	case id != "" && session == nil:
		f.refuse(w, r, http.StatusNotFound, m.id, noSuchSession())
		return
	case version != "" && !mcpgo.IsValidProtocolVersion(version):
		f.refuse(w, r, http.StatusBadRequest, m.id,
			badRequest("Protocol version %q is not supported. Supported are %s.", text.Brief(version, maxSessionName),
				strings.Join(mcpgo.ValidProtocolVersions, ", ")))
		return
	}
	if session != nil {
		x.peer = session.peer
		x.protocol, x.can = session.client()
	}
	f.answer(w, r, x)
}

// exchange is a request of the client of a session, or of none.
func (f *Face) exchange(r *http.Request, sc scope, m *message, p *peer, out stream) *exchange {
	x := &exchange{face: f, scope: sc, message: m, peer: p, out: out, id: transport.RequestID(r.Context()),
		remote: !transport.IsLocal(r)}
	if p != nil {
		x.protocol, x.can = p.client()
	}
	return x
}

// versions lists the protocol versions of the header. Some clients send theirs twice.
func versions(r *http.Request) []string {
	all := strings.Split(strings.Join(r.Header.Values(mcpgo.HeaderProtocolVersion), ","), ",")
	for i, v := range all {
		all[i] = strings.TrimSpace(v)
	}
	return all
}

// differ reports whether some values are not one: who routes by another of them takes the request for
// another one than we do.
func differ(all []string) bool {
	return slices.ContainsFunc(all, func(v string) bool { return v != all[0] })
}

// checkModern holds the headers of a request of 2026-07-28 against its body.
func checkModern(r *http.Request, m *message, version string) *rpcError {
	switch {
	case m.isReply():
		return badRequest("This is not a request: nothing was asked.")
	case m.meta.version == "" && m.id == nil:
		return nil // a notification needs no _meta
	case m.meta.version == "":
		return badParams("_meta needs %s.", mcpgo.MetaKeyProtocolVersion)
	case version != m.meta.version || differ(versions(r)):
		return rpcErrorf(mcpgo.HEADER_MISMATCH,
			"The header %s is not what the body says: send the same in both.", mcpgo.HeaderProtocolVersion)
	case !mcpgo.IsValidProtocolVersion(m.meta.version):
		return unsupported(m.meta.version)
	case m.id == nil:
		return nil // a notification has none of the other headers
	}
	for _, name := range []string{mcpgo.HeaderMethod, mcpgo.HeaderName} {
		if differ(r.Header.Values(name)) {
			return headerMismatch(mcpgo.HeaderMismatchError{Header: name})
		}
	}
	// The library looks for nothing else in the params.
	named := map[string]json.RawMessage{}
	for _, key := range []string{"name", "uri"} {
		if v := m.params.Get(key); v.Exists() {
			named[key] = v.Text()
		}
	}
	if err := mcpgo.ValidateStandardHeaders(r.Header.Get, m.meta.version, mcpgo.MCPMethod(m.method),
		encode(named)); err != nil {
		return headerMismatch(err)
	}
	if ofTasks(m.method) { // of which the library does not know
		given, ok := mcpgo.DecodeHeaderValue(r.Header.Get(mcpgo.HeaderName))
		if id := m.params.Get("taskId"); !ok || id.IsString() && given != id.String() {
			return headerMismatch(mcpgo.HeaderMismatchError{Header: mcpgo.HeaderName})
		}
	}
	return nil
}

// headerMismatch names the header that is missing, or that contradicts the body.
func headerMismatch(err error) *rpcError {
	e, ok := errors.AsType[mcpgo.HeaderMismatchError](err)
	if !ok {
		return rpcErrorf(mcpgo.HEADER_MISMATCH, "The headers are not what the body says: send the same in both.")
	}
	return rpcErrorf(mcpgo.HEADER_MISMATCH, "The header %s is missing, or is not what the body says: send the same in both.", e.Header)
}

// answer serves the message of an exchange.
func (f *Face) answer(w http.ResponseWriter, r *http.Request, x *exchange) {
	m := x.message
	switch {
	case m.isReply():
		if x.peer != nil {
			x.peer.replied(m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	case m.id == nil:
		if x.peer != nil {
			x.peer.notified(m)
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	ctx, out, done := streamOf(w, r)
	defer done()
	x.out = out
	if m.method == string(mcpgo.MethodSubscriptionsListen) && x.protocol.Modern() && !out.streams {
		f.refuse(w, r, http.StatusNotAcceptable, m.id,
			badRequest("This is a stream: accept text/event-stream."))
		return
	}
	if x.peer != nil {
		var end func()
		ctx, end = x.peer.begin(ctx, m.id)
		defer end()
	}
	reply, failed := x.serve(ctx)
	if errors.Is(context.Cause(ctx), errCancelled) {
		out.nothing()
		return
	}
	x.pause(ctx)
	status := http.StatusOK
	if failed != nil && x.protocol.Modern() {
		status = statusOf(failed.Code)
	}
	_ = x.deliver(func() error { return out.reply(r, status, reply) })
}

// statusOf maps an error to the status that 2026-07-28 has for it.
func statusOf(code int) int {
	switch code {
	case mcpgo.METHOD_NOT_FOUND:
		return http.StatusNotFound
	case mcpgo.HEADER_MISMATCH, mcpgo.MISSING_REQUIRED_CLIENT_CAPABILITY,
		mcpgo.UNSUPPORTED_PROTOCOL_VERSION, mcpgo.INVALID_REQUEST, mcpgo.INVALID_PARAMS,
		mcpgo.PARSE_ERROR:
		return http.StatusBadRequest
	case transport.RPCCode(&bridge.Error{Code: bridge.RateLimit}):
		return http.StatusTooManyRequests
	}
	return http.StatusOK
}

// refuse answers with an error of the protocol.
func (f *Face) refuse(w http.ResponseWriter, r *http.Request, status int, id json.RawMessage,
	e *rpcError) {
	w.Header().Set("Cache-Control", "no-store")
	text := f.refusal(transport.RequestID(r.Context()), transport.CallerOf(r.Context()).Name, id, e)
	transport.WriteBytes(w, r, status, text)
}

// refusal is a reply with an error, which names its request as the log does.
func (f *Face) refusal(request, caller string, id json.RawMessage, e *rpcError) []byte {
	f.refused(request, caller, strconv.Itoa(e.Code), e.Message)
	told := *e // some are shared
	switch data := e.Data.(type) {
	case nil:
		told.Data = map[string]string{transport.DetailRequest: request}
	case transport.ErrorBody:
		told.Data = transport.InRequest(data, request)
	}
	return errorText(id, &told)
}

// refused notes in the log a request that came to no call.
func (f *Face) refused(request, caller, code, message string) {
	f.log.Info("mcp: refused", slog.String("request", request), slog.String("caller", caller),
		slog.String("code", code), slog.String("message", message))
}

// accepts reports whether a client takes a media type. One that does not say takes
// all.
func accepts(r *http.Request, mediaType string) bool {
	values := r.Header.Values("Accept")
	if len(values) == 0 {
		return true
	}
	family, _, _ := strings.Cut(mediaType, "/")
	taken := []string{mediaType, family + "/*", "*/*"}
	return slices.ContainsFunc(strings.Split(strings.Join(values, ","), ","), func(part string) bool {
		name, _, _ := strings.Cut(part, ";")
		return slices.Contains(taken, strings.ToLower(strings.TrimSpace(name)))
	})
}

// get streams what a client of an older protocol version should know besides its requests.
func (f *Face) get(w http.ResponseWriter, r *http.Request) {
	sc, ok := f.scopeOf(w, r)
	if !ok {
		return
	}
	session := f.sessionOf(w, r, sc)
	if session == nil {
		return
	}
	if !accepts(r, "text/event-stream") {
		f.refuse(w, r, http.StatusNotAcceptable, nil,
			badRequest("This is a stream: accept text/event-stream."))
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	go func() { // ends with the stream
		select {
		case <-session.gone:
			cancel(errNoClient)
		case <-ctx.Done():
		}
	}()
	out := &httpStream{w: w, control: http.NewResponseController(w), streams: true, lost: cancel}
	protocol, can := session.client()
	lists := f.watch(ctx, sc, protocol, f.drawsCards(sc.caller, can)).knows(session.list())
	if out.beat() != nil { // the head, so that the client knows that it listens
		return
	}
	tell := func() error {
		return out.event(callText(nil, mcpgo.MethodNotificationToolsListChanged, map[string]any{}))
	}
	lists.run(ctx, tell, func() error {
		f.sessions.find(ctx, session.id, sc) // it is in use, unless it has ended in another process
		return out.beat()
	})
}

// delete ends a session of an older protocol version.
func (f *Face) delete(w http.ResponseWriter, r *http.Request) {
	sc, ok := f.scopeOf(w, r)
	if !ok {
		return
	}
	if session := f.sessionOf(w, r, sc); session != nil {
		f.sessions.close(r.Context(), session)
		w.WriteHeader(http.StatusNoContent)
	}
}

// sessionOf finds the session that a request without a body names, or answers.
func (f *Face) sessionOf(w http.ResponseWriter, r *http.Request, sc scope) *httpSession {
	id := r.Header.Get(headerSession)
	session := f.sessions.find(r.Context(), id, sc)
	switch {
	case session != nil:
	case id == "":
		w.Header().Set("Allow", http.MethodPost)
		f.refuse(w, r, http.StatusMethodNotAllowed, nil,
			badRequest("Without a session there is only POST."))
	default:
		f.refuse(w, r, http.StatusNotFound, nil, noSuchSession())
	}
	return session
}

// eventTime limits how long a client may take to read one event.
const eventTime = 10 * time.Second

// httpStream is the response to a request: one JSON text, or a stream of events as
// soon as there is something to tell before it.
type httpStream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	streams bool // the client takes events
	lost    context.CancelCauseFunc

	mu      sync.Mutex
	started bool
	failed  error
}

func (s *httpStream) event(text []byte) error {
	return s.write(eventOf(text))
}

// eventOf is a message as one event of a stream.
func eventOf(text []byte) []byte {
	return append(append([]byte("event: message\ndata: "), text...), "\n\n"...)
}

// beat writes a comment.
func (s *httpStream) beat() error { return s.write([]byte(": still here\n\n")) }

var errJSONOnly = errors.New("the client takes no events")

func (s *httpStream) write(text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil:
		return s.failed
	case !s.streams:
		return errJSONOnly
	}
	s.begin(http.StatusOK)
	return s.send(text)
}

// begin makes the response a stream. Called with mu held.
func (s *httpStream) begin(status int) {
	if s.started {
		return
	}
	s.started = true
	h := s.w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	s.w.WriteHeader(status)
}

// send writes to a stream that has started. A client that does not read is gone.
// Called with mu held.
func (s *httpStream) send(text []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(eventTime))
	_, err := s.w.Write(text)
	if err == nil {
		err = s.control.Flush()
	}
	if err != nil {
		s.failed = err
		s.lost(err)
	}
	return err
}

// streamOf is the response to a request. Its context ends with the client, and with end.
func streamOf(w http.ResponseWriter, r *http.Request) (ctx context.Context, out *httpStream, end func()) {
	ctx, cancel := context.WithCancelCause(r.Context())
	out = &httpStream{w: w, control: http.NewResponseController(w),
		streams: accepts(r, "text/event-stream"), lost: cancel}
	return ctx, out, func() { cancel(nil) }
}

// nothing ends the response to what has no reply: a request that was cancelled. For a
// client that takes events it is a stream without one.
func (s *httpStream) nothing() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.failed != nil, s.started:
	case s.streams:
		s.begin(http.StatusOK)
	default:
		s.w.WriteHeader(http.StatusAccepted)
	}
}

// reply ends the response. An error means that the client may not have got it.
func (s *httpStream) reply(r *http.Request, status int, text []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed != nil {
		return s.failed
	}
	if s.started || s.streams && !accepts(r, "application/json") {
		s.begin(status)
		return s.send(eventOf(text))
	}
	gone := context.Cause(r.Context()) // before: who has read the reply may leave
	s.w.Header().Set("Cache-Control", "no-store")
	transport.WriteBytes(s.w, r, status, text)
	return cmp.Or(s.control.Flush(), gone)
}
