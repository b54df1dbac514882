package report

import (
	"strings"
	"testing"
)

// TestFailuresAreToldOnce (K4): a case that fails alike in several ways is one failure for people,
// with the trace of each way; of one that fails differently only what differs is told. Programs
// read each way.
func TestFailuresAreToldOnce(t *testing.T) {
	failed := func(name, door, message, actual string) Case {
		return Case{File: "a.webtool.yaml", Line: 4, Name: name, Door: door, Status: Failed,
			Trace: "out/" + name + door + "/trace.zip",
			Failure: &Failure{Step: "call add", Line: 5, Message: message, Path: "count",
				Expected: "> 1", Actual: actual, Again: "again " + name + "/" + door}}
	}
	const differs = "The result differs."
	passed := Case{File: "a.webtool.yaml", Line: 4, Name: "one", Door: "page", Status: Passed}
	for _, c := range []struct {
		name   string
		cases  []Case
		blocks int
		has    []string
		lacks  []string
	}{
		{name: "alike", blocks: 1, has: []string{"one (page, webtool, mcp)", "out/onemcp/trace.zip"},
			lacks: []string{"again one/mcp", "the rest"},
			cases: []Case{failed("one", "page", differs, "> 2"), failed("one", "webtool", differs, "> 2"),
				failed("one", "mcp", differs, "> 2")}},
		{name: "another result over MCP", blocks: 2,
			has:   []string{"one (page, webtool)", "one (mcp)", "as in one (page, webtool)", "> 3"},
			lacks: []string{"one (page)"},
			cases: []Case{failed("one", "page", differs, "> 2"), failed("one", "webtool", differs, "> 2"),
				failed("one", "mcp", differs, "> 3")}},
		{name: "another message", blocks: 2, has: []string{"NOT_FOUND", "as in one (page)"},
			cases: []Case{failed("one", "page", differs, ""), failed("one", "mcp", "NOT_FOUND: gone", "")}},
		{name: "two that are like the second", blocks: 2, has: []string{"one (webtool, mcp)"},
			cases: []Case{failed("one", "page", differs, ""), failed("one", "webtool", "x", ""),
				failed("one", "mcp", "x", "")}},
		{name: "another case", blocks: 2, has: []string{"one (page)", "two (page)"}, lacks: []string{"the rest"},
			cases: []Case{failed("one", "page", differs, ""), failed("two", "page", differs, "")}},
		{name: "one way passes", blocks: 1, has: []string{"one (mcp)"}, lacks: []string{"the rest"},
			cases: []Case{passed, failed("one", "mcp", differs, "> 2")}},
		{name: "one way alone", blocks: 1, has: []string{"one (mcp)"}, lacks: []string{"trace of"},
			cases: []Case{failed("one", "mcp", differs, "> 2")}},
	} {
		run := &Run{Command: "test", Cases: c.cases}
		blocks := map[string]string{"list": "FAILED ", "markdown": "#### Failed: ", "github": "::error "}
		for format, begins := range blocks {
			text := strings.ReplaceAll(written(t, format, run), "\\", "")
			text = strings.ReplaceAll(text, "%2C", ",")
			_, text, _ = strings.Cut(text, begins)
			if n := strings.Count(begins+text, begins); n != c.blocks {
				t.Errorf("%s, %s: %d failures are told, not %d:\n%s", c.name, format, n, c.blocks, text)
			}
			for _, want := range c.has {
				if !strings.Contains(text, want) {
					t.Errorf("%s, %s lacks %q:\n%s", c.name, format, want, text)
				}
			}
			for _, none := range c.lacks {
				if strings.Contains(text, none) {
					t.Errorf("%s, %s has %q:\n%s", c.name, format, none, text)
				}
			}
		}
		if n := strings.Count(written(t, "html", run), `<details open`); n != c.blocks {
			t.Errorf("%s: a page with %d failures, not %d", c.name, n, c.blocks)
		}
		if n := strings.Count(written(t, "junit", run), "<testcase "); n != len(c.cases) {
			t.Errorf("%s: JUnit has %d cases of %d", c.name, n, len(c.cases))
		}
	}
}
