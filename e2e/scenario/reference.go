package scenario

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// A reference is ${steps.NAME.path}, ${env.NAME} or ${unique} in a text. A text that is one
// reference and nothing else becomes the value with its JSON type; a reference inside other text
// becomes text: a string as it is, other values as JSON. $${ is ${ without a meaning.

// piece is a part of a text: literal text, or a reference.
type piece struct {
	text string
	ref  *reference
}

// reference holds the text between ${ and }.
type reference struct {
	kind string // "steps", "env" or "unique"
	name string // what follows the kind: NAME.path of steps, NAME of env
}

func (r *reference) String() string {
	if r.name == "" {
		return "${" + r.kind + "}"
	}
	return "${" + r.kind + "." + r.name + "}"
}

var (
	kindsOfReferences = []string{"steps", "env", "unique"}
	markOfReference   = regexp.MustCompile(`\$\$\{|\$\{([^}]*\}?)`)
	nameOfVariable    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	stepOfPath        = regexp.MustCompile(`^(?:\.([^.[]+)|\[([0-9]{1,10})\]|\[("(?:[^"\\]|\\.)*")\])`)
)

// splitReferences cuts a text at its references. The second result says what is wrong, or is "".
func splitReferences(words string) (pieces []piece, wrong string) {
	plain, end := "", 0
	for _, m := range markOfReference.FindAllStringSubmatchIndex(words, -1) {
		plain, end = plain+words[end:m[0]], m[1]
		if m[2] < 0 { // $${
			plain += "${"
			continue
		}
		body, closed := strings.CutSuffix(words[m[2]:m[3]], "}")
		if !closed {
			return nil, fmt.Sprintf("invalid text %s: ${ has no }; write $${ for the text ${", Quoted(words))
		}
		ref, wrong := readReference(body)
		if wrong != "" {
			return nil, wrong
		}
		if plain != "" {
			pieces, plain = append(pieces, piece{text: plain}), ""
		}
		pieces = append(pieces, piece{ref: ref})
	}
	if plain += words[end:]; plain != "" {
		pieces = append(pieces, piece{text: plain})
	}
	return pieces, ""
}

func readReference(body string) (*reference, string) {
	kind, name, _ := strings.Cut(body, ".")
	whole := Quoted("${" + body + "}")
	switch {
	case !slices.Contains(kindsOfReferences, kind):
		return nil, fmt.Sprintf("unknown reference %s: %s; write $${ for the text ${", whole,
			instead(kind, kindsOfReferences))
	case kind == "unique" && body != kind:
		return nil, fmt.Sprintf("invalid reference %s: write ${unique}", whole)
	case kind == "env" && !nameOfVariable.MatchString(name):
		return nil, fmt.Sprintf("invalid reference %s: write ${env.NAME} with letters, digits and _",
			whole)
	case kind == "steps" && name == "":
		return nil, fmt.Sprintf("invalid reference %s: write ${steps.NAME.path}", whole)
	}
	return &reference{kind, name}, ""
}

// stepOf splits NAME.path: the longest name that is known counts, because names of tools may have
// dots. It reports whether there is one.
func stepOf(name string, known []string) (step, path string, ok bool) {
	for _, k := range known {
		rest, found := strings.CutPrefix(name, k)
		if found && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(k) > len(step) {
			step, path, ok = k, rest, true
		}
	}
	return step, path, ok
}

// readPath splits a path such as .content[0].text or ["a.b"] into names and indices.
func readPath(path string) (steps []string, ok bool) {
	for path != "" {
		m := stepOfPath.FindStringSubmatch(path)
		if m == nil {
			return nil, false
		}
		name := m[1] + m[2]
		if m[3] != "" {
			var err error
			if name, err = strconv.Unquote(m[3]); err != nil {
				return nil, false
			}
		}
		steps, path = append(steps, name), path[len(m[0]):]
	}
	return steps, true
}

// Scope resolves references while one case runs through one door. It is safe for
// concurrent use: steps of [Step.Parallel] share it.
type Scope struct {
	// Env returns a variable of the environment, and whether it is set. Nil means that none is.
	Env func(name string) (string, bool)
	// Unique replaces ${unique}: the same text in the whole case, and another one in
	// each run and through each door.
	Unique string

	mu    sync.Mutex
	steps map[string]json.RawMessage
}

// Keep makes the result of a step, as JSON text, known by the step's name. A later step of the
// same name replaces it.
func (s *Scope) Keep(name string, result json.RawMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.steps == nil {
		s.steps = map[string]json.RawMessage{}
	}
	s.steps[name] = result
}

