package opentools

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// maxAlternatives bounds the alternatives of one operation's security, and the schemes of each.
const maxAlternatives = 64

// heldScheme is a Security Scheme Object that some operation names. All that name it share it.
type heldScheme struct {
	object json.RawMessage
	digest string
}

// alternatives returns the security alternatives of an operation, its own or else the document's
// (OpenAPI 4.8.30): one is enough. An alternative that names an unknown scheme is left out.
func (d *Document) alternatives(t *Tool) [][]oauth.Scheme {
	if t.security == nil {
		return d.shared
	}
	return t.security.all
}

// securityList holds what was read of a list of Security Requirement Objects, and what is wrong
// with it.
type securityList struct {
	all   [][]oauth.Scheme
	wrong []string
}

// securityOf reads a list once, for all operations that have the same.
func (d *Document) securityOf(words json.RawMessage) *securityList {
	return once(d, &d.securities, string(words), func() *securityList {
		all, wrong := d.alternativesOf(words)
		return &securityList{all, wrong}
	})
}

// once returns what was read under a name, which is read when it comes first.
func once[T any](d *Document, held *map[string]T, name string, read func() T) T {
	d.mu.Lock()
	known, there := (*held)[name]
	d.mu.Unlock()
	if there {
		return known
	}
	known = read()
	d.mu.Lock()
	defer d.mu.Unlock()
	if *held == nil {
		*held = map[string]T{}
	}
	(*held)[name] = known
	return known
}

// alternativesOf reads a list of Security Requirement Objects, and returns what of it is not as it
// must be.
func (d *Document) alternativesOf(words json.RawMessage) (all [][]oauth.Scheme, wrong []string) {
	if len(words) == 0 || len(words) > maxPart {
		return nil, nil
	}
	var said []json.RawMessage
	if json.Unmarshal(words, &said) != nil {
		said = []json.RawMessage{words} // one without the list around it
	}
next:
	for _, requirement := range said[:min(len(said), maxAlternatives)] {
		needed, err := members(requirement)
		if err != nil {
			wrong = append(wrong, "it must be a list of objects with names of security schemes")
			continue
		}
		if len(needed) > maxAlternatives {
			continue
		}
		slices.SortFunc(needed, func(a, b member) int { return strings.Compare(a.name, b.name) })
		one := []oauth.Scheme{}
		for _, m := range needed {
			name := text.Line(text.Short(m.name, maxShown))
			scheme := d.scheme(m.name)
			if scheme == nil {
				wrong = append(wrong, "components/securitySchemes has no object "+name+": it is not sent")
				continue next
			}
			var scopes []string
			if json.Unmarshal(m.text, &scopes) != nil {
				wrong = append(wrong, "the scopes of "+name+" must be a list of texts")
				scopes = nil
			}
			one = append(one, oauth.Scheme{Name: m.name, Object: scheme.object, Scopes: scopes})
		}
		all = append(all, one)
	}
	return all, wrong
}

// scheme returns a security scheme of the document, nil when there is none.
func (d *Document) scheme(name string) *heldScheme {
	return once(d, &d.schemes, name, func() *heldScheme {
		object, err := d.resolved(d.components["securitySchemes"][name])
		if err != nil {
			return nil
		}
		sum := sha256.Sum256(object)
		return &heldScheme{bytes.Clone(object), hex.EncodeToString(sum[:])}
	})
}

// sends identifies how a call is sent and with whose credentials, as far as its schemas, its method
// and its address do not say it.
func (d *Document) sends(t *Tool) string {
	parts := []any{t.accept}
	for _, p := range t.parameters {
		parts = append(parts, []any{p.Name, p.In, p.style(), p.explodes(), p.AllowReserved, p.isJSON(), p.Argument})
	}
	if b := t.body; b != nil {
		parts = append(parts, []any{b.Media, b.Whole, b.Names, b.Open, b.Bytes, b.Encoding})
	}
	for _, all := range d.alternatives(t) {
		one := []any{}
		for _, s := range all {
			one = append(one, s.Name, d.scheme(s.Name).digest, s.Scopes)
		}
		parts = append(parts, one)
	}
	sum := sha256.Sum256(schema.MustEncode(parts))
	return hex.EncodeToString(sum[:])
}
