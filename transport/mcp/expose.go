package mcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// metaTool is the key of what we say about a tool in its _meta.
const metaTool = "pagetools/tool"

// hybridAbove is the number of tools of pages above which the automatic mode adds
// our own.
const hybridAbove = 30

const (
	// pageTools and pageBytes bound one page of a list; one tool always fits.
	pageTools = 300
	pageBytes = 2 << 20
)

// toolMode says which tools a list has.
type toolMode uint8

const (
	// modeAuto is modeHybrid above 30 tools of pages, else modeDirect.
	modeAuto toolMode = iota
	// modeDirect lists the tools of pages.
	modeDirect
	// modeHybrid lists them and our own.
	modeHybrid
	// modeMeta lists our own only.
	modeMeta
)

// source is what one site offers to a caller now.
type source struct {
	site    bridge.Site
	version string         // of the site's webtool
	tools   []*bridge.Tool // none while the site cannot be reached
}

type exposeOptions struct {
	// prefixed puts the site's name before that of the tool: several sites are
	// served.
	prefixed bool
	mode     toolMode
}

// target is what a name stands for: one of the fields tool and static is set.
type target struct {
	site   string
	tool   *bridge.Tool
	name   string // as in the list
	static string // the name of one of our own tools
}

// exposed is one tool and how the list shows it, in both eras.
type exposed struct {
	target
	shown [2]mcpgo.Tool // legacy, modern
	json  [2]json.RawMessage
}

// exposure is the list of one caller. It is immutable and safe for concurrent use.
type exposure struct {
	options exposeOptions
	mode    toolMode // as it came out: never automatic
	entries []exposed
	statics int // our own come first
	byName  map[string]int
	aliases map[string]int // raw names; -1 when several tools have it
	digests [2]string
	found   []bridge.Finding

	indexed sync.Once
	terms   *index
}

func eraIndex(e era) int {
	if e.modern() {
		return 1
	}
	return 0
}

