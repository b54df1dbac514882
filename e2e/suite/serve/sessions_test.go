package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"image"
	"image/jpeg"
	"image/png"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport/console"
)

// scriptedPages are sessions, a pool and a browser that a test sets.
type scriptedPages struct {
	mu      sync.Mutex
	all     []bridge.SessionState
	pool    bridge.Pool
	changed func()

	jpeg, png []byte // what each page shows
}

// newScriptedPages are pages that show a black picture.
func newScriptedPages(t *testing.T) *scriptedPages {
	t.Helper()
	p := &scriptedPages{}
	var picture bytes.Buffer
	shown := image.NewRGBA(image.Rect(0, 0, 40, 30))
	if err := jpeg.Encode(&picture, shown, nil); err != nil {
		t.Fatal(err)
	}
	p.jpeg = bytes.Clone(picture.Bytes())
	picture.Reset()
	if err := png.Encode(&picture, shown); err != nil {
		t.Fatal(err)
	}
	p.png = picture.Bytes()
	return p
}

func (p *scriptedPages) All() []bridge.SessionState {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.all)
}

func (p *scriptedPages) CloseOne(id string, all bool) (running int, there bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.all, func(s bridge.SessionState) bool { return s.ID == id })
	if i < 0 {
		return 0, false
	}
	running = p.all[i].Running
	if running == 0 || all {
		p.all = slices.Delete(p.all, i, i+1)
	}
	return running, true
}

func (p *scriptedPages) ViewOne(context.Context, string) (bridge.View, error) {
	view := bridgetest.NewView()
	view.Show(bridge.Frame{JPEG: p.jpeg, Width: 400, Height: 300})
	return view, nil
}

func (p *scriptedPages) PictureOne(context.Context, string) ([]byte, error) { return p.png, nil }

func (p *scriptedPages) NotifyOf(changed func()) { p.changed = changed }

func (p *scriptedPages) Pool() bridge.Pool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pool
}

func (*scriptedPages) BrowserStates(bool) []bridge.BrowserState {
	return []bridge.BrowserState{{Name: "pool\u202e", Max: 40, State: "running", Kind: "shell", Version: "HeadlessChrome/156.0.8078.79", Since: time.Now().Add(-3 * time.Hour), Tabs: 5, Memory: 812e6,
		Started: 2, Lost: []bridge.LostBrowser{{At: time.Now().Add(-3 * time.Hour), Cause: "silent"}}}}
}

func (p *scriptedPages) set(pool bridge.Pool, all ...bridge.SessionState) {
	p.mu.Lock()
	p.pool, p.all = pool, all
	p.mu.Unlock()
	p.changed()
}

// nodesOfThree is the status of a cluster.
const nodesOfThree = `{"engine":{"url":"nats://10.0.0.5:4222","roundTripMs":0.4,"quorum":true},"vault":{"kind":"nats"},"nodes":[
	{"name":"a","incarnation":"SAWHCSY7","addr":"https://10.0.0.11:7302","state":"alive","leaseAgeMs":500,"sessions":2,"free":6,"build":"1.4.0","configDigest":""},
	{"name":"b\u202e","incarnation":"M5VWP7JV","addr":"https://10.0.0.12:7302","state":"dead","leaseAgeMs":8600,"sessions":1,"free":7,"build":"1.4.0","configDigest":""},
	{"name":"c","incarnation":"K5IUMVFX","addr":"https://10.0.0.13:7302","state":"draining","leaseAgeMs":100,"sessions":0,"free":8,"build":"1.3.0","configDigest":""}],
	"sites":[],"warnings":["the node b has ended without a word"]}`

