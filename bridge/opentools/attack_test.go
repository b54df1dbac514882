package opentools_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// TestSwitched: a site that switches to another protocol, which nobody asked for, and then says
// nothing holds no call for longer than its time.
func TestSwitched(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	b, _ := attach(t, s, nil)
	for status, want := range map[string]string{
		"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x": "TOOL_ERROR  unknown: HOST answers 101 Switching Protocols",
		"200 OK\r\nContent-Length: 9":                                  "INTERNAL_ERROR TIMEOUT unknown",
	} {
		over := make(chan struct{})
		s.on("/get", func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := http.NewResponseController(w).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 "+status+"\r\n\r\n")
			<-over
			_ = conn.Close()
		})
		end := make(chan string, 1)
		go func() {
			end <- told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Config: json.RawMessage(`{"timeout":2000}`)}))
		}()
		select {
		case got := <-end:
			if !strings.HasPrefix(strings.ReplaceAll(got, strings.TrimPrefix(s.URL, "http://"), "HOST"), want) {
				t.Errorf("%.3s: %s", status, got)
			}
		case <-time.After(time.Minute):
			t.Errorf("%.3s: it does not end", status)
		}
		close(over)
	}
}

// TestSentOn: a site that has taken a call may send its client on to anywhere: then it is not known
// whether it did what it was asked.
func TestSentOn(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "post", "post", free)+","+operation("/b", "get", "get", free))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	for status, want := range map[int]string{http.StatusFound: "unknown", http.StatusSeeOther: "unknown", http.StatusTemporaryRedirect: "failed"} {
		answer := func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "https://pay.example/1", status) }
		s.on("/a", answer)
		s.on("/b", answer)
		if got := told(call(t, b, "post", `{}`)); !strings.HasPrefix(got, "TOOL_ERROR  "+want) {
			t.Errorf("POST %d: %s", status, got)
		}
		if got := told(call(t, b, "get", `{}`)); !strings.HasPrefix(got, "TOOL_ERROR  failed") {
			t.Errorf("GET %d: %s", status, got)
		}
	}
}

// TestCosts: what is not said to be free is asked about, in whatever words the site says it (B4).
func TestCosts(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{"": "", "free": "", "credits": "credits", "paid": "money", "PAID": "PAID", "5 USD\u202e a call": "5 USD a call"} {
		s := serve(t, operation("/get", "get", "get", fmt.Sprintf(`{"approval":"auto","costIndicator":%q}`, said)))
		s.on("/get", answers(200, "text/plain", "ok"))
		b, _ := attach(t, s, nil)
		var costs string
		asker := asking(func(q bridge.Question) bridge.Answer {
			for _, f := range q.Facts() {
				if f.Name == "A call costs" {
					costs = f.Text
				}
			}
			return bridge.Answer{OK: true}
		})
		end := b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Asker: asker})
		if told(end) != `"ok"` || costs != want {
			t.Errorf("%q: %s, and a person reads %q", said, told(end), costs)
		}
	}
}

