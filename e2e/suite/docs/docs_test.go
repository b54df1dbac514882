package docs

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinks finds links to files and headings that do not exist.
func TestLinks(t *testing.T) {
	t.Parallel()
	docs := Documents(t)
	exists := func(path string) bool {
		_, err := os.Stat(filepath.Join(Root(t), filepath.FromSlash(path)))
		return err == nil
	}
	for _, problem := range deadLinks(docs, exists) {
		t.Error(problem)
	}
}

func deadLinks(docs map[string]string, exists func(string) bool) []string {
	var problems []string
	for _, from := range slices.Sorted(maps.Keys(docs)) {
		text := withoutCode(docs[from])
		for _, match := range slices.Concat(InlineLink.FindAllStringSubmatch(text, -1), definition.FindAllStringSubmatch(text, -1)) {
			link := match[1]
			if elsewhere.MatchString(link) {
				continue
			}
			file, heading, _ := strings.Cut(link, "#")
			target := from
			if file != "" {
				target = path.Join(path.Dir(from), file)
			}
			switch {
			case strings.HasPrefix(file, "/") || strings.HasPrefix(target, "../"):
				problems = append(problems, fmt.Sprintf("%s: the link %s leaves the repository", from, link))
			case !exists(target):
				problems = append(problems, fmt.Sprintf("%s: the link %s leads nowhere", from, link))
			case heading != "" && !slices.Contains(anchors(docs[target]), heading):
				problems = append(problems, fmt.Sprintf("%s: the link %s names no heading", from, link))
			}
		}
	}
	return problems
}

var (
	fence      = regexp.MustCompile("(?ms)^[ \t]*```.*?\n[ \t]*```[ \t]*$")
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	heading    = regexp.MustCompile(`(?m)^#+ +(.+?)\s*$`)
	notAnchor  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func withoutCode(text string) string {
	return inlineCode.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
}

// anchors returns the names that a code host makes of the headings of a file.
func anchors(text string) []string {
	headings := heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1)
	names := make([]string, 0, len(headings))
	for _, match := range headings {
		name := notAnchor.ReplaceAllString(strings.ToLower(match[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestDecisionsIndexed finds decisions that docs/decisions/README.md does not
// list, and names that break the form.
func TestDecisionsIndexed(t *testing.T) {
	t.Parallel()
	for _, problem := range unindexed(Documents(t)) {
		t.Error(problem)
	}
}

var decisionName = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md$`)

func unindexed(docs map[string]string) []string {
	const folder = "docs/decisions/"
	index := docs[folder+"README.md"]
	if index == "" {
		return []string{"there is no " + folder + "README.md"}
	}
	var problems []string
	decisions := 0
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		file, ok := strings.CutPrefix(name, folder)
		if !ok || file == "README.md" {
			continue
		}
		decisions++
		if !decisionName.MatchString(file) {
			problems = append(problems, name+": a decision is named YYYY-MM-DD-slug.md")
		}
		if n := strings.Count(index, "]("+file+")"); n != 1 {
			problems = append(problems, fmt.Sprintf("%s: docs/decisions/README.md lists it %d times, not once", name, n))
		}
	}
	if decisions > mostDecisions {
		problems = append(problems, fmt.Sprintf("%s has %d decisions, more than %d: is each one that somebody would otherwise undo?", folder, decisions, mostDecisions))
	}
	return problems
}

// TestDecisionsForm checks that every decision has one form, so that each can be read in a minute
// and none says that another one replaced it.
func TestDecisionsForm(t *testing.T) {
	t.Parallel()
	for _, problem := range misshapen(Documents(t)) {
		t.Error(problem)
	}
}

const mostDecisionLines, mostDecisions = 60, 44

var section = regexp.MustCompile(`(?m)^#+ .*$`)

// misshapen lists what differs from the form that docs/decisions/README.md describes.
func misshapen(docs map[string]string) []string {
	var problems []string
	for _, name := range slices.Sorted(maps.Keys(docs)) {
		if !strings.HasPrefix(name, "docs/decisions/") || strings.HasSuffix(name, "/README.md") {
			continue
		}
		text := docs[name]
		if !strings.HasPrefix(text, "# ") || strings.Count(text, "\nStatus:") != 1 {
			problems = append(problems, name+": a decision has a title and one status")
		}
		if _, rest, _ := strings.Cut(text, "\n"); !strings.HasPrefix(rest, "\nStatus: accepted\n\n") {
			problems = append(problems, name+": \"Status: accepted\" follows the title")
		}
		sections := section.FindAllString(text, -1)
		without := slices.DeleteFunc(slices.Clone(sections), func(s string) bool { return s == "## Why" })
		if len(without) != 3 || without[1] != "## Decision" || without[2] != "## Not chosen" ||
			len(sections) > len(without) && sections[2] != "## Why" {
			problems = append(problems, fmt.Sprintf("%s: the sections are Decision, Why (if there is more to say) and Not chosen, not %q", name, sections))
		}
		if n := strings.Count(text, "\n"); n > mostDecisionLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines; a decision has at most %d", name, n, mostDecisionLines))
		}
	}
	return problems
}

// TestNamedDecisionsExist finds comments and data that name a decision which is not there.
func TestNamedDecisionsExist(t *testing.T) {
	t.Parallel()
	docs, named := Documents(t), 0
	Walk(t, func(path string, data []byte) {
		if path == "e2e/suite/docs/docs_check_test.go" || !isSource(path) && filepath.Ext(path) != ".json" {
			return
		}
		for _, match := range decisionMention.FindAllString(string(data), -1) {
			named++
			if docs["docs/decisions/"+match] == "" {
				t.Errorf("%s names %s, which is not in docs/decisions", path, match)
			}
		}
	})
	if named == 0 {
		t.Error("no file names a decision")
	}
}

var decisionMention = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}-[a-z0-9-]+\.md\b`)

// TestMakeTargets finds documented make commands that the Makefile does not have.
func TestMakeTargets(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile(filepath.Join(Root(t), "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := makeTargets(string(makefile))
	named := 0
	for name, text := range Documents(t) {
		for _, target := range makeCommands(text) {
			named++
			if !slices.Contains(targets, target) {
				t.Errorf("%s: the Makefile has no target %s", name, target)
			}
		}
	}
	if named == 0 {
		t.Error("no document names a make command")
	}
}

var (
	targetLine  = regexp.MustCompile(`(?m)^([a-z][a-z-]*):`)
	makeCommand = regexp.MustCompile("(?m)(?:^|[`&;] *)make ([a-z][a-z-]*)")
)

