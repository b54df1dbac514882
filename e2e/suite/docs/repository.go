package docs

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Root returns the folder of the repository. Tests run in their package's folder.
func Root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// Walk calls visit with every regular file of the repository, in the order of their paths with
// slashes. It leaves out what git does not keep. The files are read once.
func Walk(t *testing.T, visit func(path string, data []byte)) {
	t.Helper()
	all, err := files()
	if err != nil {
		t.Fatalf("walking the repository: %v", err)
	}
	for _, f := range all {
		visit(f.path, f.data)
	}
}

type file struct {
	path string
	data []byte
}

var files = sync.OnceValues(func() (all []file, err error) {
	dir := os.DirFS("../../..") // tests run in their package's folder
	skipped := []string{".git", "bin", "node_modules"}
	err = fs.WalkDir(dir, ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains(skipped, entry.Name()) || path == "dist"): // dist has a release
			return fs.SkipDir
		case !entry.Type().IsRegular():
			return nil
		}
		data, err := fs.ReadFile(dir, path)
		all = append(all, file{path, data})
		return err
	})
	return all, err
})

// Documents returns every Markdown file of the repository by its path.
func Documents(t *testing.T) map[string]string {
	t.Helper()
	docs := map[string]string{}
	Walk(t, func(path string, data []byte) {
		if strings.HasSuffix(path, ".md") {
			docs[path] = string(data)
		}
	})
	if docs["README.md"] == "" {
		t.Fatal("there is no README.md")
	}
	return docs
}

// These match what a Markdown document links to: in the text, in a definition, and by a scheme.
var (
	InlineLink = regexp.MustCompile(`\]\(([^)\s]+)(?: "[^"]*")?\)`)
	definition = regexp.MustCompile(`(?m)^\[[^\]]+\]:\s+(\S+)`)
	elsewhere  = regexp.MustCompile(`^[a-z][a-z0-9+.-]*:`)
)

// forUsers reports whether people read a document to use pagetools: the README, the pages
// of docs that are in no folder of it, and those of the examples.
func forUsers(doc string) bool {
	folder := path.Dir(doc)
	return doc == "README.md" || folder == "docs" || doc == "examples/README.md" || path.Dir(folder) == "examples" && path.Base(doc) == "README.md"
}

// UserPages returns the names of the documents for users, sorted.
func UserPages(t *testing.T) (pages []string) {
	t.Helper()
	for _, doc := range slices.Sorted(maps.Keys(Documents(t))) {
		if forUsers(doc) {
			pages = append(pages, doc)
		}
	}
	return pages
}
