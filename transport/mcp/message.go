package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
)

// message is one JSON-RPC message as it came.
type message struct {
	id     json.RawMessage // as it was written; nil for a notification. null is an id, because clients send it
	method string          // empty in a reply
	params json.RawMessage // an object, or nil
	// arguments are those of the params; no value where there are none.
	arguments bridge.Value
	result    json.RawMessage // of a reply to a request of ours
	failed    json.RawMessage // the error of such a reply
	meta      requestMeta
}

// requestMeta is what params._meta says that we read.
type requestMeta struct {
	version  string          // the protocol version of a modern request
	progress json.RawMessage // the token for progress; nil: nobody asked for it
	trace    string          // traceparent
}

// isReply reports whether the message answers a request of ours.
func (m *message) isReply() bool { return m.method == "" }

// rpcError is an error of the protocol.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Error makes it travel.
func (e *rpcError) Error() string { return e.Message }

func rpcErrorf(code int, format string, args ...any) *rpcError {
	return &rpcError{Code: code, Message: fmt.Sprintf(format, args...)}
}

// nullID is the id of a reply to a message whose id is not known.
var nullID = json.RawMessage("null")

// readMessage takes a message apart. With an error, m has the id where it is known.
func readMessage(text []byte) (m *message, e *rpcError) {
	m = &message{}
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) > 0 && trimmed[0] == '[' {
		return m, rpcErrorf(mcpgo.INVALID_REQUEST, "Batches are not supported: send one message at a time.")
	}
	members, err := bridge.ReadValue("The message", text)
	if err != nil {
		if utf8.Valid(text) && json.Valid(text) {
			return m, rpcErrorf(mcpgo.INVALID_REQUEST, "%s", bridge.AsError(err).Message)
		}
		return m, rpcErrorf(mcpgo.PARSE_ERROR, "%s", bridge.AsError(err).Message)
	}
	var version string
	var methodErr, versionErr error
	hasMethod := false
	for name, x := range members.Members() {
		switch text := x.Text(); name {
		case "jsonrpc":
			versionErr = json.Unmarshal(text, &version)
		case "id":
			m.id = text
		case "method":
			hasMethod = true
			methodErr = json.Unmarshal(text, &m.method)
		case "params":
			m.params, m.arguments = text, x.Get("arguments")
		case "result":
			m.result = text
		case "error":
			m.failed = text
		}
	}
	switch {
	case m.id != nil && m.id[0] != '"' && m.id[0] != '-' && (m.id[0] < '0' || m.id[0] > '9') && !bytes.Equal(m.id, nullID):
		m.id = nil
		return m, rpcErrorf(mcpgo.INVALID_REQUEST, "id must be a string or a number.")
	case versionErr != nil || version != mcpgo.JSONRPC_VERSION:
		return m, rpcErrorf(mcpgo.INVALID_REQUEST, "jsonrpc must be %q.", mcpgo.JSONRPC_VERSION)
	case methodErr != nil || hasMethod && m.method == "":
		return m, rpcErrorf(mcpgo.INVALID_REQUEST, "method must be a string.")
	case !hasMethod && (m.id == nil || (m.result == nil) == (m.failed == nil)):
		return m, rpcErrorf(mcpgo.INVALID_REQUEST, "This is neither a request nor a reply.")
	case bytes.Equal(m.params, nullID):
		m.params = nil
	case m.params != nil && m.params[0] != '{':
		return m, rpcErrorf(mcpgo.INVALID_PARAMS, "params must be an object.")
	}
	m.meta = readMeta(m.params)
	return m, nil
}

// readMeta reads params._meta. What has another type is as if it were not there:
// the library says what is wrong with it.
func readMeta(params json.RawMessage) requestMeta {
	var p struct {
		Meta map[string]json.RawMessage `json:"_meta"`
	}
	var out requestMeta
	if json.Unmarshal(params, &p) != nil {
		return out
	}
	_ = json.Unmarshal(p.Meta[mcpgo.MetaKeyProtocolVersion], &out.version)
	_ = json.Unmarshal(p.Meta["traceparent"], &out.trace)
	if token := p.Meta["progressToken"]; len(token) > 0 && (token[0] == '"' || token[0] == '-' || token[0] >= '0' && token[0] <= '9') {
		out.progress = token
	}
	return out
}

// answersAreObject reports whether the answers that a retry brings are an object, or
// none.
func (m *message) answersAreObject() bool {
	var p struct {
		Answers json.RawMessage `json:"inputResponses"`
	}
	return json.Unmarshal(m.params, &p) != nil || p.Answers == nil || p.Answers[0] == '{'
}

// internalID is the id under which the library sees a request: it would change
// numbers beyond 2^53, and take null for none.
const internalID = `{"jsonrpc":"2.0","id":1,"method":`

// forLibrary is the request with an id of ours.
func (m *message) forLibrary() (json.RawMessage, error) {
	method, err := json.Marshal(m.method)
	if err != nil {
		return nil, err
	}
	text := append([]byte(internalID), method...)
	if m.params != nil {
		text = append(append(text, `,"params":`...), m.params...)
	}
	return append(text, '}'), nil
}

// encode writes a value of ours as JSON, which cannot fail.
func encode(v any) json.RawMessage {
	text, err := schema.Encode(v)
	if err != nil { // what pages gave was checked before, and schemas were written by us
		panic("encoding a message: " + err.Error())
	}
	return text
}

// replyText is a reply with a result.
func replyText(id, result json.RawMessage) []byte {
	text := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	text = append(append(text, `,"result":`...), result...)
	return append(text, '}')
}

// errorText is a reply with an error. Without an id it is null.
func errorText(id json.RawMessage, e *rpcError) []byte {
	if id == nil {
		id = nullID
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
