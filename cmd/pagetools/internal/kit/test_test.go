package kit

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
)

// TestAgain: the command repeats just one case through one door, whatever its file is called.
func TestAgain(t *testing.T) {
	t.Parallel()
	settings := &config.Config{Adapters: []string{"my shop.js"}}
	c := &tester{p: &Program{Config: func() *config.Config { return settings }}, o: &testOptions{url: "http://x/", model: "a b"}}
	want := `pagetools test --url http://x/ --model-cmd 'a b' --adapter 'my shop.js' a.webtool.yaml --run '^a\.webtool\.yaml/it'\''s one/page$'`
	if got := c.again("a.webtool.yaml", "a.webtool.yaml/it's one/page"); got != want {
		t.Errorf("again is %s", got)
	}
	got := c.again("-x\u202e\n", "-x\u202e\n/a/mcp")
	if strings.ContainsAny(got, "\n\u202e") || !strings.HasSuffix(got, ` -- '-x\u202e\n'`) {
		t.Errorf("again is %s", got)
	}
}

// TestReadsWhatIsGone: test --watch waits for files that are not there at the moment, as while an
// editor or git writes them, and for those that are named after them.
func TestReadsWhatIsGone(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	there := filepath.Join(dir, "there.webtool.yaml")
	if err := os.WriteFile(there, []byte("cases: []"), 0o600); err != nil {
		t.Fatal(err)
	}
	gone := filepath.Join(dir, "gone.webtool.yaml")
	x := tester{p: &Program{Config: func() *config.Config { return &config.Config{} }}, o: &testOptions{}}
	set := x.reads([]string{gone, there, dir})
	if !slices.Contains(set.Files, gone) || !slices.Contains(set.Files, there) || len(set.Folders) != 1 {
		t.Errorf("it watches %+v", set)
	}
	if _, err := x.read([]string{there, gone}); err == nil || !strings.Contains(err.Error(), gone+" is not there") {
		t.Errorf("a run of it says: %v", err)
	}
}
