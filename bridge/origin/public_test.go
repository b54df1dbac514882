package origin_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge/origin"
)

// TestPublic: addresses and names that lead to this machine, into a network, or nowhere, are not
// public.
func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"https://shop.example/": true, "https://SHOP.example.:8443/a": true, "https://8.8.8.8/": true,
		"https://[2606:4700::1111]/": true, "https://münchen.example/": true, "https://a.test.example/": true,

		"http://localhost/": false, "http://LOCALHOST./": false, "http://a.localhost:1/": false,
		"http://127.0.0.1/": false, "http://127.1/": false, "http://0/": false, "http://0x7f000001/": false,
		"http://１２７.0.0.1/": false, "http://10.1.2.3/": false, "http://192.168.0.1/": false, "http://172.16.0.1/": false,
		"http://169.254.169.254/": false, "http://100.100.100.200/": false, "http://198.18.0.1/": false,
		"http://[::1]/": false, "http://[fe80::1%25eth0]/": false, "http://[fd00:ec2::254]/": false,
		"http://[::ffff:10.0.0.1]/": false, "http://[2002:7f00:1::]/": false, "http://router/": false,
		"http://nas.local/": false, "http://NAS.LOCAL/": false, "http://wiki.intranet/": false, "http://x.home.arpa/": false,
		"http://shop.test/": false, "http://shop.invalid/": false, "http://x.onion/": false, "": false, "http:///": false,
	} {
		if got := origin.Public(address); got != want {
			t.Errorf("Public(%q) = %v, want %v", address, got, want)
		}
	}
}
