package schema

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
)

// ClientForm is a schema of arguments as clients of MCP get it. It is immutable, and safe for
// concurrent use.
type ClientForm struct {
	// JSON is the schema. Its root is an object.
	JSON json.RawMessage
	// Notes say what was changed, in words for the schema's author.
	Notes []string
	// Forms says in words which alternatives the root has; "" where there are none, or where the
	// schema shows them.
	Forms string

	given map[string]string // the schema's names of properties, by those in JSON that differ
	shown map[string]string // the other way round
}

// The names of properties that the APIs of all models take.
const maxProperty = 64

var legalProperty = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// legalPart is a text as a part of a name that all models' APIs take.
func legalPart(s string) string {
	legal := strings.Map(func(r rune) rune {
		if r < 0x80 && legalProperty.MatchString(string(r)) {
			return r
		}
		return '_'
	}, s)
	return legal[:min(len(legal), maxProperty)]
}

// Restore returns arguments with the names of properties that the schema has, at every depth. The
// schema's own names stay as they are. An error names a property that is there under both of its
// names.
func (f *ClientForm) Restore(v Value) (Value, error) {
	if len(f.given) == 0 || v.tree == nil {
		return v, nil
	}
	out, changed, err := f.restore(nil, v.tree)
	if err != nil || !changed {
		return v, err
	}
	return Read(out, defaultDepth)
}

func (f *ClientForm) restore(dst []byte, v *value) (out []byte, changed bool, err error) {
	if len(v.vals) == 0 {
		return v.appendJSON(dst), false, nil
	}
	open, end := byte('['), byte(']')
	if v.isObject() {
		open, end = '{', '}'
	}
	dst = append(dst, open)
	for i, item := range v.vals {
		if i > 0 {
			dst = append(dst, ',')
		}
		if v.isObject() {
			name, renamed := f.given[v.keys[i]]
			switch {
			case !renamed:
				name = v.keys[i]
			case v.get(name) != nil:
				return nil, false, fmt.Errorf("%s and %s are the same property",
					text.Quote(v.keys[i]), text.Quote(name))
			}
			changed = changed || renamed
			dst = append(AppendString(dst, name), ':')
		}
		var inside bool
		if dst, inside, err = f.restore(dst, item); err != nil {
			return nil, false, err
		}
		changed = changed || inside
	}
	return append(dst, end), changed, nil
}

// Name returns the name that clients know a property by.
func (f *ClientForm) Name(property string) string {
	if shown, ok := f.shown[property]; ok {
		return shown
	}
	return property
}

// Pointer returns an RFC 6901 pointer into arguments in the names that clients know.
func (f *ClientForm) Pointer(p string) string {
	tokens, ok := SplitPointer(p)
	if !ok || len(f.shown) == 0 {
		return p
	}
	for i, t := range tokens {
		tokens[i] = f.Name(t)
	}
	return Pointer(tokens...)
}

// rename gives every property a name that all models' APIs take. The same name becomes the same
// everywhere in the schema, so that arguments can be taken back without it; legal names stay.
func (f *ClientForm) rename(g *graph, note func(format string, args ...any)) {
	all := map[string]bool{}
	for _, n := range g.order {
		for name := range n.props {
			all[name] = true
		}
	}
	f.given, f.shown = map[string]string{}, map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if legalProperty.MatchString(name) && !InPrototype(name) {
			continue
		}
		shown := hashedProperty(name, 0)
		for round := 1; all[shown] || f.given[shown] != ""; round++ {
			shown = hashedProperty(name, round)
		}
		f.given[shown], f.shown[name] = name, shown
		note("the property %s is %q to clients", text.Quote(name), shown)
	}
}

// inPrototype are the members of Object.prototype.
var inPrototype = wordSet(`constructor hasOwnProperty isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf
	__proto__ __defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__`)

// InPrototype reports whether every object of JavaScript has a member of that name, so that clients
// which keep names in objects take it for one that is there, or lose it.
func InPrototype(name string) bool { return inPrototype[name] }

// hashedProperty is the legal part of a name and a hash of all of it.
func hashedProperty(name string, round int) string {
	clean := strings.Join(strings.FieldsFunc(name, func(r rune) bool {
		return r >= 0x80 || !legalProperty.MatchString(string(r))
	}), "_")
	seed := name
	if round > 0 {
		seed += "\n" + strconv.Itoa(round)
	}
	sum := sha256.Sum256([]byte(seed))
	suffix := "_" + hex.EncodeToString(sum[:3])
	return clean[:min(len(clean), maxProperty-len(suffix))] + suffix
}

// putNew adds a member to an object that has none of this name.
func (v *value) putNew(key string, to *value) {
	if v.get(key) == nil {
		v.put(key, to)
	}
}

func (v *value) put(key string, to *value) {
	i, there := v.index[key]
	if v.index == nil {
		i = slices.Index(v.keys, key)
		there = i >= 0
	}
	if there {
		v.vals[i] = to
		return
	}
	v.keys, v.vals = append(v.keys, key), append(v.vals, to)
	if v.index == nil {
		v.buildIndex()
		return
	}
	v.index[key] = len(v.keys) - 1
}

// refTokens takes a reference apart that is a JSON pointer into the same document.
func refTokens(ref string) (tokens []string, ok bool) {
	fragment, local := strings.CutPrefix(ref, "#")
	if fragment, err := url.PathUnescape(fragment); local && err == nil {
		return SplitPointer(fragment)
	}
	return nil, false
}
