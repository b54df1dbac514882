package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// choice is a flag that takes one of a few words.
type choice struct {
	value *string
	of    []string
}

var _ pflag.Value = (*choice)(nil)

func (c *choice) Set(text string) error {
	if !slices.Contains(c.of, text) {
		return fmt.Errorf("must be one of %s", strings.Join(c.of, ", "))
	}
	*c.value = text
	return nil
}

func (c *choice) String() string {
	if c.value == nil { // pflag asks a zero value
		return ""
	}
	return *c.value
}

// Type returns a word that help shows.
func (c *choice) Type() string { return "word" }

// unknownCommand names the command that was probably meant.
func unknownCommand(c *cobra.Command, word string) error {
	hint := "see " + c.CommandPath() + " --help"
	var names []string
	for _, other := range c.Commands() {
		if other.IsAvailableCommand() {
			names = append(names, other.Name())
		}
	}
	if near := text.DidYouMean(word, names); near != "" {
		hint = near
	} else if strings.Contains(word, "://") {
		hint = "did you mean pagetools tools " + text.Line(word) + "?"
	}
	return terminal.Usage("unknown command %q; %s", text.Line(word), hint)
}

// flagError says in one form what is wrong with a flag, without the words of libraries.
func flagError(c *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		must := strings.TrimPrefix(errors.Unwrap(invalid).Error(),
			strconv.Quote(invalid.GetValue())+" ")
		kind, known := mustBe[invalid.GetFlag().Value.Type()]
		if known && strings.HasPrefix(must, "strconv.") {
			must = kind
		}
		return terminal.Usage("invalid value %q for --%s: %s", text.Line(invalid.GetValue()),
			invalid.GetFlag().Name, must)
	case errors.As(err, &unknown) && len(unknown.GetSpecifiedName()) > 1:
		if near := meantFlag(c, unknown.GetSpecifiedName()); near != "" {
			return terminal.Usage("unknown flag: --%s; did you mean --%s?",
				text.Line(unknown.GetSpecifiedName()), near)
		}
	}
	return terminal.Usage("%s; see %s --help", text.Line(err.Error()), c.CommandPath())
}

// meantFlag returns the flag of a command that was probably meant, or "". All commands have
// those for serving, and not all of them serve.
func meantFlag(c *cobra.Command, word string) string {
	if ours := otherWords[word]; ours != "" {
		verb := help[strings.TrimPrefix(c.CommandPath(), "pagetools ")]
		if strings.Contains(verb.groups, "serving") {
			return ours
		}
		return ""
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
	return text.Nearest(word, names)
}

// otherWords are names of flags in other programs, and what pagetools has for them.
var otherWords = map[string]string{
	"port": "listen HOST:PORT", "host": "listen HOST:PORT", "address": "listen HOST:PORT",
	"bind": "listen HOST:PORT", "key": "token TOKEN", "api-key": "token TOKEN",
	"auth": "token TOKEN",
}

// mustBe says what flags of the library's own types take.
var mustBe = map[string]string{"bool": "must be true or false", "int": "must be a number"}

// sayUnknownVariables names variables that are probably misspelled: what they say does not
// count.
func sayUnknownVariables(w io.Writer) {
	known := []string{"PAGETOOLS_CONSOLE_TOKEN"}
	for _, key := range config.Keys() {
		known = append(known, config.EnvName(key))
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "PAGETOOLS_") || slices.Contains(known, name) {
			continue
		}
		if near := text.Nearest(name, known); near != "" {
			fmt.Fprintf(w, "pagetools: warning: %s is not a setting and does not count; "+
				"did you mean %s?\n", text.Line(name), near)
		}
	}
}

// maxShown limits how many bytes of what was typed a message repeats.
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
	for _, pair := range pairs {
		key, words, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return bridge.Value{}, terminal.Usage("%q must be key=value, such as name=Ada; "+
				"or give --input JSON", text.Brief(pair, maxShown))
		}
		if read, err := fileArgument(schema, key, words, in); err != nil {
			return bridge.Value{}, err
		} else if read {
			continue
		}
		types := typesFor(schema, key)
		if in[key], err = argument(words, types); err != nil {
			return bridge.Value{}, terminal.Usage("%s must be JSON of the type %s, not %q",
				text.Line(key), text.Line(text.List(types, "or")), text.Line(words))
		}
	}
	words, err := json.Marshal(in)
	if err != nil {
		return bridge.Value{}, err
	}
	return bridge.ReadValue("the arguments", words)
}

func readBase(from string, stdin io.Reader) (bridge.Value, error) {
	b := []byte("{}")
	var err error
	switch {
	case from == "":
	case from == "-":
		b, err = io.ReadAll(stdin)
	case from == "@":
		return bridge.Value{}, terminal.Usage("--input: @ must be followed by the name of a file, such as @arguments.json")
	case strings.HasPrefix(from, "@"):
		b, err = os.ReadFile(from[1:])
	default:
		b = []byte(from)
	}
	if err != nil {
		return bridge.Value{}, terminal.Usage("--input: %s %w; give JSON, @file, or - for "+
			"standard input", text.Line(strings.TrimPrefix(from, "@")), config.Problem(err))
	}
	v, err := bridge.ReadValue("--input", b)
	if words := strings.TrimSpace(from); err != nil && words != "" &&
		!strings.ContainsAny(words[:1], `-@{["`) { // not JSON that is wrong, which may be a secret
		words = text.Brief(words, maxShown)
		return v, terminal.Usage("--input must be JSON, @file, or - for standard input, not %q; "+
			"a file is @%s", words, words)
	}
	if err == nil && !v.IsObject() {
		err = terminal.Usage("--input must be a JSON object, such as {\"name\": \"Ada\"}")
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
	return nil, terminal.Usage("not JSON")
}
