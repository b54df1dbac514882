package chrome

import (
	"slices"
	"strings"
)

// The variables that a browser gets of our environment, where "LC_" stands for all names that begin
// so. All others stay here: those of a shell hold keys, and every process of the browser could read
// them.
var (
	environment = []string{"PATH", "LANG", "LC_", "TZ", "FONTCONFIG_", "SSL_CERT_FILE", "SSL_CERT_DIR"}
	ofWindow    = []string{"DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_RUNTIME_DIR"}
	ofWindows   = []string{"SYSTEMROOT", "SYSTEMDRIVE", "USERPROFILE", "LOCALAPPDATA", "PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432"}
)

// passedOn returns what a browser gets of an environment, on Windows or elsewhere, with a window or
// without one.
func passedOn(all []string, windows, headful bool) (env []string) {
	names := environment
	if headful {
		names = slices.Concat(names, ofWindow)
	}
	if windows {
		names = slices.Concat(names, ofWindows)
	}
	for _, kv := range all {
		name, _, _ := strings.Cut(kv, "=")
		if windows {
			name = strings.ToUpper(name)
		}
		if slices.ContainsFunc(names, func(known string) bool {
			return name == known || strings.HasSuffix(known, "_") && strings.HasPrefix(name, known)
		}) {
			env = append(env, kv)
		}
	}
	return env
}
