package bridge

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
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
	// frame of the page.
	Origin string `json:"origin,omitempty"`
	Frame  string `json:"frame,omitempty"`
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

	json []byte
}

// JSON is the document as it is served. The bytes must not be changed.
func (d *Document) JSON() []byte { return d.json }

// Action finds an action by name, or nil.
func (d *Document) Action(name string) *Action {
	i := slices.IndexFunc(d.Actions, func(a Action) bool { return a.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Actions[i]
}

// anyResult is the responseSchema of a tool that declares no outputSchema: the
// WebMCP of the seed has none. It has words only, so that a promise which the
// page makes later is seen as one.
var anyResult = json.RawMessage(`{"description":"Whatever the page returns: often {\"content\": [...]} as in MCP, a string, or any other JSON value.","examples":[{"content":[{"type":"text","text":"Done."}]}]}`)

func newAction(t *Tool) Action {
	request := normalRequest(t.InputSchema())
	a := Action{Name: t.Name(), Title: t.Title(), Description: t.Description(), RequestSchema: request, Schema: request,
		ResponseSchema: anyResult, Annotations: t.Annotations(), Frame: t.Frame()}
	if a.Frame != "" {
		a.Origin = t.Origin()
	}
	if out := t.OutputSchema(); out != nil {
		a.ResponseSchema = out
	}
	return a
}

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

// draft makes the document of a webtool, without a version.
func draft(name, description string, tools []*Tool, s *siteState) *Document {
	d := &Document{Name: name, Description: description, Actions: make([]Action, 0, len(tools)),
		ConfigSchema: s.configSchemaJSON, DefaultConfig: s.defaultConfig}
	for _, t := range tools {
		d.Actions = append(d.Actions, newAction(t))
	}
	d.Digest = canonicalDigest(d)
	return d
}

// finish gives the draft its version and its bytes.
func (d *Document) finish(version string) *Document {
	d.Version = version
	b, err := EncodeJSON(d)
	if err != nil { // every raw member was checked when it was admitted
		panic("encoding a webtool: " + err.Error())
	}
	d.json = b
	return d
}

func canonicalDigest(v any) string {
	b, err := EncodeJSON(v)
	if err != nil {
		panic("encoding a webtool: " + err.Error())
	}
	return digestOf(canonicalOrRaw(b))
}

// EncodeJSON writes JSON on one line and leaves '<', '>' and '&' as they are: models
// and people read it, and no browser takes application/json for a page. Errors are
// those of encoding/json.
func EncodeJSON(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// Webtool gives the document of a site (action "") or of one of its tools, at a
// version ("" and "latest" mean what is current). With ref.Session it describes
// what that session's page offers now, which mints no version. A site that cannot
// be reached is described as it was last, if it ever was. Errors are *Error.
func (b *Bridge) Webtool(ctx context.Context, ref Ref, action, version string) (*Document, error) {
	s, err := b.siteFor(ref.Site, ref.Caller)
	if err != nil {
		return nil, err
	}
	pinned := version != "" && version != "latest"
	if pinned {
		// A version that was current once is served also when the site is down.
		if d, err := s.history(action).version(ctx, version); d != nil || err != nil {
			return d, err
		}
	}
	catalog, err := b.router.Await(ctx, ref)
	if err != nil {
		if d := s.history(action).stale(ctx); d != nil && ref.Session == "" {
			return d, nil
		}
		return nil, nothingRan(ctx, err)
	}
	if ref.Session != "" && !pinned {
		return s.sessionDocument(catalog, action, b.current(ctx, ref, s))
	}
	current, err := s.observe(ctx, catalog, action)
	if err != nil {
		return nil, err
	}
	if pinned {
		if current != nil && current.Version == version {
			return current, nil
		}
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no version %s of this webtool.", printable(version)).Detail("version", printable(version))
	}
	if current != nil {
		return current, nil
	}
	return nil, s.unknownAction(action, catalog)
}

// current is the version of the catalogue page's webtool, for documents of
// sessions.
func (b *Bridge) current(ctx context.Context, ref Ref, s *siteState) string {
	ref.Session = ""
	if c, err := b.router.Await(ctx, ref); err == nil {
		if d, err := s.observe(ctx, c, ""); d != nil && err == nil {
			return d.Version
		}
	}
	return firstVersion
}

func (s *siteState) sessionDocument(c *Catalog, action, version string) (*Document, error) {
	name, description, tools := s.describe(c, action)
	if tools == nil {
		return nil, s.unknownAction(action, c)
	}
	return draft(name, description, tools, s).finish(version), nil
}

// describe gives name, description and tools of a webtool; no tools when the
// action does not exist.
func (s *siteState) describe(c *Catalog, action string) (name, description string, tools []*Tool) {
	if action == "" {
		tools = s.offered(c)
		if tools == nil {
			tools = []*Tool{}
		}
		return s.site.Name, s.description(), tools
	}
	t := c.Tool(action)
	if t == nil || !s.offers(t) {
		return "", "", nil
	}
	return s.site.Name + "_" + action, t.Description(), []*Tool{t}
}

func (s *siteState) description() string {
	if s.site.Local {
		return fmt.Sprintf("Tools that the web application %s declares through WebMCP.", s.site.Name)
	}
	return fmt.Sprintf("Tools that the web application %s (%s) declares through WebMCP.", s.site.Name, s.site.Origin)
}

func (s *siteState) unknownAction(action string, c *Catalog) *Error {
	offered := s.offered(c)
	names := make([]string, 0, len(offered))
	for _, t := range offered {
		names = append(names, t.Name())
	}
	return Errorf(WebtoolNotFound, "", NotRun, "There is no action %q here.", printable(action)).
		Detail("reason", "action").Detail("actions", names)
}
