package scenario_test

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	. "github.com/pagetools/pagetools/e2e/scenario"
)

const evals = `[
  {"name": "two calls", "messages": [{"role": "user", "type": "message", "content": "Do it."}],
   "expectedCall": [
     {"functionName": "search", "arguments": {"query": {"$pattern": "(?i)^red shoe.*"}, "max": {"$lt": 1.5}, "min": {"$gt": 9007199254740993},
       "size": {"$gte": 7}, "top": {"$lte": 3}, "text": {"$contains": "x"}, "any": {"$any": 1}, "list": [{"$type": "array"}], "bool": {"$type": "boolean"},
       "mixed": {"$gt": 1, "b": "${x} $any"}}, "result": {"items": [{"$type": "object"}]}, "expectTools": ["search", "buy"]},
     {"functionName": "look", "optional": true},
     {"unordered": [{"functionName": "b", "arguments": null, "mockOutput": {"ok": true}}, {"ordered": [{"functionName": "c", "arguments": {}}, {"functionName": "d"}]}]}
   ]},
  {"messages": [{"role": "user", "type": "message", "content": "Say\u202e nothing."},
     {"role": "model", "type": "functioncall", "name": "a", "arguments": {"x": 1}},
     {"role": "user", "type": "functionresponse", "name": "a", "response": {"y": 2}}], "expectedCall": null},
  {"messages": [{"role": "user", "type": "message", "content": "Say nothing."}], "expectedCall": [{"functionName": "z", "arguments": {}}], "expectTools": ["z"]}
]`

// calls are the calls of a file, as JSON.
func calls(t *testing.T, f *File) string {
	t.Helper()
	var all []string
	for _, c := range f.Cases {
		for i := range c.Steps {
			s := &c.Steps[i]
			switch s.Kind() {
			case DoTools:
				all = append(all, "tools "+strings.Join(s.Tools.Include, ","))
			case DoCall:
				text, err := s.With.JSON()
				if err != nil {
					t.Errorf("%s: %v", s.Title(), err)
				}
				all = append(all, s.Call+string(text))
			default:
				t.Errorf("a step is %s", s.Title())
			}
		}
	}
	return strings.Join(all, "\n")
}

func TestReadEvals(t *testing.T) {
	t.Parallel()
	f, err := ReadEvals("evals.json", []byte(evals))
	if err != nil {
		t.Fatal(err)
	}
	want := `tools search
search{"query":"red shoe","max":0.5,"min":9007199254740994,"size":7,"top":3,"text":"x","any":"sample","list":[[]],"bool":true,"mixed":{"$gt":1,"b":"${x} $any"}}
tools search,buy
tools b
b{}
tools c
c{}
tools d
d{}
tools z
z{}
tools z`
	if got := calls(t, f); got != want {
		t.Errorf("the calls are\n%s", got)
	}
	if f.Cases[0].Name != "two calls" || f.Cases[1].Name != "Say nothing." || f.Cases[2].Name != "Say nothing. (2)" {
		t.Errorf("the names are %q, %q, %q", f.Cases[0].Name, f.Cases[1].Name, f.Cases[2].Name)
	}
	if silent := f.Cases[1]; !silent.Eval.NoCall || len(silent.Steps) != 0 || silent.Line != 10 ||
		string(silent.Eval.Messages[1].Arguments) != `{"x":1}` || string(silent.Eval.Messages[2].Response) != `{"y":2}` {
		t.Errorf("no call is read as %+v", silent.Eval)
	}
	if m := Match(f.Cases[0].Steps[1].Expect, json.RawMessage(`{"items":[1]}`)); m == nil || m.Path != "items[0]" {
		t.Errorf("result is asserted as %v", m)
	}
	// A sample matches what it is a sample of.
	with, err := f.Cases[0].Steps[1].With.JSON()
	if err != nil {
		t.Fatal(err)
	}
	if m := Match(f.Cases[0].Eval.Expected[0].Arguments, with); m != nil {
		t.Error(m)
	}
	if f.Cases[0].Steps[0].Line != 4 || f.Cases[0].Steps[0].Column != 6 {
		t.Errorf("the first call is at %d:%d", f.Cases[0].Steps[0].Line, f.Cases[0].Steps[0].Column)
	}
}

func TestReadEvalsErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{`:  "e:1:2: this is not JSON: it ends too early",
		`{}`: "e:1:1: invalid value for cases: it must be a list",
		`[]`: "e:1:1: cases is empty: write at least one case",
		"[\n {\"name\": 1}]": "e:2:2: messages is missing in case: add it (what the model is told)\n" +
			"e:2:2: expectedCall is missing in case: add it (the calls that a model should make, or null for none)\n" +
			"e:2:11: invalid value for name: it must be text, and is \"1\", which is not text in YAML; put text in quotes",
		`[{"messages":[{"role":"usr","type":"message"}],"expectedCall":[{"functionNam":"a"}]}]`: "e:1:23: invalid value \"usr\" for role: did you mean user?\n" +
			"e:1:65: unknown key \"functionNam\" in expectedCall: did you mean functionName?",
		`[{"messages":[],"expectedCall":[{"functionName":"a","ordered":[]}]}]`:                           "e:1:33: invalid expectedCall: it has 2 of functionName, ordered, unordered; write exactly one",
		`[{"messages":[],"expectedCall":[{"functionName":"a","arguments":{"x":{"$patern":"a"}}}]}]`:      `unknown matcher "$patern": did you mean $pattern?`,
		`[{"messages":[],"expectedCall":[{"functionName":"a","arguments":{"x":{"$pattern":"(?x)a"}}}]}]`: "the flag 'x' is not known",
		`[{"a":1,"a":2}]`: "the same member name twice",
	} {
		_, err := ReadEvals("e", []byte(text))
		var p *Problems
		if !errors.As(err, &p) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v\nwant %s", text, err, want)
		}
	}
}

// TestFormsInEvals: a date is one that a form takes, and a form that nobody submits is a call in
// which a person declines.
func TestFormsInEvals(t *testing.T) {
	t.Parallel()
	f, err := ReadEvals("evals.json", []byte(`[{"messages": [{"role": "user", "type": "message", "content": "Book."}], "expectedCall": [{"functionName": "book", "result": "pending form submission",
	  "arguments": {"arrivalDate": {"$type": "string"}, "date": {"$type": "number"}, "dates": [{"$type": "string"}], "name": {"$type": "string"}}}]},
	  {"messages": [{"role": "user", "type": "message", "content": "Book."}], "expectedCall": [{"functionName": "book", "result": {"$contains": "pending form submission"}}]}]`))
	if err != nil {
		t.Fatal(err)
	}
	call := &f.Cases[0].Steps[1]
	with, err := call.With.JSON()
	tomorrow := time.Now().AddDate(0, 0, 1).Format(time.DateOnly)
	if want := `{"arrivalDate":"` + tomorrow + `","date":1,"dates":["` + tomorrow + `"],"name":"sample"}`; err != nil || string(with) != want {
		t.Errorf("the arguments are %s, want %s: %v", with, want, err)
	}
	person := f.Cases[0].Human
	if len(person) != 1 || person[0].On.Kind != "interact" || person[0].Answer.Act != Decline || call.Expect.Exists() ||
		Match(call.ExpectError, json.RawMessage(`{"code":"TOOL_ERROR","message":"The user declined."}`)) != nil {
		t.Errorf("the person is %+v, the call is %+v", person, call)
	}
	if other := f.Cases[1]; len(other.Human) > 0 || !other.Steps[1].Expect.Exists() {
		t.Errorf("a result that is matched is read as %+v", other)
	}
}

// TestExportEvals holds that what is written is read as the same calls, and what it looks like.
func TestExportEvals(t *testing.T) {
	t.Parallel()
	f, err := ReadEvals("evals.json", []byte(evals))
	if err != nil {
		t.Fatal(err)
	}
	text, err := ExportEvals(f)
	if err != nil {
		t.Fatal(err)
	}
	again, err := ReadEvals("again.json", text)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if calls(t, again) != calls(t, f) || !again.Cases[1].Eval.NoCall || len(again.Cases[0].Eval.Expected) != 3 {
		t.Errorf("the evals are written as\n%s", text)
	}
	f = mustRead(t, `
cases:
  - name: adds
    steps:
      - {call: add, with: {name: a, $$where: x}, expect: {id: {$type: number}, ours: {$length: 3}, e: {$exact: {a: 1}}, r: "${unique}"}}
      - {tools: {include: get}}
      - {call: fails, expect-error: {code: TOOL_ERROR}}
      - {parallel: [{call: get}, {call: list, with: {n: 1e2}}]}
  - name: without calls
    steps: [{reload: true}]
`)
	if text, err = ExportEvals(f); err != nil {
		t.Fatal(err)
	}
	want := `[
  {
    "name": "adds",
    "messages": [
      {
        "role": "user",
        "type": "message",
        "content": "adds"
      }
    ],
    "expectedCall": [
      {
        "functionName": "add",
        "arguments": {
          "name": "a",
          "$where": "x"
        },
        "result": {
          "id": {
            "$type": "number"
          },
          "ours": {
            "$any": true
          },
          "e": {
            "a": 1
          },
          "r": {
            "$any": true
          }
        },
        "expectTools": [
          "get"
        ]
      },
      {
        "unordered": [
          {
            "functionName": "get",
            "arguments": {}
          },
          {
            "functionName": "list",
            "arguments": {
              "n": 1e2
            }
          }
        ]
      }
    ]
  }
]
`
	if string(text) != want {
		t.Errorf("the scenario is written as\n%s", text)
	}
}

func TestParseModelReply(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"call":{"name":"a","arguments":{"b":1}}}`: `a{"b":1}`,
		` {"call":{"name":"a"}} `:                   `a{}`,
		`{"call":null}`:                             "none",
		``:                                          "the reply of the model command is not JSON: it is empty ; write",
		`{"call":`:                                  "is not JSON: it ends too early",
		`[]`:                                        "invalid reply of the model command []: it must be an object with just a call",
		`{"call":"\u001b[31m"}`:                     `invalid reply`,
		`{"call":null,"x":1}`:                       "just a call",
		`{"call":{"nam":"a"}}`:                      `unknown key "nam" in the call of the model command: did you mean name?`,
		`{"call":{"name":"a","arguments":[]}}`:      "invalid arguments []",
		`{"call":{"name":7}}`:                       "has no name",
	} {
		call, err := ParseModelReply([]byte(text))
		got := "none"
		switch {
		case err != nil:
			got = err.Error()
		case call != nil:
			got = call.Name + string(call.Arguments)
		}
		if !strings.Contains(got, want) || strings.Contains(got, "\x1b") {
			t.Errorf("%s: %s", text, got)
		}
	}
	request, err := json.Marshal(ModelRequest{Messages: []Message{{Role: "user", Type: "message", Content: "hi"}},
		Tools: []ModelTool{{Name: "a", Description: "b", InputSchema: json.RawMessage(`{}`)}}})
	if want := `{"messages":[{"role":"user","type":"message","content":"hi"}],"tools":[{"name":"a","description":"b","inputSchema":{}}]}`; err != nil || string(request) != want {
		t.Errorf("the request is %s, %v", request, err)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	read := func(name, text string) *File {
		f, err := Read(name, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	a := read("a.webtool.yaml", `{tags: fast, via: [page, mcp], cases: [{name: "it's one", tags: x, steps: [{call: a}]}, {name: two, skip: later, via: mcp, steps: [{call: a}]}]}`)
	b := read("b.webtool.yaml", `{cases: [{name: three, only: true, steps: [{call: a}]}, {name: four, steps: [{call: a}]}]}`)
	names := func(files []*File, o Options) string {
		all, err := Select(files, o)
		if err != nil {
			return err.Error()
		}
		var out []string
		for i := range all {
			out = append(out, all[i].Name())
		}
		return strings.Join(out, " ")
	}
	for _, c := range []struct {
		files   []*File
		options Options
		want    string
	}{
		{[]*File{a}, Options{}, "a.webtool.yaml/it's one/page a.webtool.yaml/it's one/mcp a.webtool.yaml/two/mcp"},
		{[]*File{a}, Options{Run: regexp.MustCompile("two/")}, "a.webtool.yaml/two/mcp"},
		{[]*File{a}, Options{Tags: []string{"x", "y"}}, "a.webtool.yaml/it's one/page a.webtool.yaml/it's one/mcp"},
		{[]*File{a}, Options{Tags: []string{"fast"}, Via: []Door{ThroughPage}}, "a.webtool.yaml/it's one/page"},
		{[]*File{a, b}, Options{}, "b.webtool.yaml/three/page b.webtool.yaml/three/webtool b.webtool.yaml/three/mcp"},
		{[]*File{a, b}, Options{CI: true}, `b.webtool.yaml:1:10: the case "three" has only, with which all others are left out: remove it before CI`},
		{nil, Options{CI: true}, ""},
	} {
		if got := names(c.files, c.options); got != c.want {
			t.Errorf("%+v: %s", c.options, got)
		}
	}
}

func FuzzReadEvals(f *testing.F) {
	f.Add([]byte(evals))
	f.Add([]byte(`[{"messages":[],"expectedCall":[{"functionName":"a","arguments":{"x":{"$oneOf":[{"$not":1}]}}}]}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := ReadEvals("x", text)
		if err != nil {
			return
		}
		out, err := ExportEvals(file)
		if err != nil {
			t.Fatal(err)
		}
		again, err := ReadEvals("again", out)
		if err != nil {
			if strings.Contains(err.Error(), "split it") || strings.Contains(err.Error(), "nested") {
				return
			}
			t.Fatalf("%v\n%s", err, out)
		}
		if len(again.Cases) != len(file.Cases) {
			t.Errorf("%d cases became %d", len(file.Cases), len(again.Cases))
		}
	})
}
