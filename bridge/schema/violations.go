package schema

import (
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/pagetools/pagetools/bridge/text"
)

const (
	maxViolations = 20
	maxCollected  = 2000 // of these, the first in order are reported
	maxListed     = 12   // values or names in one message
	maxShown      = 60   // characters of one value
)

// Violation is one place where a value does not fit.
type Violation struct {
	Pointer string `json:"pointer"` // RFC 6901, into the value; of a missing member, where it would be
	Message string `json:"message"` // names the field and what was expected; never repeats the value

	at      []string // the way to the place
	what    string   // the message without names
	because string   // the member that makes this one required
	forms   []Violation
}

// named returns the violation with other names for members.
func (v Violation) named(name func(string) string) Violation {
	if v.what == "" {
		return v
	}
	at := make([]string, len(v.at))
	for i, token := range v.at {
		at[i] = name(token)
	}
	what := v.what
	if v.because != "" {
		what = fmt.Sprintf(what, text.Quote(name(v.because)))
	}
	var forms []string
	for _, f := range v.forms {
		forms = append(forms, f.named(name).Message)
	}
	if len(forms) > 0 {
		what += " (" + strings.Join(forms, "; or: ") + ")"
	}
	v.Pointer, v.Message = Pointer(at...), field(at)+" "+what
	return v
}

// Named returns the violations with other names for members.
func (v *Violations) Named(name func(string) string) []Violation {
	list := make([]Violation, len(v.List))
	for i, one := range v.List {
		list[i] = one.named(name)
	}
	return list
}

// Violations is the error of [Schema.Validate]: at least one violation, at most 20, in the order of
// their pointers.
type Violations struct {
	List      []Violation
	Truncated bool // there are more
	Undecided bool // the check was given up as too costly; the value may be valid, and is refused
}

// Error lists the messages.
func (v *Violations) Error() string {
	list := make([]string, len(v.List))
	for i, one := range v.List {
		list[i] = one.Message
	}
	s := strings.Join(list, "; ")
	if v.Truncated {
		s += "; and more"
	}
	return s
}

// explain turns the library's tree of errors into a list that a stranger can read.
func explain(err error) error {
	var verr *jsonschema.ValidationError
	if !errors.As(err, &verr) {
		return undecided()
	}
	var c collector
	c.add(verr)
	slices.SortFunc(c.list, func(a, b Violation) int {
		return strings.Compare(a.Pointer+"\x00"+a.Message, b.Pointer+"\x00"+b.Message)
	})
	c.list = slices.CompactFunc(c.list, func(a, b Violation) bool {
		return a.Pointer == b.Pointer && a.Message == b.Message
	})
	out := &Violations{List: c.list}
	if len(out.List) > maxViolations {
		out.List, out.Truncated = slices.Clip(out.List[:maxViolations]), true
	}
	if len(out.List) == 0 {
		return single("", "the value does not fit its schema")
	}
	return out
}

func explainCompile(err error) *CompileError {
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		var v *Violations
		if errors.As(explain(invalid.Err), &v) {
			return refusef(RuleInvalid, v.List[0].Pointer, "%s", v.List[0].Message)
		}
	}
	var re *jsonschema.InvalidRegexError
	if errors.As(err, &re) {
		return refusef(RulePattern, "", "%s is not a regular expression of ECMA-262", text.Quote(re.Regex))
	}
	return refusef(RuleInvalid, "", "the schema cannot be compiled")
}

type collector struct {
	list  []Violation
	brief bool // only the first is wanted, in few words
}

func (c *collector) full() bool {
	return len(c.list) >= maxCollected || c.brief && len(c.list) > 0
}

func (c *collector) add(e *jsonschema.ValidationError) {
	if c.full() {
		return
	}
	at := e.InstanceLocation
	switch k := e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.AllOf, *kind.Reference:
		for _, cause := range e.Causes {
			c.add(cause)
		}
	case *kind.Required:
		c.missing(at, k.Missing, "")
	case *kind.DependentRequired:
		c.missing(at, k.Missing, k.Prop)
	case *kind.Dependency:
		c.missing(at, k.Missing, k.Prop)
	case *kind.AdditionalProperties:
		for _, name := range slices.Sorted(slices.Values(k.Properties)) { // they come in the order of a map
			if c.full() {
				return
			}
			c.say(append(slices.Clone(at), name), "is not a known field")
		}
	case *kind.PropertyNames:
		c.say(append(slices.Clone(at), k.Property), "has a name that is not allowed")
	case *kind.AnyOf:
		c.put(Violation{at: at, what: "must match at least one of the allowed forms", forms: c.forms(e.Causes)})
	case *kind.OneOf:
		if len(k.Subschemas) > 0 {
			c.say(at, "must match exactly one of the allowed forms, but matches several")
			return
		}
		c.put(Violation{at: at, what: "must match exactly one of the allowed forms", forms: c.forms(e.Causes)})
	default:
		c.say(at, reason(e.ErrorKind))
	}
}

