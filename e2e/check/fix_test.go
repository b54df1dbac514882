package check

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// faulty are declarations with mistakes of all kinds that are corrected, alone and together.
var faulty = []string{
	// of the review: lists/typo, lists/bare-map, lists/one-refused
	`{"name":"find-book","description":"Finds books of the library by their title.","inputSchema":{"type":"object","propertys":{"title":{"type":"sting"}},"require":["title"]}}`,
	`{"name":"find-author","description":"Finds authors of the library by their names.","inputSchema":{"type":"object","properties":{"name":{"type":"sting","description":"Name"}},"required":["namee"]}}`,
	`{"name":"find_shelf","description":"Finds the shelf of a book by its signature.","inputSchema":{"signature":{"type":"string","description":"Signature of the book"},"floor":{"type":"integer","description":"Floor"}}}`,
	`{"name":"add_review","description":"Adds a review of a book to the page of it.","inputSchema":{"title":{"type":"string","description":"Title of the review"},"description":{"type":"string","description":"Its text"}}}`,
	`{"name":"find_book","description":"Finds books by their title and says where they stand.","inputSchema":{"type":"object","properties":{"title":{"type":"string","description":"Words of the title","required":true}}}}`,
	// of the same kinds
	`{"name":"find book","description":"Finds books by their title.","inputSchema":{"properties":{"title":{"type":"STRING","default":null}},"required":"title"},"annotations":{"readOnlyHint":"true","untrustedContentHint":"FALSE"}}`,
	`{"name":"x/y:z","description":"Finds\u200b books by their title.","inputSchema":{"type":"OBJECT","properties":{"a":{"type":"array","item":{"type":"str"}}},"additionalProperties":"false"},"exposedTo":["https://partner.example/a?b","https://partner.example"]}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object","properties":{"by":{"type":"object","properties":{"title":{"type":"string","maxlength":3,"minLength":"1"}},"required":["titel"]}},"required":["bye"]}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object","properties":{"many":{"type":"array","items":{"type":"object","properties":{"id":{"type":"int","default":null}},"required":["idd"]}}}}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object","properties":{"at":{"anyOf":[{"properties":{"x":{"default":null,"type":"Number"}}},{"enum":"a"}]}}}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"q":{"def":{"type":"string"},"type":"string"},"n":{"def":{"type":"optional","innerType":{"def":{"type":"number"},"type":"number"}},"type":"optional"}}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object","properties":{"a/b":{"type":"object","properties":{"c~d":{"type":"string"}},"required":["c~e"]}}}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object","properties":{"n":{"type":"integer","minimum":0,"exclusiveMinimum":true,"multipleOf":"2"}}},"outputSchema":{"type":"object","propertys":{"a":{"type":"text"}}}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"any","properties":{"a":"string","b":null}}}`,
	// members that browsers do not read
	`{"name":"find_book","description":"Finds books by their title.","others":{"parameters":{"type":"object","properties":{"title":{"type":"string"}},"required":["titel"]}}}`,
	`{"name":"find_book","description":"Finds books by their title.","others":{"input_schema":{"title":{"type":"sting"}}},"annotations":{"readonlyHint":true}}`,
	`{"name":"find_book","description":"Finds books by their title.","others":{"properties":{"title":{"type":"string"}},"required":["title"],"strict":true}}`,
	`{"name":"find_book","description":"Finds books by their title.","others":{"args":{"title":{"type":"string"}},"readOnly":true,"destructiveHint":"FALSE","category":"books"}}`,
	`{"name":"find_book","description":"Finds books by their title.","inputSchema":{"type":"object"},"others":{"output_schema":{"type":"object","propertys":{}},"hints":{"readOnlyHint":"true","isOpenWorld":false}}}`,
	`{"name":"find_book","description":"Finds books by their title.","annotations":{"readOnly":true,"untrusted":true,"destructivHint":false,"title":"Find"}}`,
	`{"name":"find_book","description":"Finds books by their title.","others":{"inputschema":{"tag":"object","fields":{"a":{"tag":"string"}}}}}`,
}

// keyed names what a finding is about: the same before and after a correction.
func keyed(f Finding) string { return f.Rule }

