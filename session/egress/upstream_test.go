package egress

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/policy"
)

// TestUpstream: with an operator's proxy everything goes through it; what is written as an
// address is still judged here.
func TestUpstream(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	defer site.Close()
	outer := start(t, Options{})
	account := outer.Admit(named(site.URL), nil)
	up, err := ParseUpstream(outer.Address())
	if err != nil {
		t.Fatal(err)
	}
	up.User = url.UserPassword(account.User, account.Password)
	p := start(t, Options{Upstream: up})
	g := p.Admit(named(site.URL), nil)
	host := strings.TrimPrefix(site.URL, "http://")
	if status, text := get(t, client(t, p, g), site.URL); text != "yes" {
		t.Errorf("through both: %d %s", status, text)
	}
	if status := connect(t, p, g, host); status != http.StatusOK {
		t.Errorf("a tunnel through both: %d", status)
	}
	before := outer.Counts().Opened
	if before != 2 {
		t.Errorf("the outer one opened %d", before)
	}
	for _, private := range []string{"http://127.0.0.2/", "http://[::1]/", "http://10.0.0.1/"} {
		if status, text := get(t, client(t, p, g), private); status != http.StatusForbidden {
			t.Errorf("%s: %d %s", private, status, text)
		}
	}
	if status := connect(t, p, g, "named.example:25"); status != http.StatusForbidden {
		t.Errorf("port 25: %d", status)
	}
	if got := outer.Counts().Opened; got != before {
		t.Errorf("of what is refused the outer one opened %d", got-before)
	}
	account.End()
	if status := connect(t, p, g, host); status != http.StatusBadGateway {
		t.Errorf("an operator's proxy that refuses: %d", status)
	}
	for text, ok := range map[string]bool{"p.example:3128": true, "http://p.example": true, "https://u:p@p.example:8443/": true,
		"socks5://p.example": true, "": false, "socks4://p.example": false, "http=a;https=b": false, "http://p.example/path": false, "ftp://p.example": false} {
		if u, err := ParseUpstream(text); (err == nil) != ok {
			t.Errorf("ParseUpstream(%q) = %v, %v", text, u, err)
		}
	}
}

// TestUpstreamNames holds S9: names of this machine, and those that the public DNS does not have,
// are judged here, and not by the operator's proxy, which may know them.
func TestUpstreamNames(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	outer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Host
		_, _ = io.WriteString(w, "yes")
	}))
	defer outer.Close()
	up, err := ParseUpstream(outer.URL)
	if err != nil {
		t.Fatal(err)
	}
	here := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	defer here.Close()
	own := strings.Replace(here.URL, "127.0.0.1", "localhost", 1)
	p := start(t, Options{Upstream: up})
	g := p.Admit(named(own, "http://shop.test", "http://nas.local:8080"), nil)
	c := client(t, p, g)
	for _, address := range []string{own, strings.Replace(own, "localhost", "LOCALHOST", 1)} {
		if status, words := get(t, c, address); words != "here" || len(asked) > 0 {
			t.Errorf("%s, which was named: %d %s", address, status, words)
		}
	}
	if status := connect(t, p, g, strings.TrimPrefix(own, "http://")); status != http.StatusOK || len(asked) > 0 {
		t.Errorf("a tunnel to this machine: %d", status)
	}
	for address, ok := range map[string]bool{
		"http://shop.example/": true, "http://named.example/": true, "http://shop.contest/": true, "http://invalid.example/": true,
		"http://internal.example/": true, "http://93.184.215.14/": true, "http://corp.shop.example/": true,
		"http://shop.test/": true, "http://nas.local:8080/": true,

		"http://localhost/": false, "http://LOCALHOST/": false, "http://localhost./": false, "http://app.localhost/": false,
		"http://a.b.localhost/": false, "http://admin.test/": false, "http://ADMIN.TEST./": false, "http://x.invalid/": false,
		"http://printer.local/": false, "http://nas.local/": false, "http://router.home.arpa/": false, "http://x.onion/": false,
		"http://test/": false, "http://127.0.0.1/": false, "http://localhost:8098/": false,
		"http://router/": false, "http://metadata./": false, "http://metadata.google.internal/computeMetadata/v1/": false,
		"http://nas.lan/": false, "http://wiki.corp/": false, "http://fritz.home./": false, "http://app.intranet/": false,
	} {
		status, words := get(t, c, address)
		if ok != (words == "yes") || !ok && status != http.StatusForbidden {
			t.Errorf("%s: %d %s", address, status, words)
		}
		if ok != (len(asked) == 1) {
			t.Errorf("%s: the operator's proxy was asked %d times", address, len(asked))
		}
		for len(asked) > 0 {
			<-asked
		}
	}
	allowed := p.Admit(policy.Reach{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}}, nil)
	if status, words := get(t, client(t, p, allowed), own); words != "here" {
		t.Errorf("this machine, which was allowed: %d %s", status, words)
	}
	if status := connect(t, p, g, "admin.test:443"); status != http.StatusForbidden {
		t.Errorf("a tunnel: %d", status)
	}
}
