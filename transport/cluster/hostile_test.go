package cluster_test

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// asNode is a client of the listener for nodes, with the certificate of a node of these keys.
func asNode(t *testing.T, keys key.Keys, to *node) *http.Client {
	t.Helper()
	id, err := cluster.NewIdentity("stranger", keys, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Timeout: hang, Transport: &http.Transport{TLSClientConfig: id.Client(to.Name), DisableKeepAlives: true}}
}

// peerSends sends a request to the listener for nodes.
func peerSends(t *testing.T, c *http.Client, to *node, token, path, body string, header ...string) (reply, error) {
	t.Helper()
	method := http.MethodGet
	if body != "" {
		method = http.MethodPost
	}
	r := request(t, "https://"+to.Address, token, method, path, body, header...)
	if token == "" {
		r.Header.Del("Authorization")
	}
	resp, err := c.Do(r)
	if err != nil {
		return reply{}, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(text)}, err
}

func hopTo(n *node, rest string) string {
	return fmt.Sprintf("v=1; entry=ENTRY234; home=%s; %s", n.ID, rest)
}

const agents = "epoch=0; call=CALL; attempt=1; left=1000"

// TestPeersAreChecked: a node of the cluster lends nobody rights: the home checks the credentials of
// agents, and only whoever has the key gets through at all. A request that is for no home, or for
// another one, runs nowhere.
func TestPeersAreChecked(t *testing.T) {
	m := newMembers(t)
	a := m.start("a", nil)
	peer := asNode(t, m.keys, a)
	const call = `{"action":"read","request":{}}`
	post := func(token, body string, header ...string) reply {
		t.Helper()
		r, err := peerSends(t, peer, a, token, "/webtools/shop", body, header...)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	post(agentToken, call, cluster.HopHeader, hopTo(a, agents)).wants(t, "the control", 200, fmt.Sprintf(on, "a"))
	ran := a.ran.Load()
	for why, x := range map[string]struct {
		status int
		token  string
		header []string
	}{
		"without a credential":         {401, "", []string{cluster.HopHeader, hopTo(a, agents)}},
		"with a wrong one":             {403, "wrong", []string{cluster.HopHeader, hopTo(a, agents)}},
		"as an operator besides":       {401, "", []string{cluster.HopHeader, hopTo(a, agents), "Pagetools-Operator", "anna"}},
		"without a hop":                {400, agentToken, nil},
		"as an operator, no hop":       {400, agentToken, []string{"Pagetools-Operator", "anna"}},
		"with two":                     {400, agentToken, []string{cluster.HopHeader, hopTo(a, agents), cluster.HopHeader, hopTo(a, "to=operators")}},
		"for another home":             {421, agentToken, []string{cluster.HopHeader, strings.Replace(hopTo(a, agents), a.ID, "OTHER234", 1)}},
		"for a home of long ago":       {421, agentToken, []string{cluster.HopHeader, strings.Replace(hopTo(a, "to=operators"), a.ID, "OTHER234", 1)}},
		"in a format that is to come":  {400, agentToken, []string{cluster.HopHeader, strings.Replace(hopTo(a, agents), "v=1", "v=2", 1)}},
		"to the operators, an agent's": {404, agentToken, []string{cluster.HopHeader, hopTo(a, "to=operators")}},
	} {
		if r := post(x.token, call, x.header...); r.status != x.status || x.status == 421 && r.body != `{"v":1,"why":"lease"}` {
			t.Errorf("%s: %d %s", why, r.status, r.body)
		}
	}
	b := m.start("b", nil)
	other := b.send("POST", "/webtools/shop", `{"action":"write","request":{}}`).wants(t, "consent", 403).at(t, "error", "details", "resume")
	if r := post(agentToken, call, cluster.HopHeader, hopTo(a, agents), "Pagetools-Resume", other); r.status != 421 || r.body != `{"v":1,"why":"moved"}` || b.hops.Load() != 0 {
		t.Errorf("a name of another node: %d %s", r.status, r.body)
	}
	if n := a.ran.Load(); n != ran {
		t.Errorf("%d ran", n-ran)
	}
	if r, err := peerSends(t, asNode(t, key.Keys{Now: key.New()}, a), a, agentToken, "/webtools/shop", call, cluster.HopHeader, hopTo(a, agents)); err == nil {
		t.Errorf("with another key: %d %s", r.status, r.body)
	}
	plain := &http.Client{Timeout: hang, Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}}
	if r, err := peerSends(t, plain, a, agentToken, "/webtools/shop", call, cluster.HopHeader, hopTo(a, agents)); err == nil {
		t.Errorf("without a certificate: %d %s", r.status, r.body)
	}
	// Over an open TLS connection without a certificate nothing is read, either.
	if conn, err := net.Dial("tcp", a.Address); err == nil {
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n")
		if text, _ := io.ReadAll(conn); strings.Contains(string(text), "200") {
			t.Errorf("in clear text: %q", text)
		}
	}
}

