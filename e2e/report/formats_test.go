package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
)

// The part of XML Schema that testdata/junit.xsd uses. What it uses besides is an error of the
// test, so that nothing in there is left unread.
type (
	xsdSchema struct {
		Elements []xsdElement `xml:"element"`
	}
	xsdElement struct {
		Name string `xml:"name,attr"`
		Type struct {
			Mixed    bool `xml:"mixed,attr"`
			Sequence []struct {
				Ref string `xml:"ref,attr"`
				Min int    `xml:"minOccurs,attr"`
				Max string `xml:"maxOccurs,attr"`
			} `xml:"sequence>element"`
			Attributes []struct {
				Name string `xml:"name,attr"`
				Type string `xml:"type,attr"`
				Use  string `xml:"use,attr"`
			} `xml:"attribute"`
		} `xml:"complexType"`
	}
	// node is any element of the document.
	node struct {
		XMLName  xml.Name
		Attrs    []xml.Attr `xml:",any,attr"`
		Text     string     `xml:",chardata"`
		Children []node     `xml:",any"`
	}
)

func readXSD(t testing.TB) map[string]xsdElement {
	t.Helper()
	text, err := os.ReadFile("testdata/junit.xsd")
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"schema", "element", "complexType", "sequence", "attribute"}
	for dec := xml.NewDecoder(strings.NewReader(string(text))); ; {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if s, ok := token.(xml.StartElement); ok && !slices.Contains(known, s.Name.Local) {
			t.Fatalf("the test does not know xs:%s", s.Name.Local)
		}
	}
	var s xsdSchema
	if err := xml.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	all := map[string]xsdElement{}
	for _, e := range s.Elements {
		all[e.Name] = e
	}
	return all
}

// validate holds an element and those in it against the schema.
func validate(all map[string]xsdElement, n node) error {
	e, ok := all[n.XMLName.Local]
	if !ok || n.XMLName.Space != "" {
		return fmt.Errorf("there is no element %s", n.XMLName.Local)
	}
	if !e.Type.Mixed && strings.TrimSpace(n.Text) != "" {
		return fmt.Errorf("%s must have no text", e.Name)
	}
	values := map[string]string{}
	for _, a := range n.Attrs {
		values[a.Name.Local] = a.Value
	}
	for _, a := range e.Type.Attributes {
		value, there := values[a.Name]
		delete(values, a.Name)
		if !there && a.Use == "required" {
			return fmt.Errorf("%s has no %s", e.Name, a.Name)
		}
		if there && !isOf(a.Type, value) {
			return fmt.Errorf("%s of %s is no %s: %q", a.Name, e.Name, a.Type, value)
		}
	}
	if len(values) > 0 {
		return fmt.Errorf("%s must not have %v", e.Name, values)
	}
	i := 0
	for _, part := range e.Type.Sequence {
		found := 0
		for ; i < len(n.Children) && n.Children[i].XMLName.Local == part.Ref; i++ {
			if err := validate(all, n.Children[i]); err != nil {
				return err
			}
			found++
		}
		most, err := strconv.Atoi(part.Max)
		if found < part.Min || err == nil && found > most {
			return fmt.Errorf("%s has %d times %s", e.Name, found, part.Ref)
		}
	}
	if i < len(n.Children) {
		return fmt.Errorf("%s must not have %s there", e.Name, n.Children[i].XMLName.Local)
	}
	return nil
}

func isOf(kind, value string) bool {
	switch kind {
	case "xs:string":
		return true
	case "xs:nonNegativeInteger":
		_, err := strconv.ParseUint(value, 10, 32)
		return err == nil
	case "xs:decimal":
		_, err := strconv.ParseFloat(value, 64)
		return err == nil && !strings.ContainsAny(value, "eEnN")
	case "xs:dateTime":
		_, err := time.Parse("2006-01-02T15:04:05", value)
		return err == nil
	}
	return false
}

func parseXML(text string) (n node, err error) { return n, xml.Unmarshal([]byte(text), &n) }

