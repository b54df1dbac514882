package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"weak"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// documentURL names the schema inside the library. It is not an address: the loader refuses every
// one.
const documentURL = "urn:pagetools:schema"

// Schema is an admitted schema. It is immutable and safe for concurrent use.
type Schema struct {
	raw       json.RawMessage
	limits    Limits
	nodes     int
	arguments bool               // it was compiled as a schema of arguments
	objects   bool               // it describes objects, and nothing else is valid
	adapted   func() *ClientForm // made when the first client asks

	mu   sync.Mutex
	last *lastForm
}

// Compile admits a schema of arguments or says why not: the error is a [*CompileError]. Arguments
// are an object. It reads no file and no network, and its own time is bounded by the limits.
func Compile(raw []byte, l Limits) (*Schema, error) { return compile(raw, l, true, nil) }

// CompileResult is Compile for the schema of results, which may be any JSON value.
func CompileResult(raw []byte, l Limits) (*Schema, error) { return compile(raw, l, false, nil) }

// mostRetries bounds how often a schema is compiled again without a keyword that the compiler
// refuses.
const mostRetries = 4

// compile admits a schema; with a mender, one that has slips, too.
func compile(raw []byte, l Limits, arguments bool, m *mender) (*Schema, error) {
	l = l.withDefaults()
	if len(raw) > l.Bytes {
		return nil, refusef(RuleTooLarge, "", "the schema is longer than %d bytes", l.Bytes)
	}
	doc, err := parse(raw, defaultDepth)
	if err != nil {
		var syn *SyntaxError
		if errors.As(err, &syn); syn.deep {
			return nil, refusef(RuleTooDeep, syn.Pointer, "%s", syn.Message)
		}
		return nil, refusef(RuleNotJSON, syn.Pointer, "%s at byte %d", syn.Message, syn.Offset)
	}
	clean(doc)
	if m != nil {
		if doc, err = m.mended(doc); err != nil {
			return nil, err
		}
	}
	if arguments {
		err = checkRoot(doc)
	} else {
		doc, err = resultRoot(doc)
	}
	if err != nil {
		return nil, err
	}
	f, err := newForm(doc, l)
	for range mostRetries {
		if err == nil || !m.leaveOut(doc, err) {
			break
		}
		f, err = newForm(doc, l)
	}
	if err != nil {
		return nil, err
	}
	s := &Schema{raw: doc.appendJSON(make([]byte, 0, len(raw))), limits: l, arguments: arguments}
	s.nodes, s.last = len(f.graph.order), &lastForm{weak.Make(f)}
	s.objects = arguments || f.graph.objectsOnly(f.graph.root)
	s.adapted = sync.OnceValue(s.adapt)
	runtime.AddCleanup(s, forms.drop, s.last)
	forms.use(f)
	return s, nil
}

// JSON returns the schema as it was admitted: without "x-mcp-" members, compact, its members in
// their order. The caller must not change it.
func (s *Schema) JSON() json.RawMessage { return s.raw }

// Subschemas returns how many there are, the schema itself included: what it costs to compile.
func (s *Schema) Subschemas() int { return s.nodes }

// noLoader refuses whatever the library would like to read.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("nothing is loaded") }

// newMachine runs the library's compiler. Its panics become errors: what it was given is a
// stranger's.
func (f *form) newMachine() (m *machine, err error) {
	defer func() {
		if p := recover(); p != nil {
			m, err = nil, refusef(RuleInvalid, "", "the schema cannot be compiled")
		}
	}()
	e := &engine{cache: map[string]*pattern{}}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(draftByNumber[f.graph.draft])
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(e.compile)
	if err := c.AddResource(documentURL, f.graph.doc.plain(f.graph.forLibrary)); err != nil {
		return nil, refusef(RuleInvalid, "", "the schema cannot be compiled")
	}
	compiled, err := c.Compile(documentURL)
	if err != nil {
		return nil, explainCompile(err)
	}
	return &machine{schema: compiled, engine: e}, nil
}

// forLibrary leaves out what is settled already: the draft, the name of the root, and formats,
// which the library asserts for older drafts.
func (g *graph) forLibrary(obj *value, key string) bool {
	if !g.positions[obj] {
		return true
	}
	switch key {
	case "$schema", "format", "$vocabulary":
		return false
	case "$id":
		return obj != g.doc
	case "id":
		return obj != g.doc || g.draft != 4
	}
	return true
}

const tooComplex = "the value is too large or too complicated to be checked against this schema"

// Objects reports whether only objects can be valid.
func (s *Schema) Objects() bool { return s.objects }

// Validate checks a JSON value against the schema: nil, or a [*Violations]. The value is held to
// the rules of [CheckJSON], and arguments have to be an object. A value whose check would take too
// long is refused, never let through; that shows as Undecided.
func (s *Schema) Validate(instance []byte) error {
	v, err := Read(instance, defaultDepth)
	if err != nil {
		var syn *SyntaxError
		errors.As(err, &syn)
		return single(syn.Pointer, fmt.Sprintf("not acceptable as JSON: %s", syn.Message))
	}
	return s.Check(v)
}

// Check is Validate for a value that was read already.
func (s *Schema) Check(value Value) error {
	v := value.tree
	switch {
	case v == nil:
		return single("", "there is no value")
	case s.objects && !v.isObject():
		return single("", "the value must be an object, but is "+typeWords([]string{kindNames[v.kind]}))
	}
	f := s.form()
	if ok, _ := f.graph.affordable(v); !ok {
		return undecided()
	}
	m, err := f.acquire()
	if err != nil {
		return undecided()
	}
	defer f.release(m)
	return m.validate(v)
}

func (m *machine) validate(v *value) (err error) {
	defer func() {
		// Either a pattern's time is up, or the library met something it cannot do. Both mean: not
		// checked.
		if p := recover(); p != nil {
			err = undecided()
		}
	}()
	m.engine.begin()
	if err := m.schema.Validate(v.plain(keepAll)); err != nil {
		return explain(err)
	}
	return nil
}

func undecided() *Violations {
	v := single("", tooComplex)
	v.Undecided = true
	return v
}

func single(ptr, msg string) *Violations {
	return &Violations{List: []Violation{{Pointer: ptr, Message: msg}}}
}

var kindNames = map[jsontext.Kind]string{
	'n': "null", 't': "boolean", 'f': "boolean", '0': "number", '"': "string", '[': "array", '{': "object",
}
