package schema

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/text"
)

func rule(err error) string {
	var ce *CompileError
	if errors.As(err, &ce) {
		return ce.Rule
	}
	return fmt.Sprint(err)
}

func mustCompile(t testing.TB, s string) *Schema {
	t.Helper()
	c, err := Compile([]byte(s), Limits{})
	if err != nil {
		t.Fatalf("%s: %v", text.Short(s, maxShown), err)
	}
	return c
}

// laughs is a schema of about 100*n bytes that applies 2^n subschemas to one value.
func laughs(n int, leaf string) string {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/l0","$defs":{`)
	for i := range n {
		fmt.Fprintf(&b, `"l%d":{"allOf":[{"$ref":"#/$defs/l%d"},{"$ref":"#/$defs/l%d"}]},`, i, i+1, i+1)
	}
	fmt.Fprintf(&b, `"l%d":%s}}`, n, leaf)
	return b.String()
}

// TestAttacks has a control beside each attack: the same schema without it compiles and decides.
func TestAttacks(t *testing.T) {
	pad := `{"description":"` + strings.Repeat("x", 70_000) + `"}`
	deep := func(n int) string { return nested(`{"properties":{"a":`, "{}", "}}", n) }
	for _, c := range []struct{ name, attack, rule, control, accepts, refuses string }{
		{"too large", pad, RuleTooLarge, pad[:50] + `"}`, `{}`, ``},
		{"deep properties", deep(2000), RuleTooDeep, deep(30), `{"a":{"a":1}}`, ``},
		{"deep not", nested(`{"not":`, "{}", "}", 90), RuleTooDeep, nested(`{"not":`, "{}", "}", 30), `{}`, ``},
		{"deep not, not even parsed", nested(`{"not":`, "{}", "}", 5000), RuleTooDeep, nested(`{"not":`, "{}", "}", 4), `{}`, ``},
		{"laughs", laughs(26, `{"required":["a"]}`), RuleExpands, laughs(6, `{"required":["a"]}`), `{"a":1}`, `{}`},
		{"many branches", `{"allOf":[` + repeat(`{"$ref":"#/$defs/a"}`, ",", 200) + `],"$defs":{"a":{"anyOf":[` + repeat("{}", ",", 60) + `]}}}`, RuleExpands,
			`{"allOf":[` + repeat(`{"$ref":"#/$defs/a"}`, ",", 20) + `],"$defs":{"a":{"anyOf":[` + repeat("{}", ",", 60) + `]}}}`, `{}`, ``},
		{"long chain", chain(200, "#"), RuleTooDeep, chain(100, "#"), `{"a":{"a":1}}`, ``},
		{"reference to itself", `{"$ref":"#"}`, RuleRefCycle, `{"properties":{"a":{"$ref":"#"}},"required":["b"]}`, `{"b":1,"a":{"b":1}}`, `{"b":1,"a":{}}`},
		{"mutual references", `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/b"},"b":{"anyOf":[{"$ref":"#/$defs/a"}]}}}`, RuleRefCycle,
			`{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"x":{"$ref":"#/$defs/b"}}},"b":{"type":"object","anyOf":[{"$ref":"#/$defs/a"}]}}}`, `{"x":{"x":{}}}`, `{"x":1}`},
		{"cycle out of reach", `{"$defs":{"a":{"not":{"$ref":"#/$defs/a"}}}}`, RuleRefCycle, `{"$defs":{"a":{"not":{}}}}`, `{}`, ``},
		{"cycle by dependent", `{"dependentSchemas":{"a":{"$ref":"#"}}}`, RuleRefCycle, `{"dependentSchemas":{"a":{"required":["b"]}}}`, `{"a":1,"b":1}`, `{"a":1}`},
		{"dynamic cycle", `{"$dynamicAnchor":"n","$dynamicRef":"#n"}`, RuleRefCycle, `{"$dynamicAnchor":"n","properties":{"a":{"$dynamicRef":"#n"}},"maxProperties":1}`, `{"a":{}}`, `{"a":{"b":1,"c":1}}`},
		{"recursive cycle", `{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"allOf":[{"$recursiveRef":"#"}]}`, RuleRefCycle,
			`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"maxProperties":1}`, `{"a":{}}`, `{"a":{"b":1,"c":1}}`},
		{"file reference", `{"$ref":"file:///etc/passwd"}`, RuleRemoteRef, `{"$ref":"#/$defs/a","$defs":{"a":{"required":["x"]}}}`, `{"x":1}`, `{}`},
		{"http reference", `{"properties":{"a":{"$ref":"http://127.0.0.1:1/x"}}}`, RuleRemoteRef, `{"properties":{"a":{"$ref":"#a"},"b":{"$anchor":"a","type":"null"}}}`, `{"a":null}`, `{"a":1}`},
		{"data reference", `{"$ref":"data:application/json,{}"}`, RuleRemoteRef, `{"properties":{"$ref":{"type":"null"}}}`, `{"$ref":null}`, `{"$ref":1}`},
		{"relative reference", `{"$ref":"other.json"}`, RuleRemoteRef, `{"$ref":"#/x/y","x":{"y":{"required":["a"]}}}`, `{"a":1}`, `{}`},
		{"empty reference", `{"properties":{"a":{"$ref":""}}}`, RuleRemoteRef, `{"type":"object","properties":{"a":{"$ref":"#"}}}`, `{"a":{}}`, `{"a":[]}`},
		{"reference to a metaschema", `{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, RuleRemoteRef, `{"$schema":"https://json-schema.org/draft/2020-12/schema"}`, `{}`, ``},
		{"dangling reference", `{"$ref":"#/$defs/no"}`, RuleRefNotFound, `{"$ref":"#/$defs/%79","$defs":{"y":{"required":["a"]}}}`, `{"a":1}`, `{}`},
		{"reference into data", `{"enum":[{}],"properties":{"a":{"$ref":"#/enum/0"}}}`, RuleRefNotFound, `{"properties":{"enum":{"type":"null"},"a":{"$ref":"#/properties/enum"}}}`, `{"a":null}`, `{"a":1}`},
		{"unknown draft", `{"$schema":"http://127.0.0.1/schema"}`, RuleDraft, `{"$schema":"http://json-schema.org/draft-07/schema#"}`, `{}`, ``},
		{"draft of a file", `{"$schema":"file:///etc/passwd"}`, RuleDraft, `{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/"}`, `{}`, ``},
		{"another draft inside", `{"properties":{"a":{"$id":"#x","$schema":"http://json-schema.org/draft-04/schema#"}}}`, RuleDraft, `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"$ref":"#x"},"b":{"$id":"#x","type":"null"}}}`, `{"a":null}`, `{"a":1}`},
		{"base inside", `{"properties":{"a":{"$id":"http://127.0.0.1/"}}}`, RuleID, `{"$id":"http://127.0.0.1/","properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"null"}}}`, `{"a":null}`, `{"a":1}`},
		{"vocabulary of a stranger", `{"$schema":"https://x.example/meta"}`, RuleDraft, `{"$vocabulary":{"https://x.example/v":true},"required":["a"]}`, `{"a":1}`, `{}`},
		{"pattern too long", `{"properties":{"a":{"pattern":"` + strings.Repeat("a", 513) + `"}}}`, RulePattern, `{"properties":{"a":{"pattern":"^(?=.*[0-9]).{2,}$"}}}`, `{"a":"a1"}`, `{"a":"ab"}`},
		{"pattern of another dialect", `{"patternProperties":{"(?>a)":{}}}`, RulePattern, `{"patternProperties":{"^(?<x>a)[(?>]":false}}`, `{"a":1}`, `{"a(":1}`},
		{"flags in a pattern", `{"properties":{"a":{"pattern":"` + strings.Repeat("(?i:.)", 80) + `"}}}`, RulePattern, `{"properties":{"a":{"pattern":"` + strings.Repeat("(?:.)", 80) + `"}}}`, `{"a":"` + strings.Repeat("a", 80) + `"}`, `{"a":""}`},
		{"pattern that is none", `{"properties":{"a":{"pattern":"("}}}`, RuleInvalid, `{"properties":{"a":{"pattern":"\\("}}}`, `{"a":"("}`, `{"a":"["}`},
		{"nested groups", `{"properties":{"a":{"pattern":"` + strings.Repeat("(", 200) + strings.Repeat(")*", 200) + `"}}}`, RulePattern, `{"properties":{"a":{"pattern":"^((b)*)*$"}}}`, `{"a":"bb"}`, `{"a":"c"}`},
		{"endless repeat", `{"properties":{"a":{"pattern":"a{99999999}"}}}`, RulePattern, `{"properties":{"a":{"pattern":"a{3}"}}}`, `{"a":"aaa"}`, `{"a":"aa"}`},
		{"count that wraps", `{"properties":{"a":{"minLength":18446744073709551616}}}`, RuleInvalid, `{"properties":{"a":{"minLength":2.0}}}`, `{"a":"ab"}`, `{"a":"a"}`},
		{"huge exponent", `{"maxProperties":1e999999}`, RuleNotJSON, `{"maxProperties":1e0}`, `{"a":1}`, `{"a":1,"b":1}`},
		{"duplicate keyword", `{"required":[],"required":["a"]}`, RuleNotJSON, `{"required":["a"]}`, `{"a":1}`, `{}`},
		{"type unknown", `{"type":"objekt"}`, RuleRootNotObject, `{"type":["null","object"]}`, `{}`, ``},
		{"wrong type of keyword", `{"properties":[]}`, RuleInvalid, `{"properties":{}}`, `{}`, ``},
		{"schema that is a number", `{"properties":{"a":5}}`, RuleInvalid, `{"properties":{"a":false}}`, `{}`, `{"a":1}`},
		{"large enum of colliding trees", `{"enum":[` + strings.Join(trees(2000, 12), ",") + `]}`, RuleExpands, `{"enum":[{"a":[[],[[]]]},{}]}`, `{"a":[[],[[]]]}`, `{"a":[[],[]]}`},
		{"root true", `true`, RuleRootNotObject, `{}`, `{"a":1}`, `[]`},
		{"root null", `null`, RuleRootNotObject, `{"type":"object"}`, `{}`, `null`},
		{"root array", `[{}]`, RuleRootNotObject, `{"allOf":[{}]}`, `{}`, `1`},
		{"root string", `"object"`, RuleRootNotObject, `{"title":"object"}`, `{}`, `"x"`},
		{"root of strings", `{"type":"string"}`, RuleRootNotObject, `{"properties":{"type":{"type":"string"}}}`, `{"type":"x"}`, `{"type":1}`},
		{"root of many others", `{"type":["string","null"]}`, RuleRootNotObject, `{"type":["string","object"]}`, `{}`, `"x"`},
		{"root constant", `{"const":1}`, RuleRootNotObject, `{"const":{"a":1.0}}`, `{"a":1}`, `{"a":2}`},
		{"not JSON", `{"a":`, RuleNotJSON, `{"a":{}}`, `{}`, ``},
	} {
		t.Run(c.name, func(t *testing.T) {
			within(t, "Compile", func() {
				if _, err := Compile([]byte(c.attack), Limits{}); rule(err) != c.rule {
					t.Errorf("attack: %v, want %s", err, c.rule)
				}
			})
			s := mustCompile(t, c.control)
			if err := s.Validate([]byte(c.accepts)); err != nil {
				t.Errorf("control refuses %s: %v", c.accepts, err)
			}
			if c.refuses != "" && s.Validate([]byte(c.refuses)) == nil {
				t.Errorf("control accepts %s", c.refuses)
			}
		})
	}
}

func TestLimitsAtTheEdge(t *testing.T) {
	enums := func(n int) string { return `{"anyOf":[` + repeat("{}", ",", n) + `]}` }
	for _, c := range []struct {
		name   string
		limits Limits
		schema func(n int) string
		at     int
		rule   string
	}{
		{"bytes", Limits{}, func(n int) string { return `{"title":"` + strings.Repeat("x", n-12) + `"}` }, 64 << 10, RuleTooLarge},
		{"depth", Limits{}, func(n int) string { return nested(`{"properties":{"a":`, "{}", "}}", n-1) }, 32, RuleTooDeep},
		{"subschemas", Limits{}, func(n int) string { return enums(n - 1) }, 2000, RuleTooMany},
		{"expansions", Limits{Expansions: 50}, func(n int) string { return enums(n - 1) }, 50, RuleExpands},
		{"default expansions", Limits{}, func(n int) string {
			return `{"allOf":[` + repeat(`{"$ref":"#/$defs/a"}`, ",", 99) + `,` + repeat("{}", ",", n-1-99*100) + `],"$defs":{"a":` + enums(98) + `}}`
		}, 10000, RuleExpands},
		{"pattern", Limits{}, func(n int) string { return `{"patternProperties":{"` + strings.Repeat("a", n) + `":{}}}` }, 512, RulePattern},
		{"groups", Limits{}, func(n int) string {
			return `{"patternProperties":{"` + nested("(", "a", ")", n) + `":{}}}`
		}, maxGroupNest, RulePattern},
		{"chain", Limits{}, func(n int) string { return chain(n-3, "#") }, maxChain, RuleTooDeep},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Compile([]byte(c.schema(c.at)), c.limits); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			if _, err := Compile([]byte(c.schema(c.at+1)), c.limits); rule(err) != c.rule {
				t.Errorf("one past it: %v", err)
			}
		})
	}
}