// TestForgedHeaders: what nodes tell each other in headers counts nowhere else. A client that sends it
// to the public listener is served as one that does not, at the entry and at the home.
func TestForgedHeaders(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	m.put("s", b, 1)
	e := b.send("POST", "/webtools/shop", `{"action":"write","request":{}}`).wants(t, "consent", 403)
	question, token := e.at(t, "error", "details", "question", "id"), e.at(t, "error", "details", "resume")
	for _, forged := range [][]string{
		{cluster.HopHeader, hopTo(a, agents)}, {cluster.HopHeader, hopTo(b, "to=operators")}, {cluster.HopHeader, "x", cluster.HopHeader, "y"},
		{"Pagetools-Operator", "anna", "Pagetools-Login", "x"}, {cluster.HopHeader, hopTo(b, "to=operators"), "Pagetools-Operator", "anna"},
	} {
		a.send("POST", "/webtools/shop", inSession, forged...).wants(t, fmt.Sprint(forged), 200, fmt.Sprintf(on, "b"))
		a.send("POST", "/webtools/shop", `{"action":"read","request":{}}`, forged...).wants(t, fmt.Sprint(forged), 200, fmt.Sprintf(on, "a"))
		a.send("GET", "/api/questions/"+question, "", forged...).wants(t, fmt.Sprint(forged), 404)
		a.send("POST", "/api/questions/"+question, `{"ok":true}`, forged...).wants(t, fmt.Sprint(forged), 404)
		// A name with a foreign home costs a hop, and is not its finder's.
		sendTo(t, a.url, otherToken, "GET", "/calls/"+token, "", forged...).wants(t, fmt.Sprint(forged), 404)
	}
	a.send("GET", "/calls/"+token, "").wants(t, "the control", 200, question)
	for _, path := range []string{"/webtools/shop", "/calls/" + token} { // nobody without a credential costs a hop
		before := b.hops.Load()
		sendTo(t, a.url, "wrong", "GET", path, "").wants(t, path, 403)
		if b.hops.Load() != before {
			t.Errorf("%s was passed on", path)
		}
	}
}

// ids differ between two replies that say the same.
var ids = regexp.MustCompile(`"(request|call)":"[^"]*"`)

