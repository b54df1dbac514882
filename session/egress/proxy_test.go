package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// start starts a proxy for one test.
func start(t *testing.T, o Options) *Proxy {
	t.Helper()
	p, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// client is a browser with the credential of a grant; nil has none.
func client(t *testing.T, p *Proxy, g *Grant) *http.Client {
	t.Helper()
	via := &url.URL{Scheme: "http", Host: p.Address()}
	if g != nil {
		via.User = url.UserPassword(g.Login())
	}
	tr := &http.Transport{Proxy: http.ProxyURL(via), DisableKeepAlives: true}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// get returns status and text of an address; the error's text when there is none.
func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := c.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return resp.StatusCode, err.Error()
	}
	return resp.StatusCode, string(body)
}

// connect asks for a tunnel as a browser does, and returns the status.
func connect(t *testing.T, p *Proxy, g *Grant, to string) int {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	auth := ""
	if g != nil {
		auth = "Proxy-Authorization: " + basic(&url.URL{User: url.UserPassword(g.Login())}) + "\r\n"
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n%s\r\n", to, to, auth); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode
}

func named(origins ...string) policy.Reach { return policy.Reach{Origins: origins} }

// TestOnlyWithCredential (E10): without a credential, with a wrong one, or with one that was
// taken back, nobody gets through.
func TestOnlyWithCredential(t *testing.T) {
	t.Parallel()
	hits := atomic.Int64{}
	site := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer site.Close()
	p := start(t, Options{})
	g := p.Admit(named(site.URL), nil)
	if status, text := get(t, client(t, p, g), site.URL); status != http.StatusOK {
		t.Fatalf("with the credential: %d %s", status, text)
	}
	if status := connect(t, p, g, strings.TrimPrefix(site.URL, "http://")); status != http.StatusOK {
		t.Fatalf("a tunnel with the credential: %d", status)
	}
	wrong := &Grant{User: g.User, Password: "wrong", proxy: p}
	ended := p.Admit(named(site.URL), nil)
	ended.End()
	before := hits.Load()
	for i, other := range []*Grant{nil, wrong, ended} {
		if status, _ := get(t, client(t, p, other), site.URL); status != http.StatusProxyAuthRequired {
			t.Errorf("%d gets %d", i, status)
		}
		if status := connect(t, p, other, strings.TrimPrefix(site.URL, "http://")); status != http.StatusProxyAuthRequired {
			t.Errorf("%d gets a tunnel: %d", i, status)
		}
	}
	if n := p.Counts().Unknown; hits.Load() != before || n != 6 {
		t.Errorf("the site was reached %d times; %d are counted", hits.Load()-before, n)
	}
	if status, _ := get(t, client(t, p, g), Home); status != http.StatusNoContent {
		t.Errorf("home answers %d", status)
	}
}

// TestReachIsTheGrants: one page's reach never serves another one.
func TestReachIsTheGrants(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	defer site.Close()
	p := start(t, Options{})
	mine, other := p.Admit(named(site.URL), nil), p.Admit(named("https://other.example"), nil)
	for range 3 {
		if status, text := get(t, client(t, p, mine), site.URL); text != "yes" {
			t.Errorf("its own page gets %d %s", status, text)
		}
		status, text := get(t, client(t, p, other), site.URL)
		if status != http.StatusForbidden || !strings.Contains(text, "not a public address") {
			t.Errorf("another page gets %d %s", status, text)
		}
	}
	other.Extend(named(site.URL))
	if _, text := get(t, client(t, p, other), site.URL); text != "yes" {
		t.Errorf("extended, it gets %s", text)
	}
}

// TestSpecialAddresses (E6): an address that is not public is refused though its host was
// named, unless its network was allowed.
func TestSpecialAddresses(t *testing.T) {
	t.Parallel()
	p := start(t, Options{})
	g := p.Admit(named("https://named.example"), nil)
	all := policy.Reach{Private: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	wide := p.Admit(all, nil)
	for _, special := range []string{
		"127.0.0.1", "127.9.9.9", "0.0.0.0", "0.1.2.3", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254",
		"168.63.129.16", "100.100.100.200", "100.64.0.1", "192.0.0.1", "192.0.2.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
		"203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::ffff:127.0.0.1",
		"::ffff:10.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1",
		"fc00::1", "fd00:ec2::254", "fe80::1", "fec0::1", "ff02::1", "ff0e::1",
	} {
		to := netip.AddrPortFrom(netip.MustParseAddr(special), 443)
		refused, ok := errors.AsType[*Refusal](g.judge("named.example", to))
		if !ok || refused.Kind != Private || !strings.Contains(refused.Error(), "allow the network "+to.Addr().Unmap().String()+"/") {
			t.Errorf("%s: %v", special, refused)
		}
		if err := wide.judge("named.example", to); err != nil {
			t.Errorf("%s is allowed and refused: %v", special, err)
		}
	}
	for _, open := range []string{"93.184.216.34", "1.1.1.1", "2606:2800:220:1::1", "::ffff:8.8.8.8", "172.32.0.1", "100.128.0.1"} {
		if err := g.judge("any.example", netip.AddrPortFrom(netip.MustParseAddr(open), 80)); err != nil {
			t.Errorf("%s is public: %v", open, err)
		}
	}
}

// TestPorts (E7): pages get to ports 80 and 443 and to the one that was named.
func TestPorts(t *testing.T) {
	t.Parallel()
	g := start(t, Options{}).Admit(named("https://named.example:8443"), nil)
	for port, ok := range map[uint16]bool{80: true, 443: true, 8443: true, 22: false, 25: false, 6379: false, 8080: false, 0: false} {
		err := g.judge("named.example", netip.AddrPortFrom(netip.MustParseAddr("93.184.216.34"), port))
		refused, _ := errors.AsType[*Refusal](err)
		if (err == nil) != ok || !ok && refused.Kind != Port {
			t.Errorf("port %d: %v", port, err)
		}
	}
}

// TestRefusedOnceForEachDocument: a document that tries again and again is told of once for each
// address, and of some only; what the next one is kept from is told again, and not logged again: a
// page may load documents without end.
func TestRefusedOnceForEachDocument(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	logged := func() int { return bytes.Count(log.Bytes(), []byte("egress: refused")) }
	p := start(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))}) // requests come one by one
	told := map[string]int{}
	g := p.Admit(policy.Reach{}, func(_ context.Context, r *Refusal) { told[r.To.String()]++ })
	ask := func(port int) {
		t.Helper()
		if status, text := get(t, client(t, p, g), fmt.Sprintf("http://127.0.0.2:%d/", port)); status != http.StatusForbidden {
			t.Fatalf("port %d: %d %s", port, status, text)
		}
	}
	for document := 1; document <= 3; document++ {
		for range 3 {
			ask(1)
			ask(2)
		}
		if told["127.0.0.2:1"] != document || told["127.0.0.2:2"] != document {
			t.Errorf("at document %d: %v", document, told)
		}
		if got := logged(); got != 2 {
			t.Errorf("at document %d, %d lines are logged", document, got)
		}
		g.Anew()
	}
	for port := range 2 * maxRemembered {
		ask(1000 + port)
	}
	if len(told) != 2+maxRemembered {
		t.Errorf("of one document %d refusals are told", len(told)-2)
	}
	if got := logged(); got != maxRemembered {
		t.Errorf("of one page %d refusals are logged", got)
	}
}