func makeTargets(makefile string) []string {
	lines := targetLine.FindAllStringSubmatch(makefile, -1)
	names := make([]string, 0, len(lines))
	for _, match := range lines {
		names = append(names, match[1])
	}
	return names
}

// makeCommands returns the targets that code of a document names, in a block
// or in the line.
func makeCommands(text string) []string {
	var names []string
	for _, code := range slices.Concat(fence.FindAllString(text, -1), inlineCode.FindAllString(fence.ReplaceAllString(text, ""), -1)) {
		for _, match := range makeCommand.FindAllStringSubmatch(code, -1) {
			names = append(names, match[1])
		}
	}
	return names
}

// TestCommands asks the binary for every verb and flag that a
// document tells people to type.
func TestCommands(t *testing.T) {
	t.Parallel()
	binary, err := Binary()
	if err != nil {
		t.Fatal(err)
	}
	help := map[string]string{}
	for name, text := range Documents(t) {
		for _, command := range pagetoolsCommands(text) {
			if _, known := help[command.verb]; !known {
				help[command.verb] = helpOf(t, binary, command.verb)
			}
			for _, problem := range unknownFlags(command, help[command.verb]) {
				t.Errorf("%s: %s", name, problem)
			}
		}
	}
	if len(help) == 0 {
		t.Error("no document names a pagetools command")
	}
}

// helpOf returns the help of a verb, with those of the verbs below it, or "" when there is none.
func helpOf(t *testing.T, binary, verb string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), binary, append(strings.Fields(verb), "--help")...).CombinedOutput()
	if err != nil {
		t.Errorf("pagetools %s --help: %v\n%s", verb, err, out)
		return ""
	}
	help := string(out)
	if _, list, of := strings.Cut(help, "\nAvailable Commands:\n"); of {
		list, _, _ = strings.Cut(list, "\n\n")
		for _, line := range strings.Split(list, "\n") {
			help += helpOf(t, binary, verb+" "+strings.Fields(line)[0])
		}
	}
	return help
}