// TestSessionsByKeyboard: a person sees why calls wait for a page, and closes sessions by keyboard: an idle one, and one in
// which a call runs after they read what comes of that; the focus is never lost, and words of strangers are text.
func TestSessionsByKeyboard(t *testing.T) {
	t.Parallel()
	pages := newScriptedPages(t)
	_, login := serveRouter(t, bridgetest.NewRouter().Add("shop"), store.Memory(store.Options{}), bridge.Options{Sessions: pages}, console.Options{Pages: pages, Cluster: func(context.Context) any { return json.RawMessage(nodesOfThree) }})
	page := showInBrowser(t, browserOf(t, 320, 640), login(), "#inbox-title")
	page.until(t, "document.body.innerText.includes('No call waits')")
	page.press(t, "g", "e")
	page.until(t, focused+".id === 'sessions-title' && document.title === 'pagetools: sessions' && document.body.innerText.includes('No caller has a page of its own now.')")
	page.clean(t, "no session")
	of := func(id, name string, running int) bridge.SessionState {
		return bridge.SessionState{ID: id, Caller: "agent", Site: "shop", Session: name, Since: time.Now().Add(-90 * time.Second), Used: time.Now(), Calls: 7, Running: running,
			Address: "https://www.shop.example/<b>basket\u202e?" + strings.Repeat("x", 300)}
	}
	full := bridge.Pool{Held: 4, Limit: 4, PerCaller: 3, Queued: 2, Spare: 1, Caller: "agent", Of: 3, Oldest: "bot", Since: time.Now()}
	pages.set(full, of("one", "first", 0), of("two", strings.Repeat("s", 100), 1))
	page.until(t, "document.querySelectorAll('[data-session]').length === 2")
	if text := page.eval(t, "document.querySelector('main').innerText"); !strings.Contains(text, "4 of 4 pages are held, 1 stands by, 2 calls wait for one. ◌ All pages are held. Most by agent (3). The oldest by bot, since ") ||
		!strings.Contains(text, "✓ runs") || !strings.Contains(text, "812 MB") || !strings.Contains(text, "pool\\u{202e} HeadlessChrome/156") || !strings.Contains(text, "5 of 40") || !strings.Contains(text, "◌ a call runs") || !strings.Contains(text, "https://www.shop.example/%3Cb%3Ebasket") {
		t.Errorf("it shows %s", text)
	}
	if text := page.eval(t, "document.querySelector('[aria-label=\"Table of nodes\"]').innerText + document.querySelector('[aria-label=Warnings]').innerText"); !strings.Contains(text, "✓ lives") ||
		!strings.Contains(text, "✕ ended without a word") || !strings.Contains(text, "b\\u{202e}") || !strings.Contains(text, "8.6 s") || !strings.Contains(text, "▲ the node b has ended") {
		t.Errorf("of the cluster it shows %q", text)
	}
	page.clean(t, "sessions")
	page.shot(t, "sessions-narrow")
	button := func(id string) string { return "document.querySelector('[data-session=" + id + "] button')" }
	open := func(id string) {
		t.Helper()
		page.until(t, button(id)+"?.ariaDisabled === 'false'")
		page.eval(t, "("+button(id)+".focus(), '')")
		page.press(t, "Enter")
		page.until(t, "document.querySelector('dialog[open]') !== null && document.activeElement.textContent === 'Cancel'")
	}
	page.press(t, "g", "l")
	page.until(t, focused+".id === 'live-title' && document.querySelector('.page canvas')?.width === 40 && document.querySelector('.pictures canvas')?.width === 40")
	page.until(t, "document.querySelector('.page [role=status]').textContent === 'No call waits for a person in this page.'")
	page.eval(t, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, [...document.querySelectorAll('.page .tools button')].find((b) => b.textContent === 'Copy text').focus(), '')`)
	page.press(t, "Enter")
	page.until(t, "window.copied === 'text of the page' && document.querySelector('.page').innerText.includes('Copied: 16 characters of the page.') && document.activeElement.textContent === 'Copy text'")
	if hosts := page.eval(t, "[...document.querySelectorAll('main code strong')].map((e) => e.textContent).join()"); hosts != "shop.example" {
		t.Errorf("in bold is %s", hosts)
	}
	page.clean(t, "live")
	page.shot(t, "live-narrow")
	page.eval(t, "(document.querySelector('.pictures a').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "location.hash.endsWith('/two') && document.querySelector('.pictures a')?.hash.endsWith('/one') && document.querySelector('.page canvas')?.width === 40 && "+focused+" !== document.body")
	page.press(t, "g", "e")
	page.until(t, "document.querySelectorAll('[data-session]').length === 2")
	open("one")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog') === null && document.activeElement === "+button("one"))
	page.press(t, "g", "l")
	page.until(t, focused+".id === 'live-title' && document.querySelector('.pictures a')?.hash.endsWith('/two')")
	page.eval(t, "([...document.querySelectorAll('main button')].find((b) => b.textContent === 'Close the session').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog[open]') !== null && document.activeElement.textContent === 'Cancel'")
	page.press(t, "Tab", "Enter")
	page.until(t, "document.querySelector('.pictures') === null && document.querySelector('main').innerText.includes('session sssss') && "+focused+" !== document.body")
	page.press(t, "g", "e")
	page.until(t, "document.querySelectorAll('[data-session]').length === 1")
	open("two")
	if text := page.eval(t, "document.querySelector('dialog').innerText"); !strings.Contains(text, "▲ A call runs in it now, and ends with it: nobody can say whether the work was done.") {
		t.Errorf("the dialog says %s", text)
	}
	page.eval(t, "(document.documentElement.dataset.theme = 'dark', '')")
	page.clean(t, "a running call")
	page.shot(t, "session-close")
	page.press(t, "Tab", "Enter")
	page.until(t, "document.querySelectorAll('[data-session]').length === 0 && "+focused+" !== document.body")
	if left := pages.All(); len(left) != 0 {
		t.Errorf("left is %v", left)
	}
}