// TestForeignErrors: what a site says of a call in our own format is a stranger's text, and no word
// of the user.
func TestForeignErrors(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free)+","+operation("/post", "post", "post", `{}`))
	said := func(code string) http.HandlerFunc {
		return answers(403, "application/json", fmt.Sprintf(`{"status":"error","error":{"code":%q,"outcome":"not_run","message":"a\u001b[31m\u202eb"}}`, code))
	}
	b, _ := attach(t, s, nil)
	for code, want := range map[string]string{"TOOL_ERROR": "TOOL_ERROR  not_run: a[31mb", "FORBIDDEN": "FORBIDDEN  not_run: a[31mb", "UNAUTHORIZED": "TOOL_ERROR  failed"} {
		s.on("/get", said(code))
		if got := told(call(t, b, "get", `{}`)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q", code, got)
		}
	}
	site, err := opentools.Connect(t.Context(), s.URL, opentools.Options{Transport: direct(nil)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(site.Close)
	s.on("/get", said("APPROVAL_DENIED"))
	if got, err := site.Call(t.Context(), "get", json.RawMessage(`{}`)); err == nil || got.Denied {
		t.Errorf("the site says that the user refused: %+v, %v", got, err)
	}
	deny := asking(func(bridge.Question) bridge.Answer { return bridge.Answer{} })
	own, err := opentools.Connect(t.Context(), s.URL, opentools.Options{Transport: direct(nil), Approve: deny})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(own.Close)
	if got, err := own.Call(t.Context(), "post", json.RawMessage(`{}`)); err != nil || !got.Denied {
		t.Errorf("the user refused: %+v, %v", got, err)
	}
}

// TestUnsendable: no argument is a header of the connection, or says who calls; and none has a name
// that is more than a name.
func TestUnsendable(t *testing.T) {
	t.Parallel()
	names := []string{"X-Own", "host", "Cookie", "Connection", "TE", "Upgrade", "Proxy-Foo", "Forwarded", "X-Forwarded-For", "Origin", "Referer", "Via",
		"Expect", "Cookie2", "Sec-Fetch-Site", "HTTP2-Settings", ":authority", "X-Evil: 1\r\nX-More", "X Space", "X-Größe", "User-Agent"}
	var parameters []string
	input := map[string]string{}
	for _, name := range names {
		parameters = append(parameters, fmt.Sprintf(`{"name":%s,"in":"header","schema":{"type":"string"}}`, mustJSON(name)))
		input[name] = "x"
	}
	s := serve(t, fmt.Sprintf(`"/get":{"get":{"operationId":"get","x-llm":%s,"parameters":[%s]}}`, free, strings.Join(parameters, ",")))
	s.on("/get", func(w http.ResponseWriter, r *http.Request) {
		var got []string
		for name, values := range r.Header {
			if slices.Contains(values, "x") {
				got = append(got, name)
			}
		}
		_, _ = io.WriteString(w, strings.Join(got, " "))
	})
	b, r := attach(t, s, nil)
	if got := told(call(t, b, "get", `{"X-Own":"x"}`)); got != `"X-Own"` {
		t.Error(got)
	}
	for _, name := range names[1:] {
		if got := told(call(t, b, "get", mustJSON(map[string]string{name: "x"}))); !strings.HasPrefix(got, "SCHEMA_ERROR") {
			t.Errorf("%q: %s", name, got)
		}
	}
	if f := r.Findings("api"); len(f) != 10 { // the others are as many words of the same
		t.Errorf("%d findings: %v", len(f), f)
	}
}

func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// TestTrace: an operation that sends back what it is sent would show credentials to who reads its
// result (RFC 9110, 9.3.8).
func TestTrace(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "trace", "trace", free)+","+operation("/b", "get", "get", free))
	b, r := attach(t, s, nil)
	l, err := b.Tools(t.Context(), ref())
	if err != nil || len(l.Tools) != 1 || l.Tools[0].Name() != "get" {
		t.Errorf("%v, %v", l.Tools, err)
	}
	if f := r.Findings("api"); len(f) != 1 || !strings.Contains(f[0].Message, "TRACE /a") {
		t.Errorf("%v", f)
	}
}

// TestCookies: a session keeps what its site sets anew however often, and not more than a browser
// would.
func TestCookies(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	n := 0
	s.on("/get", func(w http.ResponseWriter, r *http.Request) {
		n++
		http.SetCookie(w, &http.Cookie{Name: "turn", Value: fmt.Sprint(n)})
		if n > 400 {
			http.SetCookie(w, &http.Cookie{Name: "large", Value: strings.Repeat("x", 5000)})
			for i := range 100 {
				http.SetCookie(w, &http.Cookie{Name: fmt.Sprintf("c%d", i), Value: strings.Repeat("y", 2000)})
			}
		}
		_, err := r.Cookie("large")
		if c, _ := r.Cookie("turn"); c != nil {
			_, _ = fmt.Fprint(w, c, " ", err == nil, " ", len(r.Header.Get("Cookie")) > 70_000)
		}
	})
	b, _ := attach(t, s, nil)
	last := ""
	for i := range 410 {
		last = told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Session: "a", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}))
		if i > 0 && last != fmt.Sprintf(`"turn=%d false false"`, i) {
			t.Fatalf("%d: %s", i, last)
		}
	}
}

// TestPageConfig: what config changes about a page changes nothing of an API, and is refused: a
// person would agree to what is not so.
func TestPageConfig(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free))
	s.on("/get", answers(200, "text/plain", "ok"))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.AllowConfig = []string{"headers", "profile"} })
	run := func(config string) string {
		return told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Config: json.RawMessage(config)}))
	}
	if got := run(`{"timeout":5000}`); got != `"ok"` {
		t.Error(got)
	}
	for _, config := range []string{`{"headers":{"X-A":"b"}}`, `{"profile":"work"}`} {
		if got := run(config); !strings.HasPrefix(got, "CONFIG_ERROR  not_run") {
			t.Errorf("%s: %s", config, got)
		}
	}
}

// TestRetryAfter: when a site wants to be asked again is told as it says, within reason.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "post", "post", free))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	for said, want := range map[string]time.Duration{"30": 30 * time.Second, "-5": 0, "1e9": 0, "99999999999999999999": 0,
		"99999999": 24 * time.Hour, "Fri, 31 Dec 9999 23:59:59 GMT": 24 * time.Hour, "Fri, 31 Dec 1999 23:59:59 GMT": 0} {
		s.on("/a", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", said)
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		if end := call(t, b, "post", `{}`); end.Err == nil || end.Err.Retry != want {
			t.Errorf("%s: %s %s", said, told(end), end.Err.Retry)
		}
	}
}
