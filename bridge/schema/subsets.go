package schema

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge/text"
)

// Subset is the part of JSON Schema that an API of models, or a client of MCP, takes as the schema
// of a tool's arguments. What it refuses costs the tool, the list or the request.
type Subset struct {
	Name   string   `json:"name"`
	Title  string   `json:"title"`
	Date   string   `json:"date"` // when the sources were read
	Source []string `json:"source"`
	Note   string   `json:"note"`

	// Draft is set where a schema must be valid in a draft.
	Draft string `json:"draft,omitempty"`
	// Keywords are the only ones; empty is all but Refused.
	Keywords []string `json:"keywords,omitempty"`
	Refused  []string `json:"refused,omitempty"`
	// Root lists the keywords that the root must not have.
	Root []string `json:"root,omitempty"`
	// Formats are the only ones, by type.
	Formats map[string][]string `json:"formats,omitempty"`
	// Property matches the names of properties.
	Property string `json:"property,omitempty"`
	// Alone is set where nothing may stand beside anyOf.
	Alone bool `json:"alone,omitempty"`
	// Choices is set where an enum is a list of texts, none of them empty, of type string.
	Choices bool `json:"choices,omitempty"`
	// Declared is set where properties must have what required names.
	Declared bool `json:"declared,omitempty"`
	// Items is set where an array must say what its items are.
	Items bool `json:"items,omitempty"`
	// Typed is set where every schema has one type, or anyOf.
	Typed bool `json:"typed,omitempty"`
}

//go:embed subsets.json
var subsetsJSON []byte

// Subsets returns the known subsets. They must not be changed.
var Subsets = sync.OnceValue(func() (all []Subset) {
	if err := json.Unmarshal(subsetsJSON, &all); err != nil {
		panic("schema: reading subsets.json: " + err.Error())
	}
	return all
})

// strictest returns which keywords and formats every subset takes.
var strictest = sync.OnceValue(func() Subset {
	var s Subset
	for _, one := range Subsets() {
		s.Refused = append(s.Refused, one.Refused...)
		if one.Formats != nil {
			s.Formats = one.Formats
		}
		if s.Keywords == nil {
			s.Keywords = one.Keywords
		}
		if one.Keywords != nil {
			s.Keywords = slices.DeleteFunc(slices.Clone(s.Keywords), func(key string) bool { return !slices.Contains(one.Keywords, key) })
		}
	}
	return s
})

func (s *Subset) takes(key string) bool {
	return !slices.Contains(s.Refused, key) && (s.Keywords == nil || slices.Contains(s.Keywords, key))
}

func (s *Subset) takesFormat(kind, format string) bool {
	return s.Formats == nil || slices.Contains(s.Formats[kind], format)
}

// The rules of subsets, as a [Refusal] names them.
const (
	SubsetObject   = "object"   // the root is an object
	SubsetRoot     = "root"     // keywords of the root
	SubsetDraft    = "draft"    // $schema
	SubsetInvalid  = "invalid"  // what the draft does not allow, such as a boolean as a bound
	SubsetTuple    = "tuple"    // a list of schemas in items
	SubsetItems    = "items"    // an array says what its items are
	SubsetKeyword  = "keyword"  // keywords anywhere
	SubsetFormat   = "format"   // formats of a type
	SubsetProperty = "property" // names of properties
	SubsetAlone    = "alone"    // nothing stands beside anyOf
	SubsetType     = "type"     // each schema has one type
	SubsetEnum     = "enum"     // an enum is a list of texts
	SubsetRequired = "required" // required names properties
)

// Refusal is something of a schema that a subset refuses.
type Refusal struct {
	Rule    string
	Pointer string // to the schema that has it
	Text    string
}

func (r Refusal) String() string { return r.Pointer + ": " + r.Text }

// Check returns what of a schema of arguments the subset refuses.
func (s *Subset) Check(raw json.RawMessage) (refused []Refusal) {
	say := func(rule, at, format string, args ...any) {
		refused = append(refused, Refusal{rule, at, fmt.Sprintf(format, args...)})
	}
	root, err := parse(raw, defaultDepth)
	if err != nil || !root.isObject() || root.get("type") == nil || root.get("type").text != "object" {
		say(SubsetObject, "", "the root must be an object of type object")
		return refused
	}
	for _, key := range s.Root {
		if root.get(key) != nil {
			say(SubsetRoot, "", "%s at the root", key)
		}
	}
	if s.Draft != "" {
		if given := root.get("$schema"); given != nil && !strings.Contains(given.text, s.Draft) {
			say(SubsetDraft, "/$schema", "$schema is of another draft than %s", s.Draft)
		}
		l := Limits{Bytes: 4 * len(raw), Subschemas: len(raw), Expansions: len(raw)}
		if _, err := Compile(raw, l); err != nil {
			say(SubsetInvalid, "", "%v", err)
		}
	}
	property := regexp.MustCompile(s.Property)
	var walk func(v *value, at string)
	walk = func(v *value, at string) {
		if !v.isObject() {
			return
		}
		s.checkOne(v, property, func(rule, format string, args ...any) { say(rule, at, format, args...) })
		for _, c := range children(v) {
			walk(c.val, at+Pointer(c.tokens()...))
		}
	}
	walk(root, "")
	return refused
}

// checkOne says what the subset refuses of one schema, without what is within.
func (s *Subset) checkOne(v *value, property *regexp.Regexp, say func(rule, format string, args ...any)) {
	kind := v.get("type")
	for _, key := range v.keys {
		if !s.takes(key) {
			say(SubsetKeyword, "the keyword %s", text.Quote(key))
		}
	}
	if s.Alone && v.get("anyOf") != nil && len(v.keys) > 1 {
		say(SubsetAlone, "anyOf has company")
	}
	if s.Typed && v.get("anyOf") == nil && !kind.isString() {
		say(SubsetType, "there is not one type")
	}
	switch list := v.get("items"); {
	case list.isArray() && (s.Draft != "" || s.Items):
		say(SubsetTuple, "a list of items is of an older draft")
	case s.Items && (kind.isString() && kind.text == "array" || slices.Contains(namesIn(kind), "array")) && !list.isObject():
		say(SubsetItems, "an array without items")
	}
	if f := v.get("format"); f.isString() && kind.isString() && !s.takesFormat(kind.text, f.text) {
		say(SubsetFormat, "the format %s", text.Quote(f.text))
	}
	if list := v.get("enum"); s.Choices && list != nil {
		if len(list.vals) == 0 || !kind.isString() || kind.text != "string" ||
			slices.ContainsFunc(list.vals, func(x *value) bool { return x.text == "" || !x.isString() }) {
			say(SubsetEnum, "enum is more than a list of texts")
		}
	}
	names := v.get("properties")
	for _, name := range namesIn(v.get("required")) {
		if s.Declared && names.get(name) == nil {
			say(SubsetRequired, "required %s is not in properties", text.Quote(name))
		}
	}
	if names.isObject() {
		for _, name := range names.keys {
			if !property.MatchString(name) {
				say(SubsetProperty, "the property %s", text.Quote(name))
			}
		}
	}
}
