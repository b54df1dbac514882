package schema

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// value is a JSON value that keeps the order of its members and the letters of its numbers: a
// schema goes out again as it came in, and a number must not pass through a float64.
type value struct {
	kind  jsontext.Kind // 'n', 't', 'f', '"', '0', '{' or '['
	text  string        // a string, unescaped; or the literal of a number
	keys  []string      // names of members, as long as vals; nil in an array
	vals  []*value      // members or elements
	size  int           // this value and everything in it, counted
	from  int           // where its text begins and ends, in what it was read from
	to    int
	index map[string]int
}

// indexFrom is the number of members from which a map is worth its memory.
const indexFrom = 12

// get returns the member of an object, or nil; of nil, too.
func (v *value) get(key string) *value {
	if v == nil {
		return nil
	}
	if v.index != nil {
		if i, ok := v.index[key]; ok {
			return v.vals[i]
		}
		return nil
	}
	for i, k := range v.keys {
		if k == key {
			return v.vals[i]
		}
	}
	return nil
}

func (v *value) isObject() bool { return v != nil && v.kind == '{' }
func (v *value) isArray() bool  { return v != nil && v.kind == '[' }
func (v *value) isString() bool { return v != nil && v.kind == '"' }
func (v *value) isBool() bool   { return v != nil && (v.kind == 't' || v.kind == 'f') }

// isSchema reports whether a value may stand where a schema is expected.
func (v *value) isSchema() bool { return v.isObject() || v.isBool() }

func (v *value) buildIndex() {
	v.index = nil
	if len(v.keys) < indexFrom {
		return
	}
	v.index = make(map[string]int, len(v.keys))
	for i, k := range v.keys {
		v.index[k] = i
	}
}

// remove drops the members for which drop answers true.
func (v *value) remove(drop func(key string) bool) {
	keys, vals := v.keys[:0], v.vals[:0]
	for i, k := range v.keys {
		if !drop(k) {
			keys, vals = append(keys, k), append(vals, v.vals[i])
		}
	}
	v.keys, v.vals = keys, vals
	v.buildIndex()
}

// parse reads exactly one value with the rules of [CheckJSON].
func parse(b []byte, maxDepth int) (*value, error) {
	r := newReader(b, maxDepth)
	defer r.release()
	tok, err := r.next()
	if err != nil {
		return nil, err
	}
	v, err := r.build(tok)
	if err != nil {
		return nil, err
	}
	return v, r.end()
}

// parseOwn reads a schema that was admitted, or made here. It panics on anything else.
func parseOwn(b []byte) *value {
	v, err := parse(b, defaultDepth)
	if err != nil {
		panic("schema: reading an admitted schema: " + err.Error())
	}
	return v
}

// build reads the rest of the value that tok opened. Its recursion is bounded by the reader's depth
// cap.
func (r *reader) build(tok jsontext.Token) (*value, error) {
	v := r.node()
	v.kind, v.size, v.from = tok.Kind(), 1, r.from
	switch v.kind {
	case '"', '0':
		v.text = tok.String()
	case '{', '[':
		for {
			tok, err := r.next()
			if err != nil {
				return nil, err
			}
			if k := tok.Kind(); k == '}' || k == ']' {
				break
			}
			if v.vals == nil {
				v.vals = make([]*value, 0, 4)
			}
			if v.kind == '{' {
				if v.keys == nil {
					v.keys = make([]string, 0, 4)
				}
				v.keys = append(v.keys, tok.String())
				if tok, err = r.next(); err != nil {
					return nil, err
				}
			}
			child, err := r.build(tok)
			if err != nil {
				return nil, err
			}
			v.vals = append(v.vals, child)
			v.size += child.size
		}
		v.buildIndex()
	}
	v.to = int(r.dec.InputOffset())
	return v, nil
}

// appendJSON writes v without white space, in the order and with the number literals that it was
// read with.
func (v *value) appendJSON(dst []byte) []byte {
	switch v.kind {
	case 'n':
		return append(dst, "null"...)
	case 't':
		return append(dst, "true"...)
	case 'f':
		return append(dst, "false"...)
	case '0':
		return append(dst, v.text...)
	case '"':
		return AppendString(dst, v.text)
	case '[':
		return appendArray(dst, v.vals, (*value).appendJSON)
	default:
		dst = append(dst, '{')
		for i, item := range v.vals {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, v.keys[i]), ':')
			dst = item.appendJSON(dst)
		}
		return append(dst, '}')
	}
}

func appendArray(dst []byte, items []*value, add func(*value, []byte) []byte) []byte {
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = add(item, dst)
	}
	return append(dst, ']')
}

// AppendString adds text as a JSON string with as few escapes as RFC 8785 asks for. The text must
// be valid UTF-8, as what a strict decoder read is: it panics when it is not.
func AppendString(dst []byte, s string) []byte {
	out, err := jsontext.AppendQuote(dst, s)
	if err != nil {
		panic("schema: quoting text that is not UTF-8: " + err.Error())
	}
	return out
}

// appendMember adds a member, whose value is JSON, to an object that is not closed yet.
func appendMember(dst []byte, name string, text []byte) []byte {
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	return append(append(AppendString(dst, name), ':'), text...)
}

// plain turns a value into what the library works on. keep says which members of an object go
// along.
func (v *value) plain(keep func(obj *value, key string) bool) any {
	switch v.kind {
	case 'n':
		return nil
	case 't', 'f':
		return v.kind == 't'
	case '0':
		return json.Number(v.text)
	case '"':
		return v.text
	case '[':
		list := make([]any, len(v.vals))
		for i, item := range v.vals {
			list[i] = item.plain(keep)
		}
		return list
	default:
		obj := make(map[string]any, len(v.vals))
		for i, key := range v.keys {
			if keep(v, key) {
				obj[key] = v.vals[i].plain(keep)
			}
		}
		return obj
	}
}

func keepAll(*value, string) bool { return true }

// lookup follows the tokens of a JSON pointer.
func (v *value) lookup(tokens []string) *value {
	for _, tok := range tokens {
		switch {
		case v.isObject():
			v = v.get(tok)
		case v.isArray():
			i, err := strconv.Atoi(tok)
			if err != nil || i < 0 || i >= len(v.vals) || strconv.Itoa(i) != tok {
				return nil
			}
			v = v.vals[i]
		default:
			return nil
		}
		if v == nil {
			return nil
		}
	}
	return v
}

var pointerEscape = strings.NewReplacer("~", "~0", "/", "~1")

// Pointer joins tokens to an RFC 6901 pointer.
func Pointer(tokens ...string) string {
	var b strings.Builder
	for _, t := range tokens {
		b.WriteByte('/')
		b.WriteString(pointerEscape.Replace(t))
	}
	return b.String()
}

// maxPointer bounds pointers in errors, in bytes: names are as long as a stranger likes.
const maxPointer = 1024

// shortPointer cuts a pointer that is too long to repeat; what is left points at something around
// the place.
func shortPointer(p string) string {
	if len(p) <= maxPointer {
		return p
	}
	return p[:strings.LastIndexByte(p[:maxPointer+1], '/')]
}

// SplitPointer is the inverse of [Pointer]; it reports whether p is a JSON pointer.
func SplitPointer(p string) ([]string, bool) {
	is := jsontext.Pointer(p)
	return slices.Collect(is.Tokens()), is.IsValid()
}
