package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra/doc"
)

// What makes man pages stays out of the program: packages bring the pages.
var (
	manDir  = flag.String("man", "", "write the man pages into this folder")
	manDate = flag.String("man-date", "1970-01-01T00:00:00Z", "the date that man pages have")
)

// TestManPages writes a page for each command, and for a release leaves them in a folder.
func TestManPages(t *testing.T) {
	dir := *manDir
	if dir == "" {
		dir = t.TempDir()
	}
	date, err := time.Parse(time.RFC3339, *manDate)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	root := (&program{}).command()
	root.DisableAutoGenTag = true
	header := &doc.GenManHeader{Title: "PAGETOOLS", Section: "1", Source: "pagetools", Date: &date}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, "pagetools-tools.1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`.TH "PAGETOOLS" "1"`, "accept-insecure-certs"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page of tools does not have %s:\n%s", want, page)
		}
	}
}