// Expand returns the value with what its references stand for. The error names the first
// reference that stands for nothing.
func (s *Scope) Expand(v Value) (Value, error) {
	if v.n == nil {
		return v, nil
	}
	n, err := s.expand(v.n)
	return Value{n}, err
}

// Text returns a text of a file, such as [Site.URL], with what its references stand for.
func (s *Scope) Text(words string) (string, error) {
	pieces, wrong := splitReferences(words)
	if wrong != "" {
		return "", errors.New(text.EscapeLine(wrong))
	}
	return s.join(pieces)
}

func (s *Scope) expand(n *node) (*node, error) {
	if n.refs != nil {
		return s.expandText(n)
	}
	out := *n
	out.vals = slices.Clone(n.vals)
	for i, x := range n.vals {
		var err error
		if out.vals[i], err = s.expand(x); err != nil {
			return nil, err
		}
	}
	out.ops = slices.Clone(n.ops)
	for i, o := range n.ops {
		arg, err := s.expand(o.arg)
		if err != nil {
			return nil, err
		}
		if !o.arg.hasReferences() {
			continue // prepared when it was read
		}
		fresh := &op{matcher: o.matcher, arg: arg, at: o.at}
		if why := fresh.prepare(); why != "" {
			return nil, fmt.Errorf("invalid value for %s: %s", o.matcher.name, text.EscapeLine(why))
		}
		out.ops[i] = fresh
	}
	return &out, nil
}

func (s *Scope) expandText(n *node) (*node, error) {
	if len(n.refs) == 1 && n.refs[0].ref.kind == "steps" {
		v, err := s.step(n.refs[0].ref)
		if err != nil {
			return nil, err
		}
		return literal(v, n.at), nil
	}
	words, err := s.join(n.refs)
	return &node{kind: '"', text: words, at: n.at}, err
}

func (s *Scope) join(pieces []piece) (string, error) {
	var b strings.Builder
	for _, p := range pieces {
		words, err := p.text, error(nil)
		if p.ref != nil {
			words, err = s.value(p.ref)
		}
		if err != nil {
			return "", err
		}
		b.WriteString(words)
	}
	return b.String(), nil
}

func (s *Scope) value(r *reference) (string, error) {
	switch r.kind {
	case "unique":
		return s.Unique, nil
	case "env":
		if s.Env != nil {
			if words, ok := s.Env(r.name); ok {
				return strings.ToValidUTF8(words, "\uFFFD"), nil
			}
		}
		return "", fmt.Errorf("the environment variable %s is not set: set it before the tests run",
			r.name)
	}
	v, err := s.step(r)
	if err != nil || v.IsString() {
		return v.String(), err
	}
	return string(v.Text()), nil
}

// step is the part of a step's result that a reference names.
func (s *Scope) step(r *reference) (schema.Value, error) {
	s.mu.Lock()
	var known []string
	for name := range s.steps {
		known = append(known, name)
	}
	name, path, ok := stepOf(r.name, known)
	words := s.steps[name]
	s.mu.Unlock()
	if !ok {
		return schema.Value{}, fmt.Errorf("%s names a step that has no result: only a call that ran "+
			"has one", r)
	}
	v, err := schema.Read(words, 0)
	if err != nil {
		return v, fmt.Errorf("%s: the result of the step cannot be read: %w", r, err)
	}
	steps, ok := readPath(path)
	if !ok {
		return v, fmt.Errorf("%s has an invalid path: write .member, [0] or [\"member\"]",
			text.EscapeLine(r.String()))
	}
	here := name
	for _, step := range steps {
		next := part(v, step)
		if !next.Exists() {
			return v, fmt.Errorf("%s: %s is %s without %s", text.EscapeLine(r.String()), text.EscapeLine(here), kindOf(v),
				text.EscapeLine(Quoted(step)))
		}
		v, here = next, here+"."+step
	}
	return v, nil
}

// part is a member or an element of a value, or none.
func part(v schema.Value, step string) schema.Value {
	if !v.IsArray() {
		return v.Get(step)
	}
	index, err := strconv.Atoi(step)
	if err != nil {
		return schema.Value{}
	}
	for i, x := range v.Items() {
		if i == index {
			return x
		}
	}
	return schema.Value{}
}

func (n *node) hasReferences() bool {
	found := false
	n.walk(func(x *node) { found = found || x.refs != nil })
	return found
}

// walk visits n and all in it, the values of matchers included.
func (n *node) walk(visit func(*node)) {
	visit(n)
	for _, x := range n.vals {
		x.walk(visit)
	}
	for _, o := range n.ops {
		o.arg.walk(visit)
	}
}
