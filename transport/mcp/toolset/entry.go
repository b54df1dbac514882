package toolset

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// entry is one tool of a list, and how the list shows it in both kinds of protocol version.
type entry struct {
	Target
	shown  definition
	modern json.RawMessage // the outputSchema that later protocol versions get
	texts  [2]*schema.Text // legacy, modern; the same one where the schema is
	carded *schema.Text    // with the card, for all versions
	card   bool            // the list shows it with the card
}

// definition is a tool as a list has it, with its members in the order in which people
// read them.
type definition struct {
	Name         string          `json:"name"`
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema,omitempty"`
	Annotations  annotations     `json:"annotations"`
	Meta         *meta           `json:"_meta,omitempty"`
}

type annotations struct {
	Title           string `json:"title,omitempty"`
	ReadOnlyHint    *bool  `json:"readOnlyHint,omitempty"`
	DestructiveHint *bool  `json:"destructiveHint,omitempty"`
	IdempotentHint  *bool  `json:"idempotentHint,omitempty"`
	OpenWorldHint   *bool  `json:"openWorldHint,omitempty"`
}

// meta has what we say about a tool.
type meta struct {
	Tool *about `json:"pagetools/tool,omitempty"`
	UI   *ui    `json:"ui,omitempty"`
}

// ui holds what MCP Apps say of a tool.
type ui struct {
	ResourceURI string   `json:"resourceUri,omitempty"`
	Visibility  []string `json:"visibility,omitempty"`
}

type about struct {
	Adapter *bridge.Adapter `json:"adapter,omitempty"`
	Digest  string          `json:"digest"`
	Name    string          `json:"name"`
	Origin  string          `json:"origin"`
	Site    string          `json:"site"`
	Version string          `json:"version"`
}

// newEntry makes the entry of a tool for both kinds of protocol version. They differ in nothing
// else than the schema of results.
func newEntry(to Target, d definition, modernOutput json.RawMessage) entry {
	e := entry{Target: to, shown: d, modern: modernOutput, texts: [2]*schema.Text{{}}, carded: &schema.Text{}}
	if e.texts[1] = e.texts[0]; !bytes.Equal(d.OutputSchema, modernOutput) {
		e.texts[1] = &schema.Text{}
	}
	return e
}

// json is the tool as the list has it.
func (e *entry) json(protocol int) json.RawMessage {
	if e.card {
		return e.carded.Get(e.withCard)
	}
	return e.texts[protocol].Get(func() json.RawMessage {
		d := e.shown
		if protocol == 1 {
			d.OutputSchema = e.modern
		}
		return encode(d)
	})
}

// withCard is the tool with the card. It promises no shape: that a call waits is a result without
// structuredContent, which clients would refuse.
func (e *entry) withCard() json.RawMessage {
	d := e.shown
	d.OutputSchema = nil
	d.Meta = &meta{UI: &ui{ResourceURI: CardURI}}
	if e.shown.Meta != nil {
		d.Meta.Tool = e.shown.Meta.Tool
	}
	return encode(d)
}

// encode writes a value of ours: what pages gave was checked before.
var encode = schema.MustEncode

// entryOf makes the entry of a page's tool, and says as findings what was changed.
func (l *List) entryOf(s Source, t *bridge.Tool, name string) entry {
	input, output := t.Schemas()
	d := definition{Name: name, Title: titleOf(t, name), Description: describe(s.Site, t),
		Annotations: claims(t.Annotations()), Meta: &meta{}}
	d.Meta.Tool = &about{t.Adapter(), t.Digest(), t.Name(), t.Origin(), s.Site.Name, s.Version}
	form := input.ForClients(l.options.Faithful)
	d.InputSchema = form.JSON
	if words, _ := text.Visible(form.Forms); words != "" {
		d.Description += "\n\n" + words
	}
	for _, note := range form.Notes {
		l.find(t.Name(), "mcp-schema", false, "inputSchema: %s.", note)
	}
	var modern json.RawMessage
	switch {
	case output == nil:
	case s.Unkept[t.Digest()] < 0:
		l.find(t.Name(), "mcp-output-schema", false, "The operator's rules for results may change what it returns, so its outputSchema is not listed.")
	case s.Unkept[t.Digest()] != 0:
		l.find(t.Name(), "mcp-output-schema", false, "It returned something that does not fit its outputSchema, which is not listed any more.")
	default:
		modern, _ = output.OutputForClients(true) // it changes no more than the other
		var notes []string
		d.OutputSchema, notes = output.OutputForClients(false)
		for _, note := range notes {
			l.find(t.Name(), "mcp-output-schema", false, "outputSchema: %s.", note)
		}
	}
	return newEntry(Target{Site: s.Site.Name, Tool: t, Name: name, form: form}, d, modern)
}

// titleOf is the page's title, or the raw name where the list shows another.
func titleOf(t *bridge.Tool, name string) string {
	if title := strings.TrimSpace(t.Title()); title != "" {
		return title
	}
	if title := annotationTitle(readClaims(t.Annotations())); title != "" {
		return title
	}
	if name != t.Name() {
		return t.Name()
	}
	return ""
}

// describe is the page's description; that of a frame says whose it is.
func describe(site bridge.Site, t *bridge.Tool) string {
	if t.Frame() == "" || t.Origin() == site.Origin {
		return t.Description()
	}
	return t.Description() + "\n\n(Offered by a frame of the page, from " + t.Origin() + ".)"
}

func readClaims(annotations json.RawMessage) bridge.Value {
	v, _ := bridge.ReadValue("annotations", annotations) // they were admitted; none are a value that does not exist
	return v
}

// annotationTitle is the title among the annotations, or "".
func annotationTitle(given bridge.Value) string {
	title, _ := text.Visible(given.Get("title").String())
	return strings.TrimSpace(title)
}

// claims are the page's annotations that MCP knows, where they are booleans. What
// the page does not say about the world outside is taken to be so.
func claims(text json.RawMessage) annotations {
	given := readClaims(text)
	claim := func(key string) *bool {
		switch string(given.Get(key).Text()) {
		case "true":
			return new(true)
		case "false":
			return new(false)
		}
		return nil
	}
	a := annotations{
		Title: annotationTitle(given), ReadOnlyHint: claim("readOnlyHint"), OpenWorldHint: claim("openWorldHint"),
		DestructiveHint: claim("destructiveHint"), IdempotentHint: claim("idempotentHint"),
	}
	if a.OpenWorldHint == nil {
		a.OpenWorldHint = new(true)
	}
	return a
}
