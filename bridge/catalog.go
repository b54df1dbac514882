package bridge

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Tool is an admitted declaration. It is immutable.
type Tool struct {
	id          int64
	document    string
	origin      string
	own         bool
	topLevel    bool // and not in a frame
	frame       string
	name        string // as offered; another than the declared one where that was taken
	title       string
	description string
	input       *schema.Schema
	output      *schema.Schema // nil when the page declared none
	annotations json.RawMessage
	hints       policy.Hints
	digest      string
	shape       func() shape
	secrets     bool       // the schema marks arguments as secret
	files       bool       // the schema asks for files
	operation   *Operation // nil: of a page
	adapter     *Adapter   // nil: of the page itself
}

// shape holds the facts about an input schema that completing the arguments needs.
type shape struct {
	declared map[string]bool // the properties that the root lists
	closed   bool            // the root takes no others
}

func (s shape) takes(name string) bool { return s.declared[name] || !s.closed }

// shapeOf reads a shape when it is asked for it first: few calls need one.
func shapeOf(input *schema.Schema) func() shape {
	return sync.OnceValue(func() shape { return readShape(input.JSON()) })
}

func readShape(input json.RawMessage) shape {
	var s struct {
		Properties           map[string]json.RawMessage `json:"properties"`
		PatternProperties    map[string]json.RawMessage `json:"patternProperties"`
		AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	}
	if json.Unmarshal(input, &s) != nil {
		return shape{}
	}
	out := shape{declared: map[string]bool{}, closed: string(s.AdditionalProperties) == "false" &&
		len(s.PatternProperties) == 0}
	for name := range s.Properties {
		out.declared[name] = true
	}
	return out
}

// Name is the name that the page chose. A tool of a frame whose name was in use has a
// suffix.
func (t *Tool) Name() string { return t.name }

// Title is the page's title for people, or "".
func (t *Tool) Title() string { return t.title }

// Description is the page's text without invisible characters.
func (t *Tool) Description() string { return t.description }

// InputSchema is the JSON Schema of the arguments, as admitted.
func (t *Tool) InputSchema() json.RawMessage { return t.input.JSON() }

// OutputSchema is the JSON Schema of the result, or nil.
func (t *Tool) OutputSchema() json.RawMessage {
	if t.output == nil {
		return nil
	}
	return t.output.JSON()
}

// Schemas are the schemas of the arguments and of the result, which is nil without one.
func (t *Tool) Schemas() (input, output *schema.Schema) { return t.input, t.output }

// Annotations are the page's claims as a JSON object, or nil.
func (t *Tool) Annotations() json.RawMessage { return t.annotations }

// Origin is the origin of the document that registered the tool.
func (t *Tool) Origin() string { return t.origin }

// Frame names the frame that shows the document of the tool; empty at the top.
func (t *Tool) Frame() string { return t.frame }

// Adapter is the operator's script that added the tool to the page; nil is none.
func (t *Tool) Adapter() *Adapter { return t.adapter }

// Registration is the page's registration of the tool, unique in its document.
func (t *Tool) Registration() int64 { return t.id }

// Document identifies the document that registered the tool.
func (t *Tool) Document() string { return t.document }

// Digest is the hex SHA-256 of the definition: origin, frame, name, title,
// description, schemas and annotations as the page wrote them, and the adapter of the operator.
func (t *Tool) Digest() string { return t.digest }

// bytes estimates the tool's memory. Schemas count twice: they are also kept as the page wrote
// them.
func (t *Tool) bytes() int64 {
	return 2*int64(len(t.input.JSON())+len(t.OutputSchema())) + int64(len(t.description)+len(t.title)+len(t.annotations)) + 1<<10
}

// subschemas returns how many subschemas the tool has, the measure of what compiling them costs.
func (t *Tool) subschemas() int {
	n := t.input.Subschemas()
	if t.output != nil {
		n += t.output.Subschemas()
	}
	return n
}

