package origin_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge/origin"
)

// TestOf has the inputs on which twelve functions disagreed once.
func TestOf(t *testing.T) {
	for address, want := range map[string]string{
		"https://shop.example":                "https://shop.example",
		"https://shop.example/a/b?c=d#e":      "https://shop.example",
		"HTTPS://Shop.EXAMPLE/":               "https://shop.example",
		"https://shop.example:443/":           "https://shop.example",
		"http://shop.example:80/":             "http://shop.example",
		"http://shop.example:080/":            "http://shop.example",
		"https://shop.example:80/":            "https://shop.example:80",
		"http://shop.example:443/":            "http://shop.example:443",
		"https://shop.example:/":              "https://shop.example",
		"https://shop.example:8443/":          "https://shop.example:8443",
		"https://shop.example:65536/":         "",
		"https://ada:secret@shop.example/":    "https://shop.example",
		"https://shop.example@evil.example/":  "https://evil.example",
		"https://shop.example./":              "https://shop.example.",
		"https://münchen.example/":            "https://xn--mnchen-3ya.example",
		"https://MÜNCHEN.example:443/":        "https://xn--mnchen-3ya.example",
		"https://xn--mnchen-3ya.example/api":  "https://xn--mnchen-3ya.example",
		"https://XN--MNCHEN-3YA.example/":     "https://xn--mnchen-3ya.example",
		"https://straße.example/":             "https://xn--strae-oqa.example",
		"https://shop。example/":               "https://shop.example",
		"https://under_score.example/":        "https://under_score.example",
		"https://r3---sn-x.example/":          "https://r3---sn-x.example",
		"http://[::1]/":                       "http://[::1]",
		"http://[::1]:80/":                    "http://[::1]",
		"http://[0:0:0:0:0:0:0:1]:8080/":      "http://[::1]:8080",
		"http://[2001:DB8::1]/":               "http://[2001:db8::1]",
		"http://LOCALHOST:8099/":              "http://localhost:8099",
		"http://127.0.0.1:7300/mcp":           "http://127.0.0.1:7300",
		"ws://shop.example:80/live":           "ws://shop.example",
		"chrome-extension://abcdef/page.html": "chrome-extension://abcdef",
		"":                                    "",
		"null":                                "",
		"about:blank":                         "",
		"data:text/html,x":                    "",
		"file:///etc/passwd":                  "",
		"//shop.example/":                     "",
		"/path":                               "",
		"http://:80/":                         "",
		"http://[::1/":                        "",
	} {
		if got := origin.Of(address); got != want {
			t.Errorf("Of(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestSame(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want bool
	}{
		{"https://münchen.example/openapi.json", "https://xn--mnchen-3ya.example/api", true},
		{"http://SHOP.example:80", "http://shop.example/", true},
		{"https://shop.example:", "https://shop.example:443", true},
		{"http://[::1]:8080", "http://[0::1]:8080/", true},
		{"https://shop.example", "http://shop.example", false},
		{"https://shop.example", "https://shop.example.evil.example", false},
		{"https://shop.example", "https://shop.example.", false},
		{"http://localhost:1", "http://localhost:2", false},
		{"http://localhost", "http://127.0.0.1", false},
		{"", "", false},
		{"null", "null", false},
	} {
		if got := origin.Same(x.a, x.b); got != x.want || got != origin.Same(x.b, x.a) {
			t.Errorf("Same(%q, %q) = %v, want %v", x.a, x.b, got, x.want)
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"https://Shop.Example:443/": "https://shop.example",
		"http://[::1]:8080":         "http://[::1]:8080",
		"https://shop.example/path": "",
		"https://shop.example/?a":   "",
		"https://u@shop.example":    "",
		"ftp://shop.example":        "",
		"shop.example":              "",
		"https://":                  "",
	} {
		if got, ok := origin.Parse(text); got != want || ok != (want != "") {
			t.Errorf("Parse(%q) = %q, %v, want %q", text, got, ok, want)
		}
	}
}

func TestLoopback(t *testing.T) {
	for host, want := range map[string]bool{
		"localhost": true, "LOCALHOST": true, "LocalHost.": true, "ｌocalhost": true,
		"app.localhost": true, "App.Localhost.": true, "a.b.localhost": true,
		"127.0.0.1": true, "127.8.9.10": true, "127.0.0.1.": true,
		"::1": true, "[::1]": true, "0:0:0:0:0:0:0:1": true, "::ffff:127.0.0.1": true,

		"": false, "notlocalhost": false, "localhost.example": false, "localhost.evil": false,
		"127.0.0.1.example": false, "128.0.0.1": false, "0.0.0.0": false, "::": false,
		"10.0.0.1": false, "::2": false, "::ffff:10.0.0.1": false, "shop.example": false,
	} {
		if got := origin.Loopback(host); got != want {
			t.Errorf("Loopback(%q) = %v, want %v", host, got, want)
		}
	}
}
