package cluster

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport"
)

const token = "K3X7QAABAAAAAAAAAAAAAAAAAAAAAAAAAA"

// TestWhatRequestsWant: what names a home is found at each place that a face takes it from, and
// nowhere else.
func TestWhatRequestsWant(t *testing.T) {
	resume := []string{transport.ResumeHeader, token}
	mcp := []string{"Mcp-Session-Id", token}
	keyed := []string{transport.KeyHeader, "K"}
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`
	}
	for _, x := range []struct {
		method, path, body string
		header             []string
		want               want
	}{
		{"POST", "/webtools/shop", `{"action":"a","request":{}}`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop/", `{"request":{"sessionId":"x","config":{"resume":"y"}}}`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":"s","request":{}}`, nil, want{site: "shop", session: "s", calls: true}},
		{"POST", "/webtools/shop?sessionId=q", `{"request":{}}`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", `{"session_id":"s","sessionId":"s","payload":{}}`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop/actions/a", `{"request":{},"config":{"resume":"` + token + `"}}`, nil, want{site: "shop", name: token, calls: true, resumes: true}},
		{"POST", "/webtools/shop", `{"request":{},"config":{"answer":{"question":"` + token + `","ok":true}}}`, nil, want{site: "shop", name: token, calls: true, resumes: true}},
		{"POST", "/webtools/shop", `{"request":{}}`, resume, want{site: "shop", name: token, calls: true, resumes: true}},
		{"POST", "/webtools/shop", `{"payload":{}}`, resume, want{site: "shop", name: token, calls: true, resumes: true}},
		{"POST", "/webtools/shop/batch", `{"sessionId":"s","steps":[{"id":"a","request":{}}]}`, nil, want{site: "shop", session: "s", calls: true}},
		{"POST", "/webtools/shop/batch", `{"steps":[{"id":"a","request":{}},{"id":"b","config":{"resume":"` + token + `"}}]}`, nil, want{site: "shop", name: token, calls: true, resumes: true}},
		{"POST", "/webtools/shop/batch", `{"steps":[{"id":"a","request":{}}]}`, keyed, want{site: "shop", key: "K", batch: transport.BatchSession("K"), calls: true}},
		{"POST", "/webtools/shop/batch", `{"sessionId":"s","steps":[]}`, keyed, want{site: "shop", key: "K", session: "s", calls: true}},
		{"POST", "/webtools/shop", `{"request":{}}`, keyed, want{site: "shop", key: "K", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":"K3X7QAABbatch-X","request":{}}`, nil, want{site: "shop", session: "K3X7QAABbatch-X", name: "K3X7QAABbatch-X", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":"K3X7QAABmine","request":{}}`, nil, want{site: "shop", session: "K3X7QAABmine", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":"s","sessionId":"t","request":{}}`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":"s"`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", `["sessionId"]`, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", ``, nil, want{site: "shop", calls: true}},
		{"POST", "/webtools/shop", `{"sessionId":7,"config":[],"request":{}}`, nil, want{site: "shop", calls: true}},
		{"GET", "/webtools/shop", ``, nil, want{site: "shop"}},
		{"GET", "/webtools/shop?sessionId=s%20s", ``, nil, want{site: "shop", session: "s s"}},
		{"GET", "/webtools", ``, nil, want{}},
		{"POST", "/tools/shop/a?sessionId=s", `{"resume":"x"}`, nil, want{site: "shop", session: "s", calls: true}},
		{"POST", "/tools/shop/a", `{}`, resume, want{site: "shop", name: token, calls: true, resumes: true}},
		{"GET", "/calls/" + token, ``, nil, want{name: token}},
		{"DELETE", "/calls/" + token, ``, nil, want{name: token, resumes: true}},
		{"POST", "/calls/" + token + "/answer", `{}`, nil, want{name: token, resumes: true}},
		{"GET", "/files/" + token, ``, nil, want{name: token}},
		{"POST", "/mcp", call(`{"name":"a","arguments":{}}`), nil, want{session: "mcp", calls: true}},
		{"POST", "/mcp/shop?session=s", call(`{"name":"a"}`), nil, want{site: "shop", session: "s", calls: true}},
		{"POST", "/mcp/shop", call(`{"name":"a","arguments":{"taskId":"x","requestState":"y"}}`), mcp, want{site: "shop", session: "mcp", name: token, calls: true}},
		{"POST", "/mcp", call(`{"name":"a","requestState":"` + token + `"}`), nil, want{session: "mcp", name: token, calls: true, resumes: true}},
		{"POST", "/mcp", call(`{"name":"pagetools_card","arguments":{"ticket":"` + token + `"}}`), nil, want{session: "mcp", name: token, calls: true, resumes: true}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"` + token + `"}}`, nil, want{session: "mcp", name: token}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tasks/cancel","params":{"taskId":"` + token + `"}}`, nil, want{session: "mcp", name: token, resumes: true}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":["` + token + `","other"]}}}`, nil, want{session: "mcp", name: token}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"taskIds":7}}}`, nil, want{session: "mcp"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"pagetools://files/` + token + `"}}`, nil, want{session: "mcp", name: token}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"https://x/` + token + `"}}`, nil, want{session: "mcp"}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`, nil, want{session: "mcp"}},
		{"POST", "/mcp", `[` + call(`{}`) + `]`, mcp, want{session: "mcp", name: token, calls: true}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":`, nil, want{session: "mcp", calls: true}},
		{"POST", "/mcp", call(`{"name":"\ud800","requestState":"` + token + `"}`), nil, want{session: "mcp", name: token, calls: true, resumes: true}},
		{"POST", "/mcp", `{"jsonrpc":"2.0","id":1,"result":{}}`, mcp, want{session: "mcp", name: token, resumes: true}},
		{"GET", "/mcp", ``, mcp, want{session: "mcp", name: token}},
		{"DELETE", "/mcp/shop", ``, mcp, want{site: "shop", session: "mcp", name: token}},
	} {
		r := httptest.NewRequest(x.method, x.path, http.NoBody)
		if len(x.header) > 0 {
			r.Header.Set(x.header[0], x.header[1])
		}
		if got, ok := wantOf(r, []byte(x.body)); !ok || got != x.want {
			t.Errorf("%s %s %s %s: %+v, %v, want %+v", x.method, x.path, x.header, x.body, got, ok, x.want)
		}
	}
	for _, path := range []string{"/", "/healthz", "/metrics", "/openapi.json", "/.well-known/llm.json", "/sites/shop/openapi.json", "/authorize", "/api/questions/" + token} {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Mcp-Session-Id", token)
		if got, ok := wantOf(r, nil); ok {
			t.Errorf("%s wants %+v", path, got)
		}
	}
}