// TestLibraryAlone shows that the guards are there for a reason.
func TestLibraryAlone(t *testing.T) {
	compile := func(t *testing.T, s string, engine jsonschema.RegexpEngine) *jsonschema.Schema {
		c := jsonschema.NewCompiler()
		c.UseRegexpEngine(engine)
		v, err := parse([]byte(s), 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource("urn:x", v.plain(keepAll)); err != nil {
			t.Fatal(err)
		}
		return c.MustCompile("urn:x")
	}
	t.Run("laughs double", func(t *testing.T) {
		matches := &countingPattern{}
		s := compile(t, laughs(12, `{"propertyNames":{"pattern":"a"}}`), func(string) (jsonschema.Regexp, error) { return matches, nil })
		if err := s.Validate(map[string]any{"a": 1}); err != nil || matches.n != 1<<12 {
			t.Errorf("%d matches, %v", matches.n, err)
		}
	})
	t.Run("counts wrap", func(t *testing.T) {
		if err := compile(t, `{"minLength":18446744073709551616}`, nil).Validate(""); err != nil {
			t.Error(err)
		}
	})
	t.Run("formats are asserted in old drafts", func(t *testing.T) {
		const s = `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"format":"email"}}}`
		if compile(t, s, nil).Validate(map[string]any{"a": "x"}) == nil {
			t.Error("not asserted")
		}
		if err := mustCompile(t, s).Validate([]byte(`{"a":"x"}`)); err != nil {
			t.Error(err)
		}
	})
	t.Run("trees share a hash", func(t *testing.T) {
		list := trees(200, 12)
		v, err := parse([]byte("["+strings.Join(list, ",")+"]"), 0)
		if err != nil {
			t.Fatal(err)
		}
		if cost := uniqueCost(v); cost < 200*199/2*costNode {
			t.Errorf("cost %d", cost)
		}
	})
}

type countingPattern struct{ n int }

func (p *countingPattern) String() string          { return "" }
func (p *countingPattern) MatchString(string) bool { p.n++; return true }

func TestExactNumbers(t *testing.T) {
	s := mustCompile(t, `{"properties":{"big":{"const":9007199254740993},"int":{"type":"integer"},"max":{"maximum":9007199254740992},"tenth":{"multipleOf":0.1},"neg":{"const":0}}}`)
	for value, ok := range map[string]bool{
		`{"big":9007199254740993}`: true, `{"big":9007199254740992}`: false, `{"big":9007199254740993.0}`: true,
		`{"int":1.0}`: true, `{"int":1e2}`: true, `{"int":1.5}`: false, `{"int":123456789012345678901234567890}`: true,
		`{"max":9007199254740992}`: true, `{"max":9007199254740993}`: false,
		`{"tenth":0.3}`: true, `{"tenth":0.35}`: false, `{"neg":-0}`: true, `{"neg":-0.0e3}`: true,
	} {
		if err := s.Validate([]byte(value)); (err == nil) != ok {
			t.Errorf("%s: %v", value, err)
		}
	}
}

func TestDialects(t *testing.T) {
	for _, c := range []struct{ schema, accepts, refuses string }{
		{`{"properties":{"a":{"items":[{"type":"null"}],"additionalItems":false}}}`, `{"a":[null]}`, `{"a":[null,1]}`},
		{`{"properties":{"a":{"prefixItems":[{"type":"null"}],"items":false}}}`, `{"a":[null]}`, `{"a":[null,1]}`},
		{`{"definitions":{"n":{"type":"null"}},"properties":{"a":{"$ref":"#/definitions/n"}}}`, `{"a":null}`, `{"a":1}`},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","properties":{"a":{"maximum":3,"exclusiveMaximum":true}}}`, `{"a":2}`, `{"a":3}`},
		{`{"$schema":"http://json-schema.org/draft-06/schema","properties":{"a":{"contains":{"const":1}}}}`, `{"a":[0,1]}`, `{"a":[0]}`},
		{`{"dependencies":{"a":["b"],"c":{"required":["d"]}}}`, `{"a":1,"b":1,"c":1,"d":1}`, `{"c":1}`},
		{`{"allOf":[{"properties":{"a":true}}],"unevaluatedProperties":false}`, `{"a":1}`, `{"b":1}`},
		{`{"properties":{"a":{"format":"date-time","type":"string"}}}`, `{"a":"soon"}`, `{"a":1}`},
		{`{"properties":{"format":{"const":1},"$id":{"const":2},"$schema":{"const":3}}}`, `{"format":1,"$id":2,"$schema":3}`, `{"format":2}`},
		{`{"properties":{"a":{"pattern":"^\\p{Lu}$"}}}`, `{"a":"É"}`, `{"a":"é"}`},
		{`{"properties":{"a":{"pattern":"^a$"}}}`, `{"a":"a"}`, `{"a":"a\n"}`},
	} {
		s := mustCompile(t, c.schema)
		if err := s.Validate([]byte(c.accepts)); err != nil {
			t.Errorf("%s refuses %s: %v", c.schema, c.accepts, err)
		}
		if s.Validate([]byte(c.refuses)) == nil {
			t.Errorf("%s accepts %s", c.schema, c.refuses)
		}
	}
}

// TestPatternsFailClosed: a match that was given up must not look like "does not match" below
// "not".
func TestPatternsFailClosed(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"not":{"pattern":"^(a+)+$"}}}}`)
	if err := s.Validate([]byte(`{"a":"ab"}`)); err != nil {
		t.Error(err)
	}
	var v *Violations
	if err := s.Validate([]byte(`{"a":"` + strings.Repeat("a", 40) + `!"}`)); !errors.As(err, &v) || !v.Undecided {
		t.Errorf("%v", err)
	}
}

func TestDeepValues(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"$ref":"#"}}}`)
	if err := s.Validate([]byte(nested(`{"a":`, "{}", "}", defaultDepth-1))); err != nil {
		t.Error(err)
	}
	for _, n := range []int{defaultDepth, 2000, 100_000} {
		within(t, "a deep value", func() {
			if s.Validate([]byte(nested(`{"a":`, "{}", "}", n))) == nil {
				t.Errorf("%d levels accepted", n)
			}
		})
	}
}

