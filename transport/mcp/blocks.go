package mcp

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// block is one element of a page's content: an object that has a type.
type block struct{ bridge.Value }

func (b block) kind() string { return b.Get("type").String() }

func (b block) text() string { return b.Get("text").String() }

// verbatim is a block that goes out as the page wrote it. It is one of the library's
// blocks by what it embeds, which is never written.
type verbatim struct {
	mcpgo.TextContent
	raw json.RawMessage
}

// MarshalJSON writes what the page wrote.
func (v verbatim) MarshalJSON() ([]byte, error) { return v.raw, nil }

// content is the block for a client of the protocol version. A block that the protocol version does
// not know, or that lacks what it must have, would make clients refuse the whole result: it becomes
// a text of its JSON.
func (b block) content(e protocol) mcpgo.Content {
	kind := blockTypes[b.kind()]
	if kind.check == nil || !e.Since(kind.since) || !kind.check(b.Value) {
		return mcpgo.NewTextContent(string(b.Text()))
	}
	if b.kind() == "text" && b.Len() == 2 {
		return mcpgo.NewTextContent(b.text())
	}
	unreadable := func(name string) bool { // an optional member that no client could read
		check := optional[name]
		return check != nil && !check(b.Get(name))
	}
	for name := range b.Members() {
		if unreadable(name) {
			sound, err := b.Edit(unreadable)
			if err != nil {
				return mcpgo.NewTextContent(string(b.Text()))
			}
			return verbatim{raw: sound.Text()}
		}
	}
	return verbatim{raw: b.Text()}
}

// blockType says since when MCP has a type of block, and what such a block needs.
type blockType struct {
	since string
	check func(bridge.Value) bool
}

var blockTypes = map[string]blockType{
	"text": {mcpgo.ProtocolVersion20241105,
		func(o bridge.Value) bool { return o.Get("text").IsString() }},
	"image":    {mcpgo.ProtocolVersion20241105, isMedia},
	"audio":    {mcpgo.ProtocolVersion20250326, isMedia},
	"resource": {mcpgo.ProtocolVersion20241105, isResource},
	"resource_link": {mcpgo.ProtocolVersion20250618, func(o bridge.Value) bool {
		return isURI(o.Get("uri")) && o.Get("name").IsString()
	}},
}

// optional are the members that blocks may have, and what they must be then.
var optional = map[string]func(bridge.Value) bool{
	"annotations": isAnnotations, "_meta": bridge.Value.IsObject, "title": bridge.Value.IsString, "description": bridge.Value.IsString,
	"mimeType": bridge.Value.IsString, "size": isSize, "icons": isIcons,
}

func isSize(v bridge.Value) bool {
	n, err := strconv.ParseUint(string(v.Text()), 10, 64)
	return err == nil && n < 1<<53
}

func isURI(v bridge.Value) bool {
	u, err := url.Parse(v.String())
	return v.IsString() && err == nil && u.Scheme != ""
}

func isBase64(v bridge.Value) bool {
	s := v.String()
	if !v.IsString() || strings.ContainsAny(s, "\r\n") { // which the decoder skips
		return false
	}
	_, err := base64.StdEncoding.DecodeString(s)
	return err == nil
}

func isMedia(o bridge.Value) bool {
	return o.Get("mimeType").String() != "" && isBase64(o.Get("data"))
}

// isResource wants an address and exactly one of text and bytes.
func isResource(o bridge.Value) bool {
	inner := o.Get("resource")
	if !isURI(inner.Get("uri")) {
		return false
	}
	for _, name := range []string{"mimeType", "title"} {
		if v := inner.Get(name); v.Exists() && !v.IsString() {
			return false
		}
	}
	if v := inner.Get("_meta"); v.Exists() && !v.IsObject() {
		return false
	}
	text, blob := inner.Get("text"), inner.Get("blob")
	return !text.Exists() && isBase64(blob) || !blob.Exists() && text.IsString()
}

// isAnnotations checks who a block is for, how much it matters, and its date.
func isAnnotations(o bridge.Value) bool {
	if !o.IsObject() {
		return false
	}
	if v := o.Get("audience"); v.Exists() {
		if !v.IsArray() {
			return false
		}
		for who := range v.Elements() {
			if who.String() != "user" && who.String() != "assistant" {
				return false
			}
		}
	}
	if v := o.Get("priority"); v.Exists() {
		p, err := strconv.ParseFloat(string(v.Text()), 64)
		if err != nil || p < 0 || p > 1 {
			return false
		}
	}
	v := o.Get("lastModified")
	return !v.Exists() || v.IsString()
}

// isIcons wants a list of objects that have an address.
func isIcons(list bridge.Value) bool {
	for icon := range list.Elements() {
		if !icon.Get("src").IsString() {
			return false
		}
	}
	return list.IsArray()
}
