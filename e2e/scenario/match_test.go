package scenario_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
	. "github.com/pagetools/pagetools/e2e/scenario"
)

func expect(t *testing.T, text string) Value {
	t.Helper()
	v, err := Expected([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// matches has for each matcher what it matches, what it does not, and a wrong type. why is part
// of the sentence, and "" where the value matches.
var matches = []struct{ want, got, path, why string }{
	{`1`, `1.0`, "", ""},
	{`1`, `1e0`, "", ""},
	{`9007199254740993`, `9007199254740992`, "", "the value is 9007199254740992, and must be 9007199254740993"},
	{`9007199254740993`, `9007199254740993.0`, "", ""},
	{`0.1`, `0.10000000000000001`, "", "must be 0.1"},
	{`"1"`, `1`, "", `is 1, and must be "1"`},
	{`null`, `null`, "", ""},
	{`null`, `0`, "", "must be null"},
	{`true`, `false`, "", "must be true"},
	{`"a"`, `"a"`, "", ""},
	{`"\u00e9"`, `"é"`, "", ""},

	{`{}`, `{"a":1}`, "", ""},
	{`{}`, `[]`, "", "must be an object"},
	{`{}`, `null`, "", "must be an object"},
	{`{"a":1}`, `{"b":2,"a":1}`, "", ""},
	{`{"a":{"b":2}}`, `{"a":{"b":3}}`, "a.b", "a.b is 3, and must be 2"},
	{`{"total":1}`, `{"totals":1}`, "total", `total is missing; there is "totals"`},
	{`{"a b":1}`, `{"a b":2}`, `["a b"]`, "must be 1"},
	{`[1,2]`, `[1,2]`, "", ""},
	{`[1,2]`, `[1,2,3]`, "", "has 3 elements, and must have 2"},
	{`[1,2]`, `[1]`, "", "has 1 element, and must have 2"},
	{`[{"a":1}]`, `[{"a":1,"b":2}]`, "", ""},
	{`[]`, `{}`, "", "must be an array"},
	{`{"content":[{"text":"x"}]}`, `{"content":[{"text":"y"}]}`, "content[0].text", "content[0].text is"},

	{`{"$pattern":"^2026-\\d{2}$"}`, `"2026-01"`, "", ""},
	{`{"$pattern":"foo"}`, `"a foo bar"`, "", ""},
	{`{"$pattern":"^foo$"}`, `"foobar"`, "", `must match "^foo$"`},
	{`{"$pattern":".*"}`, `1`, "", "is a number, and must be a string"},
	{`{"$pattern":"^colou?r$"}`, `"Color"`, "", "must match"},
	{`{"$pattern":"(?i)^colou?r$"}`, `"COLOR"`, "", ""},
	{`{"$pattern":"(?i)^colou?r$"}`, `"colourful"`, "", "must match"},
	{`{"$pattern":"(?is)foo.bar"}`, `"FOO\nBAR"`, "", ""},
	{`{"$pattern":"(?i)foo.bar"}`, `"FOO\nBAR"`, "", "must match"},
	{`{"$pattern":"(?m)^b$"}`, `"a\nb\nc"`, "", ""},
	{`{"$pattern":"^b$"}`, `"a\nb\nc"`, "", "must match"},
	{`{"$pattern":"(?i)[a-f]\\d[^x]\\w\\x41"}`, `"E7yZa"`, "", ""},
	{`{"$pattern":"(?i)^[^x]$"}`, `"X"`, "", "must match"},
	{`{"$pattern":"(?i)^\\[A\\]$"}`, `"[a]"`, "", ""},
	{`{"$pattern":"(?i)(?<word>ä)(?=b)"}`, `"ÄB"`, "", ""},
	{`{"$pattern":"(?i)k"}`, `"\u212a"`, "", "must match"},
	{`{"$pattern":"(?<=a)b(?!c)"}`, `"abd"`, "", ""},
	{`{"$pattern":"(a+)+$"}`, `"` + strings.Repeat("a", 5000) + `!"`, "", "takes too long"},

	{`{"$contains":"bar"}`, `"foobar"`, "", ""},
	{`{"$contains":"baz"}`, `"foobar"`, "", `is "foobar", and must contain "baz"`},
	{`{"$contains":"1"}`, `1`, "", "must be a string"},
	{`{"$contains":"a"}`, `["a"]`, "", "is an array"},

	{`{"$gt":10}`, `10.000000000000000000001`, "", ""},
	{`{"$gt":10}`, `10`, "", "must be greater than 10"},
	{`{"$gt":10}`, `"11"`, "", "is a string, and must be a number"},
	{`{"$gte":10}`, `10.0`, "", ""},
	{`{"$gte":9007199254740993}`, `9007199254740992`, "", "must be at least"},
	{`{"$gte":10}`, `null`, "", "is null"},
	{`{"$lt":10}`, `9`, "", ""},
	{`{"$lt":10}`, `10`, "", "must be less than 10"},
	{`{"$lt":10}`, `{}`, "", "is an object"},
	{`{"$lte":10}`, `1e1`, "", ""},
	{`{"$lte":10}`, `11`, "", "must be at most 10"},
	{`{"$lte":10}`, `true`, "", "is a boolean"},
	{`{"$gte":1,"$lte":3}`, `2`, "", ""},
	{`{"$gte":1,"$lte":3}`, `4`, "", "at most 3"},

	{`{"$type":"string"}`, `"x"`, "", ""},
	{`{"$type":"number"}`, `1`, "", ""},
	{`{"$type":"boolean"}`, `false`, "", ""},
	{`{"$type":"array"}`, `[]`, "", ""},
	{`{"$type":"object"}`, `{}`, "", ""},
	{`{"$type":"null"}`, `null`, "", ""},
	{`{"$type":"number"}`, `"1"`, "", "is a string, and must be of the type number"},
	{`{"$type":"object"}`, `[]`, "", "is an array"},
	{`{"$type":"object"}`, `null`, "", "is null"},
	{`{"$type":"array"}`, `{}`, "", "is an object"},

	{`{"a":{"$any":true}}`, `{"a":null}`, "", ""},
	{`{"a":"$any"}`, `{"a":[1]}`, "", ""},
	{`{"a":"$any"}`, `{}`, "a", "is missing"},
	{`{"a":"$$any"}`, `{"a":"$any"}`, "", ""},
	{`{"a":"$$any"}`, `{"a":"b"}`, "a", `must be "$any"`},
	{`{"$$ref":"#"}`, `{"$ref":"#"}`, "", ""},

	{`{"$exact":{"a":1}}`, `{"a":1}`, "", ""},
	{`{"$exact":{"a":[{"b":1}]}}`, `{"a":[{"b":1,"c":2}]}`, "a[0].c", "is not expected"},
	{`{"$exact":{"a":1}}`, `[1]`, "", "must be an object"},
	{`{"$not":{"$contains":"error"}}`, `"fine"`, "", ""},
	{`{"$not":{"$contains":"error"}}`, `"an error"`, "", "matches what it must not match"},
	{`{"$not":{"$type":"string"}}`, `1`, "", ""},
	{`{"$oneOf":["a",{"$gt":3}]}`, `4`, "", ""},
	{`{"$oneOf":["a",{"b":1}]}`, `{"b":2}`, "", "matches none of the 2 forms; the nearest: b is 2, and must be 1"},
	{`{"$oneOf":["a"]}`, `null`, "", "none of the 1 forms"},
	{`{"$length":2}`, `"😀é"`, "", ""},
	{`{"$length":2}`, `[1,2]`, "", ""},
	{`{"$length":{"$gte":1}}`, `{"a":1}`, "", ""},
	{`{"$length":2}`, `[1]`, "", "it is 1, and must be 2"},
	{`{"$length":2}`, `22`, "", "is a number, which has no length"},
	{`{"$unordered":[1,{"$gt":0}]}`, `[5,1]`, "", ""},
	{`{"$unordered":[{"$gt":0},{"$gt":3},{"$gt":6}]}`, `[9,5,1]`, "", ""},
	{`{"$unordered":[1,1]}`, `[1,2]`, "", "has no element left for 1, which is number 2"},
	{`{"$unordered":[1]}`, `[1,1]`, "", "has 2 elements, and must have 1"},
	{`{"$unordered":[1]}`, `1`, "", "must be an array"},
	{`{"$schema":{"type":"object","required":["a"]}}`, `{"a":1}`, "", ""},
	{`{"$schema":{"type":"object","required":["a"]}}`, `{}`, "", "is not valid for its schema"},
	{`{"$schema":{"type":"string"}}`, `1`, "", "is not valid for its schema"},
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range matches {
		m := Match(expect(t, c.want), json.RawMessage(c.got))
		switch {
		case c.why == "" && m != nil:
			t.Errorf("%s does not match %s: %s", c.want, c.got, m.Why)
		case c.why != "" && m == nil:
			t.Errorf("%s matches %s", c.want, c.got)
		case m != nil && (!strings.Contains(m.Why, c.why) || m.Path != c.path):
			t.Errorf("%s with %.60s: at %q: %s", c.want, c.got, m.Path, m.Why)
		}
	}
}

// TestMismatchShows holds what people see of a mismatch.
func TestMismatchShows(t *testing.T) {
	t.Parallel()
	m := Match(expect(t, `{"content":[{"type":"text","text":{"$contains":"added"}}],"n":[]}`),
		json.RawMessage(`{"content":[{"text":"\u202e\u001b[31mfailed","type":"text"}],"n":[],"extra":1}`))
	if m == nil {
		t.Fatal("it matches")
	}
	want := `  {
    "content": [
      {
        "type": "text",
>       "text": {
          "$contains": "added"
        }
      }
    ],
    "n": []
  }`
	if m.Expected != want {
		t.Errorf("expected is\n%s", m.Expected)
	}
	want = `  {
    "content": [
      {
>       "text": "\u202e\u001b[31mfailed",
        "type": "text"
      }
    ],
    "n": [],
    "extra": 1
  }`
	if m.Actual != want {
		t.Errorf("actual is\n%s", m.Actual)
	}
	if m.Why != `content[0].text is "\u202e\u001b[31mfailed", and must contain "added".` || m.Error() != m.Why {
		t.Errorf("why is %s", m.Why)
	}
	long := Match(expect(t, `{"last":1}`), json.RawMessage(`{"list":[`+strings.Repeat("1,", 5000)+`1],"last":2}`))
	if n := strings.Count(long.Actual, "\n"); n > 40 || !strings.Contains(long.Actual, ">   \"last\": 2") {
		t.Errorf("a long value is shown as\n%s", long.Actual)
	}
	if bad := Match(expect(t, `1`), json.RawMessage(`{`)); bad == nil || !strings.Contains(bad.Why, "cannot be read") {
		t.Errorf("what is not JSON: %v", bad)
	}
}

// FuzzMatch holds that a value matches itself as a literal, and inside of $exact.
func FuzzMatch(f *testing.F) {
	for _, seed := range []string{`{"$any":1}`, `{"$exact":{"a":["${x}",1e3,null]}}`, `"$$any"`, `[{"":{}}]`, `-0.0`, `"\u2028"`} {
		f.Add(seed, seed)
	}
	f.Fuzz(func(t *testing.T, want, got string) {
		if v, err := Expected([]byte(want)); err == nil {
			if m := Match(v, json.RawMessage(got)); m != nil && (m.Why == "" || strings.Contains(m.Why, "\x1b")) {
				t.Errorf("the mismatch is %q", m.Why)
			}
		}
		v, err := Literal(json.RawMessage(got))
		if err != nil {
			return
		}
		if m := Match(v, json.RawMessage(got)); m != nil {
			t.Errorf("a value does not match itself: %s", m.Why)
		}
		text, err := v.JSON()
		if err != nil {
			t.Fatal(err)
		}
		same, err := schema.Canonical(text)
		before, err2 := schema.Canonical([]byte(got))
		if err != nil || err2 != nil || string(same) != string(before) {
			t.Errorf("%s was written as %s", got, text)
		}
	})
}

// TestEveryMatcherIsTested holds that each matcher of the JSON Schema has rows of both kinds, and
// that each key of the format is described.
func TestEveryMatcherIsTested(t *testing.T) {
	t.Parallel()
	var format struct {
		Defs struct {
			Expected struct {
				Then struct{ Properties map[string]any }
			}
		} `json:"$defs"`
	}
	if err := json.Unmarshal(Schema(), &format); err != nil {
		t.Fatal(err)
	}
	names := format.Defs.Expected.Then.Properties
	if len(names) != 14 {
		t.Errorf("there are %d matchers", len(names))
	}
	for name := range names {
		good, bad := 0, 0
		for _, c := range matches {
			switch {
			case !strings.Contains(c.want, `"`+name+`"`):
			case c.why == "":
				good++
			default:
				bad++
			}
		}
		if good == 0 || bad == 0 {
			t.Errorf("%s has %d values that match, and %d that do not", name, good, bad)
		}
	}
	var all any
	if err := json.Unmarshal(Schema(), &all); err != nil {
		t.Fatal(err)
	}
	if n := described(t, all); n < 60 {
		t.Errorf("only %d keys were found", n)
	}
}

// described counts the properties with a description below a schema, and reports those without.
func described(t *testing.T, v any) (n int) {
	t.Helper()
	o, ok := v.(map[string]any)
	if list, isList := v.([]any); isList {
		for _, x := range list {
			n += described(t, x)
		}
	}
	if !ok {
		return n
	}
	properties, _ := o["properties"].(map[string]any)
	for key, x := range properties {
		p, _ := x.(map[string]any)
		if text, _ := p["description"].(string); text == "" && len(p) > 0 {
			t.Errorf("%s has no description", key)
		}
		n++
	}
	for _, x := range o {
		n += described(t, x)
	}
	return n
}
