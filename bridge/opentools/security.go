package opentools

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
)

// maxAlternatives bounds the alternatives of one operation's security, and the schemes of each.
const maxAlternatives = 64

// heldScheme is a Security Scheme Object that some operation names. All that name it share it.
type heldScheme struct{ object json.RawMessage }

// alternatives are those of the security of an operation, its own or else the document's (OpenAPI
// 4.8.30): one is enough. Names that are no scheme of the document are left out with their
// alternative.
func (d *Document) alternatives(t *Tool) [][]oauth.Scheme {
	if len(t.security) == 0 {
		return d.shared
	}
	return d.alternativesOf(t.security)
}

func (d *Document) alternativesOf(text json.RawMessage) (all [][]oauth.Scheme) {
	var said []map[string][]string
	if len(text) == 0 || len(text) > maxPart || json.Unmarshal(text, &said) != nil {
		return nil
	}
next:
	for _, needed := range said[:min(len(said), maxAlternatives)] {
		if len(needed) > maxAlternatives {
			continue
		}
		one := []oauth.Scheme{}
		for _, name := range slices.Sorted(maps.Keys(needed)) {
			scheme := d.scheme(name)
			if scheme == nil {
				continue next
			}
			one = append(one, oauth.Scheme{Name: name, Object: scheme.object, Scopes: needed[name]})
		}
		all = append(all, one)
	}
	return all
}

// scheme returns a security scheme of the document, nil when there is none.
func (d *Document) scheme(name string) *heldScheme {
	d.mu.Lock()
	held, known := d.schemes[name]
	d.mu.Unlock()
	if known {
		return held
	}
	if object, err := d.resolved(d.components["securitySchemes"][name]); err == nil {
		held = &heldScheme{bytes.Clone(object)}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.schemes == nil {
		d.schemes = map[string]*heldScheme{}
	}
	d.schemes[name] = held
	return held
}
