package scenario

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
)

// vault holds the secrets of a recording, each with the variable of the environment that stands for
// it in the file.
type vault struct {
	all       []secret
	disguised *schema.Concealer // of all of them
}

type secret struct{ name, text string }

// secretsOf returns the JSON pointers of what a schema marks in a value.
func secretsOf(declared, value json.RawMessage) map[string]bool {
	if len(declared) == 0 || len(value) == 0 {
		return nil
	}
	return schema.Secrets(ReadAgain(declared), ReadAgain(value))
}

func (v *vault) fill(cases []*RecordedCase) {
	v.all, v.disguised = nil, &schema.Concealer{}
	v.each(cases, func(tool string, value schema.Value, marked map[string]bool) {
		for _, at := range slices.Sorted(maps.Keys(marked)) {
			_, member := cutLast(at)
			v.add(tool+"_"+member, value.At(at).Leaves()...)
		}
	})
	v.sort()
	v.each(cases, func(tool string, value schema.Value, _ map[string]bool) {
		for _, text := range value.Leaves() { // one in a form for which no reference stands is one more
			if v.disguised.Shows(v.unnamed(text)) {
				v.add(tool+"_text", text)
			}
		}
	})
	v.sort()
}

// each calls a function with all that is sent.
func (v *vault) each(cases []*RecordedCase, visit func(string, schema.Value, map[string]bool)) {
	for _, c := range cases {
		for _, call := range c.Calls {
			visit(call.Tool, ReadAgain(call.With), call.secret)
		}
		for i := range c.Human {
			visit(c.Human[i].Tool, ReadAgain(c.Human[i].Value), c.Human[i].secret)
		}
	}
}

func (v *vault) add(words string, texts ...string) {
	for _, text := range texts {
		if text != "" && v.of(text) == "" {
			v.all = append(v.all, secret{v.free(words), text})
		}
	}
}

// sort orders the secrets, so that one that holds another is looked for first.
func (v *vault) sort() {
	slices.SortStableFunc(v.all, func(a, b secret) int { return len(b.text) - len(a.text) })
	texts := make([]string, len(v.all))
	for i, s := range v.all {
		texts[i] = s.text
	}
	v.disguised = schema.Conceal(texts)
}

// unnamed returns a text without what references stand for.
func (v *vault) unnamed(text string) string {
	for _, s := range v.all {
		if len(s.text) >= schema.ShortestSecret {
			text = strings.ReplaceAll(text, s.text, "")
		}
	}
	return text
}

// cutLast splits a JSON pointer at its last name.
func cutLast(pointer string) (before, name string) {
	at := strings.LastIndexByte(pointer, '/')
	return pointer[:max(at, 0)], pointer[at+1:]
}

// free makes the name of a variable that no other secret has.
func (v *vault) free(words string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, words), "_")
	if name = strings.ToUpper(name); !nameOfVariable.MatchString(name) {
		name = "SECRET_" + name
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(v.all, func(s secret) bool { return s.name == name })
	}
	base := name
	for i := 2; taken(name); i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	return name
}

// of returns the variable of a secret; "" of any other text.
func (v *vault) of(text string) string {
	for _, s := range v.all {
		if s.text == text {
			return s.name
		}
	}
	return ""
}

// named reports whether a part is a member whose name has a secret in it.
func (v *vault) named(at path) bool {
	if len(at) == 0 {
		return false
	}
	name, is := at[len(at)-1].(string)
	return is && v.repeats(name)
}

// repeats reports whether a text has a secret in it.
func (v *vault) repeats(text string) bool {
	return v.of(text) != "" || v.disguised.Shows(text)
}

// shows reports whether a part of a result is a secret, repeats one, or has the name of one.
func (v *vault) shows(part schema.Value, at path) bool {
	switch {
	case part.IsArray() || part.IsObject():
		return false
	case part.IsString() && len(at) > 0:
		if name, is := at[len(at)-1].(string); is && check.IsSecretName(name) {
			return true
		}
	}
	return slices.ContainsFunc(part.Leaves(), v.repeats)
}

// sent writes a value that is sent, in which references stand for secrets: for those that are
// marked, and where they are repeated. special is as for yamlOf.
func (v *vault) sent(value schema.Value, marked map[string]bool,
	special func(schema.Value, path) (*yaml.Node, bool)) *yaml.Node {
	under := func(at path) bool {
		for n := len(at); n >= 0; n-- {
			if marked[at[:n].pointer()] {
				return true
			}
		}
		return false
	}
	return yamlOf(value, nil, styleOf, func(part schema.Value, at path) (*yaml.Node, bool) {
		leaves := part.Leaves()
		leaf := !part.IsArray() && !part.IsObject() && len(leaves) == 1
		switch {
		case leaf && under(at) && v.of(leaves[0]) != "":
			return wordOf("${env." + v.of(leaves[0]) + "}"), true
		case part.IsString() && v.repeats(part.String()):
			return wordOf(v.referring(part.String())), true
		}
		return special(part, at)
	})
}

// referring returns a text with references in the place of secrets.
func (v *vault) referring(text string) string {
	for _, s := range v.all {
		before, after, found := strings.Cut(text, s.text)
		if found && (len(s.text) >= schema.ShortestSecret || text == s.text) {
			return v.referring(before) + "${env." + s.name + "}" + v.referring(after)
		}
	}
	return textOf(text).Value
}

// Variables lists the variables of the environment that a file of the recording needs, after Text.
func (r *Recording) Variables() (names []string) {
	for _, s := range r.vault.all {
		names = append(names, s.name)
	}
	slices.Sort(names)
	return names
}

// Variable returns the value of one of these variables.
func (r *Recording) Variable(name string) (string, bool) {
	for _, s := range r.vault.all {
		if s.name == name {
			return s.text, true
		}
	}
	return "", false
}

// pointer is the path as a JSON pointer.
func (p path) pointer() string {
	var tokens []string
	for _, step := range p {
		switch step := step.(type) {
		case int:
			tokens = append(tokens, strconv.Itoa(step))
		case string:
			tokens = append(tokens, step)
		}
	}
	return schema.Pointer(tokens...)
}

// typed is a matcher of a kind of values.
func typed(kind string) *yaml.Node { return inline(mapping("$type", kind)) }

// matcherFor is the matcher of values like one that must not be written.
func matcherFor(v schema.Value) *yaml.Node {
	if _, kind, ok := strings.Cut(kindOf(v), " "); ok {
		return typed(kind)
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Value: string(anyValue)}
}
