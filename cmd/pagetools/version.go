package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/session/cdp/chrome"
	"github.com/pagetools/pagetools/shim"
)

// versionInfo is what version prints.
type versionInfo struct {
	Version  string `json:"version"`
	Shim     string `json:"shim"` // SHA-256 of the page script
	Go       string `json:"go"`
	Chromedp string `json:"chromedp"`
	Browser  string `json:"browser"` // path, or "none"
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
	info, ok := debug.ReadBuildInfo()
	v := versionInfo{Version: versionOf(info), Shim: shim.Digest(), Go: runtime.Version(),
		Browser: "none"}
	if ok {
		for _, d := range info.Deps {
			if d.Path == "github.com/chromedp/chromedp" {
				v.Chromedp = d.Version
			}
		}
	}
	if path, err := chrome.Find(p.conf.ExecutablePath); err == nil {
		v.Browser = path
	}
	if p.conf.Format != "text" {
		return terminal.Encode(p.stdout, v)
	}
	_, err := fmt.Fprintf(p.stdout, "pagetools %s\nshim      %s\ngo        "+
		"%s\nchromedp  %s\nbrowser   %s\n", v.Version, v.Shim, v.Go, v.Chromedp, v.Browser)
	return err
}

// versionOf is the version of the program; "devel" for one that was built from a
// working tree. info may be nil.
func ownVersion() string {
	info, _ := debug.ReadBuildInfo()
	return versionOf(info)
}

func versionOf(info *debug.BuildInfo) string {
	if info == nil || info.Main.Version == "" || info.Main.Version == "(devel)" {
		return "devel"
	}
	return info.Main.Version
}
