package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/transport"
)

// message is one JSON-RPC message as it came.
type message struct {
	id     json.RawMessage // as written; nil for a notification. null is one, because clients send it
	method string          // empty in a reply
	params bridge.Value    // an object, or no value
	result bridge.Value    // of a reply to a request of ours; no value when it failed
	meta   requestMeta
}

// requestMeta holds the members of params._meta that we read. One of the wrong type counts as
// absent.
type requestMeta struct {
	version      string          // the protocol version of a modern request
	capabilities bridge.Value    // of the client of a modern request
	progress     json.RawMessage // the token for progress; nil: nobody asked for it
	trace        string          // traceparent, as bridge.Call has it
}

// isReply reports whether the message answers a request of ours.
func (m *message) isReply() bool { return m.method == "" }

// rpcError is an error of the protocol.
type rpcError = mcpgo.JSONRPCErrorDetails

func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

func badParams(format string, args ...any) *rpcError {
	return rpcErrorf(mcpgo.INVALID_PARAMS, format, args...)
}

func badRequest(format string, args ...any) *rpcError {
	return rpcErrorf(mcpgo.INVALID_REQUEST, format, args...)
}

func noMethod(format string, args ...any) *rpcError {
	return rpcErrorf(mcpgo.METHOD_NOT_FOUND, format, args...)
}

// readMessage takes a message apart. With an error, m has the id where it is known.
func readMessage(text []byte) (m *message, e *rpcError) {
	m = &message{}
	if isBatch(text) { // also a list in a batch
		return m, errNoBatches
	}
	members, err := bridge.ReadValue("The message", text)
	if err != nil && utf8.Valid(text) && bytes.Contains(bytes.ToLower(text), []byte(`\ud`)) {
		// Half a surrogate, as whoever cuts a text makes it: the tool gets U+FFFD.
		if sound, broken := schema.WellFormed(text); broken == nil {
			members, err = bridge.ReadValue("The message", sound)
		}
	}
	if err != nil {
		m.id = findID(text)
		if utf8.Valid(text) && json.Valid(text) {
			return m, badRequest("%s", bridge.AsError(err).Message)
		}
		return m, rpcErrorf(mcpgo.PARSE_ERROR, "%s", bridge.AsError(err).Message)
	}
	method, result, failed := members.Get("method"), members.Get("result"), members.Get("error")
	m.id, m.method = members.Get("id").Text(), method.String()
	m.params, m.result = members.Get("params"), result
	switch {
	case m.id != nil && !isScalar(m.id) && !members.Get("id").IsNull():
		m.id = nil
		return m, badRequest("id must be a string or a number.")
	case members.Get("jsonrpc").String() != mcpgo.JSONRPC_VERSION:
		return m, badRequest("jsonrpc must be %q.", mcpgo.JSONRPC_VERSION)
	case method.Exists() && m.method == "":
		return m, badRequest("method must be a string.")
	case !method.Exists() && (m.id == nil || result.Exists() == failed.Exists()):
		return m, badRequest("This is neither a request nor a reply: a request needs method, a reply id and one " +
			"of result and error.")
	case m.params.IsNull():
		m.params = bridge.Value{}
	case m.params.Exists() && !m.params.IsObject():
		return m, badParams("params must be an object.")
	}
	meta := m.params.Get("_meta")
	m.meta = requestMeta{
		version:      meta.Get(mcpgo.MetaKeyProtocolVersion).String(),
		capabilities: meta.Get(mcpgo.MetaKeyClientCapabilities),
		trace:        transport.TraceParent(meta.Get("traceparent").String()),
	}
	if token := meta.Get("progressToken").Text(); isScalar(token) {
		m.meta.progress = token
	}
	return m, nil
}

// isScalar reports whether a JSON value is a string or a number.
func isScalar(v json.RawMessage) bool {
	return len(v) > 0 && (v[0] == '"' || v[0] == '-' || v[0] >= '0' && v[0] <= '9')
}

// text is a member of the params that must be a string where it is there; null is as
// if it were not.
func (m *message) text(name string) (string, *rpcError) {
	v := m.params.Get(name)
	if v.Exists() && !v.IsNull() && !v.IsString() {
		return "", badRequest("%s must be a string.", name)
	}
	return v.String(), nil
}

// elicits says how a client can ask its person, whether it takes tasks, and whether it draws apps.
// kit marks the client of our test kit, which is told which question it asks.
type elicits struct{ form, url, kit, tasks, apps bool }

// readElicits reads that from the capabilities of a client. ok is false when they violate the
// protocol.
func readElicits(capabilities bridge.Value) (can elicits, ok bool) {
	e := capabilities.Get("elicitation")
	form, url := e.Get("form"), e.Get("url")
	for _, v := range []bridge.Value{e, form, url} {
		if v.Exists() && !v.IsNull() && !v.IsObject() {
			return can, false
		}
	}
	can.url = url.IsObject()
	can.form = form.IsObject() || e.IsObject() && !can.url // an empty capability means forms
	can.kit = capabilities.Get("experimental").Get("pagetools/kit").IsObject()
	extensions := capabilities.Get("extensions")
	can.tasks = extensions.Get(tasksExtension).IsObject()
	for kind := range extensions.Get(appsExtension).Get("mimeTypes").Elements() {
		can.apps = can.apps || kind.IsString() && kind.String() == cardType
	}
	return can, capabilities.IsObject()
}

// encode writes a value of ours: what pages gave was checked before.
var encode = schema.MustEncode

// replyText is a reply with a result.
func replyText(id, result json.RawMessage) []byte {
	text := make([]byte, 0, len(id)+len(result)+40)
	text = append(append(text, `{"jsonrpc":"2.0","id":`...), id...)
	text = append(append(text, `,"result":`...), result...)
	return append(text, '}')
}

// errorText is a reply with an error. Without an id it is null.
func errorText(id json.RawMessage, e *rpcError) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	text := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	text = append(append(text, `,"error":`...), encode(e)...)
	return append(text, '}')
}

// callText is a request or, without an id, a notification of ours.
func callText(id json.RawMessage, method string, params any) []byte {
	text := []byte(`{"jsonrpc":"2.0",`)
	if id != nil {
		text = append(append(append(text, `"id":`...), id...), ',')
	}
	text = append(append(text, `"method":`...), encode(method)...)
	text = append(append(text, `,"params":`...), encode(params)...)
	return append(text, '}')
}
