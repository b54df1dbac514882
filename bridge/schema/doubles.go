package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/pagetools/pagetools/bridge/text"
)

// Doubles returns the value as a page gets it, for whose JSON.parse every number is a double
// (ECMA-262, 25.5.1): a number is written as the double that it becomes, where that is another
// one. A whole number that would become another, one beyond the range of doubles, and one that is
// not zero and would become zero are refused with a [*SyntaxError]: nobody means what the page
// would get.
func (v Value) Doubles() (Value, error) {
	c := conversion{value: v}
	if v.tree == nil {
		return v, nil
	}
	if err := c.convert(v.tree, ""); err != nil || c.out == nil {
		return v, err
	}
	return Read(append(c.out, v.text[c.done:]...), defaultDepth)
}

// conversion writes a value anew, from the first number that changes.
type conversion struct {
	value Value
	out   []byte // nil: nothing changed
	done  int    // how much of the text is in out
}

func (c *conversion) convert(v *value, at jsontext.Pointer) error {
	for i, x := range v.vals {
		if x.kind != '0' && len(x.vals) == 0 {
			continue
		}
		name := strconv.Itoa(i)
		if v.kind == '{' {
			name = v.keys[i]
		}
		if err := c.convert(x, at.AppendToken(name)); err != nil {
			return err
		}
	}
	if v.kind != '0' || len(v.text) <= exactDigits && !strings.ContainsAny(v.text, ".eE") {
		return nil
	}
	text, message := asDouble(v.text)
	if message != "" {
		return &SyntaxError{Offset: int64(v.from), Pointer: shortPointer(string(at)), Message: message}
	}
	if text != "" {
		base := c.value.tree.from
		c.out = append(append(c.out, c.value.text[c.done:v.from-base]...), text...)
		c.done = v.to - base
	}
	return nil
}

// exactDigits limits how many characters every whole number may have without a look.
const exactDigits = 15

// asDouble returns the number as a double is written, "" where that is the same number, or what
// is wrong with it.
func asDouble(lit string) (words, message string) {
	exact := readDecimal(lit)
	f, _ := strconv.ParseFloat(lit, 64) // a literal of JSON, or out of range
	switch {
	case math.IsInf(f, 0):
		return "", fmt.Sprintf("%s is beyond the numbers that a page can hold", text.Short(lit, 40))
	case f == 0 && exact.digits != "":
		return "", fmt.Sprintf("%s is not zero, and would be zero in a page", text.Short(lit, 40))
	}
	double := readDecimal(strconv.FormatFloat(f, 'e', -1, 64))
	// The shortest digits of a whole number may be fewer than its own: those are compared.
	whole := !strings.ContainsAny(lit, ".eE")
	if whole {
		double = readDecimal(strconv.FormatFloat(f, 'f', 0, 64))
	}
	switch {
	case exact.compare(double) == 0:
		return "", ""
	case whole:
		return "", fmt.Sprintf("%s would be %s in a page: write it as a string, if the tool takes one", text.Short(lit, 40), text.Short(strconv.FormatFloat(f, 'f', 0, 64), 40))
	}
	words = double.String()
	if _, message = asDouble(words); message != "" { // its digits are the shortest, not its own
		words = strconv.FormatFloat(f, 'e', -1, 64)
	}
	return words, ""
}