// TestEveryFix (L4): each printed correction, applied, removes its finding and brings no other.
func TestEveryFix(t *testing.T) {
	t.Parallel()
	declared := slices.Clone(faulty)
	for _, r := range Rules() {
		if strings.HasPrefix(r.Bad, `{"name":`) {
			declared = append(declared, r.Bad)
		}
	}
	// All pairs of them in one declaration: the schema of one, the rest of the other.
	for i, one := range faulty {
		a, b := declaredAs(t, one), declaredAs(t, faulty[(i+3)%len(faulty)])
		a.Name, a.Annotations, a.ExposedTo, a.Description = b.Name, b.Annotations, b.ExposedTo, b.Description
		declared = append(declared, must(t, a))
	}
	fixes := 0
	for _, text := range declared {
		tool := declaredAs(t, text)
		before := count(t, tool)
		found, err := Judge(pageOf(tool), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			if f.Fix == "" {
				continue
			}
			fixes++
			after := count(t, declaredAs(t, f.Fix))
			if after[keyed(f)] >= before[keyed(f)] {
				t.Errorf("%s\nis corrected to\n%s\nand still has %s", text, f.Fix, f.Rule)
			}
			for rule, n := range after {
				if n > before[rule] {
					t.Errorf("%s\nis corrected to\n%s\nwhich brings %s", text, f.Fix, rule)
				}
			}
		}
	}
	if fixes < 2*len(faulty) {
		t.Errorf("only %d corrections", fixes)
	}
	for _, text := range faulty { // and nothing that is known to be wrong is left
		found, err := Judge(pageOf(declaredAs(t, text)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Fix != "" })
		if i < 0 {
			t.Errorf("%s has no correction: %+v", text, found)
			continue
		}
		again, err := Judge(pageOf(declaredAs(t, found[i].Fix)), Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range again {
			if f.Fix != "" || f.Severity == Error {
				t.Errorf("%s\nis corrected to\n%s\nand has %+v", text, found[i].Fix, f)
			}
		}
	}
}

func declaredAs(t *testing.T, text string) Tool {
	t.Helper()
	var tool Tool
	if err := json.Unmarshal([]byte(text), &tool); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return tool
}

func count(t *testing.T, tool Tool) map[string]int {
	t.Helper()
	found, err := Judge(pageOf(tool), Options{})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, f := range found {
		counts[keyed(f)]++
	}
	return counts
}

// TestSlipsAreFound (L4, L7, L8): what is wrong in a schema is found at its place, with what to
// write.
func TestSlipsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ input, rule, pointer, says string }{
		{`{"type":"object","propertys":{"title":{"type":"string"}}}`, RuleUnknown, "/inputSchema/propertys", `did you mean "properties"?`},
		{`{"type":"object","properties":{},"require":["title"]}`, RuleUnknown, "/inputSchema/require", `did you mean "required"?`},
		{`{"type":"object","propertys":{"title":{"type":"sting"}}}`, RuleKeyword, "/inputSchema/propertys/title/type", `Did you mean "string"?`},
		{`{"type":"object","properties":{"a":{"items":{"anyOf":[{"descrption":"x"}]}}}}`, RuleUnknown, "/inputSchema/properties/a/items/anyOf/0/descrption", `did you mean "description"?`},
		{`{"type":"object","$defs":{"a":{"enumm":["x"]}}}`, RuleUnknown, "/inputSchema/$defs/a/enumm", `did you mean "enum"?`},
		{`{"a":{"type":"string"}}`, RuleMap, "/inputSchema", `{"type":"object","properties":{…}}`},
		{`{"type":"object","properties":{"a":{"type":"string","required":true}}}`, RuleKeyword, "/inputSchema/properties/a/required", `"required" of the object around it`},
		{`{"type":"object","properties":{"a":{"type":"any"}}}`, RuleKeyword, "/inputSchema/properties/a/type", "left out"},
	} {
		found, err := Judge(pageOf(Tool{Name: "x", Input: json.RawMessage(c.input)}), Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(f Finding) bool {
			return f.Rule == c.rule && f.Where.Pointer == c.pointer && strings.Contains(f.Message, c.says)
		}) {
			t.Errorf("%s: no %s at %s in %+v", c.input, c.rule, c.pointer, found)
		}
	}
	for _, good := range []string{`{"type":"object","properties":{"a":{"type":"string","x-order":1,"ui":"wide","unit":"cm","example":"x","nullable":true}}}`, goodTool} {
		if found := judge(t, pageOf(Tool{Name: "x", Input: json.RawMessage(good)}), RuleUnknown, nil); len(found) > 0 {
			t.Errorf("%s: %+v", good, found)
		}
	}
}

