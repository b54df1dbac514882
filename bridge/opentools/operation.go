package opentools

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Tool is an operation as a model gets it.
type Tool struct {
	// Name is unique among the tools of its document: at most 64 letters, digits, '_' and '-'.
	Name, Title, Description string
	// Input is the schema of arguments, an object, and Output that of results, an object, too; nil
	// is unknown. Both are of their own: what they refer to is in "$defs".
	Input, Output json.RawMessage
	// Terms holds x-llm with its defaults; Marked reports whether there is x-llm.
	Terms  Operation
	Marked bool
	// Method and Path identify the operation.
	Method, Path string
	// Notes lists what pagetools cannot use of the operation, for the document's author.
	Notes []string

	parameters []parameter
	body       *body
	accept     string        // the one value that the operation has for this header; "" is none
	security   *securityList // nil: the document's
	servers    *serverList   // nearest to the operation; nil: the document's
}

// declared drops what the tool's declaration has now, and what is a part of the document's text,
// which is as large as it is until nothing of it is held.
func (t *Tool) declared() {
	t.Description, t.Input, t.Output, t.security, t.servers = "", nil, nil, nil, nil
	if t.body != nil {
		t.body.rules = nil
	}
}

// operationObject holds the members of an Operation Object that are read (OpenAPI 4.7.10).
type operationObject struct {
	ID          string `json:"operationId"`
	Summary     string
	Description string
	Parameters  []json.RawMessage
	Body        json.RawMessage `json:"requestBody"`
	Responses   map[string]json.RawMessage
	Security    json.RawMessage
	Servers     json.RawMessage
	Deprecated  bool
	XLLM        json.RawMessage `json:"x-llm"`

	wrong []string // what of x-llm is not as it must be
}

// Expose says which operations become tools.
type Expose string

// What is exposed.
const (
	Marked Expose = ""     // those with x-llm that does not say enabled: false
	Safe   Expose = "safe" // besides, those without x-llm that only read
	All    Expose = "all"  // besides, all others without x-llm
)

// Tools makes the operations of the document tools. Problems say which operations are none, and
// why.
func (d *Document) Tools(e Expose) (tools []*Tool, problems []string) {
	tools, problems, _ = d.choose(e)
	return tools, append(slices.Clone(d.wrong), problems...)
}

// choose is Tools, with how many operations are none.
func (d *Document) choose(e Expose) (tools []*Tool, problems []string, not Omitted) {
	d.mu.Lock()
	d.work = 0
	d.mu.Unlock()
	in := schema.Bundler{Find: d.find, Direction: schema.Request, Old: d.old}
	out := schema.Bundler{Find: d.find, Direction: schema.Response, Old: d.old}
	var names []string
	for _, p := range d.Operations {
		t, id, err := d.tool(p, e, &in, &out)
		switch {
		case err == nil:
			tools, names = append(tools, t), append(names, id)
		case errors.Is(err, errUnmarked):
			not.Unmarked++
		case errors.Is(err, errDisabled):
			not.Disabled++
		default:
			not.Unusable++
			problems = append(problems, fmt.Sprintf("%s: %s", p, err))
		}
	}
	if d.left > 0 {
		problems = append(problems, fmt.Sprintf("%d more operations are left out: only the first %d are read", d.left, maxOperations))
	}
	for i, name := range Names(names) {
		tools[i].Name = name
	}
	return tools, problems, not
}

// The errors of operations that are not to be tools.
var (
	errUnmarked = errors.New("it has no x-llm")
	errDisabled = errors.New("x-llm disables it")
)

