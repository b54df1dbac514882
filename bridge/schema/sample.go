package schema

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
)

// Sample is a value that was made from a schema, such as arguments for a tool.
type Sample struct {
	Input json.RawMessage
	// Valid reports whether it fits the schema.
	Valid bool
	// Invented is true when it has a part that the schema does not name: no example, no default,
	// and not one of a list.
	Invented bool
}

const (
	sampleDepth  = 8    // of made arguments
	sampleLength = 1000 // of made texts and lists
	readDepth    = 64   // levels of a schema that is read
)

// Samples returns values made from a schema, such as arguments for a tool: its example, then only
// what is required or has examples, then everything, at most three; and, when invalid is true, at
// most three that it refuses: without what is required, of another type, outside of a list. All
// are checked against the schema. There is none when nothing could be made of it.
func Samples(input json.RawMessage, invalid bool) []Sample {
	if len(input) == 0 {
		input = json.RawMessage(`{"type":"object"}`)
	}
	given, err := Read(input, readDepth)
	if err != nil {
		return nil
	}
	compiled, err := compile(input, Limits{}, isObject(given), &mender{})
	if err != nil {
		return nil
	}
	root, err := Read(compiled.JSON(), readDepth)
	if err != nil {
		return nil
	}
	m := &maker{root: root}
	var all []Sample
	add := func(most int, valid bool, text json.RawMessage) {
		invented := m.invented
		m.invented = false
		n := 0
		for _, a := range all {
			if a.Valid == valid {
				n++
			}
		}
		known := func(a Sample) bool { return string(a.Input) == string(text) }
		if text != nil && n < most && !slices.ContainsFunc(all, known) && (compiled.Validate(text) == nil) == valid {
			all = append(all, Sample{Input: text, Valid: valid, Invented: invented})
		}
	}
	for example := range root.Get("examples").Elements() {
		add(1, true, example.Text())
	}
	if !isObject(given) {
		add(3, true, encodeSample(m.value(root, false, 0)))
		add(3, true, encodeSample(m.value(root, true, 0)))
		return all
	}
	add(3, true, encodeSample(m.object(root, false, 0)))
	full := m.object(root, true, 0)
	add(3, true, encodeSample(full))
	if !invalid || len(all) == 0 {
		return all
	}
	for _, wrong := range m.wrong(root, full) {
		add(3, false, wrong)
	}
	return all
}

// isObject reports whether a schema is one of objects, as that of a tool is where it names no type.
func isObject(root Value) bool {
	if root.Get("type").Exists() {
		return typeOf(root) == "object"
	}
	return !root.Get("enum").Exists() && !root.Get("const").Exists()
}

func encodeSample(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		return nil
	}
	return text
}

type maker struct {
	root     Value
	invented bool // set when a value is made that the schema does not name
}

func (m *maker) resolve(v Value) Value {
	for range sampleDepth {
		ref := v.Get("$ref")
		if !ref.IsString() {
			return v
		}
		tokens, ok := refTokens(ref.String())
		if !ok {
			return Value{}
		}
		v = m.root.child(m.root.tree.lookup(tokens))
	}
	return v
}

// value makes a value; full is true when it shall have what is optional.
func (m *maker) value(v Value, full bool, depth int) any {
	v = m.resolve(v)
	if x := named(v); x.Exists() {
		return x.Text()
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf"} {
		if branch := v.Get(key).First(); branch.Exists() && !v.Get("type").Exists() &&
			!v.Get("properties").Exists() && depth < sampleDepth {
			return m.value(branch, full, depth+1)
		}
	}
	switch typeOf(v) {
	case "object":
		return m.object(v, full, depth)
	case "array":
		return m.array(v, full, depth)
	case "integer", "number":
		if !v.Get("minimum").Exists() || !v.Get("maximum").Exists() { // else any number within does
			m.invented = true
		}
		return sampleNumber(v)
	case "boolean":
		return true
	case "null":
		return nil
	}
	m.invented = true
	return sampleText(v)
}

// named is a value that a schema names itself.
func named(v Value) Value {
	if x := v.Get("const"); x.Exists() {
		return x
	}
	if x := v.Get("examples").First(); x.Exists() {
		return x
	}
	for _, key := range []string{"example", "default"} {
		if x := v.Get(key); x.Exists() && string(x.Text()) != `""` {
			return x
		}
	}
	return v.Get("enum").First()
}

// typeOf is the first type that a schema allows, or what its keywords are about.
func typeOf(v Value) string {
	kind := v.Get("type")
	if first := kind.First(); first.Exists() {
		kind = first
	}
	switch {
	case kind.IsString():
		return kind.String()
	case v.Get("properties").Exists():
		return "object"
	case v.Get("items").Exists():
		return "array"
	case v.Get("minimum").Exists() || v.Get("maximum").Exists():
		return "number"
	}
	return "string"
}

func (m *maker) object(v Value, full bool, depth int) map[string]any {
	made := map[string]any{}
	if depth >= sampleDepth {
		return made
	}
	v = m.resolve(v)
	var required []string
	for name := range v.Get("required").Elements() {
		required = append(required, name.String())
	}
	for part := range v.Get("allOf").Elements() {
		maps.Copy(made, m.object(part, full, depth+1))
	}
	for name, property := range v.Get("properties").Members() {
		shown := property.Get("examples").Exists() || property.Get("example").Exists()
		if full || shown || slices.Contains(required, name) {
			made[name] = m.value(property, full, depth+1)
		}
	}
	for _, name := range required {
		if _, there := made[name]; !there {
			made[name] = word
			m.invented = true
		}
	}
	if accept := v.Get("x-accept"); accept.IsString() {
		fitAccept(made, accept.String())
	}
	return made
}

