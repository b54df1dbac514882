package openapi

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/opentools"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// part is one site's part of a document. It is immutable.
type part struct {
	site       bridge.Site
	version    string
	catalog    *bridge.Catalog
	unkept     map[string]int64
	operations []operation // by the names of their tools
	components []schema.Member
	id         string // of its content
}

// operation is one tool.
type operation struct {
	path string
	id   string
	item *post
}

// post is a Path Item Object of OpenAPI (4.8.9) with its Operation Object.
type post struct {
	Post struct {
		ID          string                `json:"operationId"`
		Tags        []string              `json:"tags"`
		Summary     string                `json:"summary"`
		Description string                `json:"description,omitempty"`
		XLLM        opentools.Operation   `json:"x-llm"`
		Body        *requestBody          `json:"requestBody,omitempty"`
		Responses   map[string]*oneOfThem `json:"responses"`
	} `json:"post"`
}

type requestBody struct {
	Required bool                 `json:"required"`
	Content  map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema json.RawMessage `json:"schema"`
}

// oneOfThem is a Response Object, or a reference to one.
type oneOfThem struct {
	Ref         string               `json:"$ref,omitempty"`
	Description string               `json:"description,omitempty"`
	Content     map[string]mediaType `json:"content,omitempty"`
}

func asJSON(s json.RawMessage) map[string]mediaType {
	return map[string]mediaType{"application/json": {s}}
}

// bodyOf is the body of calls. Libraries make an argument of a body without properties, and want it
// where it is required. A request without a body has no arguments, which is good where a tool needs
// none.
func bodyOf(input *schema.Schema, text json.RawMessage) *requestBody {
	b := &requestBody{true, asJSON(text)}
	if !bytes.Contains(text, []byte(`"properties":{}`)) {
		return b
	}
	var s struct {
		Properties, PatternProperties map[string]json.RawMessage
		AdditionalProperties          any
	}
	if err := json.Unmarshal(text, &s); err != nil || len(s.Properties) > 0 || input.Validate([]byte("{}")) != nil {
		return b
	}
	if s.AdditionalProperties == false && len(s.PatternProperties) == 0 {
		return nil
	}
	b.Required = false
	return b
}

// isOf reports whether the part was made from the listing.
func (p *part) isOf(l *bridge.Listing) bool {
	return p.catalog == l.Catalog && p.version == l.Version && maps.Equal(p.unkept, l.Unkept)
}

// mostSchemas bounds the bytes of the schemas of a site; tools after that have the names of their
// properties only.
const mostSchemas = 4 << 20

const noSchema = `{"type":"object","properties":{}}`

func newPart(l *bridge.Listing) *part {
	p := &part{site: l.Site, version: l.Version, catalog: l.Catalog, unkept: l.Unkept}
	ids := operationIDs(l.Site.Name, l.Tools)
	size := 0
	for i, t := range l.Tools {
		op := operation{path: "/tools/" + url.PathEscape(l.Site.Name) + "/" + url.PathEscape(t.Name()), id: ids[i], item: &post{}}
		o := &op.item.Post
		o.ID, o.Tags = ids[i], []string{l.Site.Name}
		o.Summary, o.Description = summaryOf(t)
		o.XLLM = extension(l.Terms(t))
		if of := t.Operation(); of != nil { // what its own site says holds here, too
			o.XLLM.Cost = opentools.CostIndicator(of)
			o.XLLM.BlanketApprovalAllowed = o.XLLM.BlanketApprovalAllowed && of.Level <= policy.Once
		}
		if more := t.Description(); more != o.Summary {
			o.XLLM.Hint = more
		}
		input, output := t.Schemas()
		add := func(s *schema.Schema, prefix string) json.RawMessage {
			if size+len(s.JSON()) > mostSchemas { // it would be made for nothing, which takes long
				return json.RawMessage(noSchema)
			}
			text, components := s.ForOpenAPI(prefix)
			n := len(text)
			for _, c := range components {
				n += len(c.Value)
			}
			if size+n > mostSchemas {
				return json.RawMessage(noSchema)
			}
			size += n
			p.components = append(p.components, components...)
			return text
		}
		o.Body = bodyOf(input, add(input, ids[i]+".arguments"))
		result := json.RawMessage("{}")
		if _, breaks := l.Unkept[t.Digest()]; output != nil && !breaks {
			result = add(output, ids[i]+".result")
		}
		o.Responses = map[string]*oneOfThem{
			"200":     {Description: "What the tool returned.", Content: asJSON(result)},
			"202":     {Ref: "#/components/responses/Accepted"},
			"default": {Ref: "#/components/responses/Error"},
		}
		p.operations = append(p.operations, op)
	}
	p.id = p.digest()
	return p
}

func (p *part) digest() string {
	sum := sha256.New()
	sum.Write([]byte(p.site.Name + "\n" + p.version + "\n"))
	for _, op := range p.operations {
		sum.Write(schema.MustEncode(op.item))
	}
	for _, c := range p.components {
		sum.Write([]byte(c.Name))
		sum.Write(c.Value)
	}
	return hex.EncodeToString(sum.Sum(nil)[:16])
}

// mostSummary limits how many characters of a summary are shown.
const mostSummary = 119

// summaryOf returns the title or the first sentence, and all that the page says.
func summaryOf(t *bridge.Tool) (summary, description string) {
	description = t.Description()
	summary = text.Line(t.Title())
	if summary == "" {
		summary = text.Line(description)
		if first, _, ok := strings.Cut(summary, ". "); ok {
			summary = first + "."
		}
	}
	return text.Short(summary, mostSummary), description
}

