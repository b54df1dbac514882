package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// parameter is one property of a tool's input, as far as its schema says.
type parameter struct {
	name        string
	types       []string
	description string
	required    bool
}

// parameters lists the properties of a schema in its own order.
func parameters(schema json.RawMessage) []parameter {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil || len(s.Properties) == 0 {
		return nil
	}
	var out []parameter
	dec := json.NewDecoder(bytes.NewReader(s.Properties))
	if _, err := dec.Token(); err != nil {
		return nil
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return out
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return out
		}
		name, _ := key.(string)
		p := parameter{name: name, required: slices.Contains(s.Required, name)}
		p.types, p.description = typesOf(raw)
		out = append(out, p)
	}
	return out
}

// typesOf reads type and description of a property; what has no type takes any.
func typesOf(raw json.RawMessage) (types []string, description string) {
	var p struct {
		Type        json.RawMessage `json:"type"`
		Description string          `json:"description"`
	}
	_ = json.Unmarshal(raw, &p) // a boolean schema says nothing
	var one string
	if json.Unmarshal(p.Type, &one) == nil && one != "" {
		types = []string{one}
	} else if json.Unmarshal(p.Type, &types) != nil || len(types) == 0 {
		types = []string{"any"}
	}
	return types, p.Description
}

// readInput builds the arguments of a call from --input and key=value. A value
// is JSON where the schema wants a number, a boolean, an array or an object,
// and text otherwise.
func readInput(schema json.RawMessage, from string, pairs []string, stdin io.Reader) (json.RawMessage, error) {
	base, err := readBase(from, stdin)
	if err != nil || len(pairs) == 0 {
		return base, err
	}
	var in map[string]json.RawMessage
	if json.Unmarshal(base, &in) != nil || in == nil {
		return nil, usage("--input must be a JSON object when key=value follow")
	}
	known := parameters(schema)
	for _, pair := range pairs {
		key, text, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, usage("%q is not key=value", terminal.Plain(pair))
		}
		i := slices.IndexFunc(known, func(p parameter) bool { return p.name == key })
		types := []string{"any"}
		if i >= 0 {
			types = known[i].types
		}
		if in[key], err = argument(text, types); err != nil {
			return nil, usage("%s: %q is not a JSON %s", terminal.Plain(key), terminal.Plain(text), terminal.Plain(strings.Join(types, " or ")))
		}
	}
	return json.Marshal(in)
}

func readBase(from string, stdin io.Reader) (json.RawMessage, error) {
	var b []byte
	var err error
	switch {
	case from == "":
		return json.RawMessage(`{}`), nil
	case from == "-":
		b, err = io.ReadAll(stdin)
	case strings.HasPrefix(from, "@"):
		b, err = os.ReadFile(from[1:])
	default:
		b = []byte(from)
	}
	if err != nil {
		return nil, usage("--input: %w", err)
	}
	_, err = bridge.ReadValue("--input", b)
	return b, err
}

// argument gives text as the JSON value that the types call for.
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