// TestRepliesAreTheHomes: a reply through another node equals that of the home: status, headers and body.
func TestRepliesAreTheHomes(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	m.put("s", b, 1)
	m.put("mcp", b, 1)
	for _, x := range []struct {
		method, path, body string
		header             []string
	}{
		{"POST", "/webtools/shop", inSession, nil},
		{"POST", "/webtools/shop?%zz", inSession, nil},
		{"POST", "/webtools/shop/", inSession, nil},
		{"POST", "/webtools/shop", `{"action":"nope","sessionId":"s","request":{}}`, nil},
		{"POST", "/webtools/shop", `{"action":"read","sessionId":"s","request":{},"config":{"x":1}}`, nil},
		{"POST", "/webtools/nowhere", `{"action":"read","sessionId":"s","request":{}}`, nil},
		{"POST", "/webtools/shop", `{"sessionId":"s","request":`, nil},
		{"POST", "/webtools/shop", `{"sessionId":"s","request":{"a":"` + strings.Repeat("x", 300<<10) + `"},"action":"read"}`, nil},
		{"POST", "/webtools/shop", `{"sessionId":"s","request":{"a":"` + strings.Repeat("x", 3<<19) + `"},"action":"read"}`, nil},
		{"POST", "/webtools/shop", inSession, []string{"Content-Encoding", "gzip"}},
		{"GET", "/webtools/shop?sessionId=s", "", nil},
		{"HEAD", "/webtools/shop?sessionId=s", "", nil},
		{"PUT", "/webtools/shop?sessionId=s", "", nil},
		{"OPTIONS", "/webtools/shop?sessionId=s", "", nil},
		{"GET", "/webtools/shop?sessionId=s", "", []string{"Accept-Encoding", "gzip"}},
		{"POST", "/tools/shop/read?sessionId=s", `{"a":"ü"}`, []string{"X-Request-Id", "mine"}},
		{"POST", "/tools/shop/read?sessionId=s", ``, nil},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read","arguments":{}}}`, []string{"Mcp-Protocol-Version", "2025-06-18", "Accept", "application/json, text/event-stream"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"nope"}`, nil},
		{"GET", "/mcp", "", nil},
	} {
		before := b.hops.Load()
		through, direct := a.send(x.method, x.path, x.body, x.header...), b.send(x.method, x.path, x.body, x.header...)
		if through.status != direct.status || ids.ReplaceAllString(through.body, "") != ids.ReplaceAllString(direct.body, "") {
			t.Errorf("%s %s %.60s: %d %s, directly %d %s", x.method, x.path, x.body, through.status, through.body, direct.status, direct.body)
		}
		if before == b.hops.Load() && len(x.body) < 1<<20 && x.body != `{"sessionId":"s","request":` && x.header == nil && x.path != "/webtools/shop?%zz" {
			t.Errorf("%s %s %.60s: it was not passed on", x.method, x.path, x.body)
		}
		for name := range direct.header {
			if !slices.Contains([]string{"Date", "Pagetools-Request-Id", "X-Request-Id", "Etag", "Content-Length"}, name) && !slices.Equal(through.header[name], direct.header[name]) {
				t.Errorf("%s %s: %s is %q, directly %q", x.method, x.path, name, through.header[name], direct.header[name])
			}
		}
		for name := range through.header {
			if len(direct.header[name]) != len(through.header[name]) {
				t.Errorf("%s %s: %s is %q, directly %q", x.method, x.path, name, through.header[name], direct.header[name])
			}
		}
	}
	r := a.send("POST", "/webtools/shop", `{"action":"nope","sessionId":"s","request":{}}`)
	if id := r.header.Get("Pagetools-Request-Id"); id == "" || r.at(t, "error", "details", "call") != id {
		t.Errorf("the call is %s, and the request %s", r.body, id)
	}
}

// TestStreamsPassThrough: events come while they happen, and a stream ends when its home does.
func TestStreamsPassThrough(t *testing.T) {
	m := newMembers(t)
	a, b := m.start("a", nil), m.start("b", nil)
	e := b.send("POST", "/webtools/shop", `{"action":"write","request":{}}`).wants(t, "consent", 403)
	resp, err := client.Do(request(t, a.url, agentToken, "GET", "/calls/"+e.at(t, "error", "details", "resume"), "", "Accept", "text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	until := func(part string) {
		t.Helper()
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(line, part) {
				return
			}
		}
	}
	until("input_required")
	b.send("POST", "/calls/"+e.at(t, "error", "details", "resume")+"/answer", fmt.Sprintf(`{"question":%q,"ok":true}`, e.at(t, "error", "details", "question", "id"))).wants(t, "an answer", 200)
	until("completed")

	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	session := b.send("POST", "/mcp", initialize).wants(t, "initialize", 200).header.Get("Mcp-Session-Id")
	stream, err := client.Do(request(t, a.url, agentToken, "GET", "/mcp", "", "Mcp-Session-Id", session, "Accept", "text/event-stream"))
	if err != nil || stream.StatusCode != http.StatusOK {
		t.Fatal(stream, err)
	}
	defer stream.Body.Close()
	m.Kill(b.ID)
	if text, err := io.ReadAll(stream.Body); err != nil && !errors.Is(err, io.ErrUnexpectedEOF) { // its face may end it before its connections end
		t.Errorf("the stream of a node that has ended ends with %v, after %q", err, text)
	}
}