// Catalog is the tools of one source at one moment. It is immutable.
type Catalog struct {
	tools  []*Tool // by name
	byName map[string]*Tool
	digest string
	// byDecl finds tools again by the digest of what was declared, so that an
	// unchanged tool is not compiled again.
	byDecl   map[string]admission
	findings []Finding
	left     []string
}

type admission struct {
	tool     *Tool
	findings []Finding
}

// Tools lists the tools by name. The slice must not be changed.
func (c *Catalog) Tools() []*Tool { return c.tools }

// Tool finds a tool by name, or nil.
func (c *Catalog) Tool(name string) *Tool { return c.byName[name] }

// Digest identifies the set of definitions.
func (c *Catalog) Digest() string { return c.digest }

// Findings returns the findings for the page's author. The slice must not be changed.
func (c *Catalog) Findings() []Finding { return c.findings }

// With returns the same tools with what there is to tell the page's author.
func (c *Catalog) With(findings []Finding) *Catalog {
	with := *c
	with.findings = findings
	return &with
}

// WithLeft returns the same tools with the names of those that the page offered, and took back.
func (c *Catalog) WithLeft(names []string) *Catalog {
	with := *c
	with.left = names
	return &with
}

// Left names the tools that the page offered, and took back. The slice must not be changed.
func (c *Catalog) Left() []string { return c.left }

// Beside returns the tools of c with those of other whose names c has not, for a site that offers
// both an API and a page. It has the findings of both.
func (c *Catalog) Beside(other *Catalog) *Catalog {
	both := &Catalog{byName: make(map[string]*Tool, len(c.tools)+len(other.tools))}
	for _, t := range c.tools {
		both.add(t)
	}
	for _, t := range other.tools {
		if both.byName[t.name] == nil {
			both.add(t)
		}
	}
	both.seal()
	both.findings = append(append(both.findings, c.findings...), other.findings...)
	both.left = slices.Concat(c.left, other.left)
	return both
}

var legalName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

// IsLegalName reports whether a tool may have the name, but for its length and prefix.
func IsLegalName(name string) bool { return legalName.MatchString(name) }

// NewCatalog is the admission gate, and the only way to make a Tool. It refuses
// single tools, never the set, and says so as findings. A tool that is unchanged since
// prev (which may be nil) is reused without compiling it again. The first tool keeps its
// name; a later one of the same name, in a frame, gets another name, so that no frame
// shadows the page or another frame.
func NewCatalog(prev *Catalog, decls []Declaration, l Limits) (*Catalog, []Finding) {
	l = l.WithDefaults()
	c := &Catalog{byName: map[string]*Tool{}, byDecl: map[string]admission{}}
	var findings []Finding
	decls, tooMany := withinLimits(decls, l)
	subschemas := 0
	for i, a := range decide(prev, decls, l) {
		d := &decls[i]
		if a.tool != nil {
			subschemas += a.tool.subschemas()
		}
		if subschemas > l.Subschemas {
			findings = append(findings, complexity(d.Name, l))
			break
		}
		c.byDecl[d.key] = a
		findings = append(findings, a.findings...)
		if a.tool == nil {
			continue
		}
		t := *a.tool
		t.id, t.document, t.frame = d.ID, d.Document, d.Frame
		t.own, t.topLevel = d.Own, d.Own && d.Frame == ""
		if c.byName[t.name] != nil {
			f := c.rename(&t, l)
			findings = append(findings, f)
			if f.Refused {
				continue
			}
		}
		c.add(&t)
	}
	c.seal()
	return c, append(findings, tooMany...)
}

// add adds a tool whose name is free.
func (c *Catalog) add(t *Tool) {
	c.byName[t.name] = t
	c.tools = append(c.tools, t)
}

// seal ends the making of a catalog.
func (c *Catalog) seal() {
	slices.SortFunc(c.tools, func(a, b *Tool) int { return strings.Compare(a.name, b.name) })
	h := sha256.New()
	for _, t := range c.tools {
		h.Write([]byte(t.digest))
	}
	c.digest = hex.EncodeToString(h.Sum(nil))
}

