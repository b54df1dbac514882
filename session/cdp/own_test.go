package cdp

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	cdptarget "github.com/chromedp/cdproto/target"

	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// person uses a browser that was started as a desktop does it, with its default browser context.
type person struct {
	t    *testing.T
	dir  string // HOME, and the parent of the profile
	host string
	path string // of the WebSocket
	b    *instance
}

func newPerson(t *testing.T) *person {
	t.Helper()
	p := &person{t: t, dir: folders(t)}
	p.host, p.path = browserIn(t, p.dir, true)
	e, err := NewRemote(remoteAt("http://" + p.host))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	if p.b, err = e.instance(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	return p
}

// profile is the folder in which the browser says where it listens.
func (p *person) profile() string { return filepath.Join(p.dir, "data") }

// opens opens a tab of the person's, and returns what they see and do in it.
func (p *person) opens(address string) (*reference, cdptarget.ID) {
	p.t.Helper()
	at, id, err := p.b.newPage(p.t.Context(), "")
	if err != nil {
		p.t.Fatal(err)
	}
	n := &reference{t: p.t, target: at}
	n.goes(address)
	return n, id
}

// goes leads the tab to an address, and waits until it is there.
func (n *reference) goes(address string) {
	n.t.Helper()
	if _, err := cdp.Call(n.t.Context(), n.target, page.Navigate, page.NavigateParams{URL: address}); err != nil {
		n.t.Fatal(err)
	}
	n.loaded()
}

func (n *reference) loaded() {
	n.t.Helper()
	n.eval(`new Promise((r) => document.readyState === 'complete' ? r('') : addEventListener('load', () => r('')))`)
}

// tabs are the addresses of the browser's tabs, by id.
func (p *person) tabs() map[cdptarget.ID]string {
	p.t.Helper()
	all, err := cdp.Call(p.t.Context(), p.b.root, cdptarget.GetTargets, cdptarget.GetTargetsParams{})
	if err != nil {
		p.t.Fatal(err)
	}
	found := map[cdptarget.ID]string{}
	for _, x := range all.TargetInfos {
		if x.Type == "page" {
			found[x.TargetID] = x.URL
		}
	}
	return found
}

// until waits until the tabs are as wanted.
func (p *person) until(what string, ok func(map[cdptarget.ID]string) bool) {
	p.t.Helper()
	for deadline := time.Now().Add(hang); !ok(p.tabs()); <-time.After(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("never: %s; the tabs are %v", what, p.tabs())
		}
	}
}

// lines collects what the person is told.
type lines struct {
	mu  sync.Mutex
	all []string
}

func (l *lines) say(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) said() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.all, "\n")
}

// lets makes an engine over the person's browser.
func (p *person) lets(change func(*OwnOptions)) (*Engine, *lines) {
	p.t.Helper()
	said := &lines{}
	o := OwnOptions{Dir: p.profile(), Say: said.say}
	if change != nil {
		change(&o)
	}
	e := NewOwn(o)
	p.t.Cleanup(func() { _ = e.Close() })
	return e, said
}

// of are the options of the tab of a site.
func of(origin string) session.TabOptions {
	return session.TabOptions{Origin: origin, Reach: &policy.Reach{Origins: []string{origin}}}
}

// mail serves pages behind a login: /login logs Ada in.
func mail(t *testing.T) string {
	t.Helper()
	tools := html(`<title>mail</title><script>
		tool('whoami', async () => (await fetch('/me')).text());
		tool('where', () => location.href);
		tool('sure', () => String(confirm('sure?')));
		tool('rest', () => { tool('resting', () => {}); return new Promise(() => {}); });
	</script>`)
	return site(t, map[string]http.HandlerFunc{
		"/login": func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "login", Value: "Ada", HttpOnly: true})
			html("welcome")(w, r)
		},
		"/me": func(w http.ResponseWriter, r *http.Request) {
			name := "nobody"
			if c, err := r.Cookie("login"); err == nil {
				name = c.Value
			}
			_, _ = io.WriteString(w, name)
		},
		"/": tools, "/inbox": tools, "/other": html("other"),
		"/file": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Disposition", `attachment; filename="letter.txt"`)
			_, _ = io.WriteString(w, "dear")
		},
	})
}

// life tells documents apart: it differs after each load.
const life = `JSON.stringify([String(performance.timeOrigin), location.href, typeof marker === 'undefined' ? '' : marker,
	'modelContext' in document, 'agent' in window, document.documentElement.outerHTML.length])`

