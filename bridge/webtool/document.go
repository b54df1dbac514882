package webtool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Action is one tool as the webtools documents describe it.
type Action struct {
	Name           string          `json:"name"`
	Title          string          `json:"title,omitempty"`
	Description    string          `json:"description"`
	RequestSchema  json.RawMessage `json:"requestSchema"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	// Schema repeats RequestSchema for clients of the older dialect.
	Schema json.RawMessage `json:"schema"`
	// Annotations are the page's claims. They are not trusted.
	Annotations json.RawMessage `json:"annotations,omitempty"`
	// Origin and Frame say which document offers the action, when it is in a
	// frame of the page, or the page is not at the site's own origin.
	Origin string `json:"origin,omitempty"`
	Frame  string `json:"frame,omitempty"`
}

// NewAction returns an action with the schemas that clients expect: an input schema that
// always has type and properties, and a schema of results that says something.
func NewAction(a Action, request, response json.RawMessage) Action {
	a.RequestSchema = normalRequest(request)
	a.Schema = a.RequestSchema
	if a.ResponseSchema = response; response == nil {
		a.ResponseSchema = anyResult
	}
	return a
}

// Digest identifies the action, as a lock file does. It does not depend on where a folder
// is served.
func (a Action) Digest() string { return digest(a) }

// anyResult is the responseSchema of a tool that declares no outputSchema: the
// WebMCP of the seed has none. It has words only, so that a promise which the
// page makes later is seen as one.
var anyResult = json.RawMessage(`{"description":"Whatever the page returns: often {\"content\": [...]} as in MCP, a string, or any other JSON value.","examples":[{"content":[{"type":"text","text":"Done."}]}]}`)

// normalRequest adds `type` and `properties` where they are missing, because
// clients of the older dialect read both.
func normalRequest(raw json.RawMessage) json.RawMessage {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return raw
	}
	var add []byte
	if _, ok := m["type"]; !ok {
		add = append(add, `"type":"object",`...)
	}
	if _, ok := m["properties"]; !ok {
		add = append(add, `"properties":{},`...)
	}
	if add == nil {
		return raw
	}
	if len(m) == 0 {
		add = bytes.TrimSuffix(add, []byte(","))
	}
	out := append([]byte{'{'}, add...)
	return append(out, bytes.TrimSpace(raw)[1:]...)
}

// Document is the metadata of a webtool at one version. It is immutable.
type Document struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	Version       string          `json:"version"`
	Actions       []Action        `json:"actions"`
	ConfigSchema  json.RawMessage `json:"configSchema"`
	DefaultConfig json.RawMessage `json:"defaultConfig"`
	// Digest is the hex SHA-256 of the canonical document without version and
	// digest (webtools reference, A1).
	Digest string `json:"digest"`
	// Stale is true when the site cannot be reached, and this is what it offered
	// last (webtools reference, A17).
	Stale bool `json:"stale,omitempty"`

	json []byte       // as it was kept; nil for one that was made now
	text *schema.Text // of one that was made now
}

// JSON is the document as it is served. The bytes must not be changed.
func (d *Document) JSON() []byte {
	if d.json != nil {
		return d.json
	}
	return d.text.Get(func() json.RawMessage {
		size := 0
		for _, a := range d.Actions {
			size += len(a.Description) + len(a.RequestSchema) + len(a.Schema) + len(a.ResponseSchema) + len(a.Annotations) + actionBytes
		}
		before, after := d.around(false)
		text := append(make([]byte, 0, len(before)+size+len(after)), before...)
		d.eachAction(func(part []byte) { text = append(text, part...) }, false)
		return append(text, after...)
	})
}

// actionBytes is about how long an action is beside its texts.
const actionBytes = 512

// around is the document's JSON before its actions and after them. Documents may be large: they
// are never in memory more often than once, and their actions one at a time.
func (d *Document) around(canonical bool) (before, after []byte) {
	rest := *d
	rest.Actions = nil
	before, after, _ = bytes.Cut(encode(&rest, canonical), []byte(`"actions":null`)) // quotes in texts are escaped
	return append(before, `"actions":[`...), append([]byte{']'}, after...)
}

// eachAction calls add with the parts of the list of actions in their order.
func (d *Document) eachAction(add func(part []byte), canonical bool) {
	for i, a := range d.Actions {
		if i > 0 {
			add([]byte{','})
		}
		add(encode(a, canonical))
	}
}

// encode writes a value whose raw members were checked when they were admitted.
func encode(v any, canonical bool) []byte {
	b, err := schema.Encode(v)
	if err == nil && canonical {
		b, err = schema.Canonical(b)
	}
	if err != nil {
		panic("encoding a webtool: " + err.Error())
	}
	return b
}

// Action finds an action by name, or nil.
func (d *Document) Action(name string) *Action {
	i := slices.IndexFunc(d.Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Actions[i]
}

// Config is what calls to a webtool may configure.
type Config struct {
	Schema, Default json.RawMessage
}

// Draft makes the document of a webtool, without a version.
func Draft(name, description string, actions []Action, c Config) *Document {
	d := &Document{Name: name, Description: description, Actions: actions, ConfigSchema: c.Schema,
		DefaultConfig: c.Default}
	h := sha256.New()
	before, after := d.around(true)
	_, _ = h.Write(before) // a hash takes everything
	d.eachAction(func(part []byte) { _, _ = h.Write(part) }, true)
	_, _ = h.Write(after)
	d.Digest = hex.EncodeToString(h.Sum(nil))
	return d
}

// Finish sets the version of a draft, and returns it.
func (d *Document) Finish(version string) *Document {
	d.Version, d.json, d.text = version, nil, &schema.Text{}
	return d
}

// digest is the hex SHA-256 of the canonical JSON.
func digest(v any) string {
	sum := sha256.Sum256(encode(v, true))
	return hex.EncodeToString(sum[:])
}