// fitAccept makes a file one that its x-accept takes.
func fitAccept(file map[string]any, accept string) {
	token, _, _ := strings.Cut(strings.ToLower(accept), ",")
	token = strings.TrimSpace(token)
	switch group, some := strings.CutSuffix(token, "/*"); {
	case strings.HasPrefix(token, "."):
		file["name"] = word + token
	case some:
		file["type"] = group + "/" + word
	case strings.Contains(token, "/"):
		file["type"] = token
	}
}

func (m *maker) array(v Value, full bool, depth int) []any {
	least, made := bound(v.Get("minItems"), 0), []any{}
	if full {
		least = max(least, 1)
	}
	if depth >= sampleDepth {
		return made
	}
	for range least {
		made = append(made, m.value(v.Get("items"), full, depth+1))
	}
	return made
}

// bound is a least or greatest length, as far as samples have it.
func bound(v Value, otherwise int) int {
	if !v.Exists() {
		return otherwise
	}
	return int(min(float(v), sampleLength))
}

func float(v Value) float64 {
	var f float64
	_ = json.Unmarshal(v.Text(), &f) // what is not a number is zero
	return f
}

// sampleNumber makes a number within the bounds of a schema, the smallest that is at least one.
func sampleNumber(v Value) any {
	low, high := math.Inf(-1), math.Inf(1)
	step := 1.0
	for key, bound := range map[string]*float64{"minimum": &low, "maximum": &high, "multipleOf": &step} {
		if x := v.Get(key); x.Exists() {
			*bound = float(x)
		}
	}
	whole := typeOf(v) == "integer" || step != math.Trunc(step) || step > 1
	if x := v.Get("exclusiveMinimum"); x.Exists() && !x.IsNull() {
		low = max(low, float(x)+step)
	}
	if x := v.Get("exclusiveMaximum"); x.Exists() && !x.IsNull() {
		high = min(high, float(x)-step)
	}
	got := min(max(1, low), high)
	if whole && step > 0 {
		got = math.Ceil(got/step) * step
		if got > high {
			got = math.Floor(high/step) * step
		}
	}
	if low > high || math.IsInf(got, 0) || math.IsNaN(got) { // between two steps, or nothing
		return (low + high) / 2
	}
	return got
}

var formats = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "PT1H",
	"email": "ada@example.com", "uri": "https://example.com/", "url": "https://example.com/", "hostname": "example.com",
	"ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uuid": "123e4567-e89b-42d3-a456-426614174000", "uri-reference": "/a",
	"regex": "a", "json-pointer": "/a",
}

// likely are texts that patterns tend to want.
var likely = []string{
	"a", "A", "1", "ab", "abc", "ABC", "Abc", "12", "123", "1234", "12345", "123456", "12345678", "a1", "A1", "abc-123", "ABC-123", "AB-1234",
	"ada@example.com", "https://example.com/", "2026-01-31", "2026-01-31T12:00:00Z", "2026-01-31T12:00", "2026-01", "2026-W05", "12:00", "12:00:00", "#aabbcc", "en", "en-US",
	"EUR", "+15550100", "555-0100", "192.0.2.1", "123e4567-e89b-42d3-a456-426614174000", "/a", "1.0", "1.0.0", "0x1f", "deadbeef", "",
}

// word is a text where any will do.
const word = "example"

// sampleText makes a text that fits a schema, as far as one of ours does.
func sampleText(v Value) string {
	if made, ok := formats[v.Get("format").String()]; ok {
		return made
	}
	least, most := bound(v.Get("minLength"), 0), bound(v.Get("maxLength"), sampleLength)
	p := v.Get("pattern")
	if format := v.Get("format"); strings.HasPrefix(format.String(), "^") { // so browsers derive it of a form
		p = format
	}
	if p.IsString() {
		if re, err := regexp.Compile(p.String()); err == nil {
			for _, made := range likely {
				if len(made) >= least && len(made) <= most && re.MatchString(made) {
					return made
				}
			}
		}
	}
	made := word
	if least > len(word) {
		made = strings.Repeat(word, least/len(word)+1)[:least]
	}
	return made[:min(len(made), most)]
}

// wrong are objects that a schema should refuse: good ones, each with one mistake.
func (m *maker) wrong(root Value, good map[string]any) (all []json.RawMessage) {
	with := func(name string, value any) {
		bad := maps.Clone(good)
		if bad[name] = value; value == nil {
			delete(bad, name)
		}
		all = append(all, encodeSample(bad))
	}
	if name := root.Get("required").First(); name.Exists() {
		with(name.String(), nil)
	}
	typed, listed := false, false
	for name, property := range root.Get("properties").Members() {
		property = m.resolve(property)
		switch {
		case !listed && property.Get("enum").Exists():
			listed = true
			with(name, "none of the list")
		case !typed && property.Get("type").Exists() && typeOf(property) == "string":
			typed = true
			with(name, map[string]any{"not": "a text"})
		case !typed && property.Get("type").Exists():
			typed = true
			with(name, "not of the type")
		}
	}
	return all
}
