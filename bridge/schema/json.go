package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// defaultDepth is the nesting that a value may have where the caller names none: far deeper
	// than tools go, and shallow enough that no recursion over a value comes near the end of a
	// stack.
	defaultDepth = 200
	// maxDigits and maxExponent bound what exact arithmetic has to spend on one number: 1e999999 is
	// eight characters and a 400 KB integer. A double ends at 309 digits, so nothing that a page
	// can compute is refused.
	maxDigits   = 400
	maxExponent = 400
)

// SyntaxError says why bytes are not acceptable JSON.
type SyntaxError struct {
	Offset  int64  // in bytes from the start, of the value or character that is refused
	Pointer string // RFC 6901, of the nearest value; "" is the root
	Message string // fit for strangers
	deep    bool
	ended   bool // the text did, which is no place in it
}

// Error names the place and the reason.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("invalid JSON at byte %d: %s", e.Offset, e.Message)
}

// Where says which place is refused, such as "at byte 7", or is "".
func (e *SyntaxError) Where() string {
	switch {
	case e.Pointer != "":
		return "at " + e.Pointer
	case e.Offset > 0 && !e.ended:
		return fmt.Sprintf("at byte %d", e.Offset)
	}
	return ""
}

// CheckJSON checks that b is exactly one JSON value, strictly: UTF-8 without lone surrogates, no
// duplicate member names, nothing behind the value, at most maxDepth containers inside each other
// (0 means 200), no number of more than 400 digits or with an exponent beyond 400. The error is a
// [*SyntaxError].
func CheckJSON(b []byte, maxDepth int) error {
	r := newReader(b, maxDepth)
	defer r.release()
	for {
		if _, err := r.next(); err != nil {
			return err
		}
		if r.dec.StackDepth() == 0 {
			return r.end()
		}
	}
}

// Valid reports whether b is one JSON value as [json.Valid] has it, which reads it eight times
// slower: also one with a member name twice, or with text that is not UTF-8.
func Valid(b []byte) bool {
	return jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// WellFormed returns a value with half surrogates and broken UTF-8 replaced by U+FFFD: a page makes
// them when it cuts a text, and half of all readers refuse a message that has them. It fails for
// what is not JSON, and where two members of an object would have one name after that.
func WellFormed(b []byte) (json.RawMessage, error) {
	if !Valid(b) {
		return nil, errNotJSON
	}
	b = bytes.TrimSpace(b)
	if utf8.Valid(b) && !bytes.Contains(b, []byte(`\ud`)) && !bytes.Contains(b, []byte(`\uD`)) {
		return b, nil
	}
	v := jsontext.Value(bytes.Clone(b))
	if v.Compact(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.PreserveRawStrings(false)) != nil {
		return nil, errNotJSON
	}
	if !v.IsValid() { // which takes no name twice
		return nil, ErrSameNames
	}
	return json.RawMessage(v), nil
}

var errNotJSON = errors.New("it is not JSON")

// ErrSameNames reports that two members of an object would have one name.
var ErrSameNames = errors.New("two names in one object differ only in half characters, so that one member would be lost")

// reader is a JSON decoder with the rules of CheckJSON.
type reader struct {
	text  []byte
	buf   bytes.Buffer // of text, for dec
	dec   jsontext.Decoder
	depth int
	from  int     // where the last token begins
	slab  []value // for the nodes of a tree, a few at a time
}

// readers are kept, because what a decoder allocates is more than what most values need.
var readers = sync.Pool{New: func() any { return new(reader) }}

var strict = jsontext.AllowDuplicateNames(false)

func newReader(b []byte, maxDepth int) *reader {
	if maxDepth <= 0 {
		maxDepth = defaultDepth
	}
	r := readers.Get().(*reader)
	r.text, r.depth, r.buf = b, maxDepth, *bytes.NewBuffer(b)
	r.dec.Reset(&r.buf, strict, jsontext.AllowInvalidUTF8(false))
	return r
}

// release puts the reader back into its pool. Its tokens must not be used afterwards.
func (r *reader) release() {
	r.text, r.slab, r.buf = nil, nil, bytes.Buffer{}
	r.dec.Reset(&r.buf)
	readers.Put(r)
}

func (r *reader) node() *value {
	if len(r.slab) == 0 {
		r.slab = make([]value, 8)
	}
	v := &r.slab[0]
	r.slab = r.slab[1:]
	return v
}

// next reads one token. The token is good until the next call.
func (r *reader) next() (jsontext.Token, error) {
	before := r.dec.InputOffset()
	tok, err := r.dec.ReadToken()
	if err != nil {
		return tok, r.fail(err)
	}
	// What comes first is white space, a comma or a colon.
	r.from = r.behind(before, " \t\r\n:,")
	if r.dec.StackDepth() > r.depth {
		return tok, r.tooDeep()
	}
	if tok.Kind() == '0' {
		if msg := absurdNumber(tok.String()); msg != "" {
			return tok, r.refuse(msg)
		}
	}
	return tok, nil
}

// end checks that nothing is left but white space.
func (r *reader) end() error {
	behind := r.behind(r.dec.InputOffset(), " \t\r\n")
	_, err := r.dec.ReadToken()
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err == nil:
		e := r.refuse("something follows the value")
		e.Offset = int64(behind)
		return e
	default:
		return r.fail(err)
	}
}