// complexity is the finding that the schemas of a page are too much, from this tool on.
func complexity(tool string, l Limits) Finding {
	return Finding{Rule: "schemas-too-complex", Tool: text.Brief(tool, 64), Refused: true,
		Message: fmt.Sprintf("The schemas of the page have more than %d subschemas; its last tools are not offered.", l.Subschemas)}
}

// maxDocuments bounds a page with frames: it offers at most so many times the tools that
// one document may.
const maxDocuments = 4

// rename names a tool of a frame anew when its name is in use: with a suffix
// that is the same whenever the same frame declares it.
func (c *Catalog) rename(t *Tool, l Limits) Finding {
	taken := Finding{Rule: "duplicate-name", Tool: text.Brief(t.name, 64), Refused: true,
		Message: "Another tool of the page has the same name; the first one is offered."}
	if t.frame == "" {
		return taken
	}
	sum := sha256.Sum256([]byte(t.origin + "\n" + t.frame))
	suffix := "_" + hex.EncodeToString(sum[:4])
	name := t.name[:min(len(t.name), l.Name-len(suffix))] + suffix
	if c.byName[name] != nil {
		return taken
	}
	t.name = name
	return Finding{Rule: "frame-name-taken", Tool: taken.Tool,
		Message: fmt.Sprintf("Another tool of the page has the same name; that of the frame %q is offered as %q.", text.Brief(t.frame, 64), name)}
}

// digest identifies the definition as declared, before anything is cleaned.
func (d *Declaration) digest() string {
	parts := []any{
		"pagetools/definition/1", d.Origin, d.Frame, d.Name, d.Title, d.Description,
		string(canonicalOrRaw(d.Input)), string(canonicalOrRaw(d.Output)), string(canonicalOrRaw(d.Annotations)),
	}
	if d.Operation != nil {
		parts = append(parts, d.Operation, d.Sends)
	}
	if d.Adapter != nil {
		parts = append(parts, d.Adapter)
	}
	b, err := json.Marshal(parts)
	if err != nil { // strings only: cannot happen
		panic("encoding a definition: " + err.Error())
	}
	return digestOf(b)
}

// canonicalOrRaw makes the digest independent of the order of keys. Text that is not JSON
// is refused later; until then its digest only has to be stable.
func canonicalOrRaw(b json.RawMessage) []byte {
	if len(b) == 0 {
		return nil
	}
	c, err := schema.Canonical(b)
	if err != nil {
		return b
	}
	return c
}

func admit(d Declaration, l Limits) admission {
	var a admission
	refuse := func(rule, format string, args ...any) admission {
		a.tool = nil
		a.findings = append(a.findings, Finding{
			Rule: rule, Tool: text.Brief(d.Name, 64), Refused: true,
			Message: fmt.Sprintf(format, args...)})
		return a
	}
	switch {
	case d.Name == "":
		return refuse("name-missing", "A tool needs a name.")
	case utf8.RuneCountInString(d.Name) > l.Name:
		return refuse("name-too-long", "The name is longer than %d characters.", l.Name)
	case !IsLegalName(d.Name):
		return refuse("name-illegal", "A name has only letters, digits, '_', '.' and '-'.")
	case strings.TrimSpace(d.Description) == "":
		return refuse("description-missing", "A tool needs a description.")
	case len(d.Description) > l.Description:
		return refuse("description-too-long", "The description is longer than %d bytes.",
			l.Description)
	case len(d.Title) > l.Description:
		return refuse("title-too-long", "The title is longer than %d bytes.", l.Description)
	}
	t := &Tool{origin: d.Origin, name: d.Name, digest: d.key, hints: hintsOf(d.Annotations), operation: d.Operation, adapter: d.Adapter}
	var hidden int
	t.title, hidden = text.Visible(d.Title)
	desc, more := text.Visible(d.Description)
	t.description = desc
	if hidden += more; hidden > 0 {
		a.findings = append(a.findings, Finding{Rule: "hidden-characters", Tool: d.Name,
			Message: fmt.Sprintf("%d invisible or control characters were taken out of its texts.",
				hidden)})
	}
	if strings.TrimSpace(t.description) == "" {
		return refuse("description-missing", "The description has no visible character.")
	}
	if len(d.Annotations) > 0 {
		if len(d.Annotations) > 4<<10 || schema.CheckJSON(d.Annotations, 8) != nil {
			return refuse("annotations-invalid", "The annotations are not a small JSON object.")
		}
		t.annotations = d.Annotations
	}
	if which, err := a.admitSchemas(t, d, l); err != nil {
		return refuse(ruleOf(err), "%s: %s", which, safeText(err))
	}
	a.tool = t
	return a
}

