package schema

import (
	"encoding/json"
	"math/big"
	"strings"
)

// Sample returns arguments that a schema of arguments accepts, made of what it says: a const, the
// first of its examples, its default, the first value of an enum. What is not required is left out,
// unless it has examples. With made, something was made up because the schema has no value for
// it. The result is nil when no arguments were found that fit, or the schema is not one that
// [Compile] admits.
func Sample(raw []byte) (arguments json.RawMessage, made bool) {
	s, err := Compile(raw, Limits{})
	if err != nil {
		return nil, false
	}
	doc, err := parse(s.JSON(), defaultDepth)
	if err != nil {
		return nil, false
	}
	m := &sampler{}
	m.doc.open(doc)
	v := m.of(doc, 0)
	if v == nil {
		return nil, false
	}
	text := v.appendJSON(nil)
	if s.Validate(text) != nil {
		return nil, false
	}
	return text, m.made
}

// sampler makes one sample.
type sampler struct {
	doc   side
	made  bool
	nodes int
}

const (
	mostSampled  = 2000 // values of one sample
	deepSampling = 30   // references and containers inside each other
	longSample   = 1000 // characters of a text, and elements of a list
)

// of returns a value for a schema, or nil. What it makes of a schema with several conditions need
// not fit all of them.
func (m *sampler) of(s *value, depth int) *value {
	m.nodes++
	if depth > deepSampling || m.nodes > mostSampled {
		return nil
	}
	if s.isBool() {
		m.made = true
		return &value{kind: '{', size: 1}
	}
	if v := said(s); v != nil {
		return v
	}
	if ref := s.get("$ref"); ref != nil {
		if target := m.doc.target(ref); target != nil {
			return m.of(target, depth+1)
		}
		return nil
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if forms := s.get(key); forms.isArray() && s.get("properties") == nil {
			for _, form := range forms.vals {
				if v := m.of(form, depth+1); v != nil {
					return v
				}
			}
		}
	}
	if parts := s.get("allOf"); parts.isArray() && s.get("type") == nil && len(parts.vals) > 0 {
		return m.of(parts.vals[0], depth+1)
	}
	return m.byType(s, depth)
}

// said returns the value that a schema names itself.
func said(s *value) *value {
	if v := s.get("const"); v != nil {
		return v
	}
	if list := s.get("examples"); list.isArray() && len(list.vals) > 0 {
		return list.vals[0]
	}
	for _, key := range []string{"example", "default"} {
		if v := s.get(key); v != nil {
			return v
		}
	}
	if list := s.get("enum"); list.isArray() && len(list.vals) > 0 {
		return list.vals[0]
	}
	return nil
}

func (m *sampler) byType(s *value, depth int) *value {
	name := ""
	switch t := s.get("type"); {
	case t.isString():
		name = t.text
	case t.isArray() && len(t.vals) > 0:
		name = t.vals[0].text
	case s.get("properties") != nil || s.get("required") != nil:
		name = "object"
	case s.get("items") != nil:
		name = "array"
	case s.get("minimum") != nil || s.get("maximum") != nil:
		name = "number"
	}
	if name == "object" {
		return m.object(s, depth)
	}
	m.made = true
	switch name {
	case "array":
		return m.array(s, depth)
	case "integer", "number":
		return &value{kind: '0', text: sampleNumber(s, name == "integer"), size: 1}
	case "boolean":
		return &value{kind: 'f', size: 1}
	case "null":
		return &value{kind: 'n', size: 1}
	default:
		return &value{kind: '"', text: sampleText(s), size: 1}
	}
}

func (m *sampler) object(s *value, depth int) *value {
	out := &value{kind: '{', size: 1}
	properties := s.get("properties")
	required := map[string]bool{}
	if names := s.get("required"); names.isArray() {
		for _, name := range names.vals {
			required[name.text] = true
			if properties == nil || properties.get(name.text) == nil {
				m.made = true
				out.put(name.text, &value{kind: '"', text: "example", size: 1})
			}
		}
	}
	if !properties.isObject() {
		return out
	}
	for i, name := range properties.keys {
		p := properties.vals[i]
		hasExamples := p.isObject() && (p.get("examples") != nil || p.get("example") != nil)
		if !required[name] && !hasExamples {
			continue
		}
		if v := m.of(p, depth+1); v != nil {
			out.put(name, v)
		}
	}
	return out
}

func (m *sampler) array(s *value, depth int) *value {
	out := &value{kind: '[', size: 1}
	items := s.get("items")
	least := int(min(limitOf(s, "minItems"), longSample))
	for range least {
		v := &value{kind: '{', size: 1}
		if items != nil && items.isSchema() {
			v = m.of(items, depth+1)
		}
		if v == nil {
			return nil
		}
		out.vals = append(out.vals, v)
	}
	return out
}

// limitOf returns a limit that is a small whole number, or 0.
func limitOf(s *value, key string) int64 {
	v := s.get(key)
	if v == nil || v.kind != '0' {
		return 0
	}
	r, ok := new(big.Rat).SetString(v.text)
	if !ok || !r.IsInt() || !r.Num().IsInt64() {
		return 0
	}
	return max(r.Num().Int64(), 0)
}

// sampleNumber returns 1, or the number next to it that the limits allow.
func sampleNumber(s *value, whole bool) string {
	number := big.NewRat(1, 1)
	bound := func(key string) *big.Rat {
		if v := s.get(key); v != nil && v.kind == '0' {
			if r, ok := new(big.Rat).SetString(v.text); ok {
				return r
			}
		}
		return nil
	}
	if step := bound("multipleOf"); step != nil && step.Sign() > 0 {
		number = step
	}
	for _, b := range []struct {
		key  string
		sign int
	}{{"minimum", 1}, {"exclusiveMinimum", 1}, {"maximum", -1}, {"exclusiveMaximum", -1}} {
		r := bound(b.key)
		if r == nil {
			continue
		}
		if past := r.Cmp(number) * b.sign; past > 0 || past == 0 && strings.HasPrefix(b.key, "ex") {
			number = new(big.Rat).Set(r)
			if strings.HasPrefix(b.key, "ex") {
				number.Add(number, big.NewRat(int64(b.sign), 1))
			}
		}
	}
	if whole && !number.IsInt() { // the next whole number above
		q := new(big.Int).Div(number.Num(), number.Denom())
		number = new(big.Rat).SetInt(q.Add(q, big.NewInt(1)))
	}
	if number.IsInt() {
		return number.Num().String()
	}
	const digits = 10
	return strings.TrimRight(strings.TrimRight(number.FloatString(digits), "0"), ".")
}

// ofFormat are texts in the formats of JSON Schema.
var ofFormat = map[string]string{
	"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z", "time": "12:00:00Z", "duration": "P1D",
	"email": "someone@example.com", "idn-email": "someone@example.com", "hostname": "example.com",
	"uri": "https://example.com/", "url": "https://example.com/", "iri": "https://example.com/",
	"uri-reference": "/", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "json-pointer": "/a",
	"regex": "a",
	"uuid":  "00000000-0000-4000-8000-000000000000",
}

func sampleText(s *value) string {
	if format := s.get("format"); format.isString() && ofFormat[format.text] != "" {
		return ofFormat[format.text]
	}
	text := "example"
	if least := limitOf(s, "minLength"); least > 0 {
		text = strings.Repeat(text, int(min(least, longSample))/len(text)+1)
		text = text[:max(int(min(least, longSample)), len("example"))]
	}
	if v := s.get("maxLength"); v != nil {
		text = text[:min(int64(len(text)), limitOf(s, "maxLength"))]
	}
	return text
}
