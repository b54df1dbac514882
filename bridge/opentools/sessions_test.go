package opentools_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// TestSessions: cookies belong to one session of one caller (B11).
func TestSessions(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/cart", "get", "cart", free))
	s.on("/cart", func(w http.ResponseWriter, r *http.Request) {
		c, err := r.Cookie("cart")
		if err != nil {
			c = &http.Cookie{Name: "cart", Value: fmt.Sprint(s.count("GET /cart"))}
			http.SetCookie(w, c)
			_, _ = io.WriteString(w, "new")
			return
		}
		_, _ = io.WriteString(w, c.Value)
	})
	b, _ := attach(t, s, nil)
	of := func(caller, session string) string {
		c := bridge.Local()
		c.Name = caller
		return told(b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "cart", Caller: c, Session: session, Input: bridgetest.JSON(`{}`)}))
	}
	for i, x := range []struct{ caller, session, want string }{
		{"ann", "", `"new"`}, {"ann", "", `"new"`}, {"ann", "a", `"new"`}, {"ann", "a", `"3"`}, {"ann", "b", `"new"`}, {"bob", "a", `"new"`}, {"ann", "a", `"3"`},
	} {
		if got := of(x.caller, x.session); got != x.want {
			t.Errorf("call %d of %s in %q: %s, want %s", i, x.caller, x.session, got, x.want)
		}
	}
	s.clock.Add(int64(time.Hour))
	if got := of("ann", "a"); !strings.HasPrefix(got, "SESSION_EXPIRED  not_run") {
		t.Errorf("a session that ended: %s", got)
	}
	if got := of("ann", "a"); got != `"new"` {
		t.Errorf("after it was told: %s", got)
	}
}

// TestSessionOrder: calls of a session run one after the other; those without one do not wait.
func TestSessionOrder(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/slow", "post", "slow", free)+","+operation("/fast", "post", "fast", free))
	began, may := make(chan struct{}, 2), make(chan struct{})
	s.on("/slow", func(http.ResponseWriter, *http.Request) { began <- struct{}{}; <-may })
	s.on("/fast", answers(200, "text/plain", "fast"))
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	first := b.Start
	done := make(chan string, 2)
	run := func(tool, session string) {
		_, end := first(t.Context(), &bridge.Call{Site: "api", Tool: tool, Session: session, Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}).Next(t.Context())
		done <- tool + " " + told(end)
	}
	go run("slow", "a")
	<-began
	go run("fast", "")
	if got := <-done; got != `fast "fast"` {
		t.Error(got)
	}
	go run("fast", "a")
	close(may)
	if got := <-done; got != `slow {"status":200}` {
		t.Errorf("first of the session: %s", got)
	}
	if got := <-done; got != `fast "fast"` {
		t.Errorf("then: %s", got)
	}
}

// TestRateLimit: the site's rate holds for each caller, before anything is sent (O13).
func TestRateLimit(t *testing.T) {
	t.Parallel()
	for rate, most := range map[string]int{`{"max":2,"window":"1h"}`: 2, `3`: 3} {
		s := serve(t, operation("/get", "get", "get", `{"approval":"auto","rateLimit":`+rate+`}`))
		s.on("/get", answers(200, "text/plain", "ok"))
		b, _ := attach(t, s, nil)
		for _, name := range []string{"ann", "bob"} {
			c := bridge.Local()
			c.Name = name
			var end bridge.Step
			for range most + 1 {
				end = b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "get", Caller: c, Input: bridgetest.JSON(`{}`)})
			}
			if end.Err == nil || end.Err.Code != bridge.RateLimit || end.Err.Outcome != bridge.NotRun || end.Err.Retry <= 0 {
				t.Errorf("%s of %s: %s", rate, name, told(end))
			}
		}
		if n := s.count("GET /get"); n != 2*most {
			t.Errorf("%s: %d requests were sent", rate, n)
		}
	}
}

