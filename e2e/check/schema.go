package check

import (
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// schemaStart and schemaEnd stand around the properties of an example.
const (
	exampleHead = `{"name":"add_stamp","title":"Add stamp","description":"Adds a stamp to the collection of the signed-in user.",`
	schemaStart = exampleHead + `"inputSchema":{"type":"object","properties":{`
	goodYear    = `"year":{"type":"integer","description":"Year of issue."}`
	goodTool    = schemaStart + goodYear + `}}}`
)

var schemaRules = []Rule{
	{ID: "schema-shape", Severity: Error, find: each((*run).declarations, findShape),
		What:   "The input schema is not a JSON object with type \"object\", properties that are an object, and required names that are a list of texts.",
		Why:    "MCP and the model APIs take only this shape; clients drop the tool, and some drop the whole list.",
		Source: "MCP specification, Tool.inputSchema; playwright-webmcp, schema-shape",
		Bad:    exampleHead + `"inputSchema":{"properties":{` + goodYear + `}}}`, Good: goodTool, At: "/inputSchema"},
	{ID: "schema-uncompilable", Severity: Error, find: each((*run).declarations, findUncompilable),
		What:   "The input schema cannot be compiled: it is not JSON, breaks the rules of its JSON Schema draft, has a reference that leads nowhere or into itself, or is beyond 64 KiB, 32 levels or 2,000 subschemas.",
		Why:    "Arguments cannot be checked against it. pagetools does not offer such a tool, and other clients fail at the first call.",
		Source: "JSON Schema 2020-12; limits of pagetools",
		Bad:    schemaStart + `"year":{"type":"string","description":"Year of issue.","pattern":"("}}}}`, Good: goodTool, At: "/inputSchema/properties/year/pattern"},
	{ID: RuleKeyword, Severity: Error, find: each((*run).tools, findSlips),
		What: "A keyword of a schema has a value that it does not take, such as required: true, a type that is none, or a length that is a text. " +
			"pagetools leaves the keyword out, or reads what it can only mean, and offers the tool.",
		Why:    "Browsers do not look, and clients that compile the schema drop the tool, or the whole list.",
		Source: "JSON Schema 2020-12; clients of MCP",
		Bad:    schemaStart + `"year":{"type":"int","description":"Year of issue."}}}}`, Good: goodTool, At: "/inputSchema/properties/year/type"},
	{ID: RuleUnknown, Severity: Warning, find: each((*run).tools, findSlips),
		What:   "A schema has a name that is nearly a keyword and is none, such as propertys, with a value that the keyword takes.",
		Why:    "JSON Schema ignores names that it does not know: what they were meant to say does not hold, and nobody is told.",
		Source: "JSON Schema 2020-12, core 6.5",
		Bad:    schemaStart + `"year":{"type":"integer","descrption":"Year of issue."}}}}`, Good: goodTool, At: "/inputSchema/properties/year/descrption"},
	{ID: RuleMap, Severity: Error, find: each((*run).tools, findSlips),
		What: "Parameters stand where only keywords may: the input schema is a map of parameters, or an object of a library such as zod. " +
			"pagetools reads the parameters.",
		Why:    "A browser takes it, and agents are told that the tool has no arguments.",
		Source: "WebMCP draft, inputSchema is a JSON Schema; Standard Schema",
		Bad:    exampleHead + `"inputSchema":{` + goodYear + `}}`, Good: goodTool, At: "/inputSchema"},
	{ID: "remote-ref", Severity: Error, find: each((*run).declarations, findRemoteRef),
		What:   "A schema has a reference to another document.",
		Why:    "Whoever controls that document changes the contract after it was reviewed, and a client that follows it makes a request for a stranger.",
		Source: "JSON Schema 2020-12, $ref; security guidance of MCP",
		Bad:    schemaStart + `"year":{"$ref":"https://example.org/year.json","description":"Year of issue."}}}}`, Good: goodTool, At: "/inputSchema/properties/year/$ref"},
	{ID: "schema-unsupported-keywords", Severity: Warning, find: each((*run).tools, findKeywords),
		Options: []Option{{Name: "keywords", What: "keywords that are reported", Words: []string{"$ref", "$dynamicRef", "allOf", "oneOf", "anyOf",
			"not", "if", "then", "else", "patternProperties", "propertyNames", "dependentSchemas", "dependentRequired", "unevaluatedProperties",
			"unevaluatedItems", "contains"}}},
		What:   "The input schema uses keywords that model APIs drop or refuse. Tools of forms are left out: the browser writes their schemas.",
		Why:    "What a host drops, the model does not know, so that its arguments are refused.",
		Source: "playwright-webmcp, schema-unsupported-keywords; function calling documentation of model APIs",
		Bad:    schemaStart + `"year":{"description":"Year of issue.","anyOf":[{"type":"integer"},{"type":"string"}]}}}}`, Good: goodTool, At: "/inputSchema/properties/year/anyOf"},
	{ID: "schema-no-null-literals", Severity: Error, find: each((*run).tools, findNulls),
		What:   "The input schema has null as a value, such as default: null.",
		Why:    "The Prompt API of Chrome rejects null at any depth, and then the whole list of tools.",
		Source: "playwright-webmcp, schema-no-null-literals",
		Bad:    schemaStart + `"year":{"type":"integer","description":"Year of issue.","default":null}}}}`, Good: goodTool, At: "/inputSchema/properties/year/default"},
	{ID: "schema-depth", Severity: Warning, find: each((*run).params, findDepth),
		Options: []Option{{Name: "max", Number: 3, What: "levels of properties inside each other"}},
		What:    "Properties are nested deeper than three levels.",
		Why:     "Models make more mistakes in deep arguments, and some APIs have a limit.",
		Source:  "playwright-webmcp, schema-depth",
		Bad: schemaStart + `"a":{"type":"object","description":"One.","properties":{"b":{"type":"object","description":"Two.","properties":{"c":{"type":"object","description":"Three.","properties":{` +
			goodYear + `}}}}}}}}}`,
		Good: schemaStart + `"a":{"type":"object","description":"One.","properties":{"b":{"type":"object","description":"Two.","properties":{` + goodYear + `}}}}}}}`,
		At:   "/inputSchema/properties/a/properties/b/properties/c/properties/year"},
	{ID: "required-unknown", Severity: Error, find: each((*run).tools, findRequired),
		What:   "A name in required is not in properties.",
		Why:    "No agent knows what to send there, and every call without it is refused.",
		Source: "playwright-webmcp, schema-shape; OpenAI function calling, strict mode",
		Bad:    schemaStart + goodYear + `},"required":["yeer"]}}`, Good: schemaStart + goodYear + `},"required":["year"]}}`, At: "/inputSchema/required/0"},
	{ID: "enum-empty", Severity: Error, find: each((*run).tools, findEnum),
		What:   "An enum has no values.",
		Why:    "No value is valid, so that every call is refused. A list that is loaded later was probably empty when the tool was registered.",
		Source: "JSON Schema 2020-12, validation 6.1.2",
		Bad:    schemaStart + `"country":{"type":"string","description":"Country of issue.","enum":[]}}}}`,
		Good:   schemaStart + `"country":{"type":"string","description":"Country of issue.","enum":["CH","US"]}}}}`, At: "/inputSchema/properties/country/enum"},
	{ID: "output-schema-missing", Severity: Info, Off: true, find: each((*run).tools, findOutputMissing),
		What:   "The tool has no output schema.",
		Why:    "Without one no client checks results, and code that calls tools has no types.",
		Source: "MCP specification, Tool.outputSchema",
		Bad:    goodTool, Good: exampleHead + `"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`, At: "/outputSchema"},
	{ID: "output-schema-invalid", Severity: Error, find: each((*run).declarations, findOutputInvalid),
		What:   "The output schema cannot be compiled.",
		Why:    "Several clients drop the whole list of tools because of one such schema.",
		Source: "measured with five MCP clients; MCP specification, Tool.outputSchema",
		Bad:    exampleHead + `"outputSchema":{"type":"object","properties":{"id":{"type":"string","pattern":"("}}}}`,
		Good:   exampleHead + `"outputSchema":{"type":"object","properties":{"id":{"type":"string"}}}}`, At: "/outputSchema/properties/id/pattern"},
	{ID: "x-mcp-header-invalid", Severity: Error, find: each((*run).tools, findHeaders),
		What:   "An x-mcp-header is not the name of an HTTP header, is there twice, or is at a parameter that is not a string, an integer or a boolean.",
		Why:    "Clients of MCP 2026-07-28 must drop a tool whose header annotations are invalid.",
		Source: "MCP specification 2026-07-28, Streamable HTTP, parameter headers",
		Bad:    schemaStart + `"year":{"type":"integer","description":"Year of issue.","x-mcp-header":"Stamp Year"}}}}`,
		Good:   schemaStart + `"year":{"type":"integer","description":"Year of issue.","x-mcp-header":"Stamp-Year"}}}}`, At: "/inputSchema/properties/year/x-mcp-header"},
}

// The rules of slips have the ids that the bridge's findings have.
const (
	RuleKeyword = schema.RuleKeyword
	RuleUnknown = schema.RuleUnknown
	RuleMap     = schema.RuleMap
)

// findSlips reports what is wrong in the schemas and does not cost the tool.
func findSlips(r *run, t *tool) {
	for _, s := range t.allSlips() {
		if s.Rule == r.rule.ID && (s.Rule != RuleKeyword || !t.isShape(s.Pointer)) {
			at := t.at(s.Pointer)
			at.certain = true
			r.report(at, "%s", s.Message)
		}
	}
}

// allSlips returns the slips of both schemas, with pointers into the declaration.
func (t *tool) allSlips() (all []schema.Slip) {
	seen := map[string]bool{}
	add := func(member string, slips []schema.Slip) {
		for _, s := range slips {
			if s.Pointer = member + s.Pointer; !seen[s.Pointer] {
				seen[s.Pointer] = true
				all = append(all, s)
			}
		}
	}
	add("/inputSchema", t.slips)
	if _, slips, err := schema.Admit(t.Input, schema.Limits{}); err == nil { // what only the compiler finds
		add("/inputSchema", slips)
	}
	add("/outputSchema", t.outputSlips)
	return all
}

// isShape reports whether schema-shape says what is wrong at a place.
func (t *tool) isShape(pointer string) bool {
	p, names := t.written.Get("properties"), t.written.Get("required")
	switch pointer {
	case "/inputSchema/type":
		return true
	case "/inputSchema/properties":
		return p.Exists() && !p.IsObject()
	case "/inputSchema/required":
		return names.Exists() && !names.IsArray()
	}
	return false
}

func findShape(r *run, t *tool) {
	if t.rejected != nil && t.rejected.Reason != schema.RuleRootNotObject {
		return
	}
	at := t.at("/inputSchema")
	in := t.written
	if !in.Exists() {
		return // there is none, or schema-uncompilable says why it was not read
	}
	kind := in.Get("type")
	isMap := func(s schema.Slip) bool { return s.Rule == RuleMap && s.Pointer == "" }
	switch {
	case !in.IsObject():
		r.report(at, "The input schema is not a JSON object: write {\"type\":\"object\",\"properties\":{…}}.")
		return
	case slices.ContainsFunc(t.slips, isMap):
	case !kind.Exists():
		at.certain = true
		r.report(at, "The input schema has no type: add \"type\":\"object\".")
	case kind.String() != "object":
		at.pointer += "/type"
		at.certain = t.input.Get("type").String() == "object" || !t.input.Get("type").Exists()
		r.report(at, "The type of the input schema is %s: it must be \"object\".", text.Quote(string(kind.Text())))
	}
	if p := in.Get("properties"); p.Exists() && !p.IsObject() {
		at = t.at("/inputSchema/properties")
		r.report(at, "The properties are not an object: write one member for each parameter.")
	}
	names := in.Get("required")
	if names.Exists() && !names.IsArray() {
		at = t.at("/inputSchema/required")
		at.certain = true
		r.report(at, "The value of required is not a list: write the names of parameters as a list of texts.")
	}
	for name := range names.Elements() {
		if !name.IsString() {
			r.report(t.at("/inputSchema/required"), "The list required has an item "+
				"that is not a text: write names of parameters only.")
			return
		}
	}
}

// tooLarge reports a schema that is not read for its length.
func (r *run) tooLarge(t *tool, pointer string, raw []byte) bool {
	if len(raw) <= maxSchema {
		return false
	}
	r.report(t.at(pointer), "The schema has %d bytes: use at most %d.", len(raw), maxSchema)
	return true
}

// ours reports whether another rule says what a schema is refused for.
func ours(e *schema.CompileError) bool {
	return e.Rule == schema.RuleRemoteRef || e.Rule == schema.RuleRootNotObject ||
		e.Pointer == "/properties" || e.Pointer == "/required" || strings.HasPrefix(e.Pointer, "/required/")
}

func findUncompilable(r *run, t *tool) {
	at := t.at("/inputSchema")
	switch {
	case r.tooLarge(t, at.pointer, t.Input) || len(t.Input) == 0:
		return
	case t.inputErr != nil:
		r.report(at, "The input schema cannot be read (%s): write one JSON "+
			"object.", sentence(t.inputErr))
		return
	}
	_, _, err := schema.Admit(t.Input, schema.Limits{})
	var refused *schema.CompileError
	if errors.As(err, &refused) && !ours(refused) {
		at.pointer += refused.Pointer
		r.report(at, "The input schema cannot be compiled: %s.", sentence(errors.New(refused.Message)))
	}
}

// sentence is an error inside of a message, without what cannot be seen.
func sentence(err error) string {
	const most = 300
	words := strings.TrimSuffix(text.Escape(err.Error()), ".")
	return strings.ReplaceAll(words[:min(len(words), most)], "\n", " ")
}

func findRemoteRef(r *run, t *tool) {
	for _, n := range append(t.nodes, nodesOf(t.output, "/outputSchema")...) {
		for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			if ref := n.schema.Get(key); ref.IsString() && !strings.HasPrefix(ref.String(), "#") {
				r.report(t.at(n.pointer+"/"+key), "The schema refers to %s: put what "+
					"is there into \"$defs\".", text.Quote(ref.String()))
			}
		}
	}
}