func TestConcurrentValidation(t *testing.T) {
	s := mustCompile(t, `{"properties":{"a":{"pattern":"^a+$"}}}`)
	var wg sync.WaitGroup
	for range 3 * spareMachines {
		wg.Go(func() {
			for range 50 {
				if s.Validate([]byte(`{"a":"aa"}`)) != nil || s.Validate([]byte(`{"a":"b"}`)) == nil {
					t.Error("wrong answer")
				}
			}
		})
	}
	wg.Wait()
}

func TestMessages(t *testing.T) {
	s := mustCompile(t, `{"additionalProperties":false,"required":["city","days"],"properties":{
		"city":{"type":"string","minLength":2,"pattern":"^[A-Z]"},"days":{"type":"integer","minimum":1,"maximum":14},
		"units":{"enum":["metric","imperial",null]},"tags":{"type":"array","items":{"type":"string"},"uniqueItems":true,"maxItems":2},
		"at":{"anyOf":[{"type":"string"},{"type":"object","required":["lat"]}]},"rate":{"exclusiveMinimum":0.25,"multipleOf":0.5}}}`)
	for value, want := range map[string]string{
		`{"city":"x"}`:                               `/city "city" must have at least 2 characters|/city "city" must match the pattern ^[A-Z]|/days "days" is required`,
		`{"city":5,"days":1.5}`:                      `/city "city" must be a string, but is a number|/days "days" must be an integer, but is a number`,
		`{"city":"Oslo","days":15,"units":"k"}`:      `/days "days" must be at most 14|/units "units" must be one of "metric", "imperial", null`,
		`{"city":"Oslo","days":1,"x/y":1}`:           `/x~1y "x/y" is not a known field`,
		`{"city":"Oslo","days":1,"tags":["a","a"]}`:  `/tags "tags" must have no equal elements, but 0 and 1 are`,
		`{"city":"Oslo","days":1,"tags":[1]}`:        `/tags/0 "tags.0" must be a string, but is a number`,
		`{"city":"Oslo","days":1,"at":{}}`:           `/at "at" must match at least one of the allowed forms ("at" must be a string, but is an object; or: "at.lat" is required)`,
		`{"city":"Oslo","days":1,"rate":0.25}`:       `/rate "rate" must be a multiple of 0.5|/rate "rate" must be greater than 0.25`,
		`{"city":"Oslo","days":1,"rate":1e400000}`:   `/rate not acceptable as JSON: a number with an exponent beyond 400`,
		`{"city":"Oslo","days":1`:                    ` not acceptable as JSON: it ends too early`,
		`[]`:                                         ` the value must be an object, but is an array`,
		`{"city":"Oslo","days":1,"city":"\ud800"}`:   `/city not acceptable as JSON: the same member name twice`,
		`{"city":"\ud800","days":1,"tags":[["a"]] }`: `/city not acceptable as JSON: half of a surrogate pair`,
	} {
		var v *Violations
		if !errors.As(s.Validate([]byte(value)), &v) {
			t.Errorf("%s is accepted", value)
			continue
		}
		var got []string
		for _, one := range v.List {
			got = append(got, one.Pointer+" "+one.Message)
		}
		if strings.Join(got, "|") != want {
			t.Errorf("%s\n got %s\nwant %s", value, strings.Join(got, "|"), want)
		}
	}
}