// TestOwnBrowser: a tool sees the login of the browser that a person uses, in a tab of its own, and no
// other tab changes. At the end that tab is closed, and nothing else.
func TestOwnBrowser(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	first, _ := p.opens(base + "/login")
	same, _ := p.opens(base + "/inbox")
	elsewhere, _ := p.opens(mail(t) + "/other")
	mine := []*reference{first, same, elsewhere}
	var before []string
	for i, n := range mine {
		n.eval(fmt.Sprintf("globalThis.marker = 'mine %d'", i))
		before = append(before, n.eval(life))
	}
	tabs := p.tabs()

	e, said := p.lets(nil)
	s := showPageWith(t, e, of(base), base+"/")
	if got := s.must("whoami", "{}"); got != `"Ada"` {
		t.Errorf("the tool sees %s", got)
	}
	clicked := runtime.EvaluateParams{Expression: `String(!!open('/other'))`, UserGesture: new(true)}
	if _, err := cdp.Call(t.Context(), s.target, runtime.Evaluate, clicked); err != nil {
		t.Fatal(err)
	}
	s.until("its window stays open", func([]session.ToolsChanged) bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.opened == 1 || len(s.windows) > 0
	})
	if len(s.windows) > 0 {
		t.Error("a window that a page opened was closed")
	}
	for id, address := range tabs {
		if now := p.tabs()[id]; now != address {
			t.Errorf("a tab that showed %s shows %q", address, now)
		}
	}
	other := showPageWith(t, e, of(base), base+"/inbox") // of another site
	slow := runtime.EvaluateParams{Expression: `addEventListener('pagehide', () => { for (const end = Date.now() + 500; Date.now() < end;); })`}
	if _, err := cdp.Call(t.Context(), s.target, runtime.Evaluate, slow); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if slices.Contains(slices.Collect(maps.Values(p.tabs())), base+"/") {
		t.Error("a tab that was closed is still there")
	}
	if err := e.Close(); err != nil {
		t.Error(err)
	}
	<-other.dead
	p.until("only the window that a page opened is there besides", func(now map[cdptarget.ID]string) bool {
		for id, address := range tabs {
			if now[id] != address {
				return false
			}
			delete(now, id)
		}
		return slices.Equal(slices.Collect(maps.Values(now)), []string{base + "/other"})
	})
	for i, n := range mine {
		if now := n.eval(life); now != before[i] {
			t.Errorf("tab %d was %s and is %s", i, before[i], now)
		}
	}
	if said.said() != "" {
		t.Errorf("it said %q", said.said())
	}

	remote, err := NewRemote(remoteAt("http://" + p.host)) // the control
	if err != nil {
		t.Fatal(err)
	}
	defer remote.Close()
	if got := showPage(t, remote, base+"/").must("whoami", "{}"); got != `"nobody"` {
		t.Errorf("in a browser context of its own the tool sees %s", got)
	}
}

// TestOwnBrowserKeepsItsDownloads: what the person saves is saved.
func TestOwnBrowserKeepsItsDownloads(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	folder := filepath.Join(p.dir, "saved")
	params := browser.SetDownloadBehaviorParams{Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder}
	if _, err := cdp.Call(t.Context(), p.b.root, browser.SetDownloadBehavior, params); err != nil {
		t.Fatal(err) // as the person has set it
	}
	e, _ := p.lets(nil)
	showPageWith(t, e, of(base), base+"/").must("where", "{}")
	mine, _ := p.opens(base + "/other")
	mine.eval(`location.href = '/file'`)
	for deadline := time.Now().Add(hang); ; <-time.After(20 * time.Millisecond) {
		if text, err := os.ReadFile(filepath.Join(folder, "letter.txt")); err == nil && string(text) == "dear" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the person's file was not saved")
		}
	}
}

// TestOwnBrowserIsNotChanged: what would change a page, or its browser, is refused.
func TestOwnBrowserIsNotChanged(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	e, _ := p.lets(nil)
	tabs := len(p.tabs())
	changed := with(t, base, pageconfig.Settings{Locale: "de-DE"})
	passed := of(base)
	passed.Pass = &pageconfig.Cookie{Name: "a", Value: "b"}
	for name, o := range map[string]session.TabOptions{"a locale": changed, "a cookie": passed} {
		if _, err := e.Open(t.Context(), o); reasonOf(err) != "CONFIG_ERROR  not_run" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if now := len(p.tabs()); now != tabs {
		t.Errorf("%d tabs are left", now-tabs)
	}
}

// TestOwnBrowserLost: a connection that breaks is BROWSER_LOST, and is made again.
func TestOwnBrowserLost(t *testing.T) {
	t.Parallel()
	p, base := newPerson(t), mail(t)
	e, _ := p.lets(nil)
	s := showPageWith(t, e, of(base), base+"/")
	ended := make(chan string, 1)
	go func() { _, err := s.call("rest", "{}"); ended <- reasonOf(err) }()
	s.find("resting") // it runs
	_ = current(e).conn.Close()
	if got := <-ended; got != "INTERNAL_ERROR BROWSER_LOST unknown" {
		t.Errorf("a call in flight: %s", got)
	}
	showPageWith(t, e, of(base), base+"/").must("where", "{}")
}