func nodesOf(v schema.Value, pointer string) []node {
	t := tool{}
	t.walk(node{schema: v, pointer: pointer})
	return t.nodes
}

func findKeywords(r *run, t *tool) {
	keywords := r.words("keywords")
	if t.mute() || r.api != nil { // the references of a document are its own way, and clients resolve them
		return
	}
	var outer []string // pointers of what was reported: what is within goes with it
	for _, n := range t.nodes {
		if slices.ContainsFunc(outer, func(p string) bool { return strings.HasPrefix(n.pointer, p+"/") }) {
			continue
		}
		for _, key := range keywords {
			held := n.schema.Get(key)
			if held.Exists() && (held.String() == "" || strings.HasPrefix(held.String(), "#")) { // else remote-ref
				at := n.pointer + schema.Pointer(key)
				outer = append(outer, at)
				r.report(t.at(at), "Hosts drop or refuse %s: use type, properties, items "+
					"and enum.", key)
			}
		}
	}
}

func findNulls(r *run, t *tool) {
	left := mostFindings + 1
	var look func(v schema.Value, path []string)
	look = func(v schema.Value, path []string) {
		if left == 0 {
			return
		}
		if v.IsNull() && len(path) > 0 {
			left--
			at := t.at("/inputSchema" + schema.Pointer(path...))
			at.certain = path[len(path)-1] == "default"
			r.report(at, "The schema has null as a value: leave it out.")
		}
		for name, held := range v.Members() {
			look(held, append(path[:len(path):len(path)], name))
		}
		for i, held := range v.Items() {
			look(held, append(path[:len(path):len(path)], strconv.Itoa(i)))
		}
	}
	look(t.input, nil)
}

