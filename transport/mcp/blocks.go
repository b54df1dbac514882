package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// block is one element of a page's content.
type block struct {
	kind    string // its "type"
	raw     json.RawMessage
	members bridge.Value
}

// readBlock reads an object that has a type.
func readBlock(raw json.RawMessage) (block, bool) {
	members, err := bridge.ReadValue("a block", raw)
	if err != nil {
		return block{}, false
	}
	b := block{raw: raw, members: members}
	kind, ok := texts(members.Get("type").Text())
	b.kind = kind
	return b, ok
}

// text is the text of a text block.
func (b block) text() string {
	s, _ := texts(b.members.Get("text").Text())
	return s
}

// verbatim is a block that goes out as the page wrote it. It is one of the library's
// blocks by what it embeds, which is never written.
type verbatim struct {
	mcpgo.TextContent
	raw json.RawMessage
}

// MarshalJSON writes what the page wrote.
func (v verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

// content is the block for a client of the era. A block that the era does not know,
// or that lacks what it must have, would make clients refuse the whole result: it
// becomes a text of its JSON.
func (b block) content(e era) mcpgo.Content {
	kind := blockTypes[b.kind]
	if kind.check == nil || !e.since(kind.since) || !kind.check(b.members) {
		return mcpgo.NewTextContent(string(b.raw))
	}
	if b.kind == "text" && b.members.Len() == 2 {
		return mcpgo.NewTextContent(b.text())
	}
	return verbatim{raw: b.sound()}
}

// sound is the block without the optional members that no client could read.
func (b block) sound() json.RawMessage {
	out, dropped := &node{kind: '{'}, false
	for name, value := range b.members.Members() {
		if check := optional[name]; check != nil && !check(value.Text()) {
			dropped = true
			continue
		}
		out.keys, out.vals = append(out.keys, name), append(out.vals, &node{raw: jsontext.Value(value.Text())})
	}
	if !dropped {
		return b.raw
	}
	return out.appendTo(nil)
}

// blockType says since when MCP has a type of block, and what such a block needs.
type blockType struct {
	since string
	check func(bridge.Value) bool
}

var blockTypes = map[string]blockType{
	"text":          {mcpgo.ProtocolVersion20241105, func(o bridge.Value) bool { return isText(o.Get("text").Text()) }},
	"image":         {mcpgo.ProtocolVersion20241105, isMedia},
	"audio":         {mcpgo.ProtocolVersion20250326, isMedia},
	"resource":      {mcpgo.ProtocolVersion20241105, isResource},
	"resource_link": {mcpgo.ProtocolVersion20250618, func(o bridge.Value) bool { return isURI(o.Get("uri").Text()) && isText(o.Get("name").Text()) }},
}

// optional are the members that blocks may have, and what they must be then.
var optional = map[string]func(json.RawMessage) bool{
	"annotations": isAnnotations, "_meta": isObject, "title": isText, "description": isText, "mimeType": isText, "size": isSize, "icons": isIcons,
}

// texts gives a JSON string.
func texts(raw json.RawMessage) (string, bool) {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return "", false
	}
	return s, true
}

func isText(raw json.RawMessage) bool { _, ok := texts(raw); return ok }

func isObject(raw json.RawMessage) bool { return len(raw) > 0 && raw[0] == '{' }

func isSize(raw json.RawMessage) bool {
	var n uint64
	return string(raw) != "null" && json.Unmarshal(raw, &n) == nil && n < 1<<53
}

func isURI(raw json.RawMessage) bool {
	s, ok := texts(raw)
	if !ok {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && u.Scheme != ""
}

func isBase64(raw json.RawMessage) bool {
	s, ok := texts(raw)
	if !ok || strings.ContainsAny(s, "\r\n") { // which the decoder skips
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

func isMedia(o bridge.Value) bool {
	kind, ok := texts(o.Get("mimeType").Text())
	return ok && kind != "" && isBase64(o.Get("data").Text())
}

// isResource wants an address and exactly one of text and bytes.
func isResource(o bridge.Value) bool {
	inner, err := bridge.ReadValue("a resource", o.Get("resource").Text())
	if err != nil || !isURI(inner.Get("uri").Text()) {
		return false
	}
	for _, name := range []string{"mimeType", "title"} {
		if v := inner.Get(name).Text(); v != nil && !isText(v) {
			return false
		}
	}
	if v := inner.Get("_meta").Text(); v != nil && !isObject(v) {
		return false
	}
	text, blob := inner.Get("text").Text(), inner.Get("blob").Text()
	return text == nil && isBase64(blob) || blob == nil && isText(text)
}

// isAnnotations checks who a block is for, how much it matters, and its date.
func isAnnotations(raw json.RawMessage) bool {
	o, err := bridge.ReadValue("annotations", raw)
	if err != nil || !o.IsObject() {
		return false
	}
	if v := o.Get("audience").Text(); v != nil {
		var audience []string
		if string(v) == "null" || json.Unmarshal(v, &audience) != nil {
			return false
		}
		for _, who := range audience {
			if who != "user" && who != "assistant" {
				return false
			}
		}
	}
	if v := o.Get("priority").Text(); v != nil {
		var p float64
		if string(v) == "null" || json.Unmarshal(v, &p) != nil || p < 0 || p > 1 {
			return false
		}
	}
	v := o.Get("lastModified").Text()
	return v == nil || isText(v)
}

// isIcons wants a list of objects that have an address.
func isIcons(raw json.RawMessage) bool {
	var list []json.RawMessage
	if len(raw) == 0 || raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		return false
	}
	for _, icon := range list {
		o, err := bridge.ReadValue("an icon", icon)
		if err != nil || !isText(o.Get("src").Text()) {
			return false
		}
	}
	return true
}