func TestViolationsAreBounded(t *testing.T) {
	s := mustCompile(t, `{"additionalProperties":{"type":"string"}}`)
	for n, truncated := range map[int]bool{maxViolations: false, maxViolations + 1: true} {
		var v *Violations
		if !errors.As(s.Validate([]byte(`{`+numbered(`"k%":1`, ",", n)+`}`)), &v) || len(v.List) != maxViolations || v.Truncated != truncated {
			t.Errorf("%d: %+v", n, v)
		}
	}
}

func TestJSON(t *testing.T) {
	const in = `{ "x-mcp-a":1, "b":"é\u0041", "properties":{"x-mcp-kept":{"x-mcp-b":{}, "type":"number"}}, "n":1.50, "enum":[{"x-mcp-c":1}],
		"items":[{"x-mcp-d":1}], "dependencies":{"q":["x-mcp-e"]}, "default":{"x-mcp-f":1} }`
	const want = `{"b":"éA","properties":{"x-mcp-kept":{"type":"number"}},"n":1.50,"enum":[{"x-mcp-c":1}],"items":[{}],"dependencies":{"q":["x-mcp-e"]},"default":{"x-mcp-f":1}}`
	if got := string(mustCompile(t, in).JSON()); got != want {
		t.Errorf("JSON\n got %s\nwant %s", got, want)
	}
}

