package schema

import (
	"os"
	"strings"
	"testing"
)

// TestLibraries (L7): objects of libraries in the place of a schema, as these libraries (yup 1.7,
// joi 18, superstruct 2, io-ts 2, runtypes 7, arktype 2, valibot 1) wrote them as JSON, become the
// schemas that they mean. testdata/libraries.txt has one on a line.
func TestLibraries(t *testing.T) {
	want := map[string]string{
		"yup": `{"type":"object","properties":{"title":{"type":"string","title":"T"},"n":{"type":"integer"},"k":{"type":"string","enum":["a","b"]},` +
			`"t":{"type":"array","items":{"type":"string"}}},"required":["title"]}`,
		"joi": `{"type":"object","properties":{"title":{"type":"string","description":"T"},"n":{"type":"integer"},"k":{"type":"string","enum":["a","b"]}},` +
			`"required":["title"]}`,
		"superstruct": `{"type":"object","properties":{"title":{"type":"string"},"k":{"enum":["a","b"]},"t":{"type":"array","items":{"type":"string"}}}}`,
		"iots":        `{"type":"object","properties":{"title":{"type":"string"},"u":{"type":"number"},"k":{"enum":["a","b"]}},"required":["title"]}`,
		"runtypes":    `{"type":"object","properties":{"title":{"type":"string"},"n":{"type":"number"},"u":{"enum":["a","b"]}},"required":["title","u"]}`,
		"arktype": `{"type":"object","properties":{"b":{"type":"boolean"},"k":{"enum":["a","b"]},"o":{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},` +
			`"t":{"type":"array","items":{"type":"string"}},"title":{"type":"string"},"n":{"type":"integer"}},"required":["b","k","o","t","title"]}`,
		"valibot": `{"type":"object","required":["title","u","d"],"properties":{"title":{"type":"string","description":"T"},"n":{"type":"integer"},` +
			`"u":{"anyOf":[{"type":"string"},{"type":"number"}]},"d":{"type":"string","format":"date-time"}}}`,
	}
	text, err := os.ReadFile("testdata/libraries.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		name, written, _ := strings.Cut(strings.TrimSpace(line), " ")
		for _, c := range []struct{ written, want string }{
			{written, want[name]},
			{`{"type":"object","properties":{"inner":` + written + `}}`, `{"type":"object","properties":{"inner":` + want[name] + `}}`},
		} {
			s, slips, err := Admit([]byte(c.written), Limits{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if string(s.JSON()) != c.want {
				t.Errorf("%s is read as\n%s, want\n%s", name, s.JSON(), c.want)
			}
			if len(slips) != 1 || slips[0].Rule != RuleMap || !strings.Contains(slips[0].Message, "Convert it to JSON Schema") {
				t.Errorf("%s: %+v", name, slips)
			}
			if v, err := Read(s.JSON(), 0); err != nil {
				t.Error(err)
			} else if _, again := Correct(v); len(again) > 0 {
				t.Errorf("%s, corrected, has %+v", name, again)
			}
		}
	}
	raw := `{"a":` + strings.TrimPrefix(strings.Split(string(text), "\n")[0], "yup ") + `,"b":{"type":"string"}}`
	if s, _, err := Admit([]byte(raw), Limits{}); err != nil || !strings.HasPrefix(string(s.JSON()), `{"type":"object","properties":{"a":{"type":"object","properties":{"title"`) {
		t.Errorf("in a map of parameters: %s, %v", s.JSON(), err)
	}
}

// TestNoLibrary: schemas with members of the same names are their author's own.
func TestNoLibrary(t *testing.T) {
	for _, written := range []string{
		`{"type":"object","tag":"object","fields":{}}`, `{"type":"object","schema":{"a":{"type":"string"}}}`, `{"type":"object","spec":{"a":1},"tests":[]}`,
		`{"type":"object","_tag":"XType"}`, `{"type":"object","domain":"object","required":["a"]}`, `{"type":"string","schema":null,"title":"T"}`,
		`{"type":"object","properties":{"domain":{"type":"string"},"tag":{"type":"string"},"schema":{"type":"object"}}}`,
	} {
		v, err := Read([]byte(written), 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, slips := Correct(v); len(slips) > 0 && slips[0].Rule == RuleMap && strings.Contains(slips[0].Message, "library") {
			t.Errorf("%s: %+v", written, slips)
		}
	}
}
