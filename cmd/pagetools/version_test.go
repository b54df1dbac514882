package main

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
)

// TestCameFrom puts the file of a package where packages put it.
func TestCameFrom(t *testing.T) {
	t.Parallel()
	tagged := versionInfo{Version: "v1.2.3", Commit: "0123456789abcdef"}
	for name, test := range map[string]struct {
		files map[string]string
		link  string // how the program is called, when not by its own path
		built versionInfo
		want  string
	}{
		"npm":                   {files: map[string]string{"bin/pagetools.from": "npm\n"}, built: tagged, want: "npm"},
		"mcpb, on Windows":      {files: map[string]string{"bin/pagetools.from": "mcpb\r\n"}, built: tagged, want: "mcpb"},
		"deb":                   {files: map[string]string{"share/pagetools/from": "deb\n"}, built: tagged, want: "deb"},
		"brew, by a link":       {files: map[string]string{"share/pagetools/from": "brew\n"}, link: "elsewhere", built: tagged, want: "brew"},
		"beside comes first":    {files: map[string]string{"bin/pagetools.from": "npm", "share/pagetools/from": "deb"}, built: tagged, want: "npm"},
		"two words":             {files: map[string]string{"bin/pagetools.from": "npm or so"}, built: tagged, want: "archive"},
		"not a word":            {files: map[string]string{"bin/pagetools.from": "\x1b[2J"}, built: tagged, want: "archive"},
		"an archive":            {built: tagged, want: "archive"},
		"go install":            {built: versionInfo{Version: "v1.2.3"}, want: "go"},
		"go build":              {built: versionInfo{Version: "devel"}, want: "go"},
		"go build of a commit":  {built: versionInfo{Version: "v1.2.4-0.20261127010203-0123456789ab", Commit: "0"}, want: "go"},
		"go build with changes": {built: versionInfo{Version: "v1.2.3+dirty", Commit: "0"}, want: "go"},
		"a release candidate":   {built: versionInfo{Version: "v1.2.3-rc.1", Commit: "0"}, want: "archive"},
	} {
		dir := t.TempDir()
		files := map[string]string{"bin/pagetools": ""}
		maps.Copy(files, test.files)
		for file, text := range files {
			path := filepath.Join(dir, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		self := filepath.Join(dir, "bin", "pagetools")
		if test.link != "" {
			link := filepath.Join(t.TempDir(), test.link)
			if err := os.Symlink(self, link); err != nil {
				t.Fatal(err)
			}
			self = link
		}
		if got := cameFrom(self, test.built); got != test.want {
			t.Errorf("%s: it says %q, want %q", name, got, test.want)
		}
	}
}