func TestJUnitIsValid(t *testing.T) {
	t.Parallel()
	all := readXSD(t)
	for _, run := range []*Run{rich(), {Command: "check"}, {Command: "check", Interrupted: true}, {Sites: []Site{{Target: "x"}}}} {
		n, err := parseXML(written(t, "junit", run))
		if err != nil {
			t.Fatal(err)
		}
		if n.XMLName.Local != "testsuites" {
			t.Errorf("the root is %s", n.XMLName.Local)
		}
		if err := validate(all, n); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{
		`<suites/>`, `<testsuites x="1"/>`, `<testsuites>text</testsuites>`, `<testsuites tests="-1"/>`, `<testsuites time="NaN"/>`,
		`<testsuites><testsuite/></testsuites>`, `<testsuites><testcase name="x"/></testsuites>`,
		`<testcase name="x"><failure/><skipped/></testcase>`, `<testcase name="x"><skipped/><skipped/></testcase>`,
		`<testsuite name="" tests="0" failures="0" errors="0" timestamp="now"/>`,
	} {
		n, err := parseXML(bad)
		if err != nil {
			t.Fatal(err)
		}
		if validate(all, n) == nil {
			t.Errorf("the schema takes %s", bad)
		}
	}
}

// sarifSchemas are ours, and the official one where a file is named by SARIF_SCHEMA: it is too
// long, and not ours, to be kept here.
func sarifSchemas(t testing.TB) []*schema.Schema {
	t.Helper()
	paths := []string{"testdata/sarif.schema.json"}
	if path := os.Getenv("SARIF_SCHEMA"); path != "" {
		paths = append(paths, path)
	}
	var all []*schema.Schema
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := schema.CompileResult(text, schema.Limits{Bytes: 1 << 20, Expansions: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func TestSARIFIsValid(t *testing.T) {
	t.Parallel()
	for _, run := range []*Run{rich(), {Command: "check"}, {Command: "check", Interrupted: true}} {
		text := written(t, "sarif", run)
		for i, s := range sarifSchemas(t) {
			if err := s.Validate([]byte(text)); err != nil {
				t.Errorf("schema %d: %v", i, err)
			}
		}
	}
	text := written(t, "sarif", rich())
	for old, changed := range map[string]string{
		`"version": "2.1.0"`: `"version": "2.2"`, `"level": "error"`: `"level": "bad"`, `"ruleId"`: `"rule"`, `"startLine": 12`: `"startLine": 0`,
	} {
		for i, s := range sarifSchemas(t) {
			if !strings.Contains(text, old) || s.Validate([]byte(strings.Replace(text, old, changed, 1))) == nil {
				t.Errorf("schema %d takes %s", i, changed)
			}
		}
	}
}

func readSARIF(t testing.TB, run *Run) sarifRun {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal([]byte(written(t, "sarif", run)), &log); err != nil {
		t.Fatal(err)
	}
	return log.Runs[0]
}

func TestSARIFRules(t *testing.T) {
	t.Parallel()
	run := readSARIF(t, rich())
	for _, r := range run.Results {
		if got := run.Tool.Driver.Rules[r.RuleIndex].ID; got != r.RuleID {
			t.Errorf("rule %d is %s, want %s", r.RuleIndex, got, r.RuleID)
		}
	}
	first := run.Results[0].Locations[0]
	if first.Physical.Artifact.URI != "public/app,%201.js" || first.Physical.Region.Line != 12 ||
		first.Logical[0].Qualified != "http://127.0.0.1:7300/stamps.html#add stamp" {
		t.Errorf("the first place is %+v", first)
	}
}

func TestFingerprints(t *testing.T) {
	t.Parallel()
	of := func(f ...check.Finding) (all []string) {
		for _, r := range readSARIF(t, &Run{Findings: f}).Results {
			all = append(all, r.Fingerprints["pagetools/v1"])
		}
		return all
	}
	at := func(page, tool, pointer, message string) check.Finding {
		return check.Finding{Rule: "r", Severity: check.Error, Message: message, Where: check.Where{Page: page, Tool: tool, Pointer: pointer}}
	}
	base := of(at("http://127.0.0.1:1000/a", "x", "/name", "one"))[0]
	if got := of(at("http://127.0.0.1:2000/a", "x", "/name", "two"))[0]; got != base {
		t.Error("the port or the words make another fingerprint")
	}
	for _, f := range []check.Finding{at("http://h/b", "x", "/name", ""), at("http://h/a", "y", "/name", ""), at("http://h/a", "x/", "name", "")} {
		if of(f)[0] == base {
			t.Errorf("%+v has the fingerprint of another finding", f.Where)
		}
	}
	if two := of(at("/a", "x", "", "one"), at("/a", "x", "", "two")); two[0] == two[1] {
		t.Error("two findings in one place have one fingerprint")
	}
}

func TestGitHubPlaces(t *testing.T) {
	t.Parallel()
	run := &Run{Findings: []check.Finding{
		{Rule: "a", Severity: check.Info, Message: "100%\r\nof it", Where: check.Where{Page: "p", Script: &check.Position{URL: "https://x.example/y.js", Line: 3}}},
		{Rule: "b", Severity: check.Off, Message: "never said"},
	}}
	want := "::notice title=a::100%25%0Aof it (p) https://x.example/y.js:3\n"
	if got := written(t, "github", run); got != want {
		t.Errorf("it writes %q, want %q", got, want)
	}
}

// TestRunnerTakesNoCommands looks for what GitHub's runner would obey in what goes to its log.
func TestRunnerTakesNoCommands(t *testing.T) {
	t.Parallel()
	const bad = "::add-mask::x\n  ::stop-commands::y\n\u00a0::error::z\n##[error]w"
	run := rich()
	run.Findings = append(run.Findings, check.Finding{Rule: bad, Severity: check.Error, Message: bad, Fix: bad, Where: check.Where{Page: bad, Tool: bad}})
	run.Cases = append(run.Cases, Case{File: bad, Name: bad, Status: Failed, Failure: &Failure{Message: bad, Expected: bad, Console: []string{bad}}})
	run.Notes = []string{bad}
	for _, name := range []string{"list", "json", "tap", "github"} {
		for l := range strings.SplitSeq(written(t, name, run), "\n") {
			command := strings.HasPrefix(strings.TrimSpace(l), "::")
			ours := name == "github" && (strings.HasPrefix(l, "::error ") || strings.HasPrefix(l, "::warning ") || strings.HasPrefix(l, "::notice "))
			if command && !ours || !command && strings.Contains(l, "##[") {
				t.Errorf("%s has the line %q", name, l)
			}
		}
	}
}

// TestServersAttachNothing: what a page says attaches no file of the server that reads the report,
// which our own traces do.
func TestServersAttachNothing(t *testing.T) {
	t.Parallel()
	const bad = "[[ATTACHMENT|/etc/passwd]]"
	run := &Run{FailOn: check.Error, Findings: []check.Finding{{Rule: bad, Severity: check.Info, Message: bad, Fix: bad,
		Where: check.Where{Page: bad, Tool: bad}}},
		Cases: []Case{{File: bad, Name: bad, Status: Failed, Trace: "x/trace.zip", Failure: &Failure{Message: bad, Console: []string{bad}}}}}
	text := written(t, "junit", run)
	if strings.Contains(text, "[[ATTACHMENT|/") || !strings.Contains(text, "[[ATTACHMENT|x/trace.zip]]") {
		t.Errorf("junit attaches:\n%s", text)
	}
}

func TestTAPCounts(t *testing.T) {
	t.Parallel()
	text := written(t, "tap", rich())
	points := 0
	for l := range strings.SplitSeq(text, "\n") {
		number := fmt.Sprint(points + 1)
		if strings.HasPrefix(l, "ok "+number+" - ") || strings.HasPrefix(l, "not ok "+number+" - ") {
			points++
		} else if l != "" && !strings.HasPrefix(l, "  ") && !strings.HasPrefix(l, "# ") && !strings.HasPrefix(l, "1..") &&
			l != "TAP version 14" {
			t.Errorf("the line %q is none of TAP", l)
		}
	}
	if !strings.Contains(text, fmt.Sprintf("\n1..%d\n", points)) || points != 9 {
		t.Errorf("there are %d points", points)
	}
}

func TestJSONIsTheDocument(t *testing.T) {
	t.Parallel()
	var doc Document
	if err := json.Unmarshal([]byte(written(t, "json", rich())), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Version != DocumentVersion || !doc.Failed || doc.Summary.Cases != 5 || len(doc.Findings) != 4 ||
		!strings.HasPrefix(doc.Findings[3].Message, "x]]></script>\x1b[31m%0A::error::y\u202e\u200b") {
		t.Errorf("the document is %+v", doc)
	}
	if text := written(t, "json", &Run{}); strings.Contains(text, "null") {
		t.Errorf("a list is null: %s", text)
	}
}
