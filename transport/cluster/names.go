package cluster

import (
	"bytes"
	"cmp"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// What requests say of who must serve them. The faces decide what the requests mean: what cannot be
// read here is served by the entry, which refuses it in the words of its face.

// want holds what a request says of its home.
type want struct {
	// name is of what one node can go on with: a token, a question, a file, a session of MCP. It begins
	// with the node; "" is none.
	name string
	// session is the caller's name for its state; "" is none.
	session string
	// batch is the session that a batch makes for itself, where its site has one for each; "" is none.
	batch string
	// key is the caller's name for the call; "" is none.
	key string
	// site names the site of the request, where it has one.
	site string
	// calls says that the request may run a tool, and resumes that it is about a call that was made.
	calls, resumes bool
}

// mcpSession is the header of sessions of older versions of MCP.
const mcpSession = "Mcp-Session-Id"

// readsBody reports whether the body of a request to that path may name its home.
func readsBody(r *http.Request) bool {
	first, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	return r.Method == http.MethodPost && (first == "webtools" || first == "mcp")
}

// wantOf reads a request to one of the faces of agents. ok is false for all other paths: the entry
// serves them.
func wantOf(r *http.Request, body []byte) (w want, ok bool) {
	path := strings.Split(strings.Trim(r.URL.EscapedPath(), "/"), "/")
	at := func(i int) string {
		if i >= len(path) {
			return ""
		}
		text, err := url.PathUnescape(path[i])
		if err != nil {
			return ""
		}
		return text
	}
	posts := r.Method == http.MethodPost
	switch at(0) {
	case "webtools":
		if w.site, w.calls = at(1), posts; posts {
			w.webtool(r, body, at(2) == "batch")
		} else {
			w.session = sessionIn(r)
		}
	case "tools":
		w.site, w.calls, w.session, w.name = at(1), posts, sessionIn(r), r.Header.Get(transport.ResumeHeader)
		w.resumes = w.name != ""
	case "calls":
		w.name, w.resumes = at(1), r.Method != http.MethodGet && r.Method != http.MethodHead
	case "files":
		w.name = at(1)
	case "mcp":
		w.mcp(r, body)
		w.site = at(1)
	default:
		return w, false
	}
	if first := at(0); w.calls && !w.resumes && first != "mcp" { // which has no keys
		w.key, _ = transport.KeyOf(r.Header)
	}
	if w.key != "" && w.session == "" && at(2) == "batch" {
		w.batch = transport.BatchSession(w.key)
	}
	return w, true
}

// sessionUnder returns the session of a request, where owner knows the sites whose calls without one share a
// page: a batch makes none for itself there.
func (w *want) sessionUnder(owner func(site string) (id string, shared bool)) string {
	if w.batch != "" && owner != nil {
		if _, shared := owner(w.site); shared {
			return w.session
		}
	}
	return cmp.Or(w.session, w.batch)
}

// sessionIn returns ?sessionId=, where the faces take it.
func sessionIn(r *http.Request) string {
	session, e := transport.SessionOf(r.URL)
	if e != nil {
		return ""
	}
	return session
}

// webtool reads a POST to a webtool, or of a batch, whose steps may each go on with a call.
func (w *want) webtool(r *http.Request, body []byte, batch bool) {
	members := membersOf(body, "sessionId", "session_id", "payload", "config", "steps")
	if members["payload"] == nil && members["session_id"] == nil { // the older dialect has no sessions
		w.session = textOf(members["sessionId"])
	}
	if w.name = r.Header.Get(transport.ResumeHeader); w.name == "" {
		w.name = resumed(members["config"])
	}
	if steps := members["steps"]; batch && w.name == "" && len(steps) > 0 {
		for _, step := range elementsOf(steps) {
			if w.name = resumed(membersOf(step, "config")["config"]); w.name != "" {
				break
			}
		}
	}
	w.resumes = w.name != ""
	if w.name == "" && batchSession.MatchString(w.session) {
		w.name = w.session
	}
}

// batchSession is the form of the session that a batch makes for itself.
var batchSession = regexp.MustCompile(`^[A-Z2-7]{8}batch-`)

// resumed returns the name in the config of a call: its token, or the question that it answers.
func resumed(config jsontext.Value) string {
	members := membersOf(config, "resume", "answer")
	if token := textOf(members["resume"]); token != "" {
		return token
	}
	return textOf(membersOf(members["answer"], "question")["question"])
}

// fileScheme opens the addresses of files over MCP.
const fileScheme = "pagetools://files/"

// mcp reads a message of MCP. In a session of an older version, its id says it all.
func (w *want) mcp(r *http.Request, body []byte) {
	w.session = bridge.Unnamed
	if given := r.URL.Query()["session"]; len(given) == 1 && given[0] != "" {
		w.session = given[0]
	}
	w.name = r.Header.Get(mcpSession)
	if r.Method != http.MethodPost {
		return
	}
	message := membersOf(body, "method", "params")
	params := membersOf(message["params"], "requestState", "taskId", "arguments", "uri", "notifications")
	method := textOf(message["method"])
	w.calls = message == nil || method == "tools/call" // what cannot be read may be a call, as a batch is
	w.resumes = message != nil && method == ""
	if w.name != "" {
		return
	}
	w.name = textOf(params["requestState"])
	for _, name := range []string{textOf(params["taskId"]), textOf(membersOf(params["arguments"], "ticket")["ticket"])} {
		if w.name == "" {
			w.name = name
		}
	}
	w.resumes = w.resumes || w.name != "" && method != "tasks/get"
	for _, id := range elementsOf(membersOf(params["notifications"], "taskIds")["taskIds"]) {
		if w.name == "" { // of several nodes' tasks, a stream follows those of the first one
			w.name = textOf(id)
		}
	}
	if id, ok := strings.CutPrefix(textOf(params["uri"]), fileScheme); ok && w.name == "" {
		w.name = id
	}
}

// node returns the ID of the node that the name begins with; "" is none.
func (w *want) node() string {
	if len(w.name) <= idLength || !nodeID.MatchString(w.name[:idLength]) {
		return ""
	}
	return w.name[:idLength]
}

// membersOf returns the members of an object that have one of these names; nil where the text is no
// object, or none that the faces take.
func membersOf(text []byte, names ...string) map[string]jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	if len(text) == 0 || d.PeekKind() != '{' {
		return nil
	}
	_, _ = d.ReadToken() // it is the brace
	members := map[string]jsontext.Value{}
	for d.PeekKind() == '"' {
		token, err := d.ReadToken()
		if err != nil {
			return nil
		}
		name := token.String()
		if !slices.Contains(names, name) {
			err = d.SkipValue()
		} else {
			members[name], err = d.ReadValue()
			members[name] = bytes.Clone(members[name])
		}
		if err != nil {
			return nil
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return nil
	}
	return members
}

// elementsOf returns the elements of a list.
func elementsOf(text []byte) (all []jsontext.Value) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	if len(text) == 0 || d.PeekKind() != '[' {
		return nil
	}
	_, _ = d.ReadToken() // it is the bracket
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return nil
		}
		all = append(all, bytes.Clone(value))
	}
	return all
}

// textOf returns the text of a string; "" where the value is none.
func textOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}
