package webtool

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport"
)

// message is the body of a POST, of either dialect.
type message struct {
	older bool
	// session is the sessionId: state. The older dialect has none.
	session string
	// correlation is the older dialect's session_id: for logs only.
	correlation string
	version     string // "" means latest
	action      string // "" means the only one
	config      json.RawMessage
	request     bridge.Value
}

// keys that either dialect knows. Others are ignored, but not those that a
// careless reader could take for one of these.
var keys = []string{"sessionId", "session_id", "version", "action", "config", "request", "payload"}

// decode reads the body of a POST. When the error is not nil, message says only
// the dialect to write it in.
func decode(body []byte) (message, *bridge.Error) {
	raw, err := bridge.ReadValue("The body", body)
	if err != nil {
		return message{}, bridge.AsError(err)
	}
	if !raw.IsObject() {
		return message{}, transport.Malformed("The body must be a JSON object.")
	}
	payload := raw.Get("payload").Exists()
	if payload && raw.Get("request").Exists() {
		return message{}, transport.Malformed("The body has both request and payload. The current dialect has request, the older " +
			"one payload: send one of them.")
	}
	m := message{older: payload || raw.Get("session_id").Exists()}
	if e := m.read(raw); e != nil {
		return message{older: m.older}, e
	}
	return m, nil
}

func (m *message) read(raw bridge.Value) *bridge.Error {
	sessionKey, dataKey, session := "sessionId", "request", &m.session
	if m.older {
		sessionKey, dataKey, session = "session_id", "payload", &m.correlation
	}
	var strange []string
	for name, value := range raw.Members() {
		var into *string
		switch name {
		case sessionKey:
			into = session
		case "action":
			into = &m.action
		case "version":
			into = &m.version
		case "config":
			m.config = value.Text()
		case dataKey:
			m.request = value
		default:
			if lookalike(name) {
				return transport.Malformed(fmt.Sprintf("The key %q differs from one that is known only in case or in invisible "+
					"characters: send %s.", text.Brief(name, transport.MaxSession), meant(name)))
			}
			strange = append(strange, name)
		}
		if into == nil {
			continue
		}
		if !value.IsString() {
			return transport.Malformed(name + " must be a string.")
		}
		*into = value.String()
	}
	switch {
	case raw.Get("sessionId").Exists() && !m.older && !transport.ValidSession(m.session):
		return transport.BadSession()
	case raw.Get("version").Exists() && m.version == "":
		return bridge.Errorf(bridge.WebtoolNotFound, "", bridge.NotRun,
			"An empty version names no version. Leave it out to get the latest one.")
	case !m.request.Exists():
		words := dataKey + " is missing: it must have the arguments, as a JSON object."
		if m.action == "" {
			words += " action, the name of the tool, is missing, too: only a webtool with one tool needs none."
		}
		return transport.Malformed(words + m.ignored(strange))
	}
	return nil
}

// maxStrange limits how many keys that nobody knows a message names.
const maxStrange = 3

// ignored names keys that mean nothing in a body, and what the tool's name goes by.
func (m *message) ignored(keys []string) string {
	if len(keys) == 0 {
		return ""
	}
	var named []string
	for _, key := range keys[:min(len(keys), maxStrange)] {
		named = append(named, fmt.Sprintf("%q", text.Brief(key, transport.MaxSession)))
	}
	words := " The body has " + strings.Join(named, ", ")
	switch more := len(keys) - maxStrange; {
	case len(keys) == 1:
		words += ", which means nothing here"
	case more > 0:
		words += fmt.Sprintf(" and %d more, which mean nothing here", more)
	default:
		words += ", which mean nothing here"
	}
	if m.action == "" {
		words += "; the tool's name is action"
	}
	return words + "."
}

// lookalike reports a key that a careless reader could take for one that either
// dialect knows.
func lookalike(key string) bool { return !slices.Contains(keys, key) && meant(key) != "" }

// meant is the known key that looks like one, or "".
func meant(key string) string {
	if i := slices.IndexFunc(keys, func(k string) bool { return folded(k) == folded(key) }); i >= 0 {
		return keys[i]
	}
	return ""
}

// folded returns the key without case and invisible characters.
func folded(key string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, key))
}

// addResume puts the header's token where the bridge looks for it.
func (m *message) addResume(h http.Header) *bridge.Error {
	token, e := transport.ResumeOf(h)
	if e != nil || token == "" {
		return e
	}
	config, ok := asObject(m.config)
	if !ok {
		return nil // the bridge says what is wrong with config
	}
	if other, ok := config["resume"]; ok {
		var inBody string
		if json.Unmarshal(other, &inBody) != nil || inBody != token {
			return transport.Malformed("config.resume and the header " + transport.ResumeHeader + " name different calls: send one of them.")
		}
		return nil
	}
	config["resume"] = schema.MustEncode(token)
	m.config = schema.MustEncode(config) // raw values that were read a moment ago
	return nil
}

// asObject reads an object; missing text is an empty object.
func asObject(raw json.RawMessage) (map[string]json.RawMessage, bool) {
	o := map[string]json.RawMessage{}
	if raw == nil {
		return o, true
	}
	err := json.Unmarshal(raw, &o)
	return o, err == nil && o != nil
}
