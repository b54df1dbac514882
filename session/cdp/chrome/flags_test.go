package chrome

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// protections are flags that other controllers copy, and that take a protection
// against hostile pages away. pagetools never sets them by itself.
var protections = []string{
	"--no-sandbox", "--disable-setuid-sandbox", "--disable-popup-blocking", "--disable-hang-monitor", "--disable-ipc-flooding-protection",
	"--disable-web-security", "--allow-running-insecure-content", "--ignore-certificate-errors", "--disable-site-isolation-trials",
	"--allow-file-access-from-files", "--remote-allow-origins", "--enable-automation", "--single-process", "--no-zygote",
	"--test-type", "--enable-unsafe-swiftshader", "--auto-accept-this-tab-capture",
	"--remote-debugging-port", "--remote-debugging-address",
}

func flagNames(args []string) (names []string) {
	for _, a := range args {
		name, _, _ := strings.Cut(a, "=")
		names = append(names, name)
	}
	return names
}

func TestArguments(t *testing.T) {
	t.Parallel()
	plain := new(Options).arguments(Chromium, "/p")
	if got := (&Options{Args: []string{"--lang=de-CH"}}).Languages(); got != "de-CH,de" {
		t.Errorf("the languages of --lang=de-CH are %s", got)
	}
	if got := (&Options{Args: []string{"--accept-lang=fr", "--lang=de"}}).Languages(); got != "fr" {
		t.Errorf("the languages of --accept-lang=fr are %s", got)
	}
	for _, f := range protections {
		if slices.Contains(flagNames(plain), f) {
			t.Errorf("%s is given though nobody asked", f)
		}
	}
	for _, f := range []string{"--isolate-origins", "IsolateOrigins", "LocalNetworkAccess"} {
		if strings.Contains(strings.Join(plain, " "), f) {
			t.Errorf("%s is touched", f)
		}
	}
	for _, f := range []string{
		"--remote-debugging-pipe", "--user-data-dir=/p", "--headless", "--disable-back-forward-cache", "--disable-component-update",
		"--disable-field-trial-config", "--no-pings", "--webrtc-ip-handling-policy=disable_non_proxied_udp", "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
		"--js-flags=--max-old-space-size=1024", "--deny-permission-prompts", "--site-per-process",
		"--use-fake-ui-for-media-stream=deny",
		"--lang=en-US", "--accept-lang=en-US,en",
	} {
		if !slices.Contains(plain, f) {
			t.Errorf("%s is missing", f)
		}
	}
	const block = "--block-new-web-contents"
	for _, row := range []struct {
		kind    Kind
		windows bool
	}{{Shell, false}, {Shell, true}, {Chromium, false}, {Chromium, true}} {
		got := slices.Contains((&Options{Windows: row.windows}).arguments(row.kind, "/p"), block)
		if got != (row.kind == Shell && !row.windows) {
			t.Errorf("%+v: windows are blocked: %v", row, got)
		}
	}
	seen := map[string]bool{}
	for _, f := range flagNames(plain) {
		if seen[f] {
			t.Errorf("%s is given twice: only the last one counts", f)
		}
		seen[f] = true
	}
	asked := Options{
		NoSandbox: true, Headful: true, AcceptInsecureCerts: true, ProxyServer: "127.0.0.1:1", Width: 800, Height: 600,
		Args: []string{"--lang=de"},
	}
	all := asked.arguments(Chromium, "/p")
	for _, f := range []string{"--no-sandbox", "--ignore-certificate-errors", "--proxy-server=127.0.0.1:1", "--proxy-bypass-list=<-loopback>", "--window-size=800,600"} {
		if !slices.Contains(all, f) {
			t.Errorf("%s is missing though it was asked for", f)
		}
	}
	if slices.Contains(all, "--headless") || slices.Contains(flagNames(all), "--accept-lang") || all[len(all)-1] != "--lang=de" {
		t.Errorf("got %v", all)
	}
}

func TestCheckArgs(t *testing.T) {
	t.Parallel()
	for arg, ok := range map[string]bool{
		"--lang=de": true, "--disable-gpu": true, "--host-resolver-rules=MAP a b": false, "--proxy-server=p.example": false, "--no-proxy-server": false, "--remote-debugging-portx": true,
		"": false, "-": false, "--": false, "lang": false, "-lang=de": false, " --lang": false, "http://example.com": false, "—lang": false,
		"--=x": false, "--remote-debugging-port": false, "--remote-debugging-port=0": false, "-remote-debugging-port=0": false,
		"--remote-debugging-pipe": false, "--remote-debugging-address=0.0.0.0": false, "--remote-debugging-io-pipes=1,2": false,
		"--user-data-dir=/x": false, "--user-data-dir": false, "--no-sandbox": false, "--no-sandbox=1": false,
	} {
		if err := (&Options{Args: []string{"--fine", arg}, ProxyServer: "127.0.0.1:1"}).checkArgs(); (err == nil) != ok {
			t.Errorf("checkArgs(%q): %v", arg, err)
		}
	}
	if err := (&Options{Args: []string{"--host-resolver-rules=MAP a b"}}).checkArgs(); err != nil {
		t.Errorf("without a proxy: %v", err)
	}
	o := Options{Path: "/bin/sh", NoSandbox: true, Args: []string{"--remote-debugging-port=0"}}
	if _, err := NewLauncher(o); err == nil || !strings.Contains(err.Error(), "--remote-debugging-port") {
		t.Errorf("NewLauncher with a port: %v", err)
	}
}

// TestRefusedNames holds S7: what is refused are names, so that no value lets one pass.
func TestRefusedNames(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Concat(forbiddenArgs, networkArgs, []string{"--no-sandbox"}) {
		if !regexp.MustCompile(`^--[a-z-]+$`).MatchString(name) {
			t.Errorf("%q is not a name", name)
		}
		for _, arg := range []string{name, name + "=", name + "=default", name + "==disable_non_proxied_udp", strings.ToUpper(name) + "=1", name + " ", name + "\t\n", name + " =1"} {
			if err := (&Options{Args: []string{arg}, ProxyServer: "127.0.0.1:1"}).checkArgs(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%s passes: %v", arg, err)
			}
		}
		if err := (&Options{Args: []string{name + "x=1"}, ProxyServer: "127.0.0.1:1"}).checkArgs(); err != nil {
			t.Errorf("the control: another name that begins so: %v", err)
		}
	}
	for _, arg := range managedFlags {
		if name, value, _ := strings.Cut(arg, "="); value != "" && strings.Contains(name, "webrtc") && !slices.Contains(networkArgs, name) {
			t.Errorf("%s confines pages, and can be set again", name)
		}
	}
}

// TestRoot: as root nothing starts unless the sandbox was given up on purpose.
func TestRoot(t *testing.T) {
	t.Parallel()
	l, err := NewLauncher(Options{Path: "/bin/sh"})
	if os.Geteuid() == 0 {
		if !errors.Is(err, ErrRoot) || l != nil {
			t.Errorf("as root without --no-sandbox: %v, %v", l, err)
		}
		return
	}
	if err != nil {
		t.Errorf("as another user: %v", err)
	}
}

// program makes an executable file.
func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}
