package config

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Schema returns the JSON Schema of the configuration file.
func Schema() map[string]any {
	s := objectOf(&Config{})
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", defaultFile
	return s
}

// objectOf describes the struct that v points to.
func objectOf(v any) object {
	properties, required := object{}, []string{}
	fields := fieldsOf(reflect.ValueOf(v).Elem())
	if _, ok := v.(*Limits); ok {
		fields = slices.Concat(fields, fieldsAlso(&Config{}, "limits"))
	}
	for _, f := range fields {
		if f.tag.Get("only") == "command" {
			continue
		}
		properties[f.key] = schemaOf(f.value.Type(), f.tag)
		if f.tag.Get("required") != "" {
			required = append(required, f.key)
		}
	}
	o := object{"type": "object", "properties": properties, "additionalProperties": false}
	if len(required) > 0 {
		o["required"] = required
	}
	return o
}

func mapOf(values object) object {
	return object{"type": "object", "additionalProperties": values}
}

func schemaOf(t reflect.Type, tag reflect.StructTag) object {
	s := object{}
	known, scalar := scalars[t]
	switch {
	case scalar:
		maps.Copy(s, known.schema)
	case t.Kind() == reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	default:
		v := reflect.New(t)
		if own, ok := v.Interface().(custom); ok {
			return withHelp(own.schema(), tag)
		}
		if t.Kind() == reflect.Struct {
			return withHelp(objectOf(v.Interface()), tag)
		}
		item := strings.ReplaceAll(string(tag), "help:", "-:") // that is the list's
		s["type"], s["items"] = "array", schemaOf(t.Elem(), reflect.StructTag(item))
	}
	return described(s, t, tag)
}

func withHelp(s object, tag reflect.StructTag) object {
	if help := tag.Get("help"); help != "" {
		s["description"] = help
	}
	return s
}

// described adds what the tag says.
func described(s object, t reflect.Type, tag reflect.StructTag) object {
	withHelp(s, tag)
	if t.Kind() == reflect.Slice {
		return s
	}
	if enum := tag.Get("enum"); enum != "" {
		s["enum"] = strings.Split(enum, ",")
	}
	if pattern := tag.Get("pattern"); pattern != "" {
		s["pattern"] = pattern
	} else if tag.Get("required") != "" {
		s["minLength"] = 1
	}
	if not := tag.Get("not"); not != "" {
		s["not"] = object{"enum": strings.Split(not, ",")}
	}
	if least, err := strconv.Atoi(tag.Get("min")); err == nil {
		s["minimum"] = least
	}
	return s
}
