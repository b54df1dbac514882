package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/pagetools/pagetools/bridge"
)

// stream is where what we say before the reply to a request goes.
type stream interface {
	// event sends a notification or a request. An error means that the client is
	// gone, or that it cannot be told anything but the reply.
	event(text []byte) error
}

// exchange is one request on its way: its caller, its era, and its client.
type exchange struct {
	face    *Face
	scope   scope
	message *message
	modern  bool
	peer    *peer // who asks: the client of a session, or of stdio; nil for one without
	out     stream
	id      string // of the request, in logs

	mu    sync.Mutex
	caps  mcpgo.ClientCapabilities
	era   era
	boxed *rpcError     // what the handler wants to be the error
	noted time.Time     // when progress was told last
	spent []*bridge.Run // calls whose outcome is in the reply
}

// serve runs a request and gives its reply, and the error in it for who has to map
// it to a status. It never panics.
func (x *exchange) serve(ctx context.Context) (reply []byte, failed *rpcError) {
	defer func() {
		if p := recover(); p != nil {
			x.face.log.ErrorContext(ctx, "mcp: panic", slog.Any("panic", p), slog.String("stack", string(debug.Stack())))
			failed = internalError()
			reply = errorText(x.message.id, failed)
		}
	}()
	text, err := x.message.forLibrary()
	if err != nil {
		failed = internalError()
		return errorText(x.message.id, failed), failed
	}
	sites := x.face.sites(x.scope)
	lib := x.face.server(x.scope, sites)
	session := newRequestSession(ctx, x)
	if x.message.method == string(mcpgo.MethodSubscriptionsListen) {
		return x.listen(ctx, lib, session, text)
	}
	switch said := lib.HandleMessage(lib.WithContext(ctx, session), text).(type) {
	case mcpgo.JSONRPCResponse:
		result, e := x.result(ctx, said.Result)
		if e != nil {
			return errorText(x.message.id, e), e
		}
		return replyText(x.message.id, result), nil
	case mcpgo.JSONRPCError:
		failed = &rpcError{said.Error.Code, said.Error.Message, said.Error.Data}
		if x.boxed != nil {
			failed = x.boxed
		}
		return errorText(x.message.id, failed), failed
	default:
		failed = rpcErrorf(mcpgo.INTERNAL_ERROR, "There is no reply to this.")
		return errorText(x.message.id, failed), failed
	}
}

func internalError() *rpcError {
	return rpcErrorf(mcpgo.INTERNAL_ERROR, "Something went wrong inside pagetools.")
}

// result encodes a result. A list of tools was encoded before, once for all.
func (x *exchange) result(ctx context.Context, v any) (json.RawMessage, *rpcError) {
	listed, ok := v.(mcpgo.ListToolsResult)
	if !ok {
		return encode(v), nil
	}
	var p struct {
		Cursor string `json:"cursor"`
	}
	_ = json.Unmarshal(x.message.params, &p) // the library has read it
	list := x.face.list(ctx, x.scope)
	if x.peer != nil && !x.modern {
		x.peer.gotList(list.digest(x.version()))
	}
	page, next, ok := list.page(x.version(), p.Cursor)
	if !ok {
		return nil, rpcErrorf(mcpgo.INVALID_PARAMS, "This cursor is not known.")
	}
	listed.Tools, listed.NextCursor = []mcpgo.Tool{}, mcpgo.Cursor(next)
	var members map[string]json.RawMessage
	if json.Unmarshal(encode(listed), &members) != nil {
		return nil, internalError()
	}
	members["tools"] = page
	return encode(members), nil
}

// version is the protocol version in effect.
func (x *exchange) version() era {
	if x.modern {
		return era(x.message.meta.version)
	}
	if x.peer != nil {
		return x.peer.version()
	}
	return x.era
}

