package policy

import (
	"net/netip"
	"testing"
)

// TestReachNavigates (E2, E3, E4, E8): only an origin that was named is shown at the top.
func TestReachNavigates(t *testing.T) {
	t.Parallel()
	r := Reach{Origins: []string{"https://example.com", "http://127.0.0.1:8080", "http://[::1]:81"}}
	for address, want := range map[string]bool{
		"https://example.com/": true, "https://example.com:443/a?b#c": true, "https://EXAMPLE.com/x": true,
		"https://me:pw@example.com/": true, "http://127.0.0.1:8080/": true, "http://[::1]:81/x": true,
		"http://example.com/": false, "https://example.com:444/": false, "https://example.com.evil.test/": false,
		"https://notexample.com/": false, "https://sub.example.com/": false, "https://example.com@evil.test/": false,
		"https://example.com./": false, "https://exаmple.com/": false, "http://127.0.0.1/": false,
		"http://127.0.0.2:8080/": false, "http://localhost:8080/": false, "http://0x7f.1:8080/": false,
		"file:///etc/passwd": false, "FILE:///etc/passwd": false, "chrome://version": false, "about:blank": false,
		"view-source:https://example.com/": false, "data:text/html,x": false, "javascript:1": false,
		"blob:https://example.com/1": false, "filesystem:https://example.com/x": false, "ftp://example.com/": false,
		"//example.com/": false, "": false, "https://": false, "devtools://devtools/x": false, "%zz": false,
	} {
		if got := r.Navigates(address); got != want {
			t.Errorf("Navigates(%q) = %v", address, got)
		}
	}
	if (&Reach{}).Navigates("https://example.com/") {
		t.Error("without origins something is shown")
	}
	anywhere := Reach{Anywhere: true}
	if !anywhere.Navigates("https://login.example/") || anywhere.Navigates("file:///etc/passwd") {
		t.Error("a person who logs in goes to sites, and only there")
	}
}

// TestReachAddresses: naming an address or localhost names that address and port. Naming
// any other name names no address.
func TestReachAddresses(t *testing.T) {
	t.Parallel()
	r := Reach{
		Origins: []string{"http://127.0.0.1:8080", "http://localhost:3000", "https://intra.example:8443", "http://[::1]:81"},
		Private: []netip.Prefix{netip.MustParsePrefix("10.1.0.0/16"), netip.MustParsePrefix("fd00::/8")},
	}
	for _, x := range []struct {
		host, to  string
		port, own bool
	}{
		{"127.0.0.1", "127.0.0.1:8080", true, true},
		{"127.0.0.1", "[::ffff:127.0.0.1]:8080", true, true},
		{"127.0.0.1", "127.0.0.1:8081", false, false},
		{"127.0.0.1", "127.0.0.1:80", true, false},
		{"127.0.0.2", "127.0.0.2:8080", false, false},
		{"[::1]", "[::1]:81", true, true},
		{"localhost", "127.0.0.1:3000", true, true},
		{"LOCALHOST", "[::1]:3000", true, true},
		{"localhost", "10.0.0.1:3000", true, false},
		{"app.localhost", "127.0.0.1:3000", false, false},
		{"intra.example", "127.0.0.1:8443", true, false},
		{"intra.example", "10.2.0.1:8443", true, false},
		{"public.example", "93.184.216.34:22", false, false},
		{"public.example", "93.184.216.34:443", true, false},
	} {
		to := netip.MustParseAddrPort(x.to)
		if port, own := r.Port(x.host, to.Port()), r.Own(x.host, to); port != x.port || own != x.own {
			t.Errorf("%s at %s: port %v, own %v", x.host, x.to, port, own)
		}
	}
	for address, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "10.2.0.1": false, "fd00::1": true, "fe80::1": false,
	} {
		if got := r.Allowed(netip.MustParseAddr(address)); got != want {
			t.Errorf("Allowed(%s) = %v", address, got)
		}
	}
}