// TestNodesInNames: what begins with eight characters of the alphabet names a node, if more follows.
func TestNodesInNames(t *testing.T) {
	for name, node := range map[string]string{token: "K3X7QAAB", "K3X7QAABx": "K3X7QAAB", "K3X7QAAB": "", "": "", "k3x7qaabx": "", "K3X1QAABx": "", "../../..x": "", strings.Repeat("é", 9): ""} {
		w := want{name: name}
		if got := w.node(); got != node {
			t.Errorf("%q: %q, want %q", name, got, node)
		}
	}
}

// TestHops: what a node writes of a hop is read by another one; what is not whole is not read.
func TestHops(t *testing.T) {
	whole := hop{entry: "ENTRY234", home: "K3X7QAAB", epoch: 4, call: "CALL", attempt: 2, left: 28_000_000_000}
	read := func(lines ...string) (hop, bool) {
		return hopOf(&http.Request{Header: http.Header{HopHeader: lines}})
	}
	for _, h := range []hop{whole, {entry: "ENTRY234", home: "K3X7QAAB", operators: true}} {
		if got, ok := read(h.String()); !ok || got != h {
			t.Errorf("%s is read as %+v, %v", h, got, ok)
		}
	}
	if got, ok := read(whole.String() + "; later=1"); !ok || got != whole {
		t.Errorf("with a member of a later release: %+v, %v", got, ok)
	}
	for why, lines := range map[string][]string{
		"none": nil, "empty": {""}, "two": {whole.String(), whole.String()}, "a later format": {strings.Replace(whole.String(), "v=1", "v=2", 1)},
		"no home": {strings.Replace(whole.String(), "home=K3X7QAAB; ", "", 1)}, "another home besides": {whole.String() + "; home=OTHER234"},
		"to somebody": {whole.String() + "; to=agents"}, "no number": {strings.Replace(whole.String(), "epoch=4", "epoch=x", 1)},
		"less than nothing": {strings.Replace(whole.String(), "left=28000", "left=-1", 1)}, "for ever": {strings.Replace(whole.String(), "left=28000", "left=99999999999", 1)},
		"no call": {strings.Replace(whole.String(), "call=CALL", "call=", 1)}, "a call of another form": {strings.Replace(whole.String(), "call=CALL", "call=a b", 1)},
		"too long": {whole.String() + "; x=" + strings.Repeat("y", maxHop)}, "small letters": {strings.ToLower(whole.String())},
	} {
		if got, ok := read(lines...); ok {
			t.Errorf("%s: %+v", why, got)
		}
	}
}

func BenchmarkWant(b *testing.B) {
	r := httptest.NewRequest(http.MethodPost, "/webtools/shop", http.NoBody)
	body := []byte(`{"sessionId":"s","action":"find","request":{"query":"` + strings.Repeat("x", 200) + `"}}`)
	for b.Loop() {
		if w, _ := wantOf(r, body); w.session != "s" {
			b.Fatal(w)
		}
	}
}

// FuzzWant: no text makes reading fail, and no name is longer than the request.
func FuzzWant(f *testing.F) {
	for _, text := range []string{`{"sessionId":"s","request":{}}`, `{"config":{"resume":"x"}}`, `{"steps":[{"config":{}}]}`, `{"method":"tools/call","params":{"taskId":"a"}}`, `[[[`, `{"a":1,"a":2}`} {
		f.Add("/webtools/shop/batch", text)
		f.Add("/mcp", text)
	}
	f.Fuzz(func(t *testing.T, path, body string) {
		r := &http.Request{Method: http.MethodPost, Header: http.Header{}, URL: httptest.NewRequest(http.MethodGet, "/", nil).URL}
		r.URL.Path, r.URL.RawPath = path, ""
		w, _ := wantOf(r, []byte(body))
		if n := len(path) + len(body) + len("mcp"); len(w.name) > 3*n || len(w.session) > 3*n {
			t.Errorf("%q %q: %+v", path, body, w)
		}
	})
}
