package bridge

import (
	"encoding/json"

	"github.com/pagetools/pagetools/bridge/policy"
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

	key string // digest, once it is known
}

// Seal computes what the declaration is known by, for who admits it more than once. It
// must not change afterwards.
func (d *Declaration) Seal() { d.key = d.digest() }

// Bytes is how long it is.
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
