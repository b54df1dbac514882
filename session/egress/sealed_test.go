package egress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// keyOf is a key of one letter.
func keyOf(letter string) []byte { return bytes.Repeat([]byte(letter), 32) }

// shows is a grant with this login.
func shows(p *Proxy, user, password string) *Grant {
	return &Grant{User: user, Password: password, proxy: &Proxy{id: p.id}}
}

// TestSealed: with a key, a proxy serves the pages of every proxy that has it, as far as each may reach, and
// nobody else's.
func TestSealed(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	defer site.Close()
	host := strings.TrimPrefix(site.URL, "http://")
	one, two := start(t, Options{Keys: [][]byte{keyOf("k")}}), start(t, Options{Keys: [][]byte{keyOf("k")}})
	next := start(t, Options{Keys: [][]byte{keyOf("n"), keyOf("k")}}) // while the key is replaced
	other, alone := start(t, Options{Keys: [][]byte{keyOf("o")}}), start(t, Options{})
	g := one.Admit(named(site.URL), nil)
	user, password := g.Login()
	for name, p := range map[string]*Proxy{"its own": one, "another": two, "one with a newer key": next} {
		mine := shows(p, user, password)
		if status, text := get(t, client(t, p, mine), site.URL); text != "yes" {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if status := connect(t, p, mine, host); status != http.StatusOK {
			t.Errorf("%s: a tunnel: %d", name, status)
		}
		for _, forbidden := range []string{"http://127.0.0.2/", "http://10.0.0.1/", "http://169.254.169.254/", "http://[::1]/"} {
			if status, text := get(t, client(t, p, mine), forbidden); status != http.StatusForbidden {
				t.Errorf("%s: %s: %d %s", name, forbidden, status, text)
			}
		}
	}
	old := one.seals.seal(user, sealed{1, "another process", named(site.URL), time.Now().Add(-time.Second).Unix()})
	newer := one.seals.seal(user, sealed{2, "another process", named(site.URL), time.Now().Add(time.Hour).Unix()})
	own := two.seals.seal(user, sealed{1, two.id, named(site.URL), time.Now().Add(time.Hour).Unix()})
	for name, x := range map[string]struct {
		at             *Proxy
		user, password string
	}{
		"another key": {other, user, password}, "no key": {alone, user, password}, "none": {two, "", ""}, "nonsense": {two, user, "nonsense"},
		"another's": {two, "somebody", password}, "one letter": {two, user, password[:40] + "A" + password[41:]}, "its time is over": {two, user, old},
		"of a newer program": {two, user, newer}, "of a page that this process never had": {two, user, own}, "too long": {two, user, strings.Repeat("A", mostPassword+1)},
		"a random one": {one, user, g.Password},
	} {
		if password[40] == 'A' && name == "one letter" {
			continue
		}
		if status, _ := get(t, client(t, x.at, shows(x.at, x.user, x.password)), site.URL); status != http.StatusProxyAuthRequired {
			t.Errorf("%s: %d", name, status)
		}
	}
	g.End()
	if status, _ := get(t, client(t, one, shows(one, user, password)), site.URL); status != http.StatusProxyAuthRequired {
		t.Errorf("after its end: %d", status)
	}
	if again, _ := one.Admit(policy.Reach{}, nil).Login(); again == user {
		t.Error("two pages have one user")
	}
	for i := range mostGuests + 10 {
		name := fmt.Sprint("guest", i)
		if two.guest(name, one.seals.seal(name, sealed{1, one.id, policy.Reach{}, time.Now().Add(time.Hour).Unix()})) == nil {
			t.Fatal("a guest is not let in")
		}
	}
	if n := len(two.guests); n > mostGuests {
		t.Errorf("%d guests are remembered", n)
	}
}

// TestSealedEnds: a tunnel of another process's page ends with its password, and with the proxy.
func TestSealedEnds(t *testing.T) {
	t.Parallel()
	far, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	two := start(t, Options{Keys: [][]byte{keyOf("k")}})
	tunnel := func(until time.Time) net.Conn {
		password := two.seals.seal("user", sealed{1, "another process", named("http://" + far.Addr().String()), until.Unix()})
		conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", two.Address())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %s\r\n\r\n", far.Addr(), basic(&url.URL{User: url.UserPassword("user", password)}))
		resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%v, %v", resp, err)
		}
		_ = resp.Body.Close()
		return conn
	}
	short, long := tunnel(time.Now().Add(2*time.Second)), tunnel(time.Now().Add(time.Hour))
	defer short.Close()
	defer long.Close()
	_ = short.SetReadDeadline(time.Now().Add(30 * time.Second)) // for a defect
	if n, err := short.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("it says %d bytes, %v", n, err)
	}
	_ = long.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := long.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) { // the control
		t.Errorf("the other one ended, too: %v", err)
	}
	_ = long.SetReadDeadline(time.Time{})
	_ = two.Close()
	if n, err := long.Read(make([]byte, 1)); n != 0 || err == nil {
		t.Errorf("it says %d bytes", n)
	}
}

// TestListen: the proxy listens where it is told; a process beside takes another port, or leaves its pages to
// whoever has the key.
func TestListen(t *testing.T) {
	t.Parallel()
	first := start(t, Options{Listen: "127.0.0.1:0", Address: "proxy.example:7305"})
	if first.Address() != "proxy.example:7305" {
		t.Errorf("it is known as %s", first.Address())
	}
	at := first.listener.Addr().String()
	if p := start(t, Options{Address: "proxy.example:7305"}); p.listener != nil || p.Address() != "proxy.example:7305" {
		t.Errorf("it listens at %v", p.listener)
	}
	if _, err := Start(t.Context(), Options{Listen: at}); err == nil {
		t.Error("two listen at one address")
	}
	if _, err := Start(t.Context(), Options{Listen: at, Address: "proxy.example:7305", Yields: true}); err == nil {
		t.Error("browsers would reach the other one, which has no key")
	}
	if p := start(t, Options{Listen: at, Yields: true}); p.Address() == at || !strings.HasPrefix(p.Address(), "127.0.0.1:") {
		t.Errorf("it listens at %s", p.Address())
	}
	if p := start(t, Options{Listen: at, Yields: true, Keys: [][]byte{keyOf("k")}}); p.listener != nil || p.Address() != at {
		t.Errorf("it listens at %v, and is known as %s", p.listener, p.Address())
	}
	if _, err := Start(t.Context(), Options{Keys: [][]byte{[]byte("short")}}); err == nil {
		t.Error("a key has any length")
	}
}
