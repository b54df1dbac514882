package build_test

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/js/build"
)

func TestDistIsCurrent(t *testing.T) {
	const dir = ".."
	want := map[string][]byte{}
	for _, b := range build.Bundles {
		files, err := build.Make(dir, b)
		if err != nil {
			t.Fatalf("building %s: %v", b.Entry, err)
		}
		maps.Copy(want, files)
	}
	err := fs.WalkDir(os.DirFS(dir), "dist", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		got, err := os.ReadFile(filepath.Join(dir, path))
		if text, ok := want[filepath.FromSlash(path)]; !ok || !bytes.Equal(got, text) {
			t.Errorf("%s is stale: run go generate ./js", path)
		}
		delete(want, filepath.FromSlash(path))
		return err
	})
	if err != nil || len(want) > 0 {
		t.Errorf("dist has not all files: run go generate ./js (%v)", err)
	}
}

func TestWarningIsError(t *testing.T) {
	dir := t.TempDir()
	source := []byte("shim = 1 === -0 || typeof shim === 'strin';\n")
	if err := os.WriteFile(filepath.Join(dir, "main.js"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if files, err := build.Make(dir, build.Bundle{Entry: "main.js", Result: "shim"}); err == nil {
		t.Errorf("no error, but %d files", len(files))
	}
}

func TestTemplateOfSeveralLinesIsError(t *testing.T) {
	dir := t.TempDir()
	for source, ok := range map[string]bool{"shim = `a\n  b`;\n": false, "shim = `a` + `${shim}`;\n": true} {
		if err := os.WriteFile(filepath.Join(dir, "main.js"), []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := build.Make(dir, build.Bundle{Entry: "main.js", Result: "shim"})
		if (err == nil) != ok {
			t.Errorf("%q gives %q and %v", source, files, err)
		}
	}
}

// maxShim limits how large the script for pages may get, readable as it is.
const maxShim = 110_000

func TestSizeOfShim(t *testing.T) {
	info, err := os.Stat("../dist/shim.js")
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > maxShim {
		t.Errorf("dist/shim.js has %d bytes, more than %d", info.Size(), maxShim)
	}
}

// TestVendored compares the files of others with the sums that were written down.
func TestVendored(t *testing.T) {
	const dir = "../vendor"
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	var found strings.Builder
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || path == "README.md" || path == "SHA256SUMS" {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, path))
		fmt.Fprintf(&found, "%x  %s\n", sha256.Sum256(data), path)
		return err
	})
	if err != nil || found.String() != string(sums) {
		t.Errorf("%v; js/vendor/SHA256SUMS should have\n%s", err, found.String())
	}
}