// TestPagetoolsItself (E13): no page reaches pagetools' own listeners, also when loopback was
// allowed or even named.
func TestPagetoolsItself(t *testing.T) {
	t.Parallel()
	ours := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer ours.Close()
	p := start(t, Options{})
	g := p.Admit(policy.Reach{Origins: []string{ours.URL}, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
	if status, text := get(t, client(t, p, g), ours.URL); status != http.StatusOK {
		t.Fatalf("the control: %d %s", status, text)
	}
	p.Keep(strings.TrimPrefix(ours.URL, "http://"))
	for _, address := range []string{ours.URL, "http://" + p.Address()} {
		if status, text := get(t, client(t, p, g), address); status != http.StatusForbidden || !strings.Contains(text, "itself") {
			t.Errorf("%s: %d %s", address, status, text)
		}
	}
	if n := p.Counts().Refused[Bridge]; n != 2 {
		t.Errorf("%d are counted", n)
	}
	p.Forget(strings.TrimPrefix(ours.URL, "http://"))
	if status, text := get(t, client(t, p, g), ours.URL); status != http.StatusOK {
		t.Errorf("after it was closed: %d %s", status, text)
	}
}

// names is a DNS server: each name has the answers of its turns, the last of them for good.
func names(t *testing.T, turns map[string][][]string) *net.Resolver {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	t.Cleanup(func() { _ = conn.Close(); <-done })
	go func() {
		defer close(done)
		asked, buf := map[string]int{}, make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			var q dnsmessage.Message
			if q.Unpack(buf[:n]) != nil || len(q.Questions) != 1 {
				continue
			}
			question := q.Questions[0]
			all := turns[strings.TrimSuffix(question.Name.String(), ".")]
			reply := dnsmessage.Message{Header: dnsmessage.Header{ID: q.ID, Response: true, RecursionAvailable: true}, Questions: q.Questions}
			if len(all) == 0 {
				reply.RCode = dnsmessage.RCodeNameError
			} else if question.Type == dnsmessage.TypeA {
				name := question.Name.String()
				for _, a := range all[min(asked[name], len(all)-1)] {
					reply.Answers = append(reply.Answers, dnsmessage.Resource{
						Header: dnsmessage.ResourceHeader{Name: question.Name, Class: dnsmessage.ClassINET},
						Body:   &dnsmessage.AResource{A: netip.MustParseAddr(a).As4()},
					})
				}
				asked[name]++
			}
			if packed, err := reply.Pack(); err == nil {
				_, _ = conn.WriteTo(packed, from)
			}
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// TestRebinding (E5): what counts is the address of the connection. A name that changes its
// mind, or has a private address among others, leads to none.
func TestRebinding(t *testing.T) {
	t.Parallel()
	canary, err := net.Listen("tcp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	accepted := atomic.Int64{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := canary.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			_ = c.Close()
		}
	}()
	defer func() { _ = canary.Close(); <-done }()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "yes") }))
	defer site.Close()
	_, port, _ := net.SplitHostPort(canary.Addr().String())
	_, sitePort, _ := net.SplitHostPort(strings.TrimPrefix(site.URL, "http://"))
	p := start(t, Options{Resolver: names(t, map[string][][]string{
		"turns.example": {{"127.0.0.1"}, {"127.0.0.2"}}, "only.example": {{"127.0.0.2"}}, "both.example": {{"127.0.0.2", "127.0.0.1"}},
	})})
	// 127.0.0.1 stands for what is public.
	some := func(host, port string) *Grant {
		return p.Admit(policy.Reach{Origins: []string{"http://" + host + ":" + port},
			Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}}, nil)
	}
	g := some("turns.example", sitePort)
	if status, text := get(t, client(t, p, g), "http://turns.example:"+sitePort); text != "yes" {
		t.Fatalf("at first: %d %s", status, text)
	}
	if status, text := get(t, client(t, p, g), "http://turns.example:"+sitePort); status != http.StatusForbidden ||
		!strings.Contains(text, "(127.0.0.2)") {
		t.Errorf("after it changed: %d %s", status, text)
	}
	if status, text := get(t, client(t, p, some("only.example", port)), "http://only.example:"+port); status != http.StatusForbidden {
		t.Errorf("a private answer: %d %s", status, text)
	}
	if status := connect(t, p, some("only.example", port), "only.example:"+port); status != http.StatusForbidden {
		t.Errorf("a tunnel to a private answer: %d", status)
	}
	if _, text := get(t, client(t, p, some("both.example", sitePort)), "http://both.example:"+sitePort); text != "yes" {
		t.Errorf("of several answers the public one counts: %s", text)
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("the canary was reached %d times", n)
	}
	wide := p.Admit(policy.Reach{Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
	if status := connect(t, p, wide, "only.example:"+port); status != http.StatusOK {
		t.Errorf("the control: %d", status)
	}
}

// TestTransparent: a site sees what the page sent, and the page what the site answered.
func TestTransparent(t *testing.T) {
	t.Parallel()
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header()["Date"], w.Header()["Content-Type"] = nil, nil
		w.Header().Add("Set-Cookie", "a=1")
		w.Header().Add("Set-Cookie", "b=2")
		w.WriteHeader(http.StatusTeapot)
		_, _ = fmt.Fprintf(w, "<html>%s %s %s %q %q %q", r.Method, r.URL.RequestURI(), body, r.Header.Get("X-Forwarded-For"),
			r.Header.Get("Proxy-Authorization"), r.Header.Get("Accept-Encoding"))
	}))
	defer site.Close()
	p := start(t, Options{})
	c := client(t, p, p.Admit(named(site.URL), nil))
	r, _ := http.NewRequestWithContext(t.Context(), http.MethodPut, site.URL+"/a?b;c=%zz&d=%20", strings.NewReader("text"))
	r.Header.Set("X-Forwarded-For", "mine")
	r.Header.Set("Accept-Encoding", "zstd")
	resp, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	got, _ := io.ReadAll(resp.Body)
	if want := `<html>PUT /a?b;c=%zz&d=%20 text "mine" "" "zstd"`; string(got) != want {
		t.Errorf("the site saw %s, want %s", got, want)
	}
	if resp.StatusCode != http.StatusTeapot || len(resp.Header["Set-Cookie"]) != 2 || resp.Header["Content-Type"] != nil || resp.Header["Date"] != nil {
		t.Errorf("the page saw %s %v", resp.Status, resp.Header)
	}
}

