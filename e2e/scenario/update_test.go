package scenario_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/pagetools/pagetools/bridge/schema"
	. "github.com/pagetools/pagetools/e2e/scenario"
)

// expectations are the values that a file expects of its calls, in order.
func expectations(f *File) (all []Value) {
	for _, c := range f.Cases {
		for i := range c.Steps {
			if s := &c.Steps[i]; s.Expect.Exists() {
				all = append(all, s.Expect)
			}
		}
	}
	return all
}

// TestUpdate accepts results. In the archive, each name.yaml is followed by name.json, the actual
// results in order, and by the golden name.after.
func TestUpdate(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "update.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+2 < len(archive.Files); i += 3 {
		name, text := archive.Files[i].Name, archive.Files[i].Data
		f, err := Read(name, text)
		if err != nil {
			t.Fatal(err)
		}
		var actual []json.RawMessage
		if err := json.Unmarshal(archive.Files[i+1].Data, &actual); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var changes []Change
		for j, v := range expectations(f) {
			changes = append(changes, Change{Expected: v, Actual: actual[j]})
		}
		got, err := Update(text, changes)
		if err != nil {
			got = []byte(err.Error() + "\n")
		} else {
			holds(t, name, got, actual)
		}
		if *update {
			archive.Files[i+2].Data = got
		} else if want := archive.Files[i+2].Data; string(got) != string(want) {
			t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// holds checks that the results match, and that a second update changes nothing.
func holds(t *testing.T, name string, text []byte, actual []json.RawMessage) {
	t.Helper()
	f, err := Read(name, text)
	if err != nil {
		t.Errorf("%s cannot be read after the update: %v\n%s", name, err, text)
		return
	}
	var changes []Change
	for j, v := range expectations(f) {
		changes = append(changes, Change{Expected: v, Actual: actual[j]})
		if m := Match(v, actual[j]); m != nil {
			t.Errorf("%s: after the update, %s\n%s", name, m.Why, text)
		}
	}
	if again, err := Update(text, changes); err != nil || string(again) != string(text) {
		t.Errorf("%s: a second update changes it to\n%s, %v", name, again, err)
	}
}

// TestUpdateKeepsLineEnds updates a file with the line ends of Windows.
func TestUpdateKeepsLineEnds(t *testing.T) {
	t.Parallel()
	text := "cases:\r\n- name: a\r\n  steps:\r\n  - call: x\r\n    expect:\r\n      a: old\r\n      b:\r\n        c: 1\r\n  - call: y\r\n"
	want := "cases:\r\n- name: a\r\n  steps:\r\n  - call: x\r\n    expect:\r\n      a: new\r\n      b: []\r\n  - call: y\r\n"
	f := mustRead(t, text)
	got, err := Update([]byte(text), []Change{{Expected: f.Cases[0].Steps[0].Expect, Actual: json.RawMessage(`{"a":"new","b":[]}`)}})
	if err != nil || string(got) != want {
		t.Errorf("the file is %q, %v", got, err)
	}
}

func TestUpdateErrors(t *testing.T) {
	t.Parallel()
	one, err := Literal(json.RawMessage("1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text   string
		change Change
		want   string
	}{
		{"a: [", Change{Expected: one, Actual: json.RawMessage("1")}, "reading the file to update"},
		{"a: 1", Change{Expected: Value{}, Actual: json.RawMessage("1")}, "no expected value"},
		{"a: 1", Change{Expected: one, Actual: json.RawMessage("{")}, "the actual value"},
		{"a: 1", Change{Expected: one, Actual: json.RawMessage("2")}, "change it by hand"},
	} {
		if _, err := Update([]byte(c.text), []Change{c.change}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.text, err)
		}
	}
}

// FuzzUpdate holds that any result that is accepted matches afterwards, and is the same inside of
// $exact, whatever it has of matchers, references and characters.
func FuzzUpdate(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `[{"$any":true},"$any","$$any","${x}","$${x}",{"$$x":1,"y: #":"z"}]`, `"\u2028\ud83d\ude00\u0000\ufeff\u0085"`,
		`1e400`, `"#x"`, `"yes"`, `"- a"`, `null`, `""`, `"\ue000\ufffe\ud800\udc00"`, `{"<<":"*a","null":"~"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, actual string) {
		if _, err := Literal(json.RawMessage(actual)); err != nil || strings.Count(actual, "[")+strings.Count(actual, "{") > 50 {
			return
		}
		const head = "cases: [{name: a, steps: [{call: x, expect: "
		text := []byte(head + "{old: {b: 1}}}]}]\n")
		before, err := Read("x", text)
		if err != nil {
			t.Fatal(err)
		}
		after, err := Update(text, []Change{{Expected: before.Cases[0].Steps[0].Expect, Actual: json.RawMessage(actual)}})
		if err != nil {
			t.Fatal(err)
		}
		holds(t, "x", after, []json.RawMessage{json.RawMessage(actual)})
		value := strings.TrimSuffix(strings.TrimPrefix(string(after), head), "}]}]\n")
		exact, err := Read("x", []byte(head+"{$exact: "+value+"}}]}]\n"))
		if err != nil {
			t.Fatal(err)
		}
		if m := Match(exact.Cases[0].Steps[0].Expect, json.RawMessage(actual)); m != nil {
			t.Errorf("%s\n%s", m.Why, after)
		}
	})
}

func FuzzRead(f *testing.F) {
	f.Add(load(f, "everything.webtool.yaml"))
	f.Add(load(f, "stamps.webtool.yaml"))
	f.Add([]byte("cases: [{name: a, steps: [{call: x, expect: {$oneOf: ['${unique}']}}]}]"))
	f.Add([]byte("a: &a [*a]"))
	f.Add([]byte("\xff\x00: !!int x"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := Read("x", text)
		if err != nil {
			if strings.ContainsFunc(err.Error(), func(r rune) bool { return r < ' ' && r != '\n' }) {
				t.Errorf("the message is %q", err)
			}
			return
		}
		for _, c := range file.Cases {
			for i := range c.Steps {
				_ = c.Steps[i].Title()
			}
		}
		if _, err := ExportEvals(file); err != nil {
			t.Error(err)
		}
	})
}

// TestUpdateHidesSecrets holds S2: no result that repeats a secret is accepted.
func TestUpdateHidesSecrets(t *testing.T) {
	t.Parallel()
	text := []byte("site: {dir: .}\ncases: [{name: x, steps: [{call: a, expect: {said: old, n: 1}}]}]\n")
	f, err := Read("x", text)
	if err != nil {
		t.Fatal(err)
	}
	want := expectations(f)[0]
	for _, x := range []struct{ actual, refused string }{
		{`{"said":"it is hunter2 \"now\"","n":1}`, "repeats an argument"},
		{`{"said":"hunter2%20%22now%22","n":1}`, "repeats an argument"},
		{`{"said":"old","n":8642}`, "repeats an argument"},
		{`{"said":"PIN 8,642","n":1}`, "repeats an argument"},
		{`{"said":["it is",{"a":"hunter2 &quot;now&quot;"}],"n":1}`, "repeats an argument"},
		{`{"said":"new","n":1,"more":"hunter2 \"now\""}`, ""}, // which is not expected
		{`{"said":"new","n":2}`, ""},
	} {
		out, err := Update(text, []Change{{Expected: want, Actual: json.RawMessage(x.actual),
			Secrets: schema.Conceal([]string{`hunter2 "now"`, "8642"})}})
		switch {
		case x.refused == "" && (err != nil || !strings.Contains(string(out), "said: new")):
			t.Errorf("%s: %v\n%s", x.actual, err, out)
		case x.refused != "" && (err == nil || !strings.Contains(err.Error(), x.refused)):
			t.Errorf("%s: %v\n%s", x.actual, err, out)
		}
	}
}