// tool makes one operation a tool, and returns how the document names it.
func (d *Document) tool(p Place, e Expose, in, out *schema.Bundler) (*Tool, string, error) {
	var o operationObject
	if len(p.text)+len(p.common) > maxPart {
		return nil, "", fmt.Errorf("it has more than %d MiB", maxPart>>20)
	}
	if len(p.Path) > maxPath {
		return nil, "", fmt.Errorf("its path has more than %d bytes", maxPath)
	}
	whole, err := d.resolved(p.text)
	if err != nil {
		return nil, "", err
	}
	wrong, err := take(whole, &o)
	if err != nil {
		return nil, "", err
	}
	terms, marked, err := d.terms(&o)
	safe := isSafe(p.Method)
	switch {
	case err != nil:
		return nil, "", fmt.Errorf("x-llm: %w", err)
	case !terms.Enabled:
		return nil, "", errDisabled
	case !marked && e != All && (e != Safe || !safe):
		return nil, "", errUnmarked
	case p.Method == http.MethodTrace: // RFC 9110, 9.3.8
		return nil, "", errors.New("TRACE is not offered: its reply echoes credentials")
	}
	t := &Tool{Method: p.Method, Path: p.Path, Terms: terms, Marked: marked,
		Title: o.Summary, Description: o.Summary}
	for _, w := range append(wrong, o.wrong...) {
		t.note("%s", w)
	}
	near := p.near
	if o.Servers != nil {
		near = o.Servers
	}
	d.readPlace(t, near, o.Security)
	if more := cmp.Or(terms.Hint, o.Description); more != "" && more != o.Summary { // O5
		t.Description = strings.TrimPrefix(o.Summary+"\n"+more, "\n")
	}
	for _, words := range []*string{&t.Title, &t.Description} {
		if len(*words) > maxDescribed {
			*words = text.Bytes(*words, maxDescribed-len("…")) + "…"
			t.note("its words have more than %d KiB: their end was left out", maxDescribed>>10)
		}
	}
	if err := d.arguments(t, p, &o, in); err != nil {
		return nil, "", err
	}
	d.results(t, &o, out)
	return t, cmp.Or(o.ID, strings.ToLower(p.Method)+"_"+strings.Trim(p.Path, "/")), nil
}

// readPlace reads the servers and the security of a tool, and says what is wrong with them. A list
// of which nothing can be read counts as one that is not there.
func (d *Document) readPlace(t *Tool, servers, security json.RawMessage) {
	t.servers = d.serversOf(servers)
	for _, w := range t.servers.wrong {
		t.note("servers: %s", w)
	}
	if len(t.servers.addresses) == 0 && t.servers.err == nil {
		t.servers = nil
	}
	if len(security) == 0 {
		return
	}
	t.security = d.securityOf(security)
	for _, w := range t.security.wrong {
		t.note("security: %s", w)
	}
	if kind := security[0]; len(t.security.all) == 0 && kind != '[' && kind != '{' {
		t.security = nil
	}
}

// arguments reads parameters and body, and makes one schema of them.
func (d *Document) arguments(t *Tool, p Place, o *operationObject, to *schema.Bundler) error {
	all, err := d.readParameters(t, p, o)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(q parameter) bool {
		gone := q.In == "path" && !strings.Contains(t.Path, "{"+q.Name+"}")
		if name := text.Line(text.Short(q.Name, maxShown)); gone {
			t.note("the parameter %s is left out: the path has no {%s}", name, name)
		}
		return gone
	})
	all = append(all, t.undeclared(all)...)
	properties, required, err := d.bodyArguments(t, o)
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	for _, m := range properties {
		taken[m.name] = true
	}
	for i := range all {
		q := &all[i]
		q.Argument = q.Name
		for taken[q.Argument] {
			q.Argument += "__" + q.In
		}
		taken[q.Argument] = true
		properties = append(properties, member{q.Argument, q.schema(d.old)})
		q.Schema, q.Description = nil, "" // they are the tool's now
		if q.Required || q.In == "path" {
			required = append(required, q.Argument)
		}
	}
	t.parameters = all
	if err := t.checkPath(); err != nil {
		return err
	}
	text := []byte(`{"type":"object","properties":{`)
	for i, m := range properties {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(append(append(text, schema.MustEncode(m.name)...), ':'), m.text...)
	}
	text = append(text, '}')
	if len(required) > 0 {
		text = append(append(text, `,"required":`...), schema.MustEncode(required)...)
	}
	if t.body != nil {
		text = append(text, rulesText(t.body.rules)...)
	}
	if t.body == nil || !t.body.Open {
		text = append(text, `,"additionalProperties":false`...)
	}
	if len(text) > maxPart {
		return fmt.Errorf("the schema of its arguments has more than %d MiB", maxPart>>20)
	}
	var notes []string
	t.Input, notes = to.Bundle(append(text, '}'))
	t.Notes = append(t.Notes, notes...)
	return nil
}

