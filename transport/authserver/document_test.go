package authserver_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/transport/authserver"
)

// hosts answers requests for the documents of clients, by their address.
type hosts struct {
	mu      sync.Mutex
	answers map[string]func(*http.Request) (*http.Response, error)
	asked   map[string]int
}

func (h *hosts) RoundTrip(r *http.Request) (*http.Response, error) {
	h.mu.Lock()
	h.asked[r.URL.String()]++
	answer := h.answers[r.URL.String()]
	h.mu.Unlock()
	if answer == nil {
		return nil, errors.New("there is no such host")
	}
	return answer(r)
}

func (h *hosts) times(address string) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.asked[address]
}

// answer makes an answer of a status, a body and headers.
func answer(status int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(r *http.Request) (*http.Response, error) {
		res := &http.Response{StatusCode: status, Status: http.StatusText(status), Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{"Content-Type": {"application/json"}}, Request: r}
		for _, h := range header {
			name, value, _ := strings.Cut(h, ": ")
			res.Header.Set(name, value)
		}
		return res, nil
	}
}

const claude = "https://claude.ai/oauth/claude-client.json"

func documentOf(id, more string) string {
	return fmt.Sprintf(`{"client_id":%q,"client_name":"Claude","redirect_uris":[%q,"http://localhost/callback"]%s}`, id, redirect, more)
}

func newHosts(t *testing.T) (*world, *hosts) {
	t.Helper()
	h := &hosts{answers: map[string]func(*http.Request) (*http.Response, error){claude: answer(200, documentOf(claude, ""))}, asked: map[string]int{}}
	w := newWorld(t, func(o *authserver.Options) { o.Client = &http.Client{Transport: h} })
	return w, h
}

// TestDocument (reach 4): the address of a document is a client, of whom people see the host. What
// it says is kept as its headers want, within bounds.
func TestDocument(t *testing.T) {
	w, h := newHosts(t)
	w.client = claude
	page := w.do("GET", w.query(nil), "")
	if page.StatusCode != http.StatusOK || !strings.Contains(page.body, "<strong>claude.ai</strong> asks to use the tools") || strings.Contains(page.body, "verified") {
		t.Errorf("the page: %d %s", page.StatusCode, page.body)
	}
	if tk := w.connect(); !w.lets(tk.Access, "/mcp") || w.caller(tk.Access).Client != claude {
		t.Error("the token does not count")
	}
	for _, to := range []string{"http://localhost:4711/callback", "http://localhost/callback"} {
		if got := w.do("GET", w.query(url.Values{"redirect_uri": {to}}), ""); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", to, got.StatusCode, got.body)
		}
	}
	if n := h.times(claude); n != 1 {
		t.Errorf("the document was asked for %d times", n)
	}
	w.advance(5 * time.Minute)
	for _, x := range []struct {
		header string
		kept   time.Duration
	}{
		{"Cache-Control: max-age=3600", time.Hour}, {`Cache-Control: public, Max-Age="3600"`, time.Hour}, {"Cache-Control: no-store, max-age=3600", 5 * time.Minute},
		{"Cache-Control: max-age=99999999999", 24 * time.Hour}, {"Cache-Control: max-age=-1", 5 * time.Minute}, {"Expires: Fri, 31 Dec 2100 00:00:00 GMT", 24 * time.Hour},
		{"Expires: 0", 5 * time.Minute},
	} {
		h.answers[claude] = answer(200, documentOf(claude, ""), x.header)
		before := h.times(claude)
		w.do("GET", w.query(nil), "")
		w.advance(x.kept - time.Second)
		w.do("GET", w.query(nil), "")
		if n := h.times(claude); n != before+1 {
			t.Errorf("%s: within %v it was asked for %d times", x.header, x.kept, n-before)
		}
		w.advance(time.Second)
	}
}

