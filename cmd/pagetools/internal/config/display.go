package config

import (
	"fmt"
	"os"
	"runtime"
)

// IsRemote reports whether the browser is one that was started elsewhere.
func (c *Config) IsRemote() bool { return c.BrowserURL+c.WSEndpoint != "" }

// JSON reports whether results and failures are printed as JSON.
func (c *Config) JSON() bool { return c.Format == "json" || c.Format == "ndjson" }

// NeedsDisplay refuses to start a visible browser for a command where there is no display.
func (c *Config) NeedsDisplay(command string) error {
	if c.Headless || c.IsRemote() || runtime.GOOS != "linux" ||
		os.Getenv("DISPLAY")+os.Getenv("WAYLAND_DISPLAY") != "" {
		return nil
	}
	instead := "give --headless for a page that logs in by itself"
	if command != "login" {
		instead = "leave --headed out"
	}
	return fmt.Errorf("%s shows a browser, and there is no display: neither DISPLAY nor "+
		"WAYLAND_DISPLAY is set. Run it on a desktop, or %s", command, instead)
}