// TestMisnamed (L4): members that browsers do not read, because other interfaces have their names,
// or they are misspelled, are found at their places, with what was meant; others are left alone.
func TestMisnamed(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","properties":{}}`
	for _, c := range []struct{ more, pointer, says string }{
		{`"others":{"parameters":` + form + `}`, "/parameters", `did you mean "inputSchema"?`},
		{`"others":{"input_schema":` + form + `}`, "/input_schema", `did you mean "inputSchema"?`},
		{`"others":{"inputschema":` + form + `}`, "/inputschema", `did you mean "inputSchema"?`},
		{`"others":{"inputSchma":` + form + `}`, "/inputSchma", `did you mean "inputSchema"?`},
		{`"others":{"schema":{}}`, "/schema", `did you mean "inputSchema"?`},
		{`"others":{"args":{"a":{"type":"string"}}}`, "/args", `did you mean "inputSchema"?`},
		{`"others":{"properties":{"a":{"type":"string"}}}`, "/properties", `did you mean "inputSchema"?`},
		{`"others":{"inputSchema":null}`, "/inputSchema", "convert it to JSON Schema"},
		{`"inputSchema":{"year":{}},"others":{"inputSchema":["title","type"]}`, "/inputSchema", `("title", "type")`},
		{`"inputSchema":` + form + `,"others":{"output_schema":` + form + `}`, "/output_schema", `did you mean "outputSchema"?`},
		{`"others":{"handler":null}`, "/handler", `did you mean "execute"?`},
		{`"others":{"callback":null}`, "/callback", `did you mean "execute"?`},
		{`"others":{"run":null}`, "/run", `did you mean "execute"?`},
		{`"others":{"exectue":null}`, "/exectue", `did you mean "execute"?`},
		{`"others":{"readOnlyHint":true}`, "/readOnlyHint", `did you mean "annotations": {"readOnlyHint": true}?`},
		{`"others":{"destructive":true}`, "/destructive", `did you mean "annotations": {"destructiveHint": true}?`},
		{`"others":{"hints":{"readOnlyHint":true}}`, "/hints", `did you mean "annotations"?`},
		{`"annotations":{"readonlyHint":true}`, "/annotations/readonlyHint", `did you mean "readOnlyHint"?`},
		{`"annotations":{"read_only_hint":true}`, "/annotations/read_only_hint", `did you mean "readOnlyHint"?`},
		{`"annotations":{"readOnly":true}`, "/annotations/readOnly", `did you mean "readOnlyHint"?`},
		{`"annotations":{"consequentail":true}`, "/annotations/consequentail", `did you mean "consequentialHint"?`},
		{`"annotations":{"untrustedContentHnt":true}`, "/annotations/untrustedContentHnt", `did you mean "untrustedContentHint"?`},
		{`"others":{"exposedTo":["https://a.example"]}`, "/exposedTo", "second argument of registerTool"},
		// right, or somebody's own
		{`"inputSchema":` + form + `,"others":{"parameters":` + form + `}`, "", ""},
		{`"others":{"args":["a"],"input":"text","returns":5,"tags":["a"],"version":"1","icon":"x","strict":true,"enabled":true,"id":"x"}`, "", ""},
		{`"others":{"params":{"page":1},"output":{"format":"csv"}}`, "", ""},
		{`"annotations":{"readOnlyHint":true,"title":"A","audience":["user"],"priority":1}`, "", ""},
		{`"annotations":{"readOnlyHint":true},"others":{"readOnly":true}`, "", ""},
	} {
		tool := declaredAs(t, `{"name":"add_stamp","title":"Add","description":"Adds a stamp to the collection of the user.",`+c.more+`}`)
		found := judge(t, pageOf(tool), "member-misnamed", nil)
		switch {
		case c.pointer == "" && len(found) == 0:
		case strings.HasSuffix(c.more, `"type"]}`) && found[0].Fix != "":
			t.Errorf("%s is corrected to %s, which loses arguments", c.more, found[0].Fix)
		case c.pointer == "" || len(found) != 1 || found[0].Where.Pointer != c.pointer || !strings.Contains(found[0].Message, c.says):
			t.Errorf("%s: %+v, want %q at %q", c.more, found, c.says, c.pointer)
		}
	}
	file := pageOf(declaredAs(t, `{"name":"add_stamp","annotations":{"readOnly":true,"consequential":false}}`))
	file.Live = false // the DevTools protocol has these names
	if found := judge(t, file, "member-misnamed", nil); len(found) > 0 {
		t.Errorf("a list of the DevTools protocol: %+v", found)
	}
	s, err := FromFile([]byte(`[{"name":"a","description":"b","input_schema":{"type":"object"},"handler":null}]`))
	if err != nil {
		t.Fatal(err)
	}
	if found := judge(t, s, "member-misnamed", nil); len(found) != 1 || found[0].Where.Pointer != "/input_schema" || found[0].Fix == "" {
		t.Errorf("a file: %+v", found)
	}
}

