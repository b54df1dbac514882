package cdp

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// TestAttach: an open tab is used as it is, after one reload that is told before. Afterwards it stays, and
// its next document is as it was before us.
func TestAttach(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	mine, id := p.opens(base + "/login")
	mine.goes(base + "/inbox?q=secret#now")
	p.opens(base + "/other")
	clean := mine.eval(life)
	tabs := p.tabs()

	e, said := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/inbox*"} })
	s := showPageWith(t, e, of(base), base+"/")
	if got := s.must("whoami", "{}"); got != `"Ada"` {
		t.Errorf("the tool sees %s", got)
	}
	if got := s.must("where", "{}"); got != strconv.Quote(base+"/inbox?q=secret#now") {
		t.Errorf("the tool is at %s", got)
	}
	if got := said.said(); got != "reloading your open tab "+base+"/inbox, so that its tools can be called" {
		t.Errorf("it said %q", got)
	}
	if now := p.tabs(); len(now) != len(tabs) {
		t.Errorf("the tabs were %v and are %v", tabs, now)
	}
	if second, err := e.Open(t.Context(), of(base)); reasonOf(err) != "INTERNAL_ERROR UNREACHABLE not_run" {
		t.Errorf("the tab is used twice: %v, %v", second, err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	<-s.dead
	if now := p.tabs(); now[id] != base+"/inbox?q=secret#now" || len(now) != len(tabs) {
		t.Errorf("the tabs were %v and are %v", tabs, now)
	}
	if err := mine.target.Call(t.Context(), page.CommandReload, page.ReloadParams{}, nil); err != nil {
		t.Fatal(err)
	}
	mine.goes(base + "/inbox?q=secret")
	mine.goes(base + "/inbox?q=secret#now")
	if now := mine.eval(life); strings.SplitN(now, ",", 2)[1] != strings.SplitN(clean, ",", 2)[1] {
		t.Errorf("the tab was %s and is %s", clean, now)
	}

	again := showPageWith(t, e, of(base), base+"/") // it can be used again
	if got := again.must("whoami", "{}"); got != `"Ada"` {
		t.Errorf("then the tool sees %s", got)
	}
}

// TestAttachChooses: of several tabs, the first by address is used, and that is told; of a site that no
// pattern is about, none is.
func TestAttachChooses(t *testing.T) {
	t.Parallel()
	p, base, other := newPerson(t), mail(t), mail(t)
	p.opens(base + "/inbox?b")
	p.opens(base + "/inbox?a")
	p.opens(other + "/inbox")
	e, said := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/inbox*", base + "/none"} })
	before := len(p.tabs())
	if got := showPageWith(t, e, of(base), base+"/").must("where", "{}"); got != strconv.Quote(base+"/inbox?a") {
		t.Errorf("it uses %s", got)
	}
	if got := said.said(); !strings.HasPrefix(got, "2 open tabs of "+base+" match: the one that shows "+base+"/inbox is used") {
		t.Errorf("it said %q", got)
	}
	if got := showPageWith(t, e, of(other), other+"/").must("where", "{}"); got != strconv.Quote(other+"/") || len(p.tabs()) != before+1 {
		t.Errorf("the other site is at %s, in %d tabs after %d", got, len(p.tabs()), before)
	}
	everything, _ := p.lets(func(o *OwnOptions) { o.Attach = []string{"*"} })
	third := mail(t)
	if _, err := everything.Open(t.Context(), of(third)); reasonOf(err) != "INTERNAL_ERROR UNREACHABLE not_run" {
		t.Errorf("a site without an open tab got one: %v", err)
	}
}

// TestAttachFails: a tab that does not come back is not reloaded again.
func TestAttachFails(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	var loads atomic.Int32
	base := site(t, map[string]http.HandlerFunc{"/inbox": func(w http.ResponseWriter, r *http.Request) {
		if loads.Add(1); down.Load() {
			panic(http.ErrAbortHandler) // the connection ends without a response
		}
		html("inbox")(w, r)
	}})
	p := newPerson(t)
	_, id := p.opens(base + "/inbox")
	e, _ := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/*"} })
	down.Store(true)
	for range 3 {
		opened, err := e.Open(t.Context(), of(base))
		if err == nil {
			go func() { // ends with the tab
				for range opened.Events() {
				}
			}()
			err = opened.Load(t.Context(), base+"/")
			_ = opened.Close(t.Context())
		}
		if got := reasonOf(err); got != "INTERNAL_ERROR UNREACHABLE not_run" {
			t.Errorf("without its site the tab is opened: %s", got)
		}
		if down.Load() {
			down.Store(false)
			loads.Store(0)
		}
	}
	if n := loads.Load(); n != 0 {
		t.Errorf("afterwards it was loaded %d times", n)
	}
	p.until("the tab shows where it was", func(all map[cdptarget.ID]string) bool { return all[id] == base+"/inbox" })
}

// TestPersonGoesElsewhere: the tab is left to its person when they go to another site in it, which never
// sees us; what waits for it is told.
func TestPersonGoesElsewhere(t *testing.T) {
	t.Parallel()
	p, base, other := newPerson(t), mail(t), mail(t)
	mine, id := p.opens(base + "/inbox")
	e, _ := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/*"} })
	s := showPageWith(t, e, of(base), base+"/")
	s.must("where", "{}")
	ended := make(chan string, 1)
	go func() { _, err := s.call("rest", "{}"); ended <- reasonOf(err) }()
	s.find("resting") // it runs
	mine.goes(other + "/other")
	if got := <-ended; got != "INTERNAL_ERROR PAGE_NAVIGATED unknown" {
		t.Errorf("a call in flight: %s", got)
	}
	<-s.dead
	if got := mine.eval(`JSON.stringify(['modelContext' in document, 'modelContext' in navigator, location.href])`); got != `[false,false,"`+other+`/other"]` {
		t.Errorf("the other site sees %s", got)
	}
	if got := p.tabs()[id]; got != other+"/other" {
		t.Errorf("the tab shows %q", got)
	}
}

// TestPersonsDialogs: what the person does in the tab asks the person, and a call asks as ever.
func TestPersonsDialogs(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	mine, _ := p.opens(base + "/inbox")
	e, _ := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/*"} })
	s := showPageWith(t, e, of(base), base+"/")
	d := s.find("sure")
	step := s.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID, Input: []byte("{}"), MaxBytes: 1 << 20})
	if step.Pause == nil || step.Pause.Question.Kind != bridge.Confirm {
		t.Fatalf("the call says %+v", step)
	}
	if step = step.Pause.Continue(t.Context(), &bridge.Answer{OK: true}); string(step.Data) != `"true"` {
		t.Fatalf("then the call says %+v", step)
	}
	if err := mine.target.Call(t.Context(), page.CommandEnable, nil, nil); err != nil {
		t.Fatal(err)
	}
	mine.eval(`setTimeout(() => { globalThis.agreed = String(confirm('really?')) }, 0), ''`)
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); <-time.After(time.Millisecond) {
		params := page.HandleJavaScriptDialogParams{Accept: true}
		if mine.target.Call(t.Context(), page.CommandHandleJavaScriptDialog, params, nil) == nil {
			break // the person's yes, when they are asked
		}
	}
	if got := mine.eval(`new Promise((r) => { const i = setInterval(() => globalThis.agreed && (clearInterval(i), r(agreed)), 5) })`); got != "true" {
		t.Errorf("the person said yes, and the page heard %s", got)
	}
}

// TestApplies: a pattern is about a site when an address of it can match.
func TestApplies(t *testing.T) {
	t.Parallel()
	const of = "https://mail.example"
	about := []string{"*", "https://mail.example/*", "https://mail.example/inbox", "*inbox*", "https://*.example/*", "http*", "*://mail.example/", "https://mail.ex*"}
	others := []string{"", "https://mail.example", "https://mail.example.evil/*", "https://other.example/*", "http://mail.example/*", "https://mail.example:8443/*", "mail.example/*"}
	for _, p := range slices.Concat(about, others) {
		if got := Applies(p, of); got != slices.Contains(about, p) {
			t.Errorf("%q: %v", p, got)
		}
	}
	if Applies("*", "") {
		t.Error("a site without an origin has open tabs")
	}
}

// TestPersonLeavesWithoutRequest: the tab is left, too, when no request shows where its person goes.
func TestPersonLeavesWithoutRequest(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	mine, id := p.opens(base + "/inbox")
	e, _ := p.lets(func(o *OwnOptions) { o.Attach = []string{base + "/*"} })
	for _, address := range []string{"about:blank", "chrome://version/", "data:text/html,hello"} {
		s := showPageWith(t, e, of(base), base+"/")
		mine.goes(address)
		select {
		case <-s.dead:
		case <-time.After(hang):
			t.Fatalf("%s: the tab is kept", address)
		}
		if reason := s.target.Reason(); !errors.Is(reason, errLeft) {
			t.Errorf("%s: it ended because %v", address, reason)
		}
		if got := p.tabs()[id]; got != address {
			t.Errorf("the tab shows %q, and not %s", got, address)
		}
		mine.goes(base + "/inbox")
	}
}
