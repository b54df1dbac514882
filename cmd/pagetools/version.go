package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/shim"
)

// versionInfo holds the members that `version --format json` prints.
type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit"` // with Date, the commit's own, and Modified: empty when Go stamped none
	Date    string `json:"date"`
	// Modified says that the program has changes that no commit has.
	Modified bool   `json:"modified"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	From     string `json:"from"` // the package that it came with, archive or go
	Shim     string `json:"shim"` // SHA-256 of the page script
	Go       string `json:"go"`
	Chromedp string `json:"chromedp"`
	MCPGo    string `json:"mcpGo"`
	Browser  string `json:"browser"` // path, or "none"
	// Kind tells the browser's: shell or chromium; empty without one.
	Kind chrome.Kind `json:"browserKind,omitempty"`
	// BrowserFrom is the cache that the browser is in, such as "Playwright's cache"; empty
	// elsewhere.
	BrowserFrom string `json:"browserFrom,omitempty"`
}

func versionCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print versions",
		Args:  exactly(0, "no argument"),
		RunE:  func(*cobra.Command, []string) error { return version(p) },
	}
}

func version(p *program) error {
	v := builtAs()
	if self, err := os.Executable(); err == nil {
		v.From = cameFrom(self, v)
	}
	v.Browser = "none"
	o, err := chromeOptions(p.conf)
	if err != nil {
		return err
	}
	browser := v.Browser
	if path, kind, err := chrome.Find(o); err == nil {
		v.Browser, v.Kind, v.BrowserFrom = path, kind, chrome.Cache(path)
		browser = fmt.Sprintf("%s (%s%s)", path, kind, fromCache(path))
	}
	if p.conf.Format != "text" {
		return terminal.Encode(p.stdout, v)
	}
	_, err = fmt.Fprintf(p.stdout, "pagetools %s\nbuild     %s\nshim      %s\ngo        "+
		"%s\nchromedp  %s\nmcp-go    %s\nbrowser   %s\n", v.Version, v.build(), v.Shim, v.Go,
		v.Chromedp, v.MCPGo, browser)
	return err
}

// builtAs returns what Go stamped into the program.
func builtAs() versionInfo {
	v := versionInfo{Version: ownVersion(), OS: runtime.GOOS, Arch: runtime.GOARCH, From: "go",
		Shim: shim.Digest(), Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, d := range info.Deps {
		switch d.Path {
		case "github.com/chromedp/chromedp":
			v.Chromedp = d.Version
		case "github.com/mark3labs/mcp-go":
			v.MCPGo = d.Version
		}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Date = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// build says on one line what was built: linux/amd64 from npm, commit 0123456789ab of 2026-11-27.
func (v *versionInfo) build() string {
	text := v.OS + "/" + v.Arch + " from " + v.From
	if v.Commit == "" {
		return text
	}
	day, _, _ := strings.Cut(v.Date, "T")
	text += fmt.Sprintf(", commit %.12s of %s", v.Commit, day)
	if v.Modified {
		text += ", with changes"
	}
	return text
}

// ownVersion is the version of the program; "devel" for one that was built from a
// working tree.
func ownVersion() string {
	info, known := debug.ReadBuildInfo()
	if !known || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}

var (
	// released is the version of a release. What Go makes of a commit without a tag, or of
	// one with changes, is not one.
	released = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)
	pseudo   = regexp.MustCompile(`[.-]\d{14}-[0-9a-f]{12}$`)
)

func isReleased(version string) bool {
	return released.MatchString(version) && !pseudo.MatchString(version)
}

var oneWord = regexp.MustCompile(`^[a-z][a-z0-9-]{0,31}\s*$`)

// cameFrom returns the package that the program at a path came with. Packages bring a file of one
// word, beside the program or in share/pagetools. Without, a release is from an archive; everything
// else was built with Go.
func cameFrom(self string, v versionInfo) string {
	if real, err := filepath.EvalSymlinks(self); err == nil {
		self = real
	}
	dir := filepath.Dir(self)
	for _, path := range []string{
		filepath.Join(dir, "pagetools.from"), filepath.Join(dir, "..", "share", "pagetools", "from"),
	} {
		if word, err := os.ReadFile(path); err == nil && oneWord.Match(word) {
			return strings.TrimSpace(string(word))
		}
	}
	if isReleased(v.Version) && v.Commit != "" {
		return "archive"
	}
	return "go"
}
