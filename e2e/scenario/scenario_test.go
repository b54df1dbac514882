package scenario_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.yaml.in/yaml/v3"

	"github.com/pagetools/pagetools/bridge/schema"
	. "github.com/pagetools/pagetools/e2e/scenario"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func load(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func mustRead(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read("x.webtool.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestExample reads the example of the specification.
func TestExample(t *testing.T) {
	t.Parallel()
	f, err := Read("stamps.webtool.yaml", load(t, "stamps.webtool.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if f.Site.Dir != "./public" || f.Site.URL != "/stamps.html" || f.Lock != "stamps.lock.json" || len(f.Via) != 3 || len(f.Cases) != 4 {
		t.Errorf("the head is %+v", f)
	}
	if f.Lint.FailOn != "warning" || f.Lint.Rules[0].ID != "too-many-tools" || f.Lint.Rules[0].Line != 5 {
		t.Errorf("lint is %+v", f.Lint)
	}
	if options, err := f.Lint.Rules[0].Options.JSON(); err != nil || string(options) != `{"max":40}` {
		t.Errorf("the options are %s, %v", options, err)
	}
	add := f.Cases[0].Steps[0]
	if with, err := add.With.JSON(); err != nil || string(with) != `{"name":"Inverted Jenny","description":"Upside-down plane","year":1918}` {
		t.Errorf("with is %s, %v", with, err)
	}
	if add.Kind() != DoCall || add.Title() != "call add-stamp" || add.Page[0].Selector() != "#confirmationMessage" || add.Line != 9 {
		t.Errorf("the step is %+v", add)
	}
	if f.Cases[0].Steps[1].Within != 500*time.Millisecond || *f.Cases[3].Steps[0].Seen != 0 {
		t.Error("within or calls-seen-by-page was not read")
	}
	if e := f.Cases[1].Human[0]; e.On.Kind != "dialog" || e.Answer.Act != Accept || e.Times != 1 {
		t.Errorf("the entry is %+v", e)
	}
	if e := f.Cases[2].Human[0]; e.Answer.Act != Decline {
		t.Errorf("dismiss is read as %+v", e.Answer)
	}
	got := json.RawMessage(`{"code":"TOOL_ERROR","message":"The purchase was cancelled."}`)
	if m := Match(f.Cases[2].Steps[0].ExpectError, got); m != nil {
		t.Error(m)
	}
}

// formatSchema is the schema of the format, compiled.
func formatSchema(t *testing.T) *schema.Schema {
	t.Helper()
	s, err := schema.Compile(Schema(), schema.Limits{Bytes: 1 << 20})
	if err != nil {
		t.Fatalf("the JSON Schema of the format cannot be compiled: %v", err)
	}
	return s
}

// asJSON is a file of YAML as an editor hands it to a JSON Schema.
func asJSON(t *testing.T, text []byte) []byte {
	t.Helper()
	var v any
	if err := yaml.Unmarshal(text, &v); err != nil {
		t.Fatal(err)
	}
	return schema.MustEncode(v)
}

// TestGoodFiles reads all good files and holds them against the JSON Schema.
func TestGoodFiles(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.webtool.yaml")
	if err != nil || len(files) < 2 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	s := formatSchema(t)
	for _, path := range files {
		text := load(t, filepath.Base(path))
		if _, err := Read(path, text); err != nil {
			t.Error(err)
		}
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: the JSON Schema refuses it: %v", path, err)
		}
	}
}

// TestBadFiles holds the messages about bad files against the golden ones: in the archive, each
// file.yaml is followed by file.txt. A name that begins with "reader-" says that only Read can
// know; the JSON Schema must refuse the others.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join("testdata", "bad.txtar")
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	s := formatSchema(t)
	for i := range archive.Files {
		file := &archive.Files[i]
		name, isInput := strings.CutSuffix(file.Name, ".yaml")
		if !isInput {
			continue
		}
		_, err := Read(file.Name, file.Data)
		var p *Problems
		if !errors.As(err, &p) {
			t.Errorf("%s: Read returned %v", name, err)
			continue
		}
		got := p.Error() + "\n"
		if i+1 < len(archive.Files) && archive.Files[i+1].Name == name+".txt" {
			if *update {
				archive.Files[i+1].Data = []byte(got)
			} else if want := string(archive.Files[i+1].Data); got != want {
				t.Errorf("%s:\n%s\nwant\n%s", name, got, want)
			}
		} else {
			t.Errorf("%s has no messages", name)
		}
		if !strings.HasPrefix(name, "reader-") && s.Validate(asJSON(t, file.Data)) == nil {
			t.Errorf("%s: the JSON Schema takes it", name)
		}
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestBounds reads files that are too much.
func TestBounds(t *testing.T) {
	t.Parallel()
	laughs := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'k'; c++ {
		prev := string(c - 1)
		laughs += string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+prev+",", 9) + "*" + prev + "]\n"
	}
	for name, text := range map[string]string{
		"aliases of aliases": laughs,
		"an alias in itself": "cases: &a [*a]\n",
		"too deep":           "cases: " + strings.Repeat("[", 200) + strings.Repeat("]", 200),
		"too long":           "# " + strings.Repeat("x", 1<<20),
	} {
		start := time.Now()
		_, err := Read("x", []byte(text))
		var p *Problems
		if !errors.As(err, &p) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("%s took %s", name, took)
		}
	}
	many := "cases:\n" + strings.Repeat("  - {nome: x}\n", 100)
	_, err := Read("x", []byte(many))
	var p *Problems
	if !errors.As(err, &p) || len(p.List) != 50 || p.More != 250 {
		t.Errorf("of 300 problems, %d are listed and %d are more", len(p.List), p.More)
	}
}
