package egress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/policy"
)

// TestTransport: what this process asks of an API reaches what the pages of its site reach: private
// addresses are refused also where a name leads to one, or an operator's proxy stands between.
func TestTransport(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	defer site.Close()
	port := site.URL[strings.LastIndex(site.URL, ":"):]
	outer := start(t, Options{})
	account := outer.Admit(named(site.URL), nil)
	up, err := ParseUpstream(outer.Address())
	if err != nil {
		t.Fatal(err)
	}
	up.User = url.UserPassword(account.User, account.Password)
	resolver := names(t, map[string][][]string{"inside.example": {{"127.0.0.1"}}})
	for name, p := range map[string]*Proxy{"direct": start(t, Options{Resolver: resolver}), "behind a proxy": start(t, Options{Upstream: up})} {
		g := p.Admit(named(site.URL), nil)
		ask := func(address string) error {
			_, err := read(t, &http.Client{Transport: g.Transport(nil)}, address)
			return err
		}
		if err := ask(site.URL); err != nil {
			t.Errorf("%s: the site itself: %v", name, err)
		}
		for _, other := range []string{"http://127.0.0.2/", "http://10.0.0.1/", "http://169.254.169.254/latest", "https://[::1]/", "http://localhost:1/"} {
			var refused *Refusal
			if err := ask(other); !errors.As(err, &refused) || refused.Forbidden() == "" {
				t.Errorf("%s: %s: %v", name, other, err)
			}
		}
		if name != "direct" {
			continue // only the proxy knows where names lead
		}
		var refused *Refusal
		if err := ask("http://inside.example" + port); !errors.As(err, &refused) || refused.Kind != Private {
			t.Errorf("a name with a private address: %v", err)
		}
		wide := p.Admit(policy.Reach{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
		if text, err := read(t, &http.Client{Transport: wide.Transport(nil)}, "http://inside.example"+port); err != nil || text != "yes" {
			t.Errorf("the control: %s, %v", text, err)
		}
		wide.End()
		g.End()
	}
}

// read returns the text of an address.
func read(t *testing.T, c *http.Client, address string) (string, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}
