package schema

import (
	"fmt"
	"strings"
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Patterns are ECMA-262 (look-around, back-references), which no linear-time engine reads, so
// matching can backtrack without end. One match and all matches of one validation have a time
// budget; when it is spent the validation is given up, because "did not match" would turn a pattern
// under "not" into a yes.
//
// Time on a clock also passes while a busy machine runs something else. So a match that times out
// has a second chance, and one that ends counts for at most matchCharge: a value is refused for
// what its patterns do, not for the machine. What compiling costs is estimated from the text, and
// the same everywhere.
const (
	matchTimeout   = 50 * time.Millisecond  // the engine's clock adds up to 100 ms
	matchCharge    = 10 * time.Millisecond  // at most, of one match that ended
	matchBudget    = 200 * time.Millisecond // of one validation
	compileBudget  = 1_200_000              // of all patterns of one schema: bytes times nesting; some 200 ms
	maxGroupNest   = 30                     // the engine's compile time is worse than quadratic in nested groups
	maxRepeat      = 65535                  // in {n,m}
	backtrackSlots = 100_000                // integers, per match
)

// spent is the panic of a pattern that used up its validation's time.
type spent struct{}

// engine compiles the patterns of one compiled schema and meters their matches. It is not safe for
// concurrent use.
type engine struct {
	cache    map[string]*pattern
	left     time.Duration // of the current validation
	compiled int           // of compileBudget
}

func (e *engine) begin() { e.left = matchBudget }

// compile has the shape that the library asks for. It is called twice for each pattern, hence the
// cache.
func (e *engine) compile(text string) (jsonschema.Regexp, error) {
	if p, ok := e.cache[text]; ok {
		return p, nil
	}
	if e.compiled += compileCost(text); e.compiled > compileBudget {
		return nil, fmt.Errorf("the patterns take too long to compile")
	}
	stack := regexp2.OptionMaxBacktrackingStackSize(backtrackSlots)
	// JSON Schema asks for the "u" flag; many patterns in the field only compile without it.
	re, err := regexp2.Compile(text, regexp2.ECMAScript, regexp2.Unicode, stack)
	if err != nil {
		re, err = regexp2.Compile(text, regexp2.ECMAScript, stack)
	}
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = matchTimeout
	p := &pattern{re: re, text: text, engine: e}
	e.cache[text] = p
	return p, nil
}

type pattern struct {
	re     *regexp2.Regexp
	text   string
	engine *engine
}

func (p *pattern) String() string { return p.text }

// MatchString implements the library's interface. It panics with spent when its budget is used up.
func (p *pattern) MatchString(s string) bool {
	if p.engine.left <= 0 {
		panic(spent{})
	}
	start := time.Now()
	ok, err := p.re.MatchString(s)
	if err != nil {
		ok, err = p.re.MatchString(s)
	}
	if err != nil {
		panic(spent{})
	}
	p.engine.left -= min(time.Since(start), matchCharge)
	return ok
}

// compileCost estimates what compiling a pattern takes: it grows with its length and with the depth
// of its groups.
func compileCost(text string) int {
	depth, deepest := 0, 0
	for _, c := range []byte(text) {
		switch c {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth--
		}
	}
	return len(text) * (1 + deepest)
}

// checkPattern says what is wrong with a pattern before any engine sees it, or "". The engine also
// reads constructs of other dialects after "(?"; only those of ECMA-262 pass, so that a pattern
// means here what it means in the page.
func checkPattern(p string, limit int) string {
	if len(p) > limit {
		return fmt.Sprintf("the pattern is longer than %d bytes", limit)
	}
	nest, inClass := 0, false
	for i := 0; i < len(p); i++ {
		switch c := p[i]; {
		case c == '\\':
			i++
		case inClass:
			inClass = c != ']'
		case c == '[':
			inClass = true
		case c == '(':
			if nest++; nest > maxGroupNest {
				return fmt.Sprintf("the pattern nests groups more than %d deep", maxGroupNest)
			}
			if tail, ok := strings.CutPrefix(p[i+1:], "?"); ok && !ecmaGroup(tail) {
				return "the pattern has a group that ECMA-262 does not know"
			}
		case c == ')':
			nest--
		case c == '{' && repeatTooLarge(p[i+1:]):
			return fmt.Sprintf("the pattern repeats more than %d times", maxRepeat)
		}
	}
	return ""
}

// ecmaGroup looks at what follows "(?". Flags inside a pattern, new in ECMA-262 of 2025, are left
// out: the engine takes 50 ms to fold the cases of each "(?i:.)", and five hundred bytes hold
// eighty of them.
func ecmaGroup(tail string) bool {
	for _, prefix := range []string{":", "=", "!", "<=", "<!"} {
		if strings.HasPrefix(tail, prefix) {
			return true
		}
	}
	name, ok := strings.CutPrefix(tail, "<")
	if !ok {
		return false
	}
	name, _, ok = strings.Cut(name, ">")
	return ok && name != "" && !strings.ContainsAny(name, "-'")
}

// repeatTooLarge looks at what follows "{".
func repeatTooLarge(tail string) bool {
	n := 0
	for i := range len(tail) {
		switch c := tail[i]; {
		case c >= '0' && c <= '9':
			if n = n*10 + int(c-'0'); n > maxRepeat {
				return true
			}
		case c == ',':
			n = 0
		default:
			return false
		}
	}
	return false
}