// expose makes the list of a caller. Sources are all sites of the endpoint, also
// those without tools now: their names decide who owns which names. The list does
// not depend on the order of sources and tools.
func expose(sources []source, o exposeOptions) *exposure {
	x := &exposure{options: o, byName: map[string]int{}, aliases: map[string]int{}}
	var sites []string
	var ids []identity
	var from []source // of each tool
	var tools []*bridge.Tool
	for _, s := range sources {
		sites = append(sites, s.site.Name)
		for _, t := range s.tools {
			ids = append(ids, identity{s.site.Name, t.Origin(), t.Name()})
			from, tools = append(from, s), append(tools, t)
		}
	}
	var pages []exposed
	for i, name := range assign(sites, ids, o.prefixed) {
		if e, ok := x.show(from[i], tools[i], name); ok {
			pages = append(pages, e)
		}
	}
	slices.SortFunc(pages, func(a, b exposed) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(x.found, func(a, b bridge.Finding) int {
		return strings.Compare(a.Tool+"\n"+a.Rule+"\n"+a.Message, b.Tool+"\n"+b.Rule+"\n"+b.Message)
	})
	if x.mode = o.mode; x.mode == modeAuto {
		x.mode = modeDirect
		if len(pages) > hybridAbove {
			x.mode = modeHybrid
		}
	}
	if x.mode != modeDirect {
		x.entries = ownTools()
		x.statics = len(x.entries)
	}
	x.entries = append(x.entries, pages...)
	x.index()
	return x
}

// index makes what finds tools, and the digests.
func (x *exposure) index() {
	for i, e := range x.entries {
		x.byName[e.name] = i
	}
	for i, e := range x.entries[x.statics:] {
		names := []string{e.tool.Name()}
		if x.options.prefixed {
			names = append(names, identity{site: e.site, raw: e.tool.Name()}.base(true))
		}
		for _, name := range names {
			if j, taken := x.aliases[name]; taken && j != x.statics+i {
				x.aliases[name] = -1
			} else if !reserved(name) {
				x.aliases[name] = x.statics + i
			}
		}
	}
	for era := range x.digests {
		h := sha256.New()
		for _, e := range x.visible() {
			fmt.Fprintf(h, "%d\n", len(e.json[era]))
			h.Write(e.json[era])
		}
		x.digests[era] = hex.EncodeToString(h.Sum(nil))
	}
}

// visible are the entries that the list shows.
func (x *exposure) visible() []exposed {
	if x.mode == modeMeta {
		return x.entries[:x.statics]
	}
	return x.entries
}

// show makes the entry of a page's tool, and says as findings what was changed. It
// is false when the tool has to be left out.
func (x *exposure) show(s source, t *bridge.Tool, name string) (exposed, bool) {
	find := func(rule string, refused bool, format string, args ...any) {
		x.found = append(x.found, bridge.Finding{Rule: rule, Tool: t.Name(), Refused: refused, Message: fmt.Sprintf(format, args...)})
	}
	base := identity{site: s.site.Name, raw: t.Name()}.base(x.options.prefixed)
	switch {
	case name == "":
		find("mcp-name-taken", true, "No name could be found for it that no other tool has.")
		return exposed{}, false
	case reserved(base):
		find("mcp-name-reserved", false, "Names that begin with %q are kept for our own tools; MCP clients see it as %q.", reservedPrefix, name)
	case !legalName.MatchString(base):
		find("mcp-name-changed", false, "MCP clients take at most %d letters, digits, '_' and '-'; they see it as %q.", maxName, name)
	case name != base:
		find("mcp-name-shared", false, "Another tool could have this name; MCP clients see it as %q.", name)
	}
	input, notes, err := normaliseInput(t.InputSchema())
	if err != nil {
		find("mcp-schema", true, "inputSchema: %s; MCP clients do not get the tool.", err)
		return exposed{}, false
	}
	for _, note := range notes {
		find("mcp-schema", false, "inputSchema: %s.", note)
	}
	e := exposed{target: target{site: s.site.Name, tool: t, name: name}}
	shown := mcpgo.Tool{Name: name, Title: titleOf(t, name), Description: describe(s.site, t), RawInputSchema: input,
		Annotations: claims(t.Annotations()), Meta: mcpgo.NewMetaFromMap(map[string]any{metaTool: map[string]any{
			"site": s.site.Name, "origin": t.Origin(), "name": t.Name(), "version": s.version, "digest": t.Digest(),
		}})}
	// The list must not be what makes the library panic: see forClients.
	if err := mcpgo.ValidateParamHeaderAnnotations(&shown); err != nil {
		find("mcp-schema", true, "inputSchema: it asks for headers; MCP clients do not get the tool.")
		return exposed{}, false
	}
	for era := range e.shown {
		e.shown[era] = shown
		if out := t.OutputSchema(); out != nil {
			e.shown[era].RawOutputSchema, notes = normaliseOutput(out, era == 1)
			for _, note := range notes {
				if era == 0 { // the modern list changes no more than this one
					find("mcp-output-schema", false, "%s.", strings.TrimSuffix(note, "."))
				}
			}
		}
	}
	e.render()
	return e, true
}

// render makes the JSON of both eras, once. They differ in nothing else than the
// outputSchema.
func (e *exposed) render() {
	e.json[0] = toolJSON(e.shown[0])
	e.json[1] = e.json[0]
	if !bytes.Equal(e.shown[0].RawOutputSchema, e.shown[1].RawOutputSchema) {
		e.json[1] = toolJSON(e.shown[1])
	}
}

// toolJSON is what the library makes of a tool, with its members in the order in
// which people read them.
func toolJSON(t mcpgo.Tool) json.RawMessage {
	return encode(struct {
		Name         string               `json:"name"`
		Title        string               `json:"title,omitempty"`
		Description  string               `json:"description,omitempty"`
		InputSchema  json.RawMessage      `json:"inputSchema"`
		OutputSchema json.RawMessage      `json:"outputSchema,omitempty"`
		Annotations  mcpgo.ToolAnnotation `json:"annotations"`
		Meta         *mcpgo.Meta          `json:"_meta,omitempty"`
	}{t.Name, t.Title, t.Description, t.RawInputSchema, t.RawOutputSchema, t.Annotations, t.Meta})
}

// titleOf is the page's title, or the raw name where the list shows another.
func titleOf(t *bridge.Tool, name string) string {
	if title := strings.TrimSpace(t.Title()); title != "" {
		return title
	}
	if title := annotationTitle(t.Annotations()); title != "" {
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

// annotationTitle is the title among the annotations, or "".
func annotationTitle(annotations json.RawMessage) string {
	var a map[string]json.RawMessage
	var title string
	if json.Unmarshal(annotations, &a) != nil || json.Unmarshal(a["title"], &title) != nil {
		return ""
	}
	title, _ = bridge.Visible(title)
	return strings.TrimSpace(title)
}

// claims are the page's annotations that MCP knows, where they are booleans. What
// the page does not say about the world outside is taken to be so.
func claims(annotations json.RawMessage) mcpgo.ToolAnnotation {
	var raw map[string]json.RawMessage
	if json.Unmarshal(annotations, &raw) != nil {
		raw = nil
	}
	claim := func(key string) *bool {
		var b *bool
		if json.Unmarshal(raw[key], &b) != nil {
			return nil
		}
		return b
	}
	a := mcpgo.ToolAnnotation{Title: annotationTitle(annotations), ReadOnlyHint: claim("readOnlyHint"), DestructiveHint: claim("destructiveHint"),
		IdempotentHint: claim("idempotentHint"), OpenWorldHint: claim("openWorldHint")}
	if a.OpenWorldHint == nil {
		a.OpenWorldHint = new(true)
	}
	return a
}

// tools is the list, in its order. It must not be changed.
func (x *exposure) tools(e era) []mcpgo.Tool {
	shown := make([]mcpgo.Tool, 0, len(x.visible()))
	for _, entry := range x.visible() {
		shown = append(shown, entry.shown[eraIndex(e)])
	}
	return shown
}

// page is one page of the list as a JSON array, and the cursor of the next one, ""
// for the last. It encodes nothing. An unknown cursor is not ok. A cursor holds a
// name, so that a list which changed goes on behind it.
func (x *exposure) page(e era, cursor string) (list json.RawMessage, next string, ok bool) {
	entries := x.visible()
	if cursor != "" {
		after, err := base64.RawURLEncoding.DecodeString(cursor)
		if err != nil || !legalName.Match(after) {
			return nil, "", false
		}
		entries = behind(entries, x.statics, string(after))
	}
	size, n := 2, 0
	for ; n < len(entries) && n < pageTools; n++ {
		more := len(entries[n].json[eraIndex(e)]) + 1
		if n > 0 && size+more > pageBytes {
			break
		}
		size += more
	}
	list = append(make(json.RawMessage, 0, size), '[')
	for i, entry := range entries[:n] {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, entry.json[eraIndex(e)]...)
	}
	if n < len(entries) {
		next = base64.RawURLEncoding.EncodeToString([]byte(entries[n-1].name))
	}
	return append(list, ']'), next, true
}

// behind are the entries after a name. Our own come first.
func behind(entries []exposed, statics int, name string) []exposed {
	for i, e := range entries[:statics] {
		if e.name == name {
			return entries[i+1:]
		}
	}
	i, _ := slices.BinarySearchFunc(entries[statics:], name+"\x00", func(e exposed, name string) int { return strings.Compare(e.name, name) })
	return entries[statics+i:]
}

// find gives what a name stands for: a name of the list, or the page's own name (with
// the site's before it, too) when only one tool has it. It finds tools of pages also
// when the list has none of them.
func (x *exposure) find(name string) (target, bool) {
	i, ok := x.byName[name]
	if !ok {
		i, ok = x.aliases[name]
	}
	if !ok || i < 0 {
		return target{}, false
	}
	return x.entries[i].target, true
}

// findings say what was renamed, changed and left out, in words for the site's
// author. The slice must not be changed.
func (x *exposure) findings() []bridge.Finding { return x.found }

// digest changes exactly when clients of the era would see another list.
func (x *exposure) digest(e era) string { return x.digests[eraIndex(e)] }
