package main

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// parameter is one property of a tool's input, as far as its schema says.
type parameter struct {
	name        string
	types       []string
	description string
	required    bool
}

// parameters lists the properties of a schema in its own order. What has no type takes
// any.
func parameters(schema json.RawMessage) (out []parameter) {
	s, _ := bridge.ReadValue("the schema", schema) // one that cannot be read has no members
	required := textsOf(s.Get("required"))
	for name, v := range s.Get("properties").Members() {
		types := textsOf(v.Get("type"))
		if len(types) == 0 {
			types = []string{"any"}
		}
		out = append(out, parameter{name, types, v.Get("description").String(),
			slices.Contains(required, name)})
	}
	return out
}

// textsOf returns a text, or those of a list.
func textsOf(v bridge.Value) (all []string) {
	if v.IsString() {
		return []string{v.String()}
	}
	for x := range v.Elements() {
		all = append(all, x.String())
	}
	return all
}

// maxShown is how many bytes of what was typed a message repeats.
const maxShown = 64

// readInput builds the arguments of a call from --input and key=value. A value
// is JSON where the schema wants a number, a boolean, an array or an object,
// and text otherwise.
func readInput(schema json.RawMessage, from string, pairs []string,
	stdin io.Reader) (bridge.Value, error) {
	base, err := readBase(from, stdin)
	if err != nil || len(pairs) == 0 {
		return base, err
	}
	in := map[string]json.RawMessage{}
	for name, v := range base.Members() {
		in[name] = v.Text()
	}
	known := parameters(schema)
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return bridge.Value{}, usage("%q must be key=value, such as name=Ada; "+
				"or give --input JSON", bridge.Brief(pair, maxShown))
		}
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == key })
		types := []string{"any"}
		if i >= 0 {
			types = known[i].types
		}
		if in[key], err = argument(text, types); err != nil {
			return bridge.Value{}, usage("%s must be JSON of the type %s, not %q", terminal.Plain(key),
				terminal.Plain(strings.Join(types, " or ")), terminal.Plain(text))
		}
	}
	text, err := json.Marshal(in)
	if err != nil {
		return bridge.Value{}, err
	}
	return bridge.ReadValue("the arguments", text)
}

func readBase(from string, stdin io.Reader) (bridge.Value, error) {
	b := []byte("{}")
	var err error
	switch {
	case from == "":
	case from == "-":
		b, err = io.ReadAll(stdin)
	case strings.HasPrefix(from, "@"):
		b, err = os.ReadFile(from[1:])
	default:
		b = []byte(from)
	}
	if err != nil {
		return bridge.Value{}, usage("--input: %s %w; give JSON, @file, or - for standard input",
			terminal.Plain(strings.TrimPrefix(from, "@")), config.Problem(err))
	}
	v, err := bridge.ReadValue("--input", b)
	if text := strings.TrimSpace(from); err != nil && text != "" &&
		!strings.ContainsAny(text[:1], `-@{["`) { // not JSON that is wrong, which may be a secret
		text = bridge.Brief(text, maxShown)
		return v, usage("--input must be JSON, @file, or - for standard input, not %q; a file is @%s",
			text, text)
	}
	if err == nil && !v.IsObject() {
		err = usage("--input must be a JSON object, such as {\"name\": \"Ada\"}")
	}
	return v, err
}

// argument returns text as the JSON value that the types call for.
func argument(text string, types []string) (json.RawMessage, error) {
	asText, err := json.Marshal(text)
	if err != nil {
		return nil, err
	}
	if slices.Equal(types, []string{"string"}) {
		return asText, nil
	}
	takesText := slices.Contains(types, "string") || slices.Contains(types, "any")
	if json.Valid([]byte(text)) && !strings.HasPrefix(strings.TrimSpace(text), `"`) {
		if slices.Contains(types, "any") && text[0] != '{' && text[0] != '[' {
			return asText, nil // nothing says that 1918 is not a name
		}
		return json.RawMessage(text), nil
	}
	if takesText {
		return asText, nil
	}
	return nil, usage("not JSON")
}