// command is one pagetools command line in a document.
type command struct {
	verb  string
	flags []string
}

var (
	continued  = regexp.MustCompile(`\\\n\s*`)
	invocation = regexp.MustCompile(`(?m)(?:^|[\s|])(?:bin/|\./)?pagetools ([a-z]+)\b([^\n|&;]*)`)
	quoted     = regexp.MustCompile(`'[^']*'|"[^"]*"`)
	flagName   = regexp.MustCompile(`(?:^|\s)(--[a-z][a-z-]*|-[a-z])\b`)
)

// pagetoolsCommands returns the command lines in the code blocks of a document.
func pagetoolsCommands(text string) []command {
	var commands []command
	for _, block := range fence.FindAllString(text, -1) {
		block = continued.ReplaceAllString(block, " ")
		for _, match := range invocation.FindAllStringSubmatch(block, -1) {
			c := command{verb: match[1]}
			for _, flag := range flagName.FindAllStringSubmatch(quoted.ReplaceAllString(match[2], `""`), -1) {
				c.flags = append(c.flags, flag[1])
			}
			commands = append(commands, c)
		}
	}
	return commands
}

// unknownFlags returns the flags of a command that its help does not mention as
// a whole word.
func unknownFlags(c command, help string) []string {
	var problems []string
	for _, flag := range c.flags {
		word := regexp.MustCompile(`(?m)(?:^|[^a-z-])` + regexp.QuoteMeta(flag) + `(?:[^a-z-]|$)`)
		if !word.MatchString(help) {
			problems = append(problems, fmt.Sprintf("the help of pagetools %s does not mention %s", c.verb, flag))
		}
	}
	return problems
}

var testName = regexp.MustCompile("`(Test[A-Za-z]+)`")

// TestTablesHaveTests finds attacks and requirements whose test does not exist, and
// rows that are not in their table.
func TestTablesHaveTests(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	Walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") {
			code.Write(data)
		}
	})
	tables := Documents(t)
	for _, path := range []string{"docs/security-tests.md", "docs/internal/webtools.md", "docs/internal/mcp.md"} {
		if problems := missingTests(tables[path], code.String()); len(problems) > 0 {
			t.Errorf("%s names tests that are not there: %s", path, problems)
		}
	}
	for letter, last := range map[string]int{"W": 49, "L": 13, "A": 19} {
		if rows := missingRows(tables["docs/internal/webtools.md"], letter, last); len(rows) > 0 {
			t.Errorf("docs/internal/webtools.md does not have %s", rows)
		}
	}
	if rows := missingRows(tables["docs/internal/mcp.md"], "D", 18); len(rows) > 0 {
		t.Errorf("docs/internal/mcp.md does not have %s", rows)
	}
	if problems := missingTests("| X | `TestThatIsNowhere` |", code.String()); len(problems) != 1 {
		t.Error("a test that is nowhere is not missed")
	}
	if rows := missingRows("| W1, W10 |", "W", 2); len(rows) != 1 || rows[0] != "W2" {
		t.Errorf("a row that is nowhere is not missed: %s", rows)
	}
}

// TestSecurityRowsAreHeld: each row of the security reference has a line with a test.
func TestSecurityRowsAreHeld(t *testing.T) {
	t.Parallel()
	table := Documents(t)["docs/security-tests.md"]
	for letter, last := range map[string]int{"N": 20, "E": 14, "P": 25, "S": 8, "X": 5, "C": 13, "D": 4, "L": 4, "V": 2, "U": 1, "R": 51, "T": 10} {
		if rows := missingRows(table, letter, last); len(rows) > 0 {
			t.Errorf("docs/security-tests.md does not have %s", rows)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| [A-Z]\d+ .*$`).FindAllString(table, -1) {
		if cells := strings.Split(row, "|"); len(cells) != 6 || strings.TrimSpace(cells[4]) == "" ||
			!strings.Contains(cells[3], "`") {
			t.Errorf("a row without a test or a control: %s", row)
		}
	}
}