// forms sums up why each alternative was not met.
func (c *collector) forms(causes []*jsonschema.ValidationError) (parts []Violation) {
	if c.brief {
		return nil
	}
	for _, cause := range causes {
		sub := collector{brief: true}
		sub.add(cause)
		if len(sub.list) > 0 && !slices.ContainsFunc(parts,
			func(v Violation) bool { return v.Message == sub.list[0].Message }) {
			parts = append(parts, sub.list[0])
		}
		if len(parts) == 3 {
			break
		}
	}
	return parts
}

func (c *collector) say(at []string, what string) { c.put(Violation{at: at, what: what}) }

func (c *collector) put(v Violation) {
	v.at = bounded(v.at)
	c.list = append(c.list, v.named(func(name string) string { return name }))
}

// bounded cuts a path where its pointer would get too long to repeat; what is left points at
// something around the place.
func bounded(at []string) []string {
	length := 0
	for i, tok := range at {
		if length += len(tok) + 1; length > maxPointer {
			return at[:i]
		}
	}
	return at
}

func (c *collector) missing(at, names []string, because string) {
	for _, name := range names {
		if c.full() {
			return
		}
		v := Violation{at: append(slices.Clone(at), name), what: "is required", because: because}
		if because != "" {
			v.what = "is required when %s is there"
		}
		c.put(v)
	}
}

// field names a place by its last steps: the whole pointer is beside it.
func field(at []string) string {
	if len(at) == 0 {
		return "the value"
	}
	return text.Quote(strings.Join(at[max(0, len(at)-3):], "."))
}

// reason words one failed keyword. It says what was expected and at most the type of what came: the
// value may be secret, and the caller has it.
func reason(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Type:
		return "must be " + typeWords(k.Want) + ", but is " + typeWords([]string{k.Got})
	case *kind.Enum:
		return "must be one of " + options(k.Want)
	case *kind.Const:
		return "must be " + show(k.Want)
	case *kind.Minimum:
		return "must be at least " + number(k.Want)
	case *kind.Maximum:
		return "must be at most " + number(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be greater than " + number(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + number(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + number(k.Want)
	case *kind.MinLength:
		return fmt.Sprintf("must have at least %d characters", k.Want)
	case *kind.MaxLength:
		return fmt.Sprintf("must have at most %d characters", k.Want)
	case *kind.Pattern:
		return "must match the pattern " + text.Short(k.Want, maxShown)
	case *kind.FalseSchema:
		return "is not allowed"
	case *kind.Not:
		return "matches what is excluded"
	default:
		return reasonForMany(k)
	}
}

// reasonForMany words the keywords of arrays and objects.
func reasonForMany(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinItems:
		return fmt.Sprintf("must have at least %d elements, but has %d", k.Want, k.Got)
	case *kind.MaxItems:
		return fmt.Sprintf("must have at most %d elements, but has %d", k.Want, k.Got)
	case *kind.MinProperties:
		return fmt.Sprintf("must have at least %d fields, but has %d", k.Want, k.Got)
	case *kind.MaxProperties:
		return fmt.Sprintf("must have at most %d fields, but has %d", k.Want, k.Got)
	case *kind.UniqueItems:
		return fmt.Sprintf("must have no equal elements, but %d and %d are", k.Duplicates[0],
			k.Duplicates[1])
	case *kind.AdditionalItems:
		return fmt.Sprintf("has %d elements too many", k.Count)
	case *kind.Contains:
		return "must have an element of the required form"
	case *kind.MinContains:
		return fmt.Sprintf("must have at least %d elements of the required form, but has %d",
			k.Want, len(k.Got))
	case *kind.MaxContains:
		return fmt.Sprintf("must have at most %d elements of the required form, but has %d", k.Want,
			len(k.Got))
	default:
		return "does not fit its schema"
	}
}

// typeWords puts the names of JSON types into a sentence.
func typeWords(names []string) string {
	words := make([]string, len(names))
	for i, name := range names {
		switch name {
		case "null":
			words[i] = name
		case "integer", "array", "object":
			words[i] = "an " + name
		default:
			words[i] = "a " + name
		}
	}
	return text.List(words, "or")
}

func options(vals []any) string {
	parts := make([]string, len(vals))
	for i, v := range vals {
		parts[i] = show(v)
	}
	return text.Few(parts, maxListed)
}

func show(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return text.Quote(v)
	case []any:
		return "a certain array"
	case map[string]any:
		return "a certain object"
	default:
		return text.Short(fmt.Sprint(v), maxShown)
	}
}

func number(r *big.Rat) string {
	if r.IsInt() {
		return text.Short(r.Num().String(), maxShown)
	}
	digits, exact := r.FloatPrec()
	if !exact || digits > maxShown {
		digits = maxShown
	}
	return text.Short(r.FloatString(digits), maxShown)
}