func findDepth(r *run, n node) {
	most := int(r.number("max"))
	if n.depth == most+1 {
		r.report(n.at(""), "The parameter %s is on level %d: use at most %d levels.",
			text.Quote(n.name), n.depth, most)
	}
}

// open reports whether a schema may have properties that it does not list itself.
func open(v schema.Value) bool {
	return slices.ContainsFunc([]string{"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "if",
		"patternProperties", "dependentSchemas"}, func(key string) bool { return v.Get(key).Exists() })
}

// inPlace finds the pointers of subschemas that meet the same value as the one around them.
var inPlace = regexp.MustCompile(`/(?:allOf|anyOf|oneOf)/\d+(?:/|$)|/(?:if|then|else|not)(?:/|$)`)

func findRequired(r *run, t *tool) {
	for _, n := range t.nodes {
		inner := inPlace.MatchString(n.pointer)
		if open(n.schema) || inner {
			continue // its properties may be listed around it
		}
		properties := n.schema.Get("properties")
		for i, name := range n.schema.Get("required").Items() {
			if name.IsString() && !properties.Get(name.String()).Exists() {
				r.requiredUnknown(t, n, name.String(), i)
			}
		}
	}
}

// requiredUnknown reports one name. The correction is certain where a parameter of nearly that
// name is not required yet.
func (r *run) requiredUnknown(t *tool, n node, name string, i int) {
	var listed []string
	for known := range n.schema.Get("required").Elements() {
		listed = append(listed, known.String())
	}
	at := t.at(n.pointer + "/required/" + strconv.Itoa(i))
	near := misspelled(n, listed, name)
	if near == "" {
		r.report(at, "The required parameter %s is not in properties: add it, or leave it out of "+
			"required.", text.Quote(name))
		return
	}
	at.certain = true
	r.report(at, "The required parameter %s is not in properties: write %s, which "+
		"is.", text.Quote(name), text.Quote(near))
}

