package build_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/pagetools/pagetools/js/build"
)

func TestDistIsCurrent(t *testing.T) {
	const dir = ".."
	for _, b := range build.Bundles {
		want, err := build.Make(dir, b)
		if err != nil {
			t.Fatalf("building %s: %v", b.Entry, err)
		}
		got, err := os.ReadFile(filepath.Join(dir, b.Out))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is stale: run go generate ./js", b.Out)
		}
	}
}

func TestWarningIsError(t *testing.T) {
	dir := t.TempDir()
	source := []byte("shim = 1 === -0 || typeof shim === 'strin';\n")
	if err := os.WriteFile(filepath.Join(dir, "main.js"), source, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := build.Make(dir, build.Bundle{Entry: "main.js", Result: "shim"}); err == nil {
		t.Errorf("no error, but a bundle of %d bytes", len(text))
	}
}