// capabilities are those that the client declared: for this request, or at the
// beginning of its session.
func (x *exchange) capabilities() mcpgo.ClientCapabilities {
	if !x.modern && x.peer != nil {
		return x.peer.capabilities()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.caps
}

// notify tells the client of the request something. Who is gone is not told.
func (x *exchange) notify(method string, params any) {
	x.mu.Lock()
	x.noted = time.Now()
	x.mu.Unlock()
	_ = x.out.event(callText(nil, method, params))
}

// requestSession is how the library sees the request: a session of its own, so that
// nothing of it meets another one's.
type requestSession struct {
	x      *exchange
	ctx    context.Context //nolint:containedctx // of the one request that the session is for
	id     string
	notes  chan mcpgo.JSONRPCNotification
	mu     sync.Mutex
	client mcpgo.Implementation
	filter *mcpgo.SubscriptionFilter
}

var (
	_ server.SessionWithTools              = (*requestSession)(nil)
	_ server.SessionWithClientInfo         = (*requestSession)(nil)
	_ server.SessionWithElicitation        = (*requestSession)(nil)
	_ server.SessionWithSubscriptionFilter = (*requestSession)(nil)
	_ server.SessionWithProtocolVersion    = (*requestSession)(nil)
)

func newRequestSession(ctx context.Context, x *exchange) *requestSession {
	return &requestSession{x: x, ctx: ctx, id: newID(), notes: make(chan mcpgo.JSONRPCNotification, 8)}
}

func (*requestSession) Initialize()         {}
func (*requestSession) Initialized() bool   { return true }
func (s *requestSession) SessionID() string { return s.id }

func (s *requestSession) NotificationChannel() chan<- mcpgo.JSONRPCNotification { return s.notes }

// GetSessionTools gives the one tool that is called; lists are made elsewhere.
func (s *requestSession) GetSessionTools() map[string]server.ServerTool {
	if s.x.message.method != string(mcpgo.MethodToolsCall) {
		return nil
	}
	var p struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(s.x.message.params, &p) != nil {
		return nil
	}
	found, ok := s.x.face.list(s.ctx, s.x.scope).find(p.Name)
	if !ok {
		return nil
	}
	// The library looks at nothing of it but the name: what the client sees is in
	// the list.
	tool := mcpgo.NewToolWithRawSchema(p.Name, "", json.RawMessage(`{"type":"object"}`))
	return map[string]server.ServerTool{p.Name: {Tool: tool, Handler: func(ctx context.Context, r mcpgo.CallToolRequest) (*mcpgo.CallToolResult, error) {
		return s.x.call(ctx, found, r)
	}}}
}

func (*requestSession) SetSessionTools(map[string]server.ServerTool) {}

func (s *requestSession) GetClientInfo() mcpgo.Implementation {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

func (s *requestSession) SetClientInfo(i mcpgo.Implementation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = i
}

func (s *requestSession) GetClientCapabilities() mcpgo.ClientCapabilities { return s.x.capabilities() }

func (s *requestSession) SetClientCapabilities(c mcpgo.ClientCapabilities) {
	s.x.mu.Lock()
	s.x.caps = c
	s.x.mu.Unlock()
	if !s.x.modern && s.x.peer != nil {
		s.x.peer.setCapabilities(c)
	}
}

func (s *requestSession) ProtocolVersion() string { return string(s.x.version()) }

// SetProtocolVersion notes what the handshake came to.
func (s *requestSession) SetProtocolVersion(v string) {
	if s.x.peer != nil {
		s.x.peer.setVersion(v)
	}
}

func (s *requestSession) SetSubscriptionFilter(f mcpgo.SubscriptionFilter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.filter = &f
}

func (s *requestSession) SubscriptionFilter() (mcpgo.SubscriptionFilter, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filter == nil {
		return mcpgo.SubscriptionFilter{}, false
	}
	return *s.filter, true
}

// RequestElicitation asks the person at a client of an older era, on the stream of
// the call. A client that cannot answer is as one that was closed.
func (s *requestSession) RequestElicitation(ctx context.Context, r mcpgo.ElicitationRequest) (*mcpgo.ElicitationResult, error) {
	closed := &mcpgo.ElicitationResult{ElicitationResponse: mcpgo.ElicitationResponse{Action: mcpgo.ElicitationResponseActionCancel}}
	if s.x.peer == nil {
		return closed, nil
	}
	said, err := s.x.peer.ask(ctx, s.x.out, mcpgo.MethodElicitationCreate, r.Params)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	var result mcpgo.ElicitationResult
	if err != nil || json.Unmarshal(said, &result) != nil {
		return closed, nil //nolint:nilerr // the question stays open for others
	}
	return &result, nil
}

// box makes an error that replaces the library's.
func (x *exchange) box(e *rpcError) error {
	x.boxed = e
	return e
}

var errNoClient = errors.New("the client cannot be asked")

// asCall is the call of the bridge.
func (x *exchange) asCall(to target, arguments bridge.Value) *bridge.Call {
	return &bridge.Call{
		Site: to.site, Tool: to.tool.Name(), Session: x.scope.session, Caller: x.scope.caller, Input: arguments,
		Again: true, Beside: true, ID: x.id, Trace: x.message.meta.trace,
	}
}