func findEnum(r *run, t *tool) {
	for _, n := range append(t.nodes, nodesOf(t.output, "/outputSchema")...) {
		if values := n.schema.Get("enum"); values.IsArray() && values.Len() == 0 {
			r.report(t.at(n.pointer+"/enum"), "The enum has no values, so that no "+
				"value is valid: list them, or leave enum out.")
		}
	}
}

func findOutputMissing(r *run, t *tool) {
	if len(t.Output) == 0 {
		r.report(t.at("/outputSchema"), "The tool has no output schema: say what it returns.")
	}
}

func findOutputInvalid(r *run, t *tool) {
	at := t.at("/outputSchema")
	switch {
	case len(t.Output) == 0 || r.tooLarge(t, at.pointer, t.Output):
		return
	case t.outputErr != nil:
		r.report(at, "The output schema cannot be read (%s): write one JSON "+
			"object.", sentence(t.outputErr))
		return
	}
	_, _, err := schema.AdmitResult(t.Output, schema.Limits{})
	var refused *schema.CompileError
	if errors.As(err, &refused) && refused.Rule != schema.RuleRemoteRef {
		at.pointer += refused.Pointer
		r.report(at, "The output schema cannot be compiled: %s.", sentence(errors.New(refused.Message)))
	}
}

// headerName is a token of RFC 9110, 5.6.2.
var headerName = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")

func findHeaders(r *run, t *tool) {
	seen := map[string]bool{}
	t.params(func(n node) {
		header := n.schema.Get("x-mcp-header")
		if !header.Exists() {
			return
		}
		at := t.at(n.pointer + "/x-mcp-header")
		name := strings.ToLower(header.String())
		switch kind := n.schema.Get("type").String(); {
		case !headerName.MatchString(header.String()):
			r.report(at, "The value %s is not the name of a header: use letters, digits and '-'.",
				text.Quote(string(header.Text())))
		case kind != "string" && kind != "integer" && kind != "boolean":
			r.report(at, "The parameter has the type %s: only a string, an integer or a boolean can be "+
				"sent as a header.", text.Quote(kind))
		case seen[name]:
			r.report(at, "The header %s is there twice: use one name for each "+
				"parameter.", text.Quote(header.String()))
		}
		seen[name] = true
	})
}
