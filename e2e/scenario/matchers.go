package scenario

import (
	"fmt"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// matcher is one of the keys that begin with $.
type matcher struct {
	name string
	help string // for the JSON Schema, and so for editors
	// inner says what its value may hold: expected for matchers in it.
	inner role
	// theirs is true when webmcp-evals has it with the same meaning.
	theirs bool
	arg    object // the JSON Schema of its value
	// prepare reads the value once, and says what is wrong with it, or returns "".
	prepare func(o *op) string
	// match says why a value does not match, or returns nil.
	match func(o *op, v schema.Value, at path) *difference
}

type op struct {
	matcher *matcher
	arg     *node
	at      Position
	number  *big.Rat       // of $gt, $gte, $lt, $lte
	check   *schema.Schema // of $pattern and $schema
}

// prepare reads the value, unless it has references: then it is read when they are expanded.
func (o *op) prepare() string {
	if o.matcher.prepare == nil || o.arg.refs != nil ||
		o.matcher.inner != expected && o.arg.hasReferences() {
		return ""
	}
	return o.matcher.prepare(o)
}

var typeNames = []string{"string", "number", "boolean", "array", "object", "null"}

const mostUnordered = 500 // each is compared with each

// The JSON Schemas of values. typeArg also takes null, which YAML reads the word as.
var (
	typeArg   = object{"enum": []any{"string", "number", "boolean", "array", "object", "null", nil}}
	textArg   = object{"type": "string"}
	numberArg = object{"type": []string{"number", "string"}}
	schemaArg = object{"type": []string{"object", "boolean"}}
	valueArg  = object{"$ref": "#/$defs/expected"}
	listArg   = object{"type": "array", "items": valueArg, "minItems": 1, "maxItems": mostUnordered}
)

var matchers = allMatchers()

func allMatchers() []*matcher {
	order := func(name, words string, ok func(int) bool) *matcher {
		match := func(o *op, v schema.Value, at path) *difference {
			if kindOf(v) != "a number" {
				return differs(at, "is %s, and must be a number %s %s", kindOf(v), words, o.arg.text)
			}
			if !ok(rational(string(v.Text())).Cmp(o.number)) {
				return differs(at, "is %s, and must be %s %s", brief(v), words, o.arg.text)
			}
			return nil
		}
		return &matcher{name: name, help: "a number that is " + words + " this one", inner: sent,
			theirs: true, arg: numberArg, prepare: prepareNumber, match: match}
	}
	return []*matcher{
		{name: "$pattern", help: "a string in which this regular expression of JavaScript matches; " +
			"(?i) in front ignores case",
			inner: sent, theirs: true, arg: textArg, prepare: preparePattern, match: matchPattern},
		{name: "$contains", help: "a string that contains this one", inner: sent, theirs: true,
			arg: textArg, prepare: prepareText, match: matchContains},
		order("$gt", "greater than", func(c int) bool { return c > 0 }),
		order("$gte", "at least", func(c int) bool { return c >= 0 }),
		order("$lt", "less than", func(c int) bool { return c < 0 }),
		order("$lte", "at most", func(c int) bool { return c <= 0 }),
		{name: "$type", help: "any value of this type of JSON", inner: sent, theirs: true,
			arg: typeArg, prepare: prepareType, match: matchType},
		{name: "$any", help: "any value: only that there is one counts", inner: sent, theirs: true,
			arg: object{"const": true}, prepare: prepareAny, match: func(*op, schema.Value, path) *difference { return nil }},
		{name: "$exact", help: "the same value: an object has no further members", inner: sent,
			arg: object{}, match: matchExact},
		{name: "$not", help: "a value that this does not match", inner: expected, arg: valueArg,
			match: matchNot},
		{name: "$oneOf", help: "a value that one of these matches", inner: expected, arg: listArg,
			prepare: prepareList, match: matchOneOf},
		{name: "$length", help: "how many characters, elements or members there are: a number, or " +
			"matchers for it",
			inner: expected, arg: valueArg, prepare: prepareLength, match: matchLength},
		{name: "$unordered", help: "an array with a match for each of these, in any order, and " +
			"nothing else",
			inner: expected, arg: listArg, prepare: prepareList, match: matchUnordered},
		{name: "$schema", help: "a value that is valid for this JSON Schema", inner: verbatim,
			arg: schemaArg, prepare: prepareSchema, match: matchSchema},
	}
}

func matcherOf(name string) *matcher {
	if i := slices.IndexFunc(matchers, func(m *matcher) bool { return m.name == name }); i >= 0 {
		return matchers[i]
	}
	return nil
}

func matcherNames() []string {
	names := make([]string, len(matchers))
	for i, m := range matchers {
		names[i] = m.name
	}
	return names
}

func prepareText(o *op) string {
	if o.arg.kind != '"' {
		return "it must be a string; put it in quotes"
	}
	return ""
}

func preparePattern(o *op) (why string) {
	if why := prepareText(o); why != "" {
		return why
	}
	o.check, why = compilePattern(o.arg.text)
	return why
}

func prepareNumber(o *op) string {
	if o.arg.kind != '0' {
		return "it must be a number"
	}
	o.number = rational(o.arg.text)
	return ""
}

func prepareType(o *op) string {
	switch {
	case o.arg.kind == 'n':
		o.arg = &node{kind: '"', text: "null", at: o.arg.at} // YAML reads the word as the value
	case o.arg.kind != '"':
		return "it must be the name of a type; use " + text.List(typeNames, "or")
	}
	if !slices.Contains(typeNames, o.arg.text) {
		return Quoted(o.arg.text) + " is not a type of JSON; " + instead(o.arg.text, typeNames)
	}
	return ""
}

func prepareAny(o *op) string {
	if o.arg.kind != 't' {
		return "write $any: true"
	}
	return ""
}

func prepareList(o *op) string {
	switch {
	case o.arg.kind != '[' || len(o.arg.vals) == 0:
		return "it must be a list with at least one value"
	case len(o.arg.vals) > mostUnordered:
		return fmt.Sprintf("it has %d values, and may have %d", len(o.arg.vals), mostUnordered)
	}
	return ""
}

func prepareLength(o *op) string {
	if o.arg.kind == '$' {
		return ""
	}
	if o.arg.kind != '0' || !rational(o.arg.text).IsInt() || rational(o.arg.text).Sign() < 0 {
		return "it must be a whole number, or matchers such as {$gte: 1}"
	}
	return ""
}

func prepareSchema(o *op) string {
	text, err := o.arg.json()
	if err != nil {
		return err.Error()
	}
	if o.check, err = schema.CompileResult(text, schema.Limits{}); err != nil {
		return err.Error()
	}
	return ""
}

// rational is a JSON number exactly. Those that were read are bounded.
func rational(literal string) *big.Rat {
	if r, ok := new(big.Rat).SetString(literal); ok {
		return r
	}
	return new(big.Rat)
}

func matchPattern(o *op, v schema.Value, at path) *difference {
	if !v.IsString() {
		return differs(at, "is %s, and must be a string that matches %s", kindOf(v), Quoted(o.arg.text))
	}
	err := o.check.Check(v)
	if err == nil {
		return nil
	}
	if isUndecided(err) {
		return differs(at, "takes too long to be matched with %s; use a simpler pattern",
			Quoted(o.arg.text))
	}
	return differs(at, "is %s, and must match %s", brief(v), Quoted(o.arg.text))
}

func matchContains(o *op, v schema.Value, at path) *difference {
	switch {
	case !v.IsString():
		return differs(at, "is %s, and must be a string that contains %s", kindOf(v), Quoted(o.arg.text))
	case !strings.Contains(v.String(), o.arg.text):
		return differs(at, "is %s, and must contain %s", brief(v), Quoted(o.arg.text))
	}
	return nil
}

func matchType(o *op, v schema.Value, at path) *difference {
	if _, name, _ := strings.Cut(" "+kindOf(v), " "); !strings.HasSuffix(name, o.arg.text) {
		return differs(at, "is %s, and must be of the type %s", kindOf(v), o.arg.text)
	}
	return nil
}

func matchExact(o *op, v schema.Value, at path) *difference { return match(o.arg, v, at, true) }

func matchNot(o *op, v schema.Value, at path) *difference {
	if match(o.arg, v, at, false) == nil {
		return differs(at, "is %s, and matches what it must not match", brief(v))
	}
	return nil
}

func matchOneOf(o *op, v schema.Value, at path) *difference {
	var best *difference
	for _, want := range o.arg.vals {
		d := match(want, v, at, false)
		if d == nil {
			return nil
		}
		if best == nil || len(d.at) > len(best.at) {
			best = d
		}
	}
	return differs(at, "is %s, and matches none of the %d forms; the nearest: %s", brief(v),
		len(o.arg.vals), best.sentence())
}

func matchLength(o *op, v schema.Value, at path) *difference {
	n := v.Len()
	switch {
	case v.IsString():
		n = utf8.RuneCountInString(v.String())
	case !v.IsArray() && !v.IsObject():
		return differs(at, "is %s, which has no length", kindOf(v))
	}
	length, err := schema.Read(fmt.Append(nil, n), 0)
	if err != nil {
		return differs(at, "has no length: %v", err)
	}
	if d := match(o.arg, length, nil, false); d != nil {
		return differs(at, "has a length that does not match: it %s", d.why)
	}
	return nil
}

func matchSchema(o *op, v schema.Value, at path) *difference {
	if err := o.check.Check(v); err != nil {
		return differs(at, "is not valid for its schema: %v", err)
	}
	return nil
}
