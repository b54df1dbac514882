package docs

import (
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"
)

// riddles limits how many comments may say what something is instead of what it does. It only
// falls.
const riddles = 14

// riddle matches "X is what ..." and its like: a reader has to guess the verb. See CONTRIBUTING.md.
var riddle = regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|being)\s+(?:only |just |also |not |all |always |still )?(?:what|that|those|who|whom|whose|whatever|whoever|which|how|where|why|when|the one|the ones)\b`)

// riddlesIn returns the comments of a Go file that are riddles.
func riddlesIn(source []byte) (found []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), "", source, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	for _, group := range file.Comments {
		text := strings.Join(strings.Fields(group.Text()), " ")
		for _, at := range riddle.FindAllStringIndex(text, -1) {
			found = append(found, text[max(0, at[0]-30):min(len(text), at[1]+30)])
		}
	}
	return found, nil
}

// TestWords fails when there are more riddles than the budget.
func TestWords(t *testing.T) {
	t.Parallel()
	n, most := 0, ""
	folders := map[string]int{}
	Walk(t, func(path string, data []byte) {
		if !strings.HasSuffix(path, ".go") || isGenerated(data) {
			return
		}
		found, err := riddlesIn(data)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		n += len(found)
		if folders[path] = len(found); folders[path] > folders[most] {
			most = path
		}
	})
	t.Logf("%d comments, most of them in %s", n, most)
	if n > riddles {
		t.Errorf("%d comments are of the form \"X is what\", more than %d: write the verb, such as returns, stores, limits", n, riddles)
	}
}

// TestWordsCatch plants what TestWords must find.
func TestWordsCatch(t *testing.T) {
	t.Parallel()
	found, err := riddlesIn([]byte("package p\n\n// A is what\n// it does. B returns a name.\nvar b = 1\n\n// Those are\n// those who wait.\nvar a = 1\n"))
	if err != nil || len(found) != 2 {
		t.Errorf("found %q, %v", found, err)
	}
}
