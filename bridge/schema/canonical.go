package schema

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalDepth is higher than the cap for values that come in: Canonical also runs on documents
// that we put together around them.
const canonicalDepth = 1000

// Canonical returns the bytes to digest or compare: RFC 8785 (members sorted by UTF-16 code units,
// shortest escapes, numbers as ECMAScript prints them, no white space), with one difference. RFC
// 8785 sends every number through a double, so that 9007199254740993 and 9007199254740992 become
// one; here a number keeps its exact decimal value and only its layout is ECMAScript's. Where a
// double prints as the literal, as always after a page's JSON.stringify, both rules write the same
// bytes. -0 is 0, as in the RFC. The error is a [*SyntaxError].
func Canonical(b []byte) ([]byte, error) {
	quick := jsontext.Value(bytes.Clone(b))
	if quick.Canonicalize(rawNumbers...) == nil && isPlain(quick) {
		return quick, nil
	}
	v, err := parse(b, canonicalDepth)
	if err != nil {
		return nil, err
	}
	return v.appendCanonical(make([]byte, 0, len(b))), nil
}

// rawNumbers leave numbers as they are written.
var rawNumbers = []jsontext.Options{jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false)}

// maxPlainDigits is so many that a double prints each integer as it is.
const maxPlainDigits = 15

// isPlain reports whether [Canonical] has no more to do with JSON whose members, strings and white
// space are canonical, as most often: its numbers are integers that doubles print as they are, and
// it is not too deep.
func isPlain(text []byte) bool {
	depth, digits := 0, 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"': // a string: to its end
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case c >= '0' && c <= '9':
			if digits++; digits > maxPlainDigits {
				return false
			}
			continue
		case c == '-' && text[i+1] == '0', c == '.', c == 'E', c == 'e' && digits > 0:
			return false
		case c == '{' || c == '[':
			if depth++; depth > canonicalDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
		digits = 0
	}
	return true
}

// CanonicalObject is the canonical JSON of an object with these members, which are canonical JSON
// each.
func CanonicalObject(members map[string][]byte) []byte {
	size := 2
	for name, member := range members {
		size += len(name) + len(member) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for _, name := range slices.SortedFunc(maps.Keys(members), compareUTF16) {
		out = appendMember(out, name, members[name])
	}
	return append(out, '}')
}

func (v *value) appendCanonical(dst []byte) []byte {
	switch v.kind {
	case '0':
		return append(dst, readDecimal(v.text).String()...)
	case '[':
		return appendArray(dst, v.vals, (*value).appendCanonical)
	case '{':
		order := make([]int, len(v.keys))
		for i := range order {
			order[i] = i
		}
		slices.SortFunc(order, func(a, b int) int { return compareUTF16(v.keys[a], v.keys[b]) })
		dst = append(dst, '{')
		for n, i := range order {
			if n > 0 {
				dst = append(dst, ',')
			}
			dst = append(AppendString(dst, v.keys[i]), ':')
			dst = v.vals[i].appendCanonical(dst)
		}
		return append(dst, '}')
	default:
		return v.appendJSON(dst)
	}
}

// compareUTF16 orders strings as RFC 8785 section 3.2.3 wants it. UTF-8 order differs only where a
// character beyond the basic plane meets one from U+E000 up.
func compareUTF16(a, b string) int {
	if isASCII(a) && isASCII(b) {
		return strings.Compare(a, b)
	}
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// decimal is a number exactly: 0.digits times ten to the power of point. digits has no zero at
// either end; zero has no digits.
type decimal struct {
	negative bool
	digits   string
	point    int
}

func readDecimal(lit string) decimal {
	mantissa, exp := splitExponent(lit)
	mantissa, negative := strings.CutPrefix(mantissa, "-")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := whole + fraction
	point := len(whole) + exp
	trimmed := strings.TrimLeft(all, "0")
	point -= len(all) - len(trimmed)
	trimmed = strings.TrimRight(trimmed, "0")
	if trimmed == "" {
		return decimal{}
	}
	return decimal{negative: negative, digits: trimmed, point: point}
}

// String lays the number out as ECMAScript's Number::toString does, with as many digits as it has.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	k, n := len(d.digits), d.point
	switch {
	case k <= n && n <= 21:
		return sign + d.digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return sign + d.digits[:n] + "." + d.digits[n:]
	case -6 < n && n <= 0:
		return sign + "0." + strings.Repeat("0", -n) + d.digits
	}
	out := sign + d.digits[:1]
	if k > 1 {
		out += "." + d.digits[1:]
	}
	if n-1 < 0 {
		return out + "e-" + strconv.Itoa(1-n)
	}
	return out + "e+" + strconv.Itoa(n-1)
}

func (d decimal) compare(o decimal) int {
	if d.sign() != o.sign() {
		return d.sign() - o.sign()
	}
	return cmp.Or(d.point-o.point, strings.Compare(d.digits, o.digits)) * d.sign()
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	default:
		return 1
	}
}

func (d decimal) integer() bool { return d.point >= len(d.digits) }