// TestCompileWorstCases measures schemas at their limits, admitted or not.
func TestCompileWorstCases(t *testing.T) {
	gatetest.NoRace(t)
	for name, s := range map[string]string{
		"laughs":             laughs(26, "{}"),
		"laughs at its size": laughs(600, "{}"),
		"wide":               `{"properties":{` + numbered(`"k%":{"type":"string"}`, ",", 1990) + `}}`,
		"wide and wrong":     `{"properties":{` + numbered(`"k%":{"type":5,"enum":5}`, ",", 1990) + `}}`,
		"patterns":           `{"properties":{` + numbered(`"k%":{"pattern":"^(a%|b%)*$"}`, ",", 1500) + `}}`,
		"nested patterns":    `{"patternProperties":{` + numbered(`"`+nested("(", "a", ")*", maxGroupNest)+`%":{}`, ",", 600) + `}}`,
		"class patterns":     `{"patternProperties":{` + numbered(`"[\\p{L}\\p{N}\\P{Lu}\\w]{2}%(?:\\p{Ll})":{}`, ",", 1300) + `}}`,
		"odd targets":        `{"allOf":[` + numbered(`{"$ref":"#/x/%"}`, ",", 900) + `],"x":[` + repeat("{}", ",", 900) + `]}`,
		"odd deep targets":   `{"allOf":[` + numbered(`{"$ref":"#/x/%/y"}`, ",", 400) + `],"x":[` + repeat(`{"y":{"anyOf":[{},{}]}}`, ",", 400) + `]}`,
		"deep branches":      nested(`{"anyOf":[{},{"properties":{"a":`, "{}", "}}]}", 15),
		"enum":               `{"$schema":"http://json-schema.org/draft-04/schema#","enum":[` + numbered("%", ",", 11000) + `]}`,
		"enum of objects":    `{"$schema":"http://json-schema.org/draft-06/schema#","enum":[` + numbered(`{"a":%}`, ",", 6000) + `]}`,
		"required":           `{"required":[` + numbered(`"k%"`, ",", 7000) + `]}`,
		"long names":         `{"properties":{"` + strings.Repeat("~/", 15000) + `":{"anyOf":[` + repeat("{}", ",", 1900) + `]}}}`,
		"longish names":      `{"properties":{"` + strings.Repeat("n", 500) + `":{"anyOf":[` + repeat("{}", ",", 1900) + `]}}}`,
		"anchors":            `{"$defs":{"a":{"$anchor":"a"},` + numbered(`"k%":{"$anchor":"k%","$ref":"#a"}`, ",", 1500) + `}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			took := within(t, "Compile", func() { _, err = Compile([]byte(s), Limits{}) })
			t.Logf("%s: %d bytes, %v, %s", name, len(s), took, text.Short(fmt.Sprint(err), maxShown))
		})
	}
}

func TestSaturationDoesNotWrap(t *testing.T) {
	if saturated > math.MaxInt/4 {
		t.Error("the sum of two saturated counts overflows")
	}
}

// TestResultsAreOfAnyKind: a schema of results may describe any value, and one of arguments
// only an object.
func TestResultsAreOfAnyKind(t *testing.T) {
	for _, c := range []struct{ schema, fits, not string }{
		{`{"type":"array","items":{"type":"string"}}`, `["a"]`, `[1]`},
		{`{"type":"array"}`, `[]`, `{}`},
		{`{"type":["string","null"]}`, `null`, `1`},
		{`{"const":1}`, `1.0`, `2`},
		{`{"anyOf":[{"type":"object"},{"type":"boolean"}]}`, `true`, `"a"`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"type":"number"}}}`, `7`, `{}`},
		{`{"properties":{"a":{}}}`, `{}`, `7`}, // it means objects
		{`{"type":"object"}`, `{}`, `[]`},
		{`false`, ``, `{}`},
		{`true`, `"a"`, ``},
	} {
		s, err := CompileResult([]byte(c.schema), Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if err := s.Validate([]byte(c.fits)); err != nil && c.fits != "" {
			t.Errorf("%s refuses %s: %v", c.schema, c.fits, err)
		}
		if err := s.Validate([]byte(c.not)); err == nil {
			t.Errorf("%s takes %s", c.schema, c.not)
		}
	}
	for _, s := range []string{`null`, `"object"`, `[{}]`, `1`} {
		if _, err := CompileResult([]byte(s), Limits{}); rule(err) != RuleRootNotObject {
			t.Errorf("%s: %v", s, err)
		}
	}
}