// TestFailures: where nobody answers the request fails as without a proxy, and the grant knows
// why; a connection that stands again makes it forget.
func TestFailures(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1); r.URL.Path != "/ok" {
			panic(http.ErrAbortHandler)
		}
	}))
	defer site.Close()
	p := start(t, Options{Resolver: names(t, nil)})
	g := p.Admit(policy.Reach{Origins: []string{site.URL}, Private: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}, nil)
	c := client(t, p, g)
	host := strings.TrimPrefix(site.URL, "http://")
	if status, text := get(t, c, site.URL); status != 0 || g.Failure(host) == nil {
		t.Errorf("a site that hangs up: %d %s, %v", status, text, g.Failure(host))
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
		if status, text := get(t, c, site.URL+"/ok"); status != http.StatusOK { // so that the connection is known to be good
			t.Fatalf("the control: %d %s", status, text)
		}
		r, _ := http.NewRequestWithContext(t.Context(), method, site.URL, strings.NewReader("x"))
		before := asked.Load()
		resp, err := c.Do(r)
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("%s to a site that hangs up: %s", method, resp.Status)
		}
		if n := asked.Load() - before; n != 1 {
			t.Errorf("%s is sent %d times", method, n)
		}
	}
	if connect(t, p, g, host) != http.StatusOK || g.Failure(host) != nil {
		t.Errorf("the connection stands, and it failed: %v", g.Failure(host))
	}
	site.Close()
	if status, text := get(t, c, site.URL); status != 0 || g.Failure(host) == nil {
		t.Errorf("a closed port: %d %s", status, text)
	}
	if status := connect(t, p, g, host); status != http.StatusBadGateway {
		t.Errorf("a tunnel to a closed port: %d", status)
	}
	if status, text := get(t, c, "http://unknown.example/"); status != 0 || g.Failure("unknown.example:80") == nil {
		t.Errorf("an unknown name: %d %s", status, text)
	}
	for i := range 3 * maxRemembered {
		g.remember(fmt.Sprintf("%d.example:80", i), io.EOF)
	}
	if len(g.failed) != maxRemembered {
		t.Errorf("%d failures are remembered", len(g.failed))
	}
}

// TestGrantEnds: the tunnels of a page end with its credential.
func TestGrantEnds(t *testing.T) {
	t.Parallel()
	p := start(t, Options{})
	far, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer far.Close()
	g := p.Admit(named("http://"+far.Addr().String()), nil)
	near, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	_ = near.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = fmt.Fprintf(near, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\nProxy-Authorization: %[2]s\r\n\r\n",
		far.Addr(), basic(&url.URL{User: url.UserPassword(g.User, g.Password)}))
	there, err := far.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	_, _ = io.WriteString(there, "hello")
	r := bufio.NewReader(near)
	if resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the tunnel: %v", err)
	}
	if word, err := io.ReadAll(io.LimitReader(r, 5)); string(word) != "hello" {
		t.Fatalf("through the tunnel: %q %v", word, err)
	}
	g.End()
	if _, err := r.ReadByte(); err == nil {
		t.Error("the tunnel still stands")
	}
	if n, err := there.Read(make([]byte, 1)); err == nil {
		t.Errorf("the far side still reads %d", n)
	}
}
