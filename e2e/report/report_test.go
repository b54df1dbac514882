package report

import (
	"bytes"
	"encoding/base64"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

var update = flag.Bool("update", false, "write the golden files anew")

// picture is a PNG of one pixel.
var picture, _ = base64.StdEncoding.DecodeString(
	"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")

// rich has something of everything, hostile texts among it.
func rich() *Run {
	hostile := "x]]></script>\x1b[31m%0A::error::y\u202e\u200b<b>|`@someone #1\nsecond\x00\xff"
	return &Run{
		Command: "test", Version: "1.2.3", Owed: "major", Started: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC),
		Took: 1500 * time.Millisecond,
		Sites: []Site{
			{Target: "./public", URL: "http://127.0.0.1:7300/stamps.html", Tools: 3}, {Target: "https://shop.example", Tools: 1},
		},
		Rules: []Rule{
			{ID: "tool-name-valid", Severity: check.Error, What: "A name that no host takes.", Why: "The browser rejects it."},
		},
		Findings: []check.Finding{
			{Rule: "tool-name-valid", Severity: check.Error, Message: `The name "add stamp" has a space: use add-stamp.`,
				Where: check.Where{Target: "./public", Page: "http://127.0.0.1:7300/stamps.html", Tool: "add stamp", Pointer: "/name",
					Script: &check.Position{URL: "public/app, 1.js", Line: 12, Column: 3}}, Fix: "{\n  \"name\": \"add-stamp\"\n}"},
			{Rule: "description-vague", Severity: check.Warning, Message: "The description says little.",
				Where: check.Where{Page: "http://127.0.0.1:7300/stamps.html", Tool: "add stamp", Frame: "https://ads.example/",
					Script: &check.Position{URL: "https://cdn.example/a b.js", Line: 1}}},
			{Rule: "no-tools", Severity: check.Info, Message: "There are none.", Where: check.Where{Target: "https://shop.example"}},
			{Rule: "unicode-smuggling", Severity: check.Error, Message: hostile, Where: check.Where{Page: hostile, Tool: hostile, Pointer: hostile,
				Script: &check.Position{URL: hostile, Line: 1, Column: 1}}, Fix: hostile},
		},
		Cases: []Case{
			{File: "stamps.webtool.yaml", Line: 8, Name: "adds a stamp", Door: "page", Status: Passed, Took: 120 * time.Millisecond, Attempts: 2,
				Tags: []string{"smoke"}, Steps: []Step{{Name: "call add-stamp", Line: 9, Status: Passed, Took: 10 * time.Millisecond}}},
			{File: "stamps.webtool.yaml", Line: 8, Name: "adds a stamp", Door: "mcp", Status: Failed, Took: time.Second, Attempts: 1,
				Trace: "out/trace.zip", Steps: []Step{{Name: "call add-stamp", Line: 9, Status: Failed}},
				Failure: &Failure{Step: "call add-stamp", Line: 9, Message: "The result differs.", Path: "content[0].text",
					Expected: "  {\n    \"content\": [\n      {\n>       \"text\": {\n          \"$contains\": \"added\"\n        }\n      }\n    ]\n  }",
					Actual:   "  {\n    \"content\": [\n      {\n        \"type\": \"text\",\n>       \"text\": \"failed\"\n      }\n    ]\n  }",
					Console:  []string{"TypeError: x is undefined", hostile}, Requests: []string{"POST /stamps 500"},
					Before: picture, After: []byte("no picture"), BeforePath: "out/before.png", AfterPath: "out/after.png",
					Again: "pagetools test stamps.webtool.yaml --run 'adds a stamp/mcp'"}},
			{File: "stamps.webtool.yaml", Name: "later", Status: Skipped, Reason: "not built yet"},
			{File: "stamps.webtool.yaml", Name: "asks", Door: "page", Status: NotApplicable, Reason: "the page asks for no approval"},
			{File: hostile, Name: hostile, Door: "webtool", Status: Failed, Failure: &Failure{
				Step: hostile, Message: hostile, Path: hostile, Expected: hostile, Actual: hostile, Again: hostile}},
		},
		Notes: []string{"A question was counted as declined: nobody was asked."},
	}
}

