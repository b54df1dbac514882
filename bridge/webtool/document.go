package webtool

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
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
		text := bytes.NewBuffer(make([]byte, 0, size+len(d.Description)+len(d.ConfigSchema)+len(d.DefaultConfig)+actionBytes))
		d.writeTo(text, schema.MustEncode)
		return text.Bytes()
	})
}

// actionBytes is about how long an action, or a document, is beside its texts.
const actionBytes = 512

// writeTo writes the document's JSON to w, which takes everything. Documents may be large: they
// are never in memory more often than once, and their actions one at a time.
func (d *Document) writeTo(w io.Writer, encode func(any) json.RawMessage) {
	rest := *d
	rest.Actions = nil
	before, after, _ := bytes.Cut(encode(&rest), []byte(`"actions":null`)) // quotes in texts are escaped
	write := func(part []byte) { _, _ = w.Write(part) }
	write(before)
	write([]byte(`"actions":[`))
	for i, a := range d.Actions {
		if i > 0 {
			write([]byte{','})
		}
		write(encode(a))
	}
	write([]byte{']'})
	write(after)
}

// canonical writes a value whose raw members were checked when they were admitted.
func canonical(v any) json.RawMessage {
	b, err := schema.Canonical(schema.MustEncode(v))
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
	d.writeTo(h, canonical)
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
	sum := sha256.Sum256(canonical(v))
	return hex.EncodeToString(sum[:])
}
