package docs

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestFolderTable compares the table of CONTRIBUTING.md with the folders, and with what the import
// rules let them import.
func TestFolderTable(t *testing.T) {
	t.Parallel()
	folders := map[string]bool{}
	Walk(t, func(file string, _ []byte) {
		if strings.HasSuffix(file, ".go") && !strings.Contains("/"+file, "/testdata/") {
			folders[path.Dir(file)] = true
		}
	})
	docs := Documents(t)
	for _, problem := range checkFolders(docs["CONTRIBUTING.md"], slices.Sorted(maps.Keys(folders))) {
		t.Error("CONTRIBUTING.md: " + problem)
	}
	if folderRow.MatchString(docs["AGENTS.md"]) {
		t.Error("AGENTS.md has a second table of folders")
	}
}

var (
	folderRow = regexp.MustCompile("(?m)^\\| `([^`]+)` \\| [^|]+ \\| ([^|]+) \\|$")
	codeSpan  = regexp.MustCompile("`([^`]+)`")
)

// checkFolders compares the rows of a text with folders that hold Go files.
func checkFolders(text string, folders []string) []string {
	var problems []string
	rows := folderRow.FindAllStringSubmatch(text, -1)
	for _, folder := range folders {
		n := 0
		for _, row := range rows {
			if matches(row[1], folder) {
				n++
			}
		}
		if n != 1 {
			problems = append(problems, fmt.Sprintf("%s is in %d rows of the table, not in one", folder, n))
		}
	}
	for _, row := range rows {
		held := slices.DeleteFunc(slices.Clone(folders), func(f string) bool { return !matches(row[1], f) })
		if len(held) == 0 {
			problems = append(problems, row[1]+" holds no Go file")
		}
		for _, folder := range held {
			problems = append(problems, checkRow(folder, row[2], folders)...)
		}
	}
	return problems
}

// checkRow compares what a row lets a folder import with the import rules, for every folder.
func checkRow(folder, cell string, folders []string) []string {
	rule := layerOf(folder)
	if rule == nil {
		return []string{folder + " is in no row of the import rules"}
	}
	var says, problems []string
	for _, span := range codeSpan.FindAllStringSubmatch(cell, -1) {
		says = append(says, span[1])
	}
	if len(says) == 0 && cell != "nothing" {
		problems = append(problems, fmt.Sprintf("%s: %q is neither folders nor nothing", folder, cell))
	}
	for _, other := range folders {
		if said, may := matchesAny(says, other), matchesAny(rule.may, other); said != may {
			problems = append(problems, fmt.Sprintf("%s may import %s: the table says %v, the rules say %v", folder, other, said, may))
		}
	}
	return problems
}

// TestFolderTableCatches plants what TestFolderTable must find.
func TestFolderTableCatches(t *testing.T) {
	t.Parallel()
	folders := []string{"bridge", "bridge/policy", "bridge/schema", "bridge/webtool", "scripts/a", "scripts/b"}
	const good = "| `bridge` | x | `bridge/policy`, `bridge/schema`, `bridge/webtool` |\n| `bridge/policy` | x | nothing |\n" +
		"| `bridge/schema` | x | nothing |\n| `bridge/webtool` | x | `bridge/schema` |\n| `scripts/...` | x | nothing |\n"
	for name, test := range map[string]struct{ old, new, want string }{
		"good":       {"", "", ""},
		"missing":    {"| `bridge/policy` | x | nothing |\n", "", "bridge/policy is in 0 rows"},
		"twice":      {"| `scripts/...`", "| `scripts/a` | x | nothing |\n| `scripts/...`", "scripts/a is in 2 rows"},
		"gone":       {"| `scripts/...`", "| `session` | x | nothing |\n| `scripts/...`", "session holds no Go file"},
		"too much":   {"| `bridge/policy` | x | nothing", "| `bridge/policy` | x | `bridge`", "the table says true, the rules say false"},
		"too little": {"`bridge/policy`, `bridge/schema`, `bridge/webtool`", "`bridge/schema`, `bridge/webtool`", "the table says false, the rules say true"},
		"words":      {"x | nothing |\n| `bridge/webtool`", "x | much |\n| `bridge/webtool`", "neither folders nor nothing"},
	} {
		problems := checkFolders(strings.Replace(good, test.old, test.new, 1), folders)
		switch {
		case test.want == "" && len(problems) > 0:
			t.Errorf("%s: found %q", name, problems)
		case test.want != "" && (len(problems) != 1 || !strings.Contains(problems[0], test.want)):
			t.Errorf("%s: found %q, want one problem with %q", name, problems, test.want)
		}
	}
}
