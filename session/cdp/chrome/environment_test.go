package chrome

import (
	"slices"
	"strings"
	"testing"
)

// TestEnvironment holds S8: a browser gets what it needs of the shell's environment, and no key.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	const kept, headed, windows = "kept", "headed", "windows"
	for name, want := range map[string]string{
		"PATH": kept, "LANG": kept, "LC_ALL": kept, "LC_TIME": kept, "TZ": kept, "FONTCONFIG_FILE": kept,
		"FONTCONFIG_PATH": kept, "SSL_CERT_FILE": kept, "SSL_CERT_DIR": kept,
		"DISPLAY": headed, "WAYLAND_DISPLAY": headed, "XAUTHORITY": headed, "XDG_RUNTIME_DIR": headed,
		"SystemRoot": windows, "SystemDrive": windows, "USERPROFILE": windows, "LOCALAPPDATA": windows,
		"ProgramFiles": windows, "ProgramFiles(x86)": windows, "ProgramW6432": windows,

		"AWS_SECRET_ACCESS_KEY": "", "GITHUB_TOKEN": "", "SSH_AUTH_SOCK": "", "OPENAI_API_KEY": "", "HOME": "",
		"TMPDIR": "", "TEMP": "", "XDG_CONFIG_HOME": "", "DBUS_SESSION_BUS_ADDRESS": "", "PAGETOOLS_TOKEN": "",
		"LD_PRELOAD": "", "LD_LIBRARY_PATH": "", "HTTPS_PROXY": "", "http_proxy": "", "CHROME_LOG_FILE": "",
		"SSLKEYLOGFILE": "", "PATHS": "", "XPATH": "", "LANGUAGE_KEY": "", "LC": "", "path": windows, "TZDIR": "",
		"FONTCONFIG": "", "ProgramFilesKey": "", "NODE_OPTIONS": "",
	} {
		for _, os := range []bool{false, true} {
			for _, window := range []bool{false, true} {
				pass := want == kept || want == headed && window || want == windows && os
				if got := slices.Contains(passedOn([]string{name + "=a=b"}, os, window), name+"=a=b"); got != pass {
					t.Errorf("%s, on Windows %v, with a window %v: passed on %v", name, os, window, got)
				}
			}
		}
	}
	if got := strings.Join(passedOn([]string{"=C:=C:\\", "TZ", ""}, false, true), " "); got != "TZ" {
		t.Errorf("of odd ones it gets %q", got)
	}
}