// TestOpenToolsRowsAreHeld: each row of OpenTools names a test that is there.
func TestOpenToolsRowsAreHeld(t *testing.T) {
	t.Parallel()
	text := Documents(t)["docs/opentools.md"]
	_, table, _ := strings.Cut(text, "## What holds it")
	for letter, last := range map[string]int{"O": 19, "B": 12} {
		if rows := missingRows(table, letter, last); len(rows) > 0 {
			t.Errorf("docs/opentools.md does not have %s", rows)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| [OB]\d+ .*$`).FindAllString(table, -1) {
		if !testName.MatchString(row) && !strings.HasPrefix(row, "| O19 ") {
			t.Errorf("a row without a test: %s", row)
		}
	}
}

func missingTests(table, code string) (missing []string) {
	for _, match := range testName.FindAllStringSubmatch(table, -1) {
		if !strings.Contains(code, "func "+match[1]+"(t *testing.T)") {
			missing = append(missing, match[1])
		}
	}
	return missing
}

// missingRows lists the rows from 1 to last that no line of the table begins with.
func missingRows(table, letter string, last int) (missing []string) {
	for n := 1; n <= last; n++ {
		id := fmt.Sprint(letter, n)
		if !regexp.MustCompile(`(?m)^\| [^|]*\b` + id + `\b`).MatchString(table) {
			missing = append(missing, id)
		}
	}
	return missing
}

// TestFindingsAreHeld: each row of the review names its test and a mutation that the test
// does not survive, or says why not. `make mutations` tries them.
func TestFindingsAreHeld(t *testing.T) {
	t.Parallel()
	var files []string
	all, err := filepath.Glob(filepath.Join(Root(t), "docs", "internal", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range all {
		if text, err := os.ReadFile(name); err != nil || bytes.Contains(text, []byte("\nMutation: ")) {
			files = append(files, name)
		}
	}
	cmd := exec.Command("go", append([]string{"run", "./scripts/mutate", "-check"}, files...)...)
	cmd.Dir = Root(t)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(Root(t), "docs", "internal", "findings.md"))
	if err != nil {
		t.Fatal(err)
	}
	for section, rows := range map[string]int{"A": 14, "B": 10, "C": 3, "D": 16, "E": 13, "F": 8} {
		for n := range rows {
			id := fmt.Sprintf("%s%d", section, n+1)
			if !regexp.MustCompile(`(?m)^## (\w+, )*` + id + `\b`).Match(text) {
				t.Errorf("%s is not there", id)
			}
		}
	}
}

// TestBoundsAreHeld: the tests that the tables of bounds and of findings name are there.
func TestBoundsAreHeld(t *testing.T) {
	t.Parallel()
	tests := ""
	Walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, "_test.go") {
			tests += string(data)
		}
	})
	text := Documents(t)["docs/internal/bounds.md"] + Documents(t)["docs/internal/others.md"]
	rows := map[string]bool{}
	for _, row := range regexp.MustCompile(`(?m)^\| ([A-Z][0-9]+(?:, [A-Z][0-9]+)*) \| (.*) \|$`).FindAllStringSubmatch(Documents(t)["docs/internal/others.md"], -1) {
		for id := range strings.SplitSeq(row[1], ", ") {
			rows[id] = strings.Contains(row[2], "`Test") || strings.Contains(row[2], "part 1")
		}
	}
	for section, n := range map[string]int{"F": 13, "L": 11, "C": 12, "O": 4, "K": 8, "U": 15, "N": 8, "S": 9} {
		for i := range n {
			if id := fmt.Sprintf("%s%d", section, i+1); !rows[id] {
				t.Errorf("the finding %s has neither a test nor a later part", id)
			}
		}
	}
	names := regexp.MustCompile("`(Test[A-Za-z0-9]+)`").FindAllStringSubmatch(text, -1)
	for _, name := range names {
		if !strings.Contains(tests, "func "+name[1]+"(") {
			t.Errorf("there is no %s", name[1])
		}
	}
}