// behind is the place of the first byte from an offset on that is none of those.
func (r *reader) behind(offset int64, those string) int {
	at := int(offset)
	for at < len(r.text) && strings.IndexByte(those, r.text[at]) >= 0 {
		at++
	}
	return at
}

func (r *reader) refuse(msg string) *SyntaxError {
	return &SyntaxError{Offset: r.dec.InputOffset(),
		Pointer: shortPointer(string(r.dec.StackPointer())), Message: msg}
}

func (r *reader) tooDeep() *SyntaxError {
	e := r.refuse(fmt.Sprintf("nested more than %d levels deep", r.depth))
	e.deep = true
	return e
}

// fail words an error of the decoder: its own text names the library and repeats parts of the
// input.
func (r *reader) fail(err error) error {
	e := r.refuse("not valid JSON")
	var syn *jsontext.SyntacticError
	if errors.As(err, &syn) {
		e.Offset, e.Pointer = syn.ByteOffset, shortPointer(string(syn.JSONPointer))
	}
	switch {
	case errors.Is(err, io.EOF):
		e.Message, e.ended = "it is empty", true
	case errors.Is(err, io.ErrUnexpectedEOF):
		e.Message, e.ended = "it ends too early", true
	case errors.Is(err, jsontext.ErrDuplicateName):
		e.Message = "the same member name twice"
	case syn != nil && strings.Contains(syn.Err.Error(), "UTF-8"):
		e.Message = "not valid UTF-8"
	case syn != nil && strings.Contains(syn.Err.Error(), "surrogate"):
		e.Message = "half of a surrogate pair"
	case syn != nil && strings.Contains(syn.Err.Error(), "depth"):
		return r.tooDeep()
	}
	return e
}

// absurdNumber says what is wrong with a number literal, or "".
func absurdNumber(lit string) string {
	mantissa, exp := splitExponent(lit)
	digits := 0
	for _, c := range mantissa {
		if c >= '0' && c <= '9' {
			digits++
		}
	}
	if digits > maxDigits {
		return fmt.Sprintf("a number with more than %d digits", maxDigits)
	}
	shift := 0 // of the exponent where one digit is before the point, as canonical JSON has it
	if whole, fraction, _ := strings.Cut(strings.TrimPrefix(mantissa, "-"), "."); whole != "0" {
		shift = len(whole) - 1
	} else if rest := strings.TrimLeft(fraction, "0"); rest != "" {
		shift = len(rest) - len(fraction) - 1
	}
	if max(exp, exp+shift) > maxExponent || min(exp, exp+shift) < -maxExponent {
		return fmt.Sprintf("a number with an exponent beyond %d", maxExponent)
	}
	return ""
}

// splitExponent cuts a JSON number at its exponent. An exponent too long to read counts as out of
// range.
func splitExponent(lit string) (mantissa string, exp int) {
	mantissa, tail, ok := strings.Cut(strings.ToLower(lit), "e")
	if !ok {
		return mantissa, 0
	}
	exp, err := strconv.Atoi(tail)
	if err != nil {
		return mantissa, maxExponent + 1
	}
	return mantissa, exp
}

// Encode writes JSON on one line and leaves '<', '>' and '&' as they are: models
// and people read it, and no browser takes application/json for a page. It returns the errors of
// encoding/json.
func Encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	text := bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
	if cap(text) > len(text)+len(text)/4+64 { // what is kept for long must not be a half-empty buffer
		text = bytes.Clone(text)
	}
	return text, nil
}

// EncodeFile writes JSON on indented lines, with a line end after the last one, and leaves '<', '>'
// and '&' as they are.
func EncodeFile(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(v)
	return buf.Bytes(), err
}

// MustEncode is Encode for values that can be written. It panics on others.
func MustEncode(v any) json.RawMessage {
	text, err := Encode(v)
	if err != nil {
		panic("schema: writing JSON: " + err.Error())
	}
	return text
}
