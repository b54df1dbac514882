package schema

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/text"
)

// hang limits how long a step may take before it counts as one that never ends. The
// figures themselves are logged: `go test -v -run Worst ./bridge/schema` prints
// them, and only a quiet machine without the race detector makes them mean
// anything.
const hang = time.Minute

// within fails a test when f hangs, and says how long it took.
func within(t *testing.T, what string, f func()) time.Duration {
	t.Helper()
	runtime.GC()
	start := time.Now()
	f()
	took := time.Since(start)
	if took > hang {
		t.Errorf("%s took %v", what, took)
	}
	return took
}

func repeat(s, sep string, n int) string {
	return strings.TrimSuffix(strings.Repeat(s+sep, n), sep)
}

func numbered(format, sep string, n int) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteString(sep)
		}
		fmt.Fprintf(&b, strings.ReplaceAll(format, "%", "%[1]d"), i)
	}
	return b.String()
}

// trees writes n different nestings of the same number of brackets.
func trees(n, brackets int) []string {
	var out []string
	var grow func(s string, open, left int)
	grow = func(s string, open, left int) {
		if len(out) == n {
			return
		}
		if left == 0 {
			out = append(out, "["+s+strings.Repeat("]", open)+"]")
			return
		}
		for up := 0; up <= open; up++ {
			t := s + strings.Repeat("]", up)
			if strings.HasSuffix(t, "]") {
				t += ","
			}
			grow(t+"[", open-up+1, left-1)
		}
	}
	grow("", 0, brackets)
	return out
}

func nested(open, inner, shut string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(shut, n)
}

