package scenario

import (
	"encoding/json"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// Schema returns the JSON Schema of scenario files, for editors. It is made from the types that
// [Read] fills. What needs more than one place of the file is left to Read: names that are unique,
// references, and whether patterns and schemas can be compiled.
func Schema() json.RawMessage {
	s := objectOf(reflect.TypeFor[File]())
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "pagetools scenario"
	s["description"] = "Tests of the tools that a web app declares"
	s["$defs"] = object{"step": objectOf(reflect.TypeFor[Step]()), "expected": expectedSchema()}
	return schema.MustEncode(s)
}

// constrained types add constraints to the schema of their fields.
type constrained interface{ constraints() object }

func objectOf(t reflect.Type) object {
	v := reflect.New(t)
	properties, required := object{}, []string{}
	for _, f := range fieldsOf(v.Elem()) {
		s := schemaOf(f.value.Type(), f.tag)
		s["description"] = f.tag.Get("help")
		properties[f.key] = s
		if f.tag.Get("required") != "" {
			required = append(required, f.key)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	if c, ok := v.Interface().(constrained); ok {
		for key, x := range c.constraints() {
			o[key] = x
		}
	}
	return o
}

func durationSchema() object {
	return object{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$`}
}

func schemaOf(t reflect.Type, tag reflect.StructTag) object {
	if c, ok := reflect.New(t).Interface().(custom); ok {
		return c.schema()
	}
	switch t {
	case reflect.TypeFor[Step]():
		return object{"$ref": "#/$defs/step"}
	case reflect.TypeFor[time.Duration]():
		return durationSchema()
	case reflect.TypeFor[Value]():
		if tag.Get("value") == "expected" {
			return object{"$ref": "#/$defs/expected"}
		}
		if tag.Get("keys") == "config" {
			return configSchema()
		}
		return object{}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case reflect.Struct:
		return objectOf(t)
	case reflect.Slice:
		item := schemaOf(t.Elem(), tag)
		list := object{"type": "array", "items": item}
		if tag.Get("required") != "" {
			list["minItems"] = 1
		}
		if tag.Get("one") != "" {
			return object{"anyOf": []any{item, list}}
		}
		return list
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int:
		least, _ := strconv.Atoi(tag.Get("min"))
		most, _ := strconv.Atoi(tag.Get("max"))
		return object{"type": "integer", "minimum": least, "maximum": most}
	default:
		return textSchema(tag)
	}
}

func configSchema() object {
	properties := object{}
	for _, key := range configKeys() {
		properties[key] = object{}
	}
	return object{"type": "object", "properties": properties, "additionalProperties": false}
}

func textSchema(tag reflect.StructTag) object {
	if enum := tag.Get("enum"); enum != "" {
		return object{"enum": strings.Split(enum, ",")}
	}
	s := object{"type": "string", "minLength": 1}
	switch tag.Get("check") {
	case "step":
		s["pattern"], s["maxLength"] = plainName.String(), mostName
	case "name", "tool":
		s["pattern"], s["maxLength"] = `\S`, mostName
	case "reason":
		s["pattern"] = `\S`
	}
	return s
}

func expectedSchema() object {
	self := object{"$ref": "#/$defs/expected"}
	properties := object{}
	for _, m := range matchers {
		s := maps.Clone(m.arg)
		s["description"] = m.help
		properties[m.name] = s
	}
	const operator = `^\$(?!\$)`
	return object{
		"description": "a value, with matchers in it: an object matches when it has these members, " +
			"an array by position " +
			"and length; write $$x for a key $x",
		"if": object{"type": "object", "minProperties": 1,
			"propertyNames": object{"pattern": operator}},
		"then": object{"properties": properties, "additionalProperties": false},
		"else": object{"propertyNames": object{"not": object{"pattern": operator}},
			"additionalProperties": self, "items": self},
	}
}

// Options say which cases run. The zero value selects all.
type Options struct {
	// Run must match somewhere in the [Selected.Name]; nil matches all.
	Run *regexp.Regexp
	// Tags selects cases that have one of them; none means that tags do not count.
	Tags []string
	// Via are the doors that are used of those that a case has; none means all.
	Via []Door
	// CI makes only an error.
	CI bool
}

// Selected is one case through one door. A case with a reason in Skip, and one whose Eval expects
// no call, is selected, too: its runner reports the reason.
type Selected struct {
	File *File
	Case *Case
	Door Door
}

// Name is "file/case/door", by which cases are chosen.
func (s *Selected) Name() string {
	return s.File.Name + "/" + s.Case.Name + "/" + string(s.Door)
}

// Select returns the cases that run, in the order of the files and their lines. With a case that
// has only, no others are selected; under CI that is a [*Problems] with the place of each.
func Select(files []*File, o Options) ([]Selected, error) {
	only := false
	wrong := &Problems{}
	for _, f := range files {
		for _, c := range f.Cases {
			only = only || c.Only
			if !c.Only || !o.CI {
				continue
			}
			if len(wrong.List) == mostProblems {
				wrong.More++
				continue
			}
			wrong.List = append(wrong.List, Problem{f.Name, c.Position,
				text.EscapeLine("the case " + Quoted(c.Name) + " has only, with which all others are left out: " +
					"remove it before CI")})
		}
	}
	if len(wrong.List) > 0 {
		return nil, wrong
	}
	var all []Selected
	for _, f := range files {
		for _, c := range f.Cases {
			if only && !c.Only {
				continue
			}
			for _, door := range c.Via {
				if s := (Selected{f, c, door}); o.fits(&s) {
					all = append(all, s)
				}
			}
		}
	}
	if len(all) == 0 && (o.Run != nil || len(o.Tags)+len(o.Via) > 0) {
		return nil, unmatched(files)
	}
	return all, nil
}

// NoMatch is the error of a selection that no case fits. It says what there is.
type NoMatch struct{ Cases, Tags []string }

// Error says only that there is none.
func (*NoMatch) Error() string { return "no case matches" }

func unmatched(files []*File) *NoMatch {
	e := &NoMatch{}
	for _, f := range files {
		for _, c := range f.Cases {
			e.Cases = append(e.Cases, c.Name)
			e.Tags = append(e.Tags, c.Tags...)
		}
	}
	slices.Sort(e.Tags)
	e.Tags = slices.Compact(e.Tags)
	return e
}

func (o *Options) fits(s *Selected) bool {
	hasTag := func(t string) bool { return slices.Contains(s.Case.Tags, t) }
	switch {
	case len(o.Tags) > 0 && !slices.ContainsFunc(o.Tags, hasTag):
		return false
	case len(o.Via) > 0 && !slices.Contains(o.Via, s.Door):
		return false
	}
	return o.Run == nil || o.Run.MatchString(s.Name())
}