// TestHostileDocuments (rule 8): no document makes us go elsewhere, wait, or take it for another
// client's. Attacks 106 to 134.
func TestHostileDocuments(t *testing.T) {
	w, h := newHosts(t)
	trap := "https://trap.example/reached"
	h.answers[trap] = answer(200, documentOf(trap, ""))
	const evil = "https://evil.example/c.json"
	try := func(id string) reply {
		w.advance(time.Minute)
		w.client = id
		return w.do("GET", w.query(nil), "")
	}
	control := func() {
		t.Helper()
		if got := try(claude); got.StatusCode != http.StatusOK {
			t.Fatalf("the control: %d %s", got.StatusCode, got.body)
		}
	}
	control()
	for name, x := range map[string]func(*http.Request) (*http.Response, error){
		"106 of another client": answer(200, documentOf(claude, "")), "107 a redirect": answer(302, documentOf(evil, ""), "Location: "+trap), "108 a lasting redirect": answer(308, "", "Location: "+trap),
		"109 6 KiB": answer(200, documentOf(evil, `,"x":"`+strings.Repeat("x", 6<<10)+`"`)), "110 a page that somebody uploaded": answer(200, documentOf(evil, ""), "Content-Type: text/plain"),
		"111 an error": answer(404, documentOf(evil, "")), "112 a secret": answer(200, documentOf(evil, `,"client_secret":"x"`)), "113 no JSON": answer(200, "<html>"), "a list": answer(200, "[]"),
		"114 a script as redirect": answer(200, `{"client_id":"`+evil+`","redirect_uris":["javascript:alert(1)","`+redirect+`"]}`), "115 no redirect": answer(200, `{"client_id":"`+evil+`"}`),
		"116 a grant without people": answer(200, documentOf(evil, `,"grant_types":["client_credentials"]`)), "117 no ID": answer(200, `{"redirect_uris":["`+redirect+`"]}`), "118 a long name": answer(200, `{"client_id":"`+evil+`","client_name":"`+strings.Repeat("x", 300)+`","redirect_uris":["`+redirect+`"]}`),
	} {
		h.answers[evil] = x
		if got := try(evil); got.StatusCode != http.StatusBadRequest || got.Header.Get("Location") != "" || !strings.Contains(got.body, "invalid_client") {
			t.Errorf("%s: %d %s", name, got.StatusCode, got.body)
		}
	}
	if h.times(trap) != 0 {
		t.Error("a redirect was followed")
	}
	// Addresses that cannot be one, which nobody asks.
	asked := len(h.asked)
	for n, id := range []string{"http://evil.example/c.json", "https://evil.example", "https://evil.example/", "https://tools.example./c.json", "https://tools.example.:443/c.json", "https://evil..example/c.json", "https://tools.example/c.json", "https://TOOLS.example:8443/c.json", "https://u:p@evil.example/c.json",
		"https://evil.example/c.json#x", "https://evil.example/a/../c.json", "https://evil.example/%2e%2e/c.json", "https://[::1]/c.json", "https://evil.example\\@claude.ai/c.json", "file:///etc/passwd", "https://\u0435vil.example/c.json"} {
		if got := try(id); got.StatusCode != http.StatusBadRequest || !strings.Contains(got.body, "invalid_client") {
			t.Errorf("%d %q: %d %s", 119+n, id, got.StatusCode, got.body)
		}
	}
	if len(h.asked) != asked {
		t.Errorf("these were asked: %v", h.asked)
	}
	control()
	// One that hangs ends in 5 seconds, and few are asked at a time.
	h.answers[evil] = func(r *http.Request) (*http.Response, error) {
		if until, ends := r.Context().Deadline(); !ends || time.Until(until) > 5*time.Second {
			t.Error("132 a document may take longer than 5 seconds")
		}
		return nil, context.DeadlineExceeded
	}
	if got := try(evil); got.StatusCode != http.StatusBadRequest {
		t.Errorf("a document that hangs: %d", got.StatusCode)
	}
	before := h.times(evil)
	for range 5 {
		w.do("GET", w.query(nil), "")
	}
	if n := h.times(evil); n != before {
		t.Errorf("133 a document that failed was asked for %d times more", n-before)
	}
	many := 0
	for i := range 30 {
		w.client = fmt.Sprintf("https://host%d.example/c.json", i)
		if w.do("GET", w.query(nil), "").StatusCode == http.StatusTooManyRequests {
			many++
		}
	}
	if many < 10 || many == 30 {
		t.Errorf("134 of 30 clients that one address names at once, %d were refused", many)
	}
}

// TestDocumentsAtOnce (rule 8): few documents are fetched at a time, and one of them once.
func TestDocumentsAtOnce(t *testing.T) {
	w, h := newHosts(t)
	var now, most atomic.Int32
	go4, arrived := make(chan struct{}), make(chan struct{}, 64)
	for i := range 16 {
		id := fmt.Sprintf("https://host%d.example/c.json", i)
		h.answers[id] = func(r *http.Request) (*http.Response, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			arrived <- struct{}{}
			<-go4
			now.Add(-1)
			return answer(200, documentOf(id, ""))(r)
		}
	}
	var all sync.WaitGroup
	for i := range 16 {
		query := w.query(url.Values{"client_id": {fmt.Sprintf("https://host%d.example/c.json", i)}})
		all.Go(func() {
			if got := w.do("GET", query, ""); got.StatusCode != http.StatusOK {
				t.Errorf("client %d: %d %s", i, got.StatusCode, got.body)
			}
		})
	}
	for range 4 {
		<-arrived
	}
	close(go4)
	if all.Wait(); most.Load() != 4 {
		t.Errorf("%d were asked at a time", most.Load())
	}
}