// worstCases are schemas that pass the static check and values that make them as expensive as we
// know how.
func worstCases() []struct{ name, schema, value string } {
	branches := numbered(`{"properties":{"a":{"items":{"type":"integer","minimum":%}}}}`, ",", 300)
	return []struct{ name, schema, value string }{
		{"many numbers", `{"properties":{"a":{"items":{"type":"number","multipleOf":0.1}}}}`, `{"a":[` + repeat("12.3", ",", 50000) + `]}`},
		{"long numbers", `{"properties":{"a":{"items":{"type":"integer","multipleOf":7}}}}`, `{"a":[` + repeat(strings.Repeat("7", 395), ",", 650) + `]}`},
		{"big exponents", `{"properties":{"a":{"items":{"multipleOf":1e-399,"maximum":1e399}}}}`, `{"a":[` + repeat("1.5e-400", ",", 28000) + `]}`},
		{"enum of numbers", `{"properties":{"a":{"items":{"enum":[` + numbered("%", ",", 9000) + `]}}}}`, `{"a":[` + repeat("1e399", ",", 40000) + `]}`},
		{"enum of strings", `{"properties":{"a":{"items":{"enum":[` + numbered(`"k%"`, ",", 5000) + `]}}}}`, `{"a":[` + repeat(`"k4999"`, ",", 30000) + `]}`},
		{"enum of trees", `{"properties":{"a":{"items":{"enum":[` + numbered("[[],{},%]", ",", 5000) + `]}}}}`, `{"a":[` + numbered("[[],{},1%]", ",", 15000) + `]}`},
		{"unique trees", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + strings.Join(trees(8000, 12), ",") + `]}`},
		{"unique numbers", `{"properties":{"a":{"uniqueItems":true}}}`, `{"a":[` + numbered("%", ",", 40000) + `]}`},
		{"branches", `{"allOf":[` + branches + `]}`, `{"a":[` + repeat("1", ",", 100000) + `]}`},
		{"branches failing", `{"anyOf":[` + branches + `]}`, `{"a":[` + repeat("-1", ",", 80000) + `]}`},
		{"doubling by level", `{"$ref":"#/$defs/n","$defs":{"n":{"allOf":[{"properties":{"a":{"$ref":"#/$defs/n"}}},{"properties":{"a":{"$ref":"#/$defs/n"}}}]}}}`, nested(`{"a":`, "1", "}", 190)},
		{"wide and failing", `{"properties":{"a":{"items":{"type":"string"}}}}`, `{"a":[` + repeat("1", ",", 130000) + `]}`},
		{"deep and failing", `{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"array","items":{"anyOf":[{"$ref":"#/$defs/n"},{"type":"string"}]}}}}`, `{"a":` + nested("[", repeat("1", ",", 120000), "]", 190) + `}`},
		{"chain by level", chain(120, "#"), nested(`{"a":`, "1", "}", 195)},
		{"unevaluated", `{"allOf":[` + repeat(`{"properties":{"k1":true}}`, ",", 900) + `],"unevaluatedProperties":false}`, `{` + numbered(`"k%":1`, ",", 20000) + `}`},
		{"unevaluated small", `{"allOf":[` + repeat(`{"properties":{"k1":true}}`, ",", 90) + `],"unevaluatedProperties":false}`, `{` + numbered(`"k%":1`, ",", 9000) + `}`},
		{"cheap patterns", `{"patternProperties":{` + numbered(`"^x%$":true`, ",", 1500) + `}}`, `{` + numbered(`"k%":1`, ",", 20000) + `}`},
		{"cheap patterns fewer", `{"patternProperties":{` + numbered(`"^x%$":true`, ",", 50) + `}}`, `{` + numbered(`"k%":1`, ",", 4000) + `}`},
		{"evil pattern", `{"properties":{"a":{"pattern":"^(a+)+$"}}}`, `{"a":"` + strings.Repeat("a", 250000) + `!"}`},
		{"evil patterns", `{"properties":{"a":{"items":{"pattern":"^(a+)+$"}}}}`, `{"a":[` + repeat(`"`+strings.Repeat("a", 24)+`!"`, ",", 8000) + `]}`},
		{"quadratic pattern", `{"properties":{"a":{"pattern":"[ab]*[bc]*[cd]*e|x[^y]*z|(?:a|b)*?f"}}}`, `{"a":"` + strings.Repeat("ab", 120000) + `"}`},
		{"property names", `{"propertyNames":{"pattern":"^[a-z0-9]+$","maxLength":9}}`, `{` + numbered(`"k%":1`, ",", 22000) + `}`},
		{"required", `{"required":[` + numbered(`"r%"`, ",", 6000) + `]}`, `{}`},
		{"required by items", `{"properties":{"a":{"items":{"required":[` + numbered(`"r%"`, ",", 6000) + `]}}}}`, `{"a":[` + repeat("{}", ",", 80000) + `]}`},
		{"additional", `{"additionalProperties":false}`, `{` + numbered(`"k%":1`, ",", 22000) + `}`},
		{"contains", `{"properties":{"a":{"contains":{"type":"string"},"minContains":3}}}`, `{"a":[` + repeat("1", ",", 120000) + `]}`},
		{"oneOf", `{"properties":{"a":{"items":{"oneOf":[` + numbered(`{"const":%}`, ",", 60) + `]}}}}`, `{"a":[` + repeat(`"x"`, ",", 2400) + `]}`},
		{"long names", `{"additionalProperties":{"additionalProperties":{"type":"string"}}}`, `{"` + strings.Repeat("k", 200000) + `":{` + numbered(`"%":1`, ",", 5000) + `}}`},
	}
}

