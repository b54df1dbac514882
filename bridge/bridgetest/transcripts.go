package bridgetest

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write golden files anew")

// Update reports whether golden files are to be written anew.
func Update() bool { return *update }

// Transcripts holds every testdata/*.txtar of a package to what replay, which speaks
// as the file says, returns for it: the same file. With -update it writes the file.
func Transcripts(t *testing.T, replay func(t *testing.T, text string) string) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("there are no transcripts", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			before, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			now := replay(t, string(before))
			if *update {
				if err := os.WriteFile(name, []byte(now), 0o600); err != nil {
					t.Fatal(err)
				}
				return
			}
			was, is := strings.Split(string(before), "\n"), strings.Split(now, "\n")
			for i := range max(len(was), len(is)) {
				if i >= len(was) || i >= len(is) || was[i] != is[i] {
					t.Fatalf("line %d:\n%s\nand not\n%s", i+1,
						strings.Join(is[min(i, len(is)):min(i+1, len(is))], ""),
						strings.Join(was[min(i, len(was)):min(i+1, len(was))], ""))
				}
			}
		})
	}
}
