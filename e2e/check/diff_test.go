package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/bridge/text"
)

// changesOf are the changes between two lists of declarations in short: kind, tool and place.
func changesOf(t *testing.T, before, now string) (all []string, changes []Change) {
	t.Helper()
	var lists [2]*Snapshot
	for i, text := range []string{before, now} {
		s, err := FromFile([]byte(`{"tools":[` + text + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		lists[i] = s
	}
	changes, err := Diff(lists[0], lists[1])
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		all = append(all, strings.TrimSpace(c.Change.String()+" "+c.Tool+" "+c.Pointer))
		if c.What == "" || c.Reason == "" || !strings.HasPrefix(c.String(), words[c.Change]+": ") {
			t.Errorf("%+v says too little", c)
		}
	}
	return all, changes
}

// TestDiff: what each change of a tool is. The reverse of each is not nothing.
func TestDiff(t *testing.T) {
	t.Parallel()
	hint := func(h string) string { return `{"name":"a","annotations":{` + h + `}}` }
	const long = `"description":"Adds a stamp to the collection of the signed-in user."`
	for _, test := range []struct{ name, before, now, want string }{
		{"added", `{"name":"a"}`, `{"name":"a"},{"name":"b"}`, "minor b"},
		{"removed", `{"name":"a"},{"name":"b"}`, `{"name":"a"}`, "major b"},
		{"renamed", `{"name":"a",` + long + `}`, `{"name":"b",` + long + `}`, "major b /name"},
		{"renamed, other words", `{"name":"a",` + long + `}`, `{"name":"b","description":"Adds a stamp to the collection of a signed-in user, at once."}`, "major b /name, patch b /description"},
		{"another tool", `{"name":"a",` + long + `}`, `{"name":"b","description":"Shows how far the current order has come."}`, "major a, minor b"},
		{"two tools without words", `{"name":"a"}`, `{"name":"b"}`, "major a, minor b"},
		{"description", `{"name":"a","description":"A."}`, `{"name":"a","description":"B."}`, "patch a /description"},
		{"spaces", `{"name":"a","description":"A  b."}`, `{"name":"a","description":"A b."}`, ""},
		{"title", `{"name":"a"}`, `{"name":"a","title":"A"}`, "patch a /title"},
		{"input", `{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, `{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]}}`, "major a /inputSchema/required"},
		{"input, none before", `{"name":"a"}`, `{"name":"a","inputSchema":{"type":"object","properties":{"x":{"type":"string"}}}}`, "minor a /inputSchema/properties/x"},
		{"input, the same", `{"name":"a"}`, `{"name":"a","inputSchema":{"properties":{},"type":"object"}}`, ""},
		{"output narrower", `{"name":"a","outputSchema":{"type":["string","null"]}}`, `{"name":"a","outputSchema":{"type":"string"}}`, "minor a /outputSchema/type"},
		{"output wider", `{"name":"a","outputSchema":{"type":"string"}}`, `{"name":"a","outputSchema":{"type":["string","null"]}}`, "major a /outputSchema/type"},
		{"output promised", `{"name":"a"}`, `{"name":"a","outputSchema":{"type":"string"}}`, "minor a /outputSchema"},
		{"output not promised", `{"name":"a","outputSchema":{"type":"string"}}`, `{"name":"a"}`, "major a /outputSchema"},
		{"reads only", hint(``), hint(`"readOnlyHint":true`), "minor a /annotations/readOnlyHint"},
		{"not only reads", hint(`"readOnlyHint":true`), hint(`"readOnlyHint":false`), "major a /annotations/readOnlyHint"},
		{"destroys", hint(``), hint(`"destructiveHint":true`), "major a /annotations/destructiveHint"},
		{"does not destroy", hint(`"destructiveHint":true`), hint(``), "minor a /annotations/destructiveHint"},
		{"says that it does not destroy", hint(``), hint(`"destructiveHint":false`), "minor a /annotations/destructiveHint"},
		{"consequences", hint(`"consequentialHint":false`), hint(`"consequentialHint":true`), "major a /annotations/consequentialHint"},
		{"no consequences", hint(`"consequentialHint":true`), hint(``), "minor a /annotations/consequentialHint"},
		{"strangers' words", hint(``), hint(`"untrustedContentHint":true`), "minor a /annotations/untrustedContentHint"},
		{"not idempotent", hint(`"idempotentHint":true`), hint(``), "major a /annotations/idempotentHint"},
		{"for developers", hint(``), hint(`"debugging":true`), "major a /annotations/debugging"},
		{"said, and assumed", hint(``), hint(`"readOnlyHint":false`), "patch a /annotations/readOnlyHint"},
		{"spelled as the protocol has it", hint(`"readOnly":true`), hint(`"readOnlyHint":true`), ""},
		{"a text", hint(`"readOnlyHint":true`), hint(`"readOnlyHint":"true"`), "minor a /annotations/readOnlyHint"},
		{"an unknown claim", hint(``), hint(`"x/y":1`), "minor a /annotations/x~1y"},
		{"a title in annotations", hint(``), hint(`"title":"A"`), "patch a /annotations/title"},
		{"no object", `{"name":"a"}`, `{"name":"a","annotations":3}`, "minor a /annotations"},
		{"into a frame", `{"name":"a"}`, `{"name":"a","frame":"0"}`, "major a /frame"},
		{"out of a frame", `{"name":"a","frame":"0"}`, `{"name":"a"}`, "minor a /frame"},
		{"another site's frame", `{"name":"a","frame":"0","origin":"https://a.example"}`, `{"name":"a","frame":"0","origin":"https://b.example"}`, "major a /origin"},
		{"another port of this machine", `{"name":"a","frame":"0","origin":"http://127.0.0.1:1"}`, `{"name":"a","frame":"0","origin":"http://127.0.0.1:2"}`, ""},
		{"another host of the site", `{"name":"a","origin":"https://a.example"}`, `{"name":"a","origin":"https://b.example"}`, ""},
		{"order", `{"name":"a"},{"name":"b"}`, `{"name":"b"},{"name":"a"}`, ""},
		{"a second of one name", `{"name":"a","title":"A"},{"name":"a"}`, `{"name":"a","title":"A"}`, ""},
	} {
		got, _ := changesOf(t, test.before, test.now)
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: %q, want %q", test.name, text, test.want)
		}
		if back, _ := changesOf(t, test.now, test.before); (len(back) > 0) != (test.want != "") {
			t.Errorf("%s, the reverse: %q", test.name, back)
		}
	}
	for _, name := range hintNames {
		if hintChanges[name].whyMade == "" || hintChanges[name].whyNo == "" {
			t.Errorf("nothing says what a change of %s means", name)
		}
	}
}

func TestOwed(t *testing.T) {
	t.Parallel()
	if owed := Owed(nil); owed != schema.Same {
		t.Errorf("nothing changed, and %v is owed", owed)
	}
	if owed := Owed([]Change{{Change: schema.Patch}, {Change: schema.Major}, {Change: schema.Minor}}); owed != schema.Major {
		t.Errorf("%v is owed", owed)
	}
}

// TestDiffOfPages: which pages are compared.
func TestDiffOfPages(t *testing.T) {
	t.Parallel()
	read := func(text string) *Snapshot {
		s, err := FromFile([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	lock := func(targets string) *Snapshot {
		s := read(`{"lockfileVersion":2,"targets":{` + targets + `}}`)
		s.Target = "pagetools.lock"
		return s
	}
	const a, b = `"./a":{"tools":{"x":{}}}`, `"https://b.example/":{"tools":{"y":{}}}`
	live := &Snapshot{Live: true, Pages: []Page{{Target: "https://b.example/", URL: "https://b.example/#1", Tools: []Tool{{Name: "y"}}}}}
	list := read(`{"tools":[{"name":"y"}]}`)
	for _, test := range []struct {
		name        string
		before, now *Snapshot
		want        string
	}{
		{"the same", lock(a + "," + b), lock(b + "," + a), ""},
		{"a target is gone", lock(a + "," + b), lock(b + `,"./c":{"tools":{}}`), "major ./a x"},
		{"a target is new", lock(b + `,"./c":{"tools":{}}`), lock(a + "," + b), "minor ./a x"},
		{"one each, whatever they are called", lock(b), lock(`"./c":{"tools":{"y":{}}}`), ""},
		{"one of a lock file", lock(a + "," + b), live, ""},
		{"and the other way round", live, lock(a + "," + b), ""},
		{"a list, and one target", lock(a), list, "major ./a x, minor ./a y"},
		{"a list, and several targets", lock(a + "," + b), list, `error: "pagetools.lock" has 2 targets, and none of them is the other list: it has "./a", "https://b.example/"`},
	} {
		var got []string
		all, err := Diff(test.before, test.now)
		for _, c := range all {
			got = append(got, fmt.Sprintf("%s %s %s", c.Change, c.Page, c.Tool))
		}
		if err != nil {
			got = append(got, "error: "+err.Error())
		}
		if text := strings.Join(got, ", "); text != test.want {
			t.Errorf("%s: %s, want %s", test.name, text, test.want)
		}
	}
}

// TestDiffIsVisible: what pages wrote is quoted in what is said about it.
func TestDiffIsVisible(t *testing.T) {
	t.Parallel()
	evil := "\u202e\\u001b[31m\\n::error::" + strings.Repeat("x", 3000)
	_, changes := changesOf(t, `{"name":"a","description":"`+evil+`","title":"`+evil+`","annotations":{"`+evil+`":"`+evil+`"}},{"name":"`+evil+`"}`, `{"name":"a"}`)
	if len(changes) != 4 || !strings.Contains(fmt.Sprint(changes), `\u202e`) {
		t.Fatalf("%+v", changes)
	}
	for _, c := range changes {
		f := c.Finding()
		if len(f.Message) > 1500 || strings.ContainsFunc(f.Message, text.Invisible) || len(f.Where.Tool) > 2*maxName {
			t.Errorf("%+v", f)
		}
	}
}

// listOf is a list as large as the goal has it.
func listOf(n int, name, description string) *Snapshot {
	p := Page{}
	for i := range n {
		p.Tools = append(p.Tools, Tool{Name: fmt.Sprintf("%s_%d", name, i),
			Description: fmt.Sprintf("Adds the stamp number %d to the collection %d of a user. %s", i, i*7, description),
			Input:       json.RawMessage(fmt.Sprintf(`{"type":"object","properties":{"year":{"type":"integer","minimum":%d},"name":{"type":"string"}},"required":["name"]}`, i)),
			Annotations: json.RawMessage(`{"readOnlyHint":true}`)})
	}
	return &Snapshot{Pages: []Page{p}}
}

// TestDiffIsComplete: of many changes none is lost.
func TestDiffIsComplete(t *testing.T) {
	t.Parallel()
	before, now := listOf(1000, "a", "Once."), listOf(1000, "a", "Twice.")
	all, err := Diff(before, now)
	if err != nil || len(all) != 1000 || Owed(all) != schema.Patch {
		t.Errorf("%d changes, %v", len(all), err)
	}
	now = listOf(1000, "b", "Once.")
	if all, err = Diff(before, now); err != nil || len(all) != 1000 || all[0].Was != "a_0" {
		t.Errorf("%d changes of names, %v", len(all), err)
	}
}

// BenchmarkDiff is the goal of 200 ms for two lists of 1,000 tools that all changed.
func BenchmarkDiff(b *testing.B) {
	before := listOf(1000, "a", "Once.")
	for _, test := range []struct {
		name string
		now  *Snapshot
	}{
		{"changed", listOf(1000, "a", "Twice, and the year is checked.")},
		{"renamed", listOf(1000, "b", "Once.")},
		{"rewritten", listOf(1000, "b", "Twice, and the year is checked.")},
	} {
		for i := range test.now.Pages[0].Tools {
			if t := &test.now.Pages[0].Tools[i]; test.name != "renamed" {
				t.Input = json.RawMessage(strings.Replace(string(t.Input), "integer", "number", 1))
			}
		}
		b.Run(test.name, func(b *testing.B) {
			for b.Loop() {
				if all, err := Diff(before, test.now); err != nil || len(all) == 0 {
					b.Fatal(len(all), err)
				}
			}
		})
	}
}
