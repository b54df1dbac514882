package config

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestBrowsers: each entry names one way to a browser. Errors say which entry is wrong, and no address.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	c, err := load(t, `browsers:
  - {name: pool, url: "http://10.0.1.7:9222", max: 40, headers: {Authorization: "Bearer x"}}
  - {name: less, ws: "wss://b.example/?token=x", max: 10, reattach: never}
  - {name: grid, webdriver: "http://grid:4444", max: 100}
  - {name: k8s, command: [/usr/local/bin/claim-browser, --fast], max: 100}
`)
	if err != nil || len(c.Browsers) != 4 || !c.IsRemote() || c.Saves() || c.Browsers[0].Headers["Authorization"] != "Bearer x" || len(c.Browsers[3].Command) != 2 || c.Browsers[2].Line != 4 {
		t.Fatalf("%+v, %v", c, err)
	}
	for text, want := range map[string]string{
		`{url: "http://secret/", max: 1}`:                                           "name is missing",
		`{name: a, url: "http://secret/"}`:                                          "max is missing",
		`{name: a, url: "http://secret/", max: 0}`:                                  "at least 1",
		`{name: a b, url: "http://secret/", max: 1}`:                                "must have up to 32",
		`{name: a, max: 1}`:                                                         "one of url, ws, webdriver and command",
		`{name: a, url: "http://secret/", ws: "ws://secret/", max: 1}`:              "one of url, ws, webdriver and command",
		`{name: a, url: "http://secret/", command: [x], max: 1}`:                    "one of url, ws, webdriver and command",
		`{name: a, command: [""], max: 1}`:                                          "begin with a program",
		`{name: a, url: "ws://secret/", max: 1}`:                                    "url of a must begin with http:// or https://",
		`{name: a, ws: "http://secret/", max: 1}`:                                   "ws of a must begin with ws:// or wss://",
		`{name: a, webdriver: "secret:4444", max: 1}`:                               "webdriver of a must begin",
		`{name: a, url: "http://", max: 1}`:                                         "name a host",
		`{name: a, webdriver: "http://secret/", reattach: never, max: 1}`:           "reattach of a is for url and ws",
		`{name: a, command: [x], headers: {A: b}, max: 1}`:                          "headers of a are for url and ws",
		`{name: a, url: "http://secret/", headers: {"a b": secret}, max: 1}`:        "each must be a name and a text",
		`{name: a, url: "http://secret/", headers: {A: "secret\nB: c"}, max: 1}`:    "each must be a name and a text",
		`{name: a, url: "http://secret/", reattach: maybe, max: 1}`:                 "auto, never",
		`{name: a, url: "http://secret/", max: 1}, {name: a, command: [x], max: 1}`: "there twice",
	} {
		_, err := load(t, "browsers: ["+text+"]")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, other := range []string{"browser-url: http://secret/", "ws-endpoint: ws://secret/", "auto-connect: true"} {
		_, err := load(t, "browsers: [{name: a, command: [x], max: 1}]\n"+other)
		if err == nil || !strings.Contains(err.Error(), "two ways to a browser") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", other, err)
		}
	}
}

// TestBrowsersWithKeys: a file whose addresses hold keys is for its owner alone.
func TestBrowsersWithKeys(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there it has no mode")
	}
	for text, want := range map[string]bool{
		`{name: a, ws: "wss://b.example/?token=x", max: 1}`:           true,
		`{name: a, webdriver: "https://me:x@grid.example/", max: 1}`:  true,
		`{name: a, url: "http://10.0.0.1/", headers: {A: b}, max: 1}`: true,
		`{name: a, url: "http://10.0.0.1:9222", max: 1}`:              false,
		`{name: a, command: [claim, "--key=who-knows"], max: 1}`:      false,
	} {
		path := filepath.Join(t.TempDir(), "x.yaml")
		if err := os.WriteFile(path, []byte("browsers: ["+text+"]"), 0o644); err != nil {
			t.Fatal(err)
		}
		if c, err := loadFrom(t, path); err != nil || c.OpenToOthers != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}
