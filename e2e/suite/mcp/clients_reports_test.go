package mcp_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/schema"

	"github.com/pagetools/pagetools/e2e/suite"
)

// hostileName has what a name in a scenario may have: what ends a section of XML or an attribute,
// what a CI server would obey, and letters of every length of UTF-8.
const hostileName = `]]> </testcase><x a='&' é € 😀 𝔘 %0A::error::z`

// hostileText has controls besides, and what is invisible or in the wrong direction. It is written
// as JavaScript and YAML have it.
const hostileText = hostileName + `\x00 \x07 \x1b[31m \u202e \u2066 \u200b \ufeff \u2028 \n::stop-commands::x`

const hostilePage = `<!doctype html><title>x</title><link rel=icon href=data:,><script>
const text = "` + hostileText + `";
const tool = (name, description, execute) => document.modelContext.registerTool({name, description, execute}).catch(() => {});
tool("good", text, () => text);
tool(text, "Says something.", () => text);
tool("bad", "Fails with a text.", () => { console.error(text + "\n" + text); throw new Error(text); });
</script>`

const hostileScenario = `site: {dir: .}
lint: {fail-on: info}
cases:
  - {name: "passes ` + hostileName + `", steps: [{call: good}]}
  - {name: "fails ` + hostileName + `", steps: [{call: bad}]}
  - {name: "differs ` + hostileName + `", steps: [{call: good, expect: "not ` + hostileText + `"}]}
  - {name: "lacks ` + hostileName + `", steps: [{call: "lacks ` + hostileName + `"}]}
  - {name: "skipped ` + hostileName + `", skip: "because ` + hostileName + `", steps: [{call: good}]}
  - {name: "does not apply", steps: [{call: good, with: {x: 1}, expect-error: {code: SCHEMA_ERROR}}]}
`

// testReports holds reports about a hostile site to schemas that others wrote: JUnit's to that of
// Jenkins, and SARIF's to that of the schema store.
func (c *clients) testReports(t *testing.T) {
	t.Helper()
	dir, row := suite.TempDir(t), c.row(t)
	files := map[string]string{
		"index.html": hostilePage, "hostile.webtool.yaml": hostileScenario,
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var junit []string
	for _, command := range [][]string{{"test", "hostile.webtool.yaml"}, {"check", ".", "--smoke=all", "--fail-on", "info"}} {
		xmlName, sarifName := filepath.Join(dir, command[0]+".xml"), filepath.Join(dir, command[0]+".sarif")
		junit = append(junit, xmlName)
		cmd := exec.CommandContext(t.Context(), c.bin, append(command, "--reporter", "junit:"+xmlName+",sarif:"+sarifName)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 1 {
			t.Fatalf("pagetools %s: %v\n%s", command[0], err, out)
		}
		c.holdSARIF(t, sarifName)
	}
	// The controls are reports with one thing that the schema does not have.
	text, err := os.ReadFile(junit[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "😀") || !strings.Contains(string(text), "𝔘") || !strings.Contains(string(text), "<skipped>because ") {
		t.Errorf("the report lacks what is hostile:\n%s", text)
	}
	out, err := c.run(t, append([]string{filepath.Join(c.dir, "reports.mjs")}, junit...)...)
	sum, incomplete := readTAP(out)
	if err != nil || incomplete != nil || sum.passed != len(junit) {
		t.Errorf("%v, %v\n%s", err, incomplete, out)
	}
	var wrong []string
	for i, change := range [][2]string{{"<testcase ", "<testcase x='1' "}, {"<skipped>", "<skipped message='x'>"}, {"<testsuites ", "<suites "}} {
		name := filepath.Join(dir, fmt.Sprintf("wrong%d.xml", i))
		wrong = append(wrong, name)
		if err := os.WriteFile(name, []byte(strings.Replace(string(text), change[0], change[1], 1)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, _ = c.run(t, append([]string{filepath.Join(c.dir, "reports.mjs")}, wrong...)...)
	if refused, err := readTAP(out); err != nil || refused.failed != len(wrong) {
		t.Errorf("the schema takes what is wrong: %v\n%s", err, out)
	}
	row.result = fmt.Sprintf("%d reports of JUnit and %d of SARIF are valid", sum.passed, len(junit))
}

// holdSARIF checks a file against the schema of SARIF 2.1.0.
func (c *clients) holdSARIF(t *testing.T, name string) {
	t.Helper()
	official, err := os.ReadFile(filepath.Join(c.modules, "@microsoft", "jest-sarif", "lib", "schemas", "sarif-2.1.0-rtm.5.json"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := schema.CompileResult(official, schema.Limits{Bytes: 1 << 20, Expansions: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(text); err != nil {
		t.Errorf("%s: %v", filepath.Base(name), err)
	}
	for _, change := range [][2]string{{`"version": "2.1.0"`, `"version": "2.2"`}, {`"level": "`, `"level": "un`}, {`"results": [`, `"result": [`}} {
		wrong := strings.Replace(string(text), change[0], change[1], 1)
		if wrong == string(text) || s.Validate([]byte(wrong)) == nil {
			t.Errorf("%s: the schema takes %s", filepath.Base(name), change[1])
		}
	}
}

// testOpenAPI checks the documents of all sites and of one with a validator of npm.
func (c *clients) testOpenAPI(t *testing.T) {
	t.Helper()
	row := c.row(t)
	out, err := c.run(t, filepath.Join(c.dir, "openapi.mjs"), c.server.URL+"/openapi.json", c.server.URL+"/sites/clients/openapi.json")
	sum, incomplete := readTAP(out)
	row.result = fmt.Sprintf("%d documents fit", sum.passed)
	if err := errors.Join(err, incomplete); err != nil || sum.passed != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