// chain makes n references in a row that end in a schema whose member "a" starts over.
func chain(n int, back string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/c0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"c%d":{"$ref":"#/$defs/c%d"},`, i, i+1)
	}
	fmt.Fprintf(&b, `"c%d":{"properties":{"a":{"$ref":%q}}}}}`, n, back)
	return b.String()
}

func TestValidateWorstCases(t *testing.T) {
	gatetest.NoRace(t)
	for i, c := range worstCases() {
		t.Run(c.name, func(t *testing.T) {
			if i%2 > 0 {
				gatetest.Nightly(t, "by day every other one is enough")
			}
			if len(c.schema) > 64<<10 || len(c.value) > 256<<10 {
				t.Fatalf("case is larger than what gets here: %d, %d", len(c.schema), len(c.value))
			}
			var s *Schema
			var err error
			compiled := within(t, "Compile", func() { s, err = Compile([]byte(c.schema), Limits{}) })
			if err != nil {
				t.Fatal(err)
			}
			v, err := parse([]byte(c.value), 0)
			if err != nil {
				t.Fatal(err)
			}
			var cost int
			metered := within(t, "meter", func() { _, cost = s.form().graph.affordable(v) })
			took := within(t, "Validate", func() { err = s.Validate([]byte(c.value)) })
			verdict := "ok"
			if v, bad := errors.AsType[*Violations](err); bad {
				verdict = v.List[0].Message
				if len(v.List) > maxViolations || len(v.Error()) > 8000 {
					t.Errorf("%d violations, %d bytes", len(v.List), len(v.Error()))
				}
			}
			t.Logf(c.name+" compile %v, meter %v, estimate %v, validate %v: %s", compiled, metered, time.Duration(cost), took, text.Short(verdict, maxShown))
		})
	}
}

// TestStackStaysSmall runs the deepest recursions there are on a sixteenth of the stack that Go
// allows. Running out of stack ends the process and cannot be recovered from, so a failure here is
// a crash, not a report.
func TestStackStaysSmall(t *testing.T) {
	gatetest.NoRace(t)
	defer debug.SetMaxStack(debug.SetMaxStack(64 << 20))
	wrapped := func(open, shut string) string {
		var b strings.Builder
		b.WriteString(`{"$ref":"#/$defs/c0","$defs":{`)
		for i := range 62 {
			fmt.Fprintf(&b, `"c%d":%s{"$ref":"#/$defs/c%d"}%s,`, i, open, i+1, shut)
		}
		b.WriteString(`"c62":{"additionalProperties":{"$ref":"#"},"type":"object"}}}`)
		return b.String()
	}
	for name, s := range map[string]string{
		"references": chain(maxChain-3, "#"),
		"allOf":      wrapped(`{"allOf":[`, `]}`),
		"oneOf":      wrapped(`{"oneOf":[`, `]}`),
		"not":        wrapped(`{"not":`, `}`),
		"if":         wrapped(`{"if":`, `}`),
	} {
		schema, err := Compile([]byte(s), Limits{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, inner := range []string{"{}", "1"} {
			v, err := parse([]byte(nested(`{"a":`, inner, "}", defaultDepth-1)), 0)
			if err != nil {
				t.Fatal(err)
			}
			m, err := schema.form().acquire()
			if err != nil {
				t.Fatal(err)
			}
			within(t, name, func() { err = m.validate(v) }) // past the meter, which might have refused it
			if undecided, ok := errors.AsType[*Violations](err); ok && undecided.Undecided {
				t.Errorf("%s: not decided", name)
			}
			schema.form().release(m)
		}
	}
	deep := []byte(nested("[", "", "]", canonicalDepth))
	if _, err := Canonical(deep); err != nil {
		t.Error(err)
	}
	Compare([]byte(chain(1900, "#")), []byte(chain(1901, "#")), Request)
}

func BenchmarkTypicalTool(b *testing.B) {
	raw := []byte(`{"type":"object","required":["city"],"additionalProperties":false,"properties":{"city":{"type":"string","minLength":1,"pattern":"^[A-Z]"},"days":{"type":"integer","minimum":1,"maximum":14},"units":{"enum":["metric","imperial"]}}}`)
	b.Run("compile", func(b *testing.B) {
		for b.Loop() {
			if _, err := Compile(raw, Limits{}); err != nil {
				b.Fatal(err)
			}
		}
	})
	s, err := Compile(raw, Limits{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("validate", func(b *testing.B) {
		for b.Loop() {
			if err := s.Validate([]byte(`{"city":"Oslo","days":3,"units":"metric"}`)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
