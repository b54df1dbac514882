package mcp

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// stream takes what we say before the reply to a request.
type stream interface {
	// event sends a notification or a request. An error means that the client is
	// gone, or that it cannot be told anything but the reply.
	event(text []byte) error
}

// exchange is one request on its way: its caller, its protocol version, and its client.
type exchange struct {
	face     *Face
	scope    scope
	message  *message
	protocol protocol
	peer     *peer // who asks: the client of a session, or of stdio; nil for one without
	out      stream
	id       string // of the request, in logs
	remote   bool   // it came from elsewhere than this machine

	can   elicits     // what the client declared
	noted time.Time   // when progress was told last
	ended *bridge.Run // a call whose outcome is in the reply
	acted bool        // the client said that somebody acted in the page
}

// serve runs a request and returns its reply, and the error in it for who has to map
// it to a status. It never panics.
func (x *exchange) serve(ctx context.Context) (reply []byte, failed *rpcError) {
	defer func() {
		if p := recover(); p != nil {
			x.face.log.ErrorContext(ctx, "mcp: panic", "panic", p, "stack", string(debug.Stack()))
			failed = rpcErrorf(mcpgo.INTERNAL_ERROR, "Something went wrong inside pagetools.")
			reply = x.face.refusal(x.id, x.scope.caller.Name, x.message.id, failed)
		}
	}()
	result, failed := x.dispatch(ctx)
	if failed != nil {
		return x.face.refusal(x.id, x.scope.caller.Name, x.message.id, failed), failed
	}
	return replyText(x.message.id, result), nil
}

// removed are the methods that 2026-07-28 has no more.
var removed = map[string]bool{
	"initialize": true, "ping": true, "logging/setLevel": true, "resources/subscribe": true,
	"resources/unsubscribe": true, "tasks/list": true, "tasks/result": true,
}

// absent are the methods of what a server may have and this one has not.
var absent = map[string]string{
	"logging/setLevel": "logging", "completion/complete": "completions",
	"resources/list": "resources", "resources/templates/list": "resources",
	"resources/read":      "resources",
	"resources/subscribe": "resources", "resources/unsubscribe": "resources",
	"prompts/list": "prompts", "prompts/get": "prompts",
	"tasks/get": "tasks", "tasks/list": "tasks", "tasks/result": "tasks", "tasks/cancel": "tasks",
}

// dispatch runs the method of the request. A request of 2026-07-28 says who asks by
// itself; before, that was said in the handshake.
func (x *exchange) dispatch(ctx context.Context) (json.RawMessage, *rpcError) {
	modern, method := x.protocol.Modern(), x.message.method
	if modern {
		var ok bool
		switch x.can, ok = readElicits(x.message.meta.capabilities); {
		case !ok:
			return nil, badParams("missing or invalid _meta field %s",
				mcpgo.MetaKeyClientCapabilities)
		case !mcpgo.IsValidProtocolVersion(string(x.protocol)):
			return nil, unsupported(x.message.meta.version)
		case removed[method]:
			return nil, noMethod("%q was removed in protocol version %s", method,
				mcpgo.ProtocolVersion20260728)
		}
	}
	if modern && ofTasks(method) { // older versions have others, which are not served
		return x.tasks()
	}
	switch method {
	case string(mcpgo.MethodInitialize):
		return x.initialize()
	case string(mcpgo.MethodPing):
		return json.RawMessage("{}"), nil
	case string(mcpgo.MethodToolsList):
		return x.listTools(ctx)
	case string(mcpgo.MethodToolsCall):
		return x.call(ctx)
	case string(mcpgo.MethodServerDiscover), string(mcpgo.MethodSubscriptionsListen):
		switch {
		case !modern:
			return nil, noMethod("%q requires protocol version %s or later", method,
				mcpgo.ProtocolVersion20260728)
		case method == string(mcpgo.MethodServerDiscover):
			return x.discover(), nil
		}
		return x.listen(ctx)
	}
	if absent[method] == "resources" && !strings.HasSuffix(method, "subscribe") && (x.face.o.Files || drawsCards(x)) {
		return x.resources()
	}
	if what := absent[method]; what != "" {
		return nil, noMethod("%s not supported: this server has tools, and %s lists them", what, mcpgo.MethodToolsList)
	}
	return nil, noMethod("Method %s not found: this server has tools, and %s lists them", text.Brief(method, maxSessionName), mcpgo.MethodToolsList)
}

func unsupported(version string) *rpcError {
	e := rpcErrorf(mcpgo.UNSUPPORTED_PROTOCOL_VERSION, "Protocol version %q is not supported. Supported are %s.", text.Brief(version, maxSessionName), strings.Join(mcpgo.ValidProtocolVersions, ", "))
	e.Data = mcpgo.UnsupportedProtocolVersionData{
		Supported: mcpgo.ValidProtocolVersions, Requested: version,
	}
	return e
}

// handshake reads what a client of an older version begins with: the version that it gets, and what
// it declares.
func (m *message) handshake() (version protocol, can elicits, e *rpcError) {
	asked, e := m.text("protocolVersion")
	if e != nil {
		return "", can, e
	}
	declared := m.params.Get("capabilities")
	can, ok := readElicits(declared)
	if !ok && declared.Exists() && !declared.IsNull() {
		return "", can, badRequest("capabilities must be an object, and so must what is said of elicitation.")
	}
	return protocol(mcpgo.NegotiateLegacyVersion(asked)), can, nil
}