// extension says what holds for a tool. A page's hint alone makes nothing run without consent where
// the operator wants it asked; the operator's mode is no permission for a client of somebody else
// to act on its own.
func extension(t bridge.Terms) opentools.Operation {
	x := opentools.Operation{Enabled: t.Level != policy.Never, Approval: opentools.PerCall, Destructive: t.Destructive,
		BlanketApprovalAllowed: !t.Destructive && !t.Strict && (!t.Ruled || t.Level <= policy.Once), Untrusted: t.Untrusted}
	if t.Level == policy.Auto && (t.ReadsOnly || t.Ruled) {
		x.Approval, x.BlanketApprovalAllowed = opentools.Auto, true
	}
	if t.Rate.N > 0 {
		x.RateLimit = &opentools.RateLimit{Max: t.Rate.N, Window: opentools.Window(t.Rate.Per)}
	}
	return x
}

// mostID is the most characters of an operationId: names of functions have no more with any model.
const mostID = 64

// operationIDs are the names of operations: SITE_TOOL, of letters, digits, '_' and '-'. One that is
// too long or another's ends with a hash of the tool's name.
func operationIDs(site string, tools []*bridge.Tool) []string {
	ids := make([]string, len(tools))
	count := map[string]int{}
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
				return r
			}
			return '_'
		}, s)
	}
	for i, t := range tools {
		ids[i] = plain(site + "_" + t.Name())
		count[strings.ToLower(ids[i])]++
	}
	for i, t := range tools {
		if len(ids[i]) > mostID || count[strings.ToLower(ids[i])] > 1 {
			sum := sha256.Sum256([]byte(t.Name()))
			suffix := "_" + hex.EncodeToString(sum[:])[:6]
			ids[i] = ids[i][:min(len(ids[i]), mostID-len(suffix))] + suffix
		}
	}
	return ids
}

// errorSchema is the envelope of errors; their codes are a list that grows.
const errorSchema = `{"type":"object","required":["status","error"],"properties":{"status":{"const":"error"},"error":{"type":"object",` +
	`"required":["code","message","outcome"],"properties":{"code":{"type":"string"},"message":{"type":"string"},"reason":{"type":"string"},` +
	`"outcome":{"enum":["not_run","failed","unknown"]},"details":{"type":"object"}}}}}`

// acceptedSchema describes the reply to a call that goes on.
const acceptedSchema = `{"type":"object","required":["status","call"],"properties":{"status":{"const":"accepted"},"call":{"type":"object",` +
	`"required":["id","state"],"properties":{"id":{"type":"string"},"state":{"enum":["working","input_required","completed","cancelled"]}}}}}`

// about says what no operation shows.
const about = "Each operation is a tool of a web page or of an API. The body is its arguments, and the reply its result. " +
	"?sessionId=NAME keeps the page between calls; without it each call has a fresh one. Idempotency-Key names a call that is " +
	"not to run twice. A call that needs a person ends with 403 or 409 and the header Pagetools-Resume: send the same call with " +
	"that header to go on. With Prefer: respond-async, a call that takes its time is answered by 202: GET the address in Location, " +
	"/calls/ID, for its state and its reply, ?wait=SECONDS to wait for them; DELETE cancels it."

// write writes a document.
func write(version, site string, parts []*part, credentials bool) []byte {
	type info struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	type tag struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	type components struct {
		Schemas   map[string]json.RawMessage `json:"schemas,omitempty"`
		Responses map[string]*oneOfThem      `json:"responses"`
		Security  map[string]any             `json:"securitySchemes,omitempty"`
	}
	doc := struct {
		OpenAPI    string                `json:"openapi"`
		Info       info                  `json:"info"`
		Servers    []map[string]string   `json:"servers"`
		XLLM       opentools.Root        `json:"x-llm"`
		Security   []map[string][]string `json:"security"`
		Tags       []tag                 `json:"tags,omitempty"`
		Paths      map[string]*post      `json:"paths"`
		Components components            `json:"components"`
	}{
		OpenAPI: "3.1.1", Info: info{"pagetools", version, about}, Servers: []map[string]string{{"url": "/"}},
		XLLM: opentools.Root{Version: opentools.Version, Name: "pagetools", Description: "Tools of web pages and APIs.",
			DefaultApproval: opentools.PerCall},
		Security: []map[string][]string{}, // none is needed: what is not said, some take for forgotten
		Paths:    map[string]*post{},
	}
	doc.Components.Schemas = map[string]json.RawMessage{}
	doc.Components.Responses = map[string]*oneOfThem{
		"Error": {Description: "The call failed, or did not run: error.outcome says which.", Content: asJSON(json.RawMessage(errorSchema))},
		"Accepted": {Description: "With Prefer: respond-async: the call goes on. Location has its address.",
			Content: asJSON(json.RawMessage(acceptedSchema))},
	}
	for _, p := range parts {
		says := fmt.Sprintf("Tools of the web application %s.", p.site.Name)
		doc.Tags = append(doc.Tags, tag{p.site.Name, says})
		if site != "" {
			doc.Info.Title, doc.Info.Version = p.site.Name, p.version
			doc.XLLM.Name, doc.XLLM.Description = p.site.Name, says
		}
		for _, op := range p.operations {
			doc.Paths[op.path] = op.item
		}
		for _, c := range p.components {
			doc.Components.Schemas[c.Name] = c.Value
		}
	}
	if credentials {
		doc.Components.Security = map[string]any{"bearer": map[string]string{"type": "http", "scheme": "bearer"}}
		doc.Security = []map[string][]string{{"bearer": {}}}
	}
	return schema.MustEncode(doc)
}