// admitSchemas admits the schemas of a tool, and returns which of them is not.
func (a *admission) admitSchemas(t *Tool, d Declaration, l Limits) (which string, err error) {
	var slips []schema.Slip
	if t.input, slips, err = compileInput(d.Input, l); err != nil {
		return "inputSchema", err
	}
	a.slipped(d.Name, "inputSchema", slips)
	t.shape = shapeOf(t.input)
	t.secrets, t.files = hasSecrets(t.input.JSON()), schema.TakesFiles(t.described())
	if len(d.Output) == 0 || string(d.Output) == "null" {
		return "", nil
	}
	switch t.output, slips, err = schema.AdmitResult(d.Output, l.Schema); {
	case err == nil:
		a.slipped(d.Name, "outputSchema", slips)
	case ruleOf(err) == schema.RuleRootNotObject: // it promises nothing
		a.findings = append(a.findings, Finding{Rule: schema.RuleRootNotObject, Tool: d.Name,
			Message: fmt.Sprintf("outputSchema: %s; it is left out.", safeText(err))})
	default:
		return "outputSchema", err
	}
	return "", nil
}

// mostSlips bounds the findings about the slips of one schema.
const mostSlips = 5

// slipped adds what is wrong in a schema that is admitted all the same.
func (a *admission) slipped(tool, member string, slips []schema.Slip) {
	for i, s := range slips {
		f := Finding{Rule: s.Rule, Tool: tool, Message: member + s.Pointer + ": " + s.Message}
		if i == mostSlips {
			f.Message = fmt.Sprintf("%s: there are %d more mistakes in it.", member, len(slips)-i)
		}
		a.findings = append(a.findings, f)
		if i == mostSlips {
			return
		}
	}
}

// forbidden returns the first name of an argument at any level that a pattern names, or "".
func forbidden(input *schema.Schema, patterns []string) string {
	if len(patterns) == 0 {
		return ""
	}
	names, _ := input.Words()
	for _, name := range names {
		for _, pattern := range patterns {
			if policy.Matches(strings.ToLower(pattern), strings.ToLower(name)) {
				return name
			}
		}
	}
	return ""
}

// compileInput compiles the schema of the arguments. A tool without one takes
// any object.
func compileInput(raw json.RawMessage, l Limits) (*schema.Schema, []schema.Slip, error) {
	if len(raw) == 0 || string(raw) == "null" {
		raw = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	s, slips, err := schema.Admit(raw, l.Schema)
	if err != nil {
		return nil, nil, err
	}
	if name := forbidden(s, l.ForbidParams); name != "" {
		return nil, nil, &schema.CompileError{Rule: "parameter-forbidden",
			Message: fmt.Sprintf("it asks for %q, which the operator keeps from tools.", text.Brief(name, 64))}
	}
	return s, slips, nil
}

// hasSecrets reports whether a schema may mark arguments as secret: writeOnly, or
// the format "password". In canonical JSON both have one form.
func hasSecrets(input json.RawMessage) bool {
	text := canonicalOrRaw(input)
	return bytes.Contains(text, []byte(`"writeOnly":true`)) ||
		bytes.Contains(text, []byte(`"format":"password"`))
}

func ruleOf(err error) string {
	if e, ok := errors.AsType[*schema.CompileError](err); ok {
		return e.Rule
	}
	return "schema-invalid"
}

func safeText(err error) string {
	if e, ok := errors.AsType[*schema.CompileError](err); ok {
		return e.Message
	}
	return "it cannot be checked."
}
