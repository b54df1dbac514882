package bridge

import (
	"encoding/json"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/webtool"
)

// Declaration is a tool as a stranger described it. Nothing in it is trusted;
// [NewCatalog] is the only way to turn it into a Tool.
type Declaration struct {
	// ID is the registration, unique in its document. A page that replaces a
	// tool makes a registration with another ID.
	ID int64
	// Document identifies the document that registered it.
	Document string
	// Origin is the origin of that document, as the browser reports it.
	Origin string
	// Frame names the frame that shows the document; empty at the top.
	Frame string
	// Own is true when that is an origin of the site itself. Only for its tools does
	// the operator's level lower what is asked, and, of them, only the readOnlyHint of
	// the top-level page may count.
	Own bool

	Name, Title, Description string
	// Input and Output are JSON Schemas as JSON text; nil means none.
	Input, Output json.RawMessage
	// Annotations are the page's claims, as a JSON object; nil means none.
	Annotations json.RawMessage
	// Operation is set for an operation of an API; nil for a tool of a page.
	Operation *Operation
	// Adapter is the operator's script that registered it; nil is none. The page shares a world
	// with it and could forge that, so it grants nothing.
	Adapter *Adapter
	// Sends identifies, for an operation, how its calls are sent and with which credentials: one
	// that changes it is another definition.
	Sends string

	key string // digest, once it is known
}

// Adapter identifies a script of the operator that adds tools to a page.
type Adapter = webtool.Adapter

// Seal computes what the declaration is known by, for who admits it more than once. It
// must not change afterwards.
func (d *Declaration) Seal() { d.key = d.digest() }

// withinLimits returns those declarations that are looked at, with the finding of those that are
// too many.
func withinLimits(decls []Declaration, l Limits) (looked []Declaration, findings []Finding) {
	seen := map[string]int{} // by document
	for _, d := range decls {
		seen[d.Document]++
		switch n := seen[d.Document]; {
		case n <= l.Tools && len(looked) < maxDocuments*l.Tools:
			looked = append(looked, d)
		case n == l.Tools+1 || n == 1:
			findings = append(findings, Finding{Rule: "too-many-tools", Refused: true,
				Message: fmt.Sprintf("A document declares more than %d tools, or the page more than %d; only the first are offered.", l.Tools, maxDocuments*l.Tools)})
		}
	}
	return looked, findings
}

// decidedAtOnce sets how many declarations are decided about before the next ones are looked at.
const decidedAtOnce = 64

// decide yields what becomes of each declaration, by its index: what was decided when prev was
// made, or anew. Who breaks off has spent no time on those that come later.
func decide(prev *Catalog, decls []Declaration, l Limits) iter.Seq2[int, admission] {
	return func(yield func(int, admission) bool) {
		for first := 0; first < len(decls); first += decidedAtOnce {
			part := decls[first:min(len(decls), first+decidedAtOnce)]
			decided := make([]admission, len(part))
			onAllCores(len(part), func(i int) {
				d := &part[i]
				if d.key == "" {
					d.Seal()
				}
				if prev != nil {
					if a, known := prev.byDecl[d.key]; known {
						decided[i] = a
						return
					}
				}
				decided[i] = admit(*d, l)
			})
			for i, a := range decided {
				if !yield(first+i, a) {
					return
				}
			}
		}
	}
}

// onAllCores calls f with each number below n, on all cores where there are many. A panic of f is
// the caller's.
func onAllCores(n int, f func(i int)) {
	const few = 8
	if n <= few {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var failed atomic.Pointer[any]
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					failed.Store(&p)
				}
			}()
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
	if p := failed.Load(); p != nil {
		panic(*p)
	}
}

// Bytes returns its size.
func (d *Declaration) Bytes() int64 {
	return int64(len(d.Name) + len(d.Title) + len(d.Description) + len(d.Input) + len(d.Output) + len(d.Annotations))
}

// hintsOf reads the boolean claims of the annotations that matter to policy.
// Anything that is not a boolean does not count as a claim.
func hintsOf(annotations json.RawMessage) policy.Hints {
	var raw map[string]any
	if len(annotations) == 0 || json.Unmarshal(annotations, &raw) != nil {
		return policy.Hints{}
	}
	claim := func(key string) policy.Claim {
		v, ok := raw[key].(bool)
		switch {
		case !ok:
			return policy.Unsaid
		case v:
			return policy.Yes
		}
		return policy.No
	}
	return policy.Hints{
		ReadOnly:      claim("readOnlyHint"),
		Destructive:   claim("destructiveHint"),
		Consequential: claim("consequentialHint"),
		Untrusted:     claim("untrustedContentHint"),
	}
}

// Operation says of a tool that it is an operation of an API, and no page's: what a person is told
// of it, and what its site published of consent. Its arguments are sent as they are written: no
// page makes doubles of their numbers.
type Operation struct {
	// Method and URL describe its requests; the URL has the names of its parameters.
	Method string `json:"method"`
	URL    string `json:"url"`
	// API is the site's own name, and Cost its price of a call; "" means none was given.
	API  string `json:"api,omitempty"`
	Cost string `json:"cost,omitempty"`
	// Level is the least consent that the site wants.
	Level policy.Level `json:"level"`
}

// Operation is nil for a tool of a page.
func (t *Tool) Operation() *Operation { return t.operation }

// siteLevel is the least consent that the site's published terms want.
func (t *Tool) siteLevel() policy.Level {
	if t.operation == nil {
		return policy.Auto
	}
	return t.operation.Level
}

// facts adds the facts about the operation that a person reads. A page's tool has none.
func (o *Operation) facts(add func(name, text string)) {
	if o == nil {
		return
	}
	add("The site calls itself", o.API)
	add("Request", strings.TrimSpace(o.Method+" "+o.URL))
	add("A call costs", o.Cost)
}