// rulesText writes rules as members of a schema, each of which holds.
func rulesText(rules []member) []byte {
	parts := make([]string, len(rules))
	for i, m := range rules {
		parts[i] = fmt.Sprintf("%q:%s", m.name, m.text)
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		return []byte("," + parts[0])
	}
	return []byte(`,"allOf":[{` + strings.Join(parts, "},{") + "}]")
}

// note keeps what cannot be used of the operation.
func (t *Tool) note(format string, args ...any) {
	if len(t.Notes) < maxNotes {
		t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
	}
}

// schemaOf returns the schema of a Media Type Object; nil is none.
func schemaOf(media json.RawMessage) json.RawMessage {
	var m struct{ Schema json.RawMessage }
	_, _ = take(media, &m) // what is no object has none
	return m.Schema
}

// results reads the schema of the first good response that can be JSON.
func (d *Document) results(t *Tool, o *operationObject, to *schema.Bundler) {
	codes := make([]string, 0, len(o.Responses))
	for code := range o.Responses {
		if strings.HasPrefix(code, "2") {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	for _, code := range codes {
		if string(o.Responses[code]) == "null" {
			continue
		}
		words, err := d.resolved(o.Responses[code])
		var r struct {
			Content map[string]json.RawMessage
		}
		var wrong []string
		if err == nil {
			wrong, err = take(words, &r)
		}
		if err != nil {
			wrong = append(wrong, err.Error())
		}
		for _, w := range wrong {
			t.note("the response %s: %s", text.Line(text.Short(code, maxShown)), w)
		}
		var s json.RawMessage
		for _, media := range []string{"application/json", "application/*", "*/*"} {
			if held, ok := r.Content[media]; ok && len(s) == 0 {
				s = schemaOf(held)
			}
		}
		if len(s) == 0 {
			continue
		}
		var notes []string
		if t.Output, notes = to.Bundle(s); len(notes) > 0 || string(t.Output) == "{}" {
			t.Output = nil // a part of it promises what is not so, or it promises nothing
		}
		return
	}
}

// maxName is the longest name that every model's API takes.
const maxName = 64

// Names makes names of tools of others: of letters, digits, '_' and '-', at most 64 of them, each
// once, whatever its case. One that is too long keeps its head and its tail; it and one that
// another has get a hash of what they were.
func Names(given []string) []string {
	names := make([]string, len(given))
	count := map[string]int{}
	for i, name := range given {
		name = strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
				return r
			}
			return '_'
		}, name)
		names[i] = cmp.Or(strings.Trim(name, "_"), "operation")
		count[strings.ToLower(names[i])]++
	}
	seen := map[string]int{}
	for i, name := range names {
		if len(name) <= maxName && count[strings.ToLower(name)] == 1 {
			continue
		}
		seed := given[i]
		if n := seen[seed]; n > 0 { // the document has it twice
			seed += "\n" + strconv.Itoa(n)
		}
		seen[given[i]]++
		sum := sha256.Sum256([]byte(seed))
		suffix := "_" + hex.EncodeToString(sum[:3])
		if room := maxName - len(suffix); len(name) > room {
			tail := room / 3
			name = name[:room-tail-1] + "_" + name[len(name)-tail:]
		}
		names[i] = name + suffix
	}
	return names
}
