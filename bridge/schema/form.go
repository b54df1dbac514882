package schema

import (
	"container/list"
	"sync"
	"weak"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// What a schema is checked with takes up to a hundred times the bytes of its text, and a page
// declares as much as it may. So a schema keeps its text, and what was made of it is kept for those
// that were used last.

type form struct {
	graph    *graph
	machines chan *machine
	bytes    int64 // about
}

// machine is the library's compiled form together with the meter of its patterns, and serves one
// validation at a time.
type machine struct {
	schema *jsonschema.Schema
	engine *engine
}

// spareMachines sets how many compiled copies a schema with patterns keeps for concurrent
// validations.
const spareMachines = 4

// What a form takes: measured for 1,900 subschemas of one member each, and for 8,000 names in an
// enum.
const (
	bytesOfNode  = 2000
	bytesOfValue = 150
)

// newForm checks a document that was cleaned.
func newForm(doc *value, l Limits) (*form, error) {
	g, err := buildGraph(doc, l)
	if err != nil {
		return nil, err
	}
	f := &form{graph: g, machines: make(chan *machine, spareMachines),
		bytes: int64(len(g.order))*bytesOfNode + int64(doc.size)*bytesOfValue}
	m, err := f.newMachine()
	if err != nil {
		return nil, err
	}
	f.machines <- m
	return f, nil
}

// form returns the compiled schema, and compiles it again when it was dropped.
func (s *Schema) form() *form {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.last.form.Value()
	if f == nil {
		var err error
		if f, err = newForm(parseOwn(s.raw), s.limits); err != nil { // it was admitted
			panic("schema: reading an admitted schema: " + err.Error())
		}
		s.last.form = weak.Make(f)
	}
	forms.use(f)
	return f
}

// acquire takes a machine that nobody uses, or makes one.
func (f *form) acquire() (*machine, error) {
	select {
	case m := <-f.machines:
		return m, nil
	default:
		return f.newMachine()
	}
}

// release keeps a machine for the next validation, or lets it go.
func (f *form) release(m *machine) {
	select {
	case f.machines <- m:
	default:
	}
}

// mostForms bounds what forms take together, in bytes.
const mostForms = 16 << 20

var forms = recent{at: map[*form]*list.Element{}}

// recent holds forms, the one used last first. Others are gone with the next collection of
// garbage, unless somebody uses them.
type recent struct {
	mu    sync.Mutex
	all   list.List // of *form
	at    map[*form]*list.Element
	bytes int64
}

type lastForm struct{ form weak.Pointer[form] }

// drop forgets the form of a schema that is gone.
func (r *recent) drop(last *lastForm) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := last.form.Value()
	if e := r.at[f]; e != nil {
		r.all.Remove(e)
		delete(r.at, f)
		r.bytes -= f.bytes
	}
}

func (r *recent) use(f *form) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e := r.at[f]; e != nil {
		r.all.MoveToFront(e)
		return
	}
	r.at[f] = r.all.PushFront(f)
	r.bytes += f.bytes
	for r.bytes > mostForms && r.all.Len() > 1 {
		oldest := r.all.Remove(r.all.Back()).(*form)
		delete(r.at, oldest)
		r.bytes -= oldest.bytes
	}
}