// TestBusy: what only reads comes again when the site says so; what may change something does not.
func TestBusy(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/get", "get", "get", free)+","+operation("/post", "post", "post", free))
	busyOnce := func(w http.ResponseWriter, r *http.Request) {
		if s.count(r.Method+" "+r.URL.Path) == 1 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		_, _ = io.WriteString(w, "ok")
	}
	s.on("/get", busyOnce)
	s.on("/post", busyOnce)
	b, _ := attach(t, s, func(_ *opentools.SiteOptions, o *bridge.SiteOptions) { o.Approval.Mode = "auto" })
	if got := told(call(t, b, "get", `{}`)); got != `"ok"` {
		t.Error(got)
	}
	if got := told(call(t, b, "post", `{}`)); !strings.HasPrefix(got, "TOOL_ERROR  unknown") || s.count("POST /post") != 1 {
		t.Error(got)
	}
}

// TestServers: an operation goes to the document's origin, or where the operator allows (B12).
func TestServers(t *testing.T) {
	t.Parallel()
	other := serve(t, "")
	other.on("/v1/get", answers(200, "text/plain", "elsewhere"))
	for name, x := range map[string]struct {
		servers string
		allowed []string
		want    string
	}{
		"relative":   {`[{"url":"/v1"}]`, nil, `"here"`},
		"beside":     {`[{"url":"v1"}]`, nil, `"here"`},
		"variables":  {`[{"url":"/{v}","variables":{"v":{"default":"v1"}}}]`, nil, `"here"`},
		"second":     {`[{"url":"` + other.URL + `/v1"},{"url":"/v1"}]`, nil, `"here"`},
		"other":      {`[{"url":"` + other.URL + `/v1"}]`, nil, `WEBTOOL_NOT_FOUND`},
		"allowed":    {`[{"url":"` + other.URL + `/v1"}]`, []string{other.URL}, `"elsewhere"`},
		"no address": {`[{"url":"ftp://x"}]`, nil, `WEBTOOL_NOT_FOUND`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := serve(t, "")
			s.document = strings.Replace(documentOf(operation("/get", "get", "get", free)), `"paths"`, `"servers":`+x.servers+`,"paths"`, 1)
			s.on("/v1/get", answers(200, "text/plain", "here"))
			b, r := attach(t, s, func(o *opentools.SiteOptions, _ *bridge.SiteOptions) { o.Origins = x.allowed })
			if got := told(call(t, b, "get", `{}`)); !strings.HasPrefix(got, x.want) {
				t.Errorf("%s, want %s", got, x.want)
			}
			if f := r.Findings("api"); (len(f) > 0) != strings.HasPrefix(x.want, "WEBTOOL") {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestBesidePages: a site with both offers both; of equal names the API's counts, and needs no
// page.
func TestBesidePages(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/both", "get", "both", free))
	s.on("/both", answers(200, "text/plain", "of the API"))
	pages := bridgetest.NewRouter().Add("api", bridgetest.Tool("both", `{"type":"object"}`), bridgetest.Tool("page_only", `{"type":"object"}`))
	pages.Answer("api", `"of the page"`, nil)
	site := opentools.SiteOptions{Site: pages.Sites()[0], URL: s.URL + "/shop", Pages: true, Transport: direct}
	site.Origin = s.URL
	b, r := attachBeside(t, s, site, bridge.SiteOptions{}, pages)
	if err := r.WaitOpened(t.Context()); err != nil {
		t.Fatal(err)
	}
	for tool, want := range map[string]string{"both": `"of the API"`, "page_only": `"of the page"`} {
		if got := told(call(t, b, tool, `{}`)); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	if n := len(pages.Calls()); n != 1 {
		t.Errorf("the page had %d calls", n)
	}
	one, _ := r.Catalog(ref())
	if two, _ := r.Catalog(ref()); one != two {
		t.Error("each look makes another list")
	}
	if s.count("GET /shop") > 0 {
		t.Error("the address of a page was asked for beside the page")
	}
	pages.Fail("api", bridge.Errorf(bridge.InternalError, bridge.BrowserLost, bridge.NotRun, "No browser."))
	if got := told(call(t, b, "both", `{}`)); got != `"of the API"` {
		t.Errorf("without the page: %s", got)
	}
}

// TestNoAPI: a site with pages and nothing published is as it was; one without pages is an error
// that says what was tried.
func TestNoAPI(t *testing.T) {
	t.Parallel()
	s := serve(t, "")
	s.change(func() { s.status = http.StatusNotFound })
	pages := bridgetest.NewRouter().Add("api", bridgetest.Tool("page_only", `{"type":"object"}`))
	site := opentools.SiteOptions{Site: pages.Sites()[0], URL: s.URL + "/", Pages: true, Transport: direct}
	site.Origin = s.URL
	b, r := attachBeside(t, s, site, bridge.SiteOptions{}, pages)
	if got := told(call(t, b, "page_only", `{}`)); strings.Contains(got, "ERROR") {
		t.Error(got)
	}
	own, _ := pages.Catalog(ref())
	if c, err := r.Catalog(ref()); err != nil || c != own {
		t.Errorf("the list is another one: %v", err)
	}
	b, _ = attach(t, s, nil)
	if _, err := b.Tools(t.Context(), ref()); err == nil || !strings.Contains(err.Error(), "no OpenTools document was found at 127.0.0.1") ||
		!strings.Contains(err.Error(), "it answers 404") {
		t.Error(err)
	}
}

// TestListed: a list that changes is announced, and an operation that is gone asks for the document
// again (B8).
func TestListed(t *testing.T) {
	t.Parallel()
	s := serve(t, operation("/a", "get", "a", free))
	s.on("/a", answers(404, "text/plain", "gone"))
	b, r := attach(t, s, nil)
	events := b.Watch(t.Context(), bridge.Interest{Caller: bridge.Local(), Tools: true})
	<-events
	if _, err := b.Tools(t.Context(), ref()); err != nil {
		t.Fatal(err)
	}
	s.change(func() { s.document = documentOf(operation("/b", "get", "b", free)) })
	s.clock.Add(int64(time.Minute)) // the document is fresh for five
	call(t, b, "a", `{}`)
	_, _ = r.Catalog(ref())
	for range events {
		if c, err := r.Catalog(ref()); err == nil && c.Tool("b") != nil && c.Tool("a") == nil {
			return
		}
	}
	t.Error("the list is the one of before")
}

// TestSessionsOfTwoProcesses (N3): the cookies of a session that a caller with a token named are in
// one process of a folder, until it ends.
func TestSessionsOfTwoProcesses(t *testing.T) {
	t.Parallel()
	f := &bridgetest.Folder{}
	s := serve(t, operation("/cart", "get", "cart", free))
	s.on("/cart", answers(200, "text/plain", "cart"))
	s.homes = f.Process("ONE45672")
	one, r := attach(t, s, nil)
	s.homes = f.Process("TWO45672")
	two, _ := attach(t, s, nil)
	of := func(b *bridge.Bridge, session string, beside bool) bridge.Step {
		c := bridge.Local()
		c.Name, c.Credential = "agent", "c"
		return b.Complete(t.Context(), &bridge.Call{Site: "api", Tool: "cart", Caller: c, Session: session, Beside: beside, Input: bridgetest.JSON(`{}`)})
	}
	runs := func(why string, step bridge.Step) {
		t.Helper()
		if step.Err != nil {
			t.Errorf("%s: %s", why, told(step))
		}
	}
	runs("the first", of(one, "s", false))
	calls := f.Calls()
	runs("without a session", of(one, "", false))
	if n := f.Calls() - calls; n != 0 {
		t.Errorf("without a session the store was asked %d times", n)
	}
	for _, beside := range []bool{true, false} {
		if e := of(two, "s", beside).Err; e == nil || e.Code != bridge.Conflict || e.Reason != bridge.Elsewhere || e.Outcome != bridge.NotRun {
			t.Errorf("at the other process: %v", e)
		}
	}
	runs("without a session at the other", of(two, "", false))
	runs("another session at the other", of(two, "t", false))
	s.clock.Add(int64(time.Hour))
	runs("what ends those that nobody used", of(one, "u", false))
	r.Close() // which waits until they are free
	runs("when it has ended", of(two, "s", false))
}
