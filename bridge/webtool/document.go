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
	// Adapter is the script of the operator that adds it to the page; nil is none.
	Adapter *Adapter `json:"adapter,omitempty"`

	canonical []byte // once it is known
}

// Adapter identifies the script of the operator that adds a tool to a page.
type Adapter struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of its file, in hex
}

// String returns name and version.
func (a Adapter) String() string { return a.Name + " " + a.Version }

// same reports whether two adapters, of which nil is none, are the same script.
func (a *Adapter) same(b *Adapter) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
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
func (a Action) Digest() string { return digestOf(a.Sealed().canonical) }

// Sealed is the action for who drafts more than one document of it: what their digests are made of
// is written once. It must not change afterwards.
func (a Action) Sealed() Action {
	if a.canonical != nil {
		return a
	}
	members := map[string][]byte{"name": canonicalText(a.Name), "description": canonicalText(a.Description),
		"requestSchema": canonical(a.RequestSchema), "responseSchema": canonical(a.ResponseSchema)}
	if members["schema"] = members["requestSchema"]; !bytes.Equal(a.Schema, a.RequestSchema) {
		members["schema"] = canonical(a.Schema)
	}
	for name, s := range map[string]string{"title": a.Title, "origin": a.Origin, "frame": a.Frame} {
		if s != "" {
			members[name] = canonicalText(s)
		}
	}
	if len(a.Annotations) > 0 {
		members["annotations"] = canonical(a.Annotations)
	}
	if a.Adapter != nil {
		members["adapter"] = canonical(schema.MustEncode(a.Adapter))
	}
	a.canonical = schema.CanonicalObject(members)
	return a
}

// anyResult is the responseSchema of a tool that declares no outputSchema: the
// WebMCP of the seed has none. It has words only, so that a promise which the
// page makes later is seen as one.
var anyResult = json.RawMessage(`{"description":"Whatever the page returns: often {\"content\": [...]} as in MCP, a string, or any other JSON value.","examples":[{"content":[{"type":"text","text":"Done."}]}]}`)

// normalRequest adds `type` and `properties` where they are missing, because
// clients of the older dialect read both.
func normalRequest(raw json.RawMessage) json.RawMessage {
	if bytes.HasPrefix(raw, []byte(`{"type":"object","properties":{`)) { // as our own schemas of operations begin
		return raw
	}
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
	// Stale is true when the site cannot be reached, and this is its last offer (webtools
	// reference, A17).
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
		d.writeTo(text)
		return text.Bytes()
	})
}

// actionBytes is about how long an action, or a document, is beside its texts.
const actionBytes = 512

// writeTo writes the document's JSON to w, which takes everything. Documents may be large: they
// are never in memory more often than once, and their actions one at a time.
func (d *Document) writeTo(w io.Writer) {
	rest := *d
	rest.Actions = nil
	before, after, _ := bytes.Cut(schema.MustEncode(&rest), []byte(`"actions":null`)) // quotes in texts are escaped
	_, _ = w.Write(before)
	writeActions(w, d.Actions, func(a Action) []byte { return schema.MustEncode(a) })
	_, _ = w.Write(after)
}

// writeActions writes the member.
func writeActions(w io.Writer, actions []Action, encode func(Action) []byte) {
	_, _ = io.WriteString(w, `"actions":[`)
	for i, a := range actions {
		if i > 0 {
			_, _ = w.Write([]byte{','})
		}
		_, _ = w.Write(encode(a))
	}
	_, _ = w.Write([]byte{']'})
}

// canonical is the canonical JSON of what was checked; nil is null.
func canonical(checked json.RawMessage) json.RawMessage {
	if checked == nil {
		return json.RawMessage("null")
	}
	b, err := schema.Canonical(checked)
	if err != nil {
		panic("encoding a webtool: " + err.Error())
	}
	return b
}

// canonicalText is a string as canonical JSON, in UTF-8 as all that is encoded.
func canonicalText(s string) []byte { return schema.AppendString(nil, string([]rune(s))) }

// Action finds an action by name, or nil.
func (d *Document) Action(name string) *Action {
	i := slices.IndexFunc(d.Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Actions[i]
}

// Config describes what calls to a webtool may configure.
type Config struct {
	Schema, Default json.RawMessage

	canonicalSchema, canonicalDefault []byte // once they are known
}

// Sealed is the config for who drafts more than one document with it. It must not change
// afterwards.
func (c Config) Sealed() Config {
	if c.canonicalSchema == nil {
		c.canonicalSchema, c.canonicalDefault = canonical(c.Schema), canonical(c.Default)
	}
	return c
}

// Draft makes the document of a webtool, without a version. The slice of actions is the document's.
func Draft(name, description string, actions []Action, c Config) *Document {
	c = c.Sealed()
	rest := schema.CanonicalObject(map[string][]byte{"name": canonicalText(name), "description": canonicalText(description),
		"version": canonicalText(""), "digest": canonicalText(""), "configSchema": c.canonicalSchema, "defaultConfig": c.canonicalDefault})
	h := sha256.New()
	h.Write([]byte{'{'})
	writeActions(h, actions, func(a Action) []byte { return a.Sealed().canonical })
	h.Write([]byte{','})
	h.Write(rest[1:]) // no other member is before the actions
	for i := range actions {
		actions[i].canonical = nil // documents are kept for long
	}
	return &Document{Name: name, Description: description, Actions: actions, ConfigSchema: c.Schema, DefaultConfig: c.Default,
		Digest: hex.EncodeToString(h.Sum(nil))}
}

// Finish sets the version of a draft, and returns it.
func (d *Document) Finish(version string) *Document {
	d.Version, d.json, d.text = version, nil, &schema.Text{}
	return d
}

// digestOf is the hex SHA-256 of canonical JSON.
func digestOf(canonical []byte) string {
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}
