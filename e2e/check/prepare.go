package check

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// This file reads declarations once, for all rules. What is too large is not read: the bridge
// does not offer such a tool, and schema-uncompilable says so.

const (
	maxSchema = 64 << 10 // bytes of a schema that is read; the limit of the bridge
	maxDepth  = 100      // of JSON that is read
	maxNodes  = 5000     // subschemas of a tool that are looked at
	maxTexts  = 2000     // texts of a tool that are looked at
)

type page struct {
	*Page
	live  bool    // a browser showed it
	tools []*tool // those that are offered
	all   []*tool // and those that are not
}

type tool struct {
	*Tool                           // as it is meant
	declared             *Tool      // as it is declared
	misnamed             []misnamed // where both differ
	page                 *page
	rejected             *Rejected    // nil when it is offered
	written              schema.Value // the input schema as it is written
	input, output, notes schema.Value // the schemas as they are meant
	inputErr, outputErr  error
	slips, outputSlips   []schema.Slip
	words                []string // of its name, those before its last dot behind the others
	nodes                []node   // of the input schema, the root first
	texts                []*wording
	fixed                *string // the text of its correction, once it was made
}

type node struct {
	tool    *tool
	schema  schema.Value
	pointer string // into the declaration
	name    string // of a parameter; "" is another subschema
	param   bool
	depth   int // parameters around it, itself included
}

// wording is something that a model reads.
type wording struct {
	pointer string
	value   string

	folded  string // value, folded; "" is not yet
	order   string // the instruction in it, once it was looked for
	ordered bool
}

// fold returns the text in the form in which texts are compared.
func (x *wording) fold() string {
	if x.folded == "" {
		x.folded = fold(x.value)
	}
	return x.folded
}

func prepare(s *Snapshot) []*page {
	pages := make([]*page, len(s.Pages))
	for i := range s.Pages {
		p := &page{Page: &s.Pages[i], live: s.Live}
		for j := range p.Tools {
			p.tools = append(p.tools, read(&p.Tools[j], p))
		}
		p.all = append(p.all, p.tools...)
		for j := range p.Rejected {
			t := read(&p.Rejected[j].Tool, p)
			t.rejected = &p.Rejected[j]
			p.all = append(p.all, t)
		}
		pages[i] = p
	}
	return pages
}

func read(declared *Tool, p *page) *tool {
	meant, wrong := declared.meant(p.live)
	t := &tool{Tool: meant, declared: declared, misnamed: wrong, page: p, words: wordsOfName(meant.Name)}
	t.written, t.inputErr = readSchema(meant.Input)
	t.input, t.slips = schema.Correct(t.written)
	output, err := readSchema(meant.Output)
	t.outputErr = err
	t.output, t.outputSlips = schema.Correct(output)
	if len(meant.Annotations) <= maxSchema {
		t.notes, _ = schema.Read(meant.Annotations, maxDepth) // what is not JSON claims nothing
	}
	if t.input.IsObject() {
		t.walk(node{schema: t.input, pointer: "/inputSchema"})
	}
	t.collect("/name", meant.Name)
	t.collect("/title", meant.Title)
	t.collect("/description", meant.Description)
	t.gather("/inputSchema", t.input)
	t.gather("/outputSchema", t.output)
	t.gather("/annotations", t.notes)
	return t
}

func readSchema(raw json.RawMessage) (schema.Value, error) {
	if len(raw) == 0 || len(raw) > maxSchema {
		return schema.Value{}, nil
	}
	return schema.Read(raw, maxDepth)
}

// walk lists the subschemas, in the order of the text.
func (t *tool) walk(n node) {
	if len(t.nodes) >= maxNodes || !n.schema.IsObject() {
		return
	}
	n.tool = t
	t.nodes = append(t.nodes, n)
	for s := range n.schema.Subschemas() {
		sub := node{schema: s.Value, pointer: n.pointer + s.Pointer, depth: n.depth}
		if s.Property {
			sub.name, sub.param, sub.depth = s.Name, true, n.depth+1
		}
		t.walk(sub)
	}
}

// params calls a function for every parameter, at every depth.
func (t *tool) params(visit func(node)) {
	for _, n := range t.nodes {
		if n.param {
			visit(n)
		}
	}
}

func (t *tool) collect(pointer, value string) {
	if value != "" && len(t.texts) < maxTexts {
		t.texts = append(t.texts, &wording{pointer: pointer, value: value})
	}
}

// grammar are keywords whose text is not for readers.
var grammar = map[string]bool{"type": true, "$ref": true, "$schema": true, "$id": true,
	"$anchor": true, "format": true, "pattern": true, "required": true}

// gather collects every text of a JSON value: values, and names that are longer than names are.
func (t *tool) gather(pointer string, v schema.Value) {
	if len(t.texts) >= maxTexts {
		return
	}
	if v.IsString() {
		t.collect(pointer, v.String())
	}
	for key, held := range v.Members() {
		at := pointer + schema.Pointer(key)
		if len(key) > maxNameText || strings.ContainsFunc(key, text.Invisible) {
			t.collect(at, key)
		}
		if !grammar[key] || held.IsObject() { // a property may be called "type"
			t.gather(at, held)
		}
	}
	for i, held := range v.Items() {
		t.gather(pointer+"/"+strconv.Itoa(i), held)
	}
}

// maxNameText is the length from which a name of a member is read as a text.
const maxNameText = 30

// hint returns what the declaration says under the name of a hint, in the spelling of the
// specification or, in a file, of the DevTools protocol ("readOnly"), and whether it says anything.
func (t *tool) hint(name string) (yes, said bool) {
	v := t.notes.Get(name)
	if !v.Exists() && !t.page.live {
		v = t.notes.Get(strings.TrimSuffix(name, "Hint"))
	}
	switch string(v.Text()) {
	case "true":
		return true, true
	case "false":
		return false, true
	}
	return false, false
}

func (t *tool) claims(name string) bool {
	yes, _ := t.hint(name)
	return yes
}

// guarded reports whether the tool says that a person should be asked.
func (t *tool) guarded() bool { return t.claims("consequentialHint") || t.claims("destructiveHint") }

// splitWords splits a name at separators, digits and changes of case, into lower case.
func splitWords(name string) []string {
	if len(name) > maxName {
		name = name[:maxName]
	}
	var words []string
	var word []rune
	end := func() {
		if len(word) > 0 {
			words = append(words, strings.ToLower(string(word)))
			word = word[:0]
		}
	}
	runes := []rune(name)
	for i, r := range runes {
		switch {
		case !unicode.IsLetter(r):
			end()
			continue
		case unicode.IsUpper(r) && i > 0 && (unicode.IsLower(runes[i-1]) ||
			i+1 < len(runes) && unicode.IsLower(runes[i+1])):
			end()
		}
		word = append(word, r)
	}
	end()
	return words
}