// written returns what a format writes of a run.
func written(t testing.TB, name string, run *Run) string {
	t.Helper()
	if name == "list" {
		var b bytes.Buffer
		if err := New([]Format{{Name: name}}, Options{Out: &b}).Done(run); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	for _, k := range kinds() {
		if k.name == name {
			text, err := k.write(bounded(run))
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
	}
	t.Fatalf("there is no format %s", name)
	return ""
}

func TestGoldens(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		path := filepath.Join("testdata", "rich."+k.name)
		got := written(t, k.name, rich())
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs from %s; go test -update writes it anew:\n%s", k.name, path, got)
		}
		if again := written(t, k.name, rich()); again != got {
			t.Errorf("%s is another one the second time", k.name)
		}
	}
}

// TestNothingIsObeyed looks for what a terminal obeys, or a person cannot see, in every format.
func TestNothingIsObeyed(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		text := written(t, k.name, rich())
		for _, bad := range []string{"\x1b", "\x00", "\u202e", "\u200b", "\xff", "</script>"} {
			if strings.Contains(text, bad) && (bad != "</script>" || k.name == "html" || k.name == "junit") {
				t.Errorf("%s has %q", k.name, bad)
			}
		}
		if strings.Contains(text, "\n::error::y") || strings.HasPrefix(text, "::error::y") {
			t.Errorf("%s has a command of a stranger", k.name)
		}
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in   string
		most int
		want string
	}{
		{"short", 5, "short"}, {"longer", 5, "longe… (cut; it has 6 bytes)"}, {"ééé", 2, "éé… (cut; it has 6 bytes)"},
		{"a\xffb", 9, `a\xffb`}, {"", 0, ""}, {"\xf0\x9f\x98\x80", 1, "😀"},
	} {
		if got := text.Cut(test.in, test.most); got != test.want {
			t.Errorf("text.Cut(%q, %d) is %q, want %q", test.in, test.most, got, test.want)
		}
	}
}

func TestLongMessages(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 1<<19)
	run := &Run{
		Command: "check", Findings: []check.Finding{{Rule: "x", Severity: check.Error, Message: long, Where: check.Where{Tool: long}}},
		Cases: []Case{{Name: long, Status: Failed, Failure: &Failure{Message: long, Expected: long, Console: []string{long}}}},
	}
	for _, k := range kinds() {
		text := written(t, k.name, run)
		mark := "… (cut; it has 1048576 bytes)"
		if k.name == "markdown" {
			mark = prose(mark)
		}
		if len(text) > 400_000 || !strings.Contains(text, mark) {
			t.Errorf("%s has %d bytes, and the mark: %v", k.name, len(text), strings.Contains(text, mark))
		}
	}
	if run.Findings[0].Message != long || run.Cases[0].Failure.Message != long {
		t.Error("the run was changed")
	}
}

func TestPicturesAreBounded(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	large := append(slices.Clone(picture), make([]byte, largestPicture-len(picture))...)
	run := &Run{Cases: []Case{{Status: Failed, Failure: &Failure{Before: append(large, 0), After: large}}}}
	for line := range 9 {
		run.Cases = append(run.Cases, Case{Line: line + 1, Status: Failed, Failure: &Failure{Before: large}})
	}
	if n := strings.Count(written(t, "html", run), "<img "); n != allPictures/largestPicture {
		t.Errorf("there are %d pictures", n)
	}
}