// initialize is the handshake of older versions.
func (x *exchange) initialize() (json.RawMessage, *rpcError) {
	version, can, e := x.message.handshake()
	if e != nil {
		return nil, e
	}
	if x.peer != nil {
		x.peer.met(version, can)
	}
	x.can = can
	return encode(mcpgo.InitializeResult{ProtocolVersion: string(version), Capabilities: x.capabilities(),
		ServerInfo: x.about(), Instructions: x.instructions()}), nil
}

// maxServerTitle bounds what a page's title adds to ours, in bytes.
const maxServerTitle = 80

// about says who serves. Where that is one site, people see its page's title, with the
// operator's name for it, and its address.
func (x *exchange) about() mcpgo.Implementation {
	info := x.face.info
	sites := x.face.sites(x.scope)
	if len(sites) != 1 {
		return info
	}
	if !sites[0].Local {
		info.WebsiteURL = sites[0].Origin
	}
	if x.face.o.Page != nil {
		title, icon := x.face.o.Page(sites[0].Name)
		if info.WebsiteURL != "" && strings.HasPrefix(icon, info.WebsiteURL+"/") {
			info.Icons = []mcpgo.Icon{{Src: icon}}
		}
		if title = text.Line(title); title != "" {
			info.Title = fmt.Sprintf("%s (%s)", text.Short(title, maxServerTitle), sites[0].Name)
		}
	}
	return info
}

// discover returns the result of server/discover, which replaces the handshake in 2026-07-28.
func (x *exchange) discover() json.RawMessage {
	r := mcpgo.DiscoverResult{SupportedVersions: mcpgo.ValidProtocolVersions,
		Capabilities: x.capabilities(), Instructions: x.instructions()}
	if r.Capabilities.Extensions == nil {
		r.Capabilities.Extensions = map[string]any{}
	}
	r.Capabilities.Extensions[tasksExtension] = struct{}{}
	x.complete(&r.Result)
	r.Meta.SetServerInfo(x.about())
	r.SetCacheHints(0, mcpgo.CacheScopePrivate)
	return encode(r)
}

// capabilities returns the server's capabilities. Lists always change: pages make them.
func (x *exchange) capabilities() (c mcpgo.ServerCapabilities) {
	card := drawsCards(x)
	if x.face.o.Files || card {
		c.Resources = &struct {
			Subscribe   bool `json:"subscribe,omitempty"`
			ListChanged bool `json:"listChanged,omitempty"`
		}{}
	}
	if card {
		c.Extensions = map[string]any{appsExtension: struct{}{}}
	}
	c.Tools = &struct {
		ListChanged bool `json:"listChanged,omitempty"`
	}{true}
	return c
}

func (x *exchange) instructions() string {
	sites := x.face.sites(x.scope)
	return toolset.Instructions(x.face.modeOf(x.scope), sites, x.scope.prefixed(len(sites)), x.face.troubles(x.scope, sites)...)
}

// complete adds to a result what 2026-07-28 has in each.
func (x *exchange) complete(r *mcpgo.Result) {
	if !x.protocol.Modern() {
		return
	}
	r.ResultType = cmp.Or(r.ResultType, mcpgo.ResultTypeComplete)
	r.EnsureResultMeta().SetServerInfo(x.face.info)
}

// listResult is a page of the list without its tools. Its members are in the order of their names.
type listResult struct {
	Meta       *mcpgo.Meta      `json:"_meta,omitempty"`
	CacheScope mcpgo.CacheScope `json:"cacheScope,omitempty"`
	NextCursor string           `json:"nextCursor,omitempty"`
	ResultType mcpgo.ResultType `json:"resultType,omitempty"`
	Tools      struct{}         `json:"tools"`
	TTL        *int64           `json:"ttlMs,omitempty"`
}

// with puts in the tools, which were encoded when the list was made: the encoder would read all of
// them again, which takes longer than the rest of the list.
func (r listResult) with(tools json.RawMessage) json.RawMessage {
	before, after, _ := bytes.Cut(encode(r), []byte(`"tools":{}`))
	return bytes.Join([][]byte{before, []byte(`"tools":`), tools, after}, nil)
}

// listTools is tools/list.
func (x *exchange) listTools(ctx context.Context) (json.RawMessage, *rpcError) {
	cursor, e := x.message.text("cursor")
	if e != nil {
		return nil, e
	}
	if err := x.face.b.Count(x.scope.ref()); err != nil {
		return nil, refusal(err)
	}
	unkept := x.face.b.Unkept() // before the list, which has all of them then
	list := x.face.listed(ctx, x.scope, drawsCards(x))
	page, next, ok := list.Page(x.protocol, cursor)
	switch {
	case !ok:
		return nil, badParams("The cursor %q is not known: begin again without one.", text.Brief(cursor, maxSessionName))
	case next != "" || x.peer == nil:
	case x.protocol.Modern():
		x.peer.gotList("", unkept)
	default:
		x.peer.gotList(list.Digest(x.protocol), unkept)
	}
	if !x.protocol.Modern() {
		return listResult{NextCursor: next}.with(page), nil
	}
	var r mcpgo.CacheableResult
	x.complete(&r.Result)
	r.SetCacheHints(0, mcpgo.CacheScopePrivate)
	of := listResult{Meta: r.Meta, CacheScope: r.CacheScope, NextCursor: next, ResultType: r.ResultType, TTL: r.TTLMs}
	return of.with(page), nil
}

// notify sends the client of the request a notification. A client that is gone gets
// none.
func (x *exchange) notify(method string, params any) {
	x.noted = time.Now()
	_ = x.out.event(callText(nil, method, params))
}