// TestNothingOffered (L2): a page that offers nothing is an error, with why.
func TestNothingOffered(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ page, says string }{
		{`{"tools":[]}`, "declares none"},
		{`{"tools":[],"findings":[{"rule":"uncaught-error","message":"SyntaxError: Unexpected string (a.js:2)"}]}`, "SyntaxError"},
		{`{"tools":[],"findings":[{"rule":"console-error","message":"console.error: x"},{"rule":"network-refused","message":"The page was kept from http://127.0.0.1:5173: no."}]}`, "kept from http://127.0.0.1:5173"},
		{`{"tools":[],"rejected":[{"name":"list-books","reason":"schema-remote-ref","message":"no"}]}`, `refused ("list-books")`},
		{`{"tools":[],"left":["list-books"]}`, `"list-books", and took them back`},
		{`{"tools":[],"findings":[{"rule":"http-status","message":"The site answered 404 Not Found."},{"rule":"uncaught-error","message":"x"}]}`, "404 Not Found. x."},
	} {
		s, o := example(t, c.page)
		found, err := Judge(s, o)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(found, func(f Finding) bool { return f.Rule == "no-tools" })
		if i < 0 || found[i].Severity != Error || !strings.Contains(found[i].Message, c.says) || !strings.Contains(found[i].Message, "comes late") {
			t.Errorf("%s: %+v, want %q", c.page, found, c.says)
		}
		if strings.Contains(fmt.Sprint(found[max(i, 0)].Message), "console.error") {
			t.Errorf("%s: what is logged explains nothing: %+v", c.page, found)
		}
	}
}

// TestPlainRefusals (K8): why a registration was refused is told in words, without the name of an
// exception and without empty parts.
func TestPlainRefusals(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rejected, says string }{
		{`"reason":"registration-refused","message":"TypeError: Required member is undefined."`, "is not offered. Required member is undefined."},
		{`"reason":"registration-refused","message":"The registration was refused: NotAllowedError: Not here"`, "is not offered. The registration was refused: Not here"},
		{`"message":"AbortError"`, "is not offered. The page does not say why."},
		{`"message":"AbortError","unhandled":true`, "was rejected (The page does not say why), and nobody handled that"},
		{`"message":" AbortError: signal is aborted.","unhandled":true`, "was rejected (signal is aborted), and nobody handled that"},
		{`"message":"the stock: Error: empty","unhandled":true`, "was rejected (the stock: Error: empty), and nobody handled that"},
	} {
		s, o := example(t, `{"tools":[`+goodTool+`],"rejected":[{"name":"x","surface":"document","description":"y",`+c.rejected+`}]}`)
		found, err := Judge(s, o)
		if err != nil || !slices.ContainsFunc(found, func(f Finding) bool { return strings.Contains(f.Message, c.says) }) {
			t.Errorf("%s: %+v, %v, want %q", c.rejected, found, err, c.says)
		}
	}
}

// TestOnlyTheRefusal (L1): of a declaration that is not offered nothing is judged but why.
func TestOnlyTheRefusal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ rejected, rule string }{
		{`{"name":"a b","reason":"registration-refused","message":"InvalidStateError: Invalid tool name"}`, "tool-name-valid"},
		{`{"name":"x","surface":"document","reason":"registration-refused","message":"InvalidStateError: Description is required"}`, "description-missing"},
		{`{"name":"x","surface":"document","description":"y","exposedTo":["*"],"reason":"registration-refused","message":"SecurityError: Only secure origins"}`, "exposed-to-wildcard"},
		{`{"name":"x","surface":"document","description":"y","exposedTo":["http://partner.test"],"reason":"registration-refused","message":"SecurityError: Only secure origins"}`, "exposed-to-secure-origins"},
		{`{"name":"x","origin":"https://shop.example","description":"y","inputSchema":{"$ref":"http://x.example/a"},"reason":"schema-remote-ref","message":"no"}`, "remote-ref"},
		{`{"name":"x","origin":"https://shop.example","description":"y","inputSchema":{"type":"string"},"reason":"schema-root-not-object","message":"no"}`, "schema-shape"},
		{`{"name":"x","reason":"schema-too-large","message":"the schema is longer than 65536 bytes of JSON"}`, "tool-refused"},
		{`{"name":"","reason":"too-many-tools","message":"The page declares 5 tools more than are offered."}`, "tool-refused"},
		{`{"name":"x","surface":"document","description":"y","reason":"registration-refused","message":"TypeError: execute"}`, "tool-refused"},
		{`{"name":"x","surface":"document","description":"y","others":{"handler":null,"readOnly":true},"reason":"registration-refused","message":"TypeError: execute"}`, "member-misnamed"},
		{`{"name":"x","surface":"document","description":"y","others":{"inputSchema":null},"reason":"registration-refused","message":"TypeError: toJSON() returns undefined"}`, "member-misnamed"},
	} {
		s, o := example(t, `{"tools":[`+goodTool+`],"rejected":[`+c.rejected+`]}`)
		found, err := Judge(s, o)
		if err != nil || len(found) != 1 || found[0].Rule != c.rule || found[0].Fix != "" {
			t.Errorf("%s: %+v, %v, want %s alone", c.rejected, found, err, c.rule)
		}
	}
}