func TestFailOn(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		on       check.Severity
		found    check.Severity
		failures int
	}{
		{"", check.Error, 1}, {"", check.Warning, 0}, {check.Warning, check.Warning, 1}, {check.Warning, check.Info, 0},
		{check.Info, check.Info, 1}, {check.Off, check.Error, 0}, {check.Error, check.Warning, 0},
	} {
		run := &Run{Command: "check", FailOn: test.on, Findings: []check.Finding{{Rule: "x", Severity: test.found}}}
		want := test.failures == 1
		if run.Failed() != want {
			t.Errorf("%q, found %s: Failed is %v", test.on, test.found, run.Failed())
		}
		if got := strings.Count(written(t, "tap", run), "\nnot ok "); got != test.failures {
			t.Errorf("%q, found %s: TAP has %d failures", test.on, test.found, got)
		}
		if got := strings.Count(written(t, "junit", run), "<failure "); got != test.failures {
			t.Errorf("%q, found %s: JUnit has %d failures", test.on, test.found, got)
		}
	}
	if (&Run{}).Failed() || !(&Run{Interrupted: true}).Failed() || !(&Run{Cases: []Case{{Status: Failed}}}).Failed() {
		t.Error("what fails a run is wrong")
	}
}

func TestNothingToSay(t *testing.T) {
	t.Parallel()
	for _, k := range kinds() {
		text := written(t, k.name, &Run{Command: "check"})
		if k.name != "github" && text == "" {
			t.Errorf("%s says nothing of an empty run", k.name)
		}
		interrupted := written(t, k.name, &Run{Command: "check", Interrupted: true})
		if !strings.Contains(interrupted, "nterrupted") && k.name != "sarif" {
			t.Errorf("%s does not say that the run was interrupted", k.name)
		}
	}
}

func TestListIsLive(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	r := New([]Format{{Name: "list"}, {Name: "github"}}, Options{Out: &b, Color: true})
	run := rich()
	for i := range run.Cases {
		r.CaseDone(&run.Cases[i])
	}
	live := b.String()
	if n := strings.Count(live, "\n"); n != len(run.Cases) || !strings.HasPrefix(live, "\x1b[32mok  \x1b[0m stamps.webtool.yaml: adds a stamp (page) after 2 attempts") {
		t.Errorf("%d lines:\n%s", n, live)
	}
	if err := r.Done(run); err != nil {
		t.Fatal(err)
	}
	rest := strings.TrimPrefix(b.String(), live)
	if strings.Contains(rest, "after 2 attempts") || !strings.Contains(rest, "\n::error file=public/app%2C 1.js,line=12,col=3,title=tool-name-valid::") {
		t.Errorf("after the cases it says:\n%s", rest)
	}
	if strings.Contains(b.String(), "\x1b[31m%0A") {
		t.Error("a stranger's color is obeyed")
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	formats, err := Parse("--reporter", strings.NewReplacer("DIR", dir).Replace(
		"list,json:DIR/a/r.json,junit:DIR/r.xml,sarif:DIR/r.sarif,markdown:DIR/r.md,html:DIR/html,tap:DIR/r.tap"))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time over the files of the first one
		var b bytes.Buffer
		if err := New(formats, Options{Out: &b}).Done(rich()); err != nil {
			t.Fatal(err)
		}
	}
	var files []string
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			name, _ := filepath.Rel(dir, path)
			files = append(files, filepath.ToSlash(name))
		}
		return err
	})
	if want := "a/r.json html/index.html r.md r.sarif r.tap r.xml"; err != nil || strings.Join(files, " ") != want {
		t.Errorf("the files are %v, %v", files, err)
	}
}

func TestFileThatCannotBeWritten(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o755); err != nil {
		t.Fatal(err)
	}
	formats := []Format{{"junit", filepath.Join(dir, "taken")}, {"tap", filepath.Join(dir, "r.tap")}}
	err := New(formats, Options{}).Done(rich())
	if err == nil || !strings.Contains(err.Error(), "writing the report junit: ") {
		t.Errorf("the error is %v", err)
	}
	left, _ := os.ReadDir(dir)
	if len(left) != 2 || left[0].Name() != "r.tap" {
		t.Errorf("the folder has %v", left)
	}
}
