package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// fileScheme opens the addresses of the files that pages save in calls.
const fileScheme = "pagetools://files/"

// maxEmbedded bounds the bytes of a file that is in the result itself: 64 KiB.
const maxEmbedded = 64 << 10

// resource is a file, or the card, as resources/list and links have it.
type resource struct {
	URI      string `json:"uri"`
	Name     string `json:"name"`
	Title    string `json:"title,omitempty"`
	MimeType string `json:"mimeType"`
	Size     *int64 `json:"size,omitempty"` // nil for the card
}

func resourceOf(f *bridge.File) resource {
	name := f.Name
	if name == "" {
		name = f.ID
	}
	return resource{URI: fileScheme + f.ID, Name: name, MimeType: f.Type, Size: &f.Bytes}
}

// contents holds a file, or the card, as resources/read returns it.
type contents struct {
	URI      string      `json:"uri"`
	MimeType string      `json:"mimeType"`
	Text     *string     `json:"text,omitempty"`
	Blob     *string     `json:"blob,omitempty"`
	Meta     *mcpgo.Meta `json:"_meta,omitempty"`
}

func contentsOf(f *bridge.File) contents {
	c := contents{URI: fileScheme + f.ID, MimeType: f.Type}
	if words, ok := f.Text(); ok {
		c.Text = &words
		return c
	}
	blob := base64.StdEncoding.EncodeToString(f.Data)
	c.Blob = &blob
	return c
}

// withFiles adds the files that the page saved in a call, a block each: a short text and a short
// picture themselves, anything else as a link.
func (x *exchange) withFiles(r *mcpgo.CallToolResult, saved []bridge.File) *mcpgo.CallToolResult {
	for _, told := range saved {
		r.Content = append(r.Content, fileBlock(x, told))
	}
	return r
}

// whyNoFile says in words for a model why there is no content.
var whyNoFile = map[bridge.FileState]string{
	bridge.FileTooLarge:   "it is too large to be kept",
	bridge.FileUnfinished: "it did not come in time",
	bridge.FileDenied:     "the call had as many files as one gets",
}

func fileBlock(x *exchange, told bridge.File) mcpgo.Content {
	if why := whyNoFile[told.State]; why != "" {
		return mcpgo.NewTextContent(fmt.Sprintf("The page saved the file %s, and you do not get it: %s.", text.Quote(told.Name), why))
	}
	f, ok := x.face.b.File(x.scope.caller, told.ID)
	if _, isText := f.Text(); ok && f.Bytes <= maxEmbedded && (isText || strings.HasPrefix(f.Type, "image/")) {
		return verbatim{raw: encode(struct {
			Type     string   `json:"type"`
			Resource contents `json:"resource"`
		}{"resource", contentsOf(&f)})}
	}
	link := resourceOf(&told)
	if !x.protocol.Since(blockTypes["resource_link"].since) {
		return mcpgo.NewTextContent(fmt.Sprintf("The page saved the file %s (%d bytes). To read it, read the resource %s.",
			text.Quote(link.Name), told.Bytes, link.URI))
	}
	return verbatim{raw: encode(struct {
		Type string `json:"type"`
		resource
	}{"resource_link", link})}
}

// resourceResult is the result of a request about resources. Its members are in the order of their
// names.
type resourceResult struct {
	Meta       *mcpgo.Meta      `json:"_meta,omitempty"`
	CacheScope mcpgo.CacheScope `json:"cacheScope,omitempty"`
	Contents   *[]contents      `json:"contents,omitempty"`
	Templates  *[]struct{}      `json:"resourceTemplates,omitempty"`
	Resources  *[]resource      `json:"resources,omitempty"`
	ResultType mcpgo.ResultType `json:"resultType,omitempty"`
	TTL        *int64           `json:"ttlMs,omitempty"`
}

// resources answers a request about resources: the files that pages saved in the calls of the
// caller, and the card.
func (x *exchange) resources() (json.RawMessage, *rpcError) {
	var out resourceResult
	fresh, card := true, drawsCards(x)
	if err := x.face.b.Count(x.scope.ref()); err != nil {
		return nil, refusal(err)
	}
	switch x.message.method {
	case string(mcpgo.MethodResourcesTemplatesList):
		out.Templates = &[]struct{}{}
	case string(mcpgo.MethodResourcesList):
		all := []resource{}
		if card {
			all = append(all, cardResource)
		}
		for _, f := range x.face.b.Files(x.scope.caller, x.scope.site) {
			all = append(all, resourceOf(&f))
		}
		out.Resources, fresh = &all, !x.face.o.Files // which come and go
	default:
		uri, e := x.message.text("uri")
		if e != nil {
			return nil, e
		}
		if fresh = card && uri == toolset.CardURI; fresh {
			out.Contents = &[]contents{x.face.card.contents()}
			break
		}
		id, ours := strings.CutPrefix(uri, fileScheme)
		f, ok := x.face.b.File(x.scope.caller, id)
		if !ours || !ok {
			return nil, noResource(x, uri)
		}
		out.Contents = &[]contents{contentsOf(&f)}
	}
	if x.protocol.Modern() {
		var r mcpgo.CacheableResult
		x.complete(&r.Result)
		var ttl int64
		if fresh {
			ttl = cardFresh.Milliseconds()
		}
		r.SetCacheHints(ttl, mcpgo.CacheScopePrivate)
		out.Meta, out.CacheScope, out.ResultType, out.TTL = r.Meta, r.CacheScope, r.ResultType, r.TTLMs
	}
	return encode(out), nil
}

// noResource is the error of an address that names nothing of the caller's.
func noResource(x *exchange, uri string) *rpcError {
	if uri == "" {
		return badParams("uri is missing: it must be the address of a resource, as %s has it.", mcpgo.MethodResourcesList)
	}
	code := mcpgo.RESOURCE_NOT_FOUND
	if x.protocol.Modern() { // which has no code of its own for it
		code = mcpgo.INVALID_PARAMS
	}
	e := rpcErrorf(code, "There is no resource %s. What a page saves is kept for 15 minutes, for whoever made the call.",
		text.Quote(text.Brief(uri, maxSessionName)))
	e.Data = map[string]string{"uri": text.Short(uri, maxSessionName)}
	return e
}
