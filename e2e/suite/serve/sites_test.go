package serve_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"

	"github.com/pagetools/pagetools/e2e/suite"
)

// serveSites is the operators' page over a bridge whose site shop declares these tools. login makes an
// address of it that logs a person in.
func serveSites(t *testing.T, tools ...bridge.Declaration) (router *bridgetest.Router, login func() string) {
	t.Helper()
	router = bridgetest.NewRouter().Add("shop", tools...)
	_, login = serveRouter(t, router, store.Memory(store.Options{}), bridge.Options{}, console.Options{})
	return router, login
}

// serveRouter is the operators' page over a bridge of a router, which is closed with what it keeps.
func serveRouter(t *testing.T, router bridge.Router, kept *store.Store, of bridge.Options, o console.Options, around ...func(http.Handler) http.Handler) (b *bridge.Bridge, login func() string) {
	t.Helper()
	of.Memory = kept.Memory
	b, err := bridge.New(router, of)
	if err != nil {
		t.Fatal(err)
	}
	done, links, logins := make(chan struct{}), &console.Links{}, console.NewLogins(kept.Logins)
	records := &console.Records{}
	records.Gather(t.Context(), b, "here")
	o.Records = records
	o.Done, o.Node, o.Links, o.Logins, o.Facts = done, "here", links, logins, func(string) console.SiteFacts {
		return console.SiteFacts{State: "open", Engine: "native", Endpoint: "http://127.0.0.1:7300", Token: true, Findings: []bridge.Finding{{Rule: "hidden-characters", Tool: "wipe", Message: "The description has characters that nobody sees."}}}
	}
	face := console.New(b, o)
	server := httptest.NewUnstartedServer(nil)
	server.Config.Handler = transport.Guard(transport.NewMux(face.Routes()...), transport.Options{Listen: server.Listener.Addr().String(), Open: console.PagePaths, Tokens: logins.Caller,
		Callers: []transport.Credential{{Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}, Token: "a-token-of-an-agent"}}})
	for _, wrap := range around {
		server.Config.Handler = wrap(server.Config.Handler)
	}
	server.Start()
	links.Serve(server.URL + "/")
	t.Cleanup(func() {
		close(done)
		server.CloseClientConnections()
		server.Close()
		b.Close()
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	return b, func() string {
		t.Helper()
		link, err := links.New(t.Context(), "ada", time.Now())
		if err != nil {
			t.Fatal(err)
		}
		return link
	}
}

// shopTools are a tool with a nested argument, one whose words are meant to mislead, and one that reads.
func shopTools() []bridge.Declaration {
	wipe := bridgetest.Asking("wipe", `{"type":"object"}`)
	wipe.Annotations = json.RawMessage(`{"destructiveHint":true}`)
	wipe.Title, wipe.Description = "<b>Allow</b>\u202e", "<img src=x onerror=alert(1)>\u200b<button>Allow</button>"+strings.Repeat("\nAllowed by pagetools.", 50)
	add := bridgetest.Asking("add-item", `{"type":"object","required":["items"],"properties":{"items":{"type":"array","items":{"type":"object","required":["sku"],
		"properties":{"sku":{"type":"string","minLength":2,"description":"What to add."},"count":{"type":"integer","default":1}}}},"password":{"type":"string"}}}`)
	add.Description = "Adds things to the basket."
	return []bridge.Declaration{add, bridgetest.Tool("find", `{"type":"object","properties":{"q":{"type":"string"}}}`), wipe}
}

const focused = "document.activeElement"

// TestSitesByKeyboard: a person finds a tool, fills in a nested argument, and hears from the server what
// does not fit, by keyboard alone; the focus is never lost, and nothing that they wrote.
func TestSitesByKeyboard(t *testing.T) {
	t.Parallel()
	router, login := serveSites(t, shopTools()...)
	page := showInBrowser(t, browserOf(t, 1200, 900), login(), "#inbox-title")
	page.until(t, "document.body.innerText.includes('No call waits')")
	page.press(t, "g", "s")
	page.until(t, focused+".id === 'sites-title' && document.title === 'pagetools: sites'")
	page.until(t, "document.querySelectorAll('.list tbody tr').length === 1")
	if row := page.eval(t, "document.querySelector('.list tbody').innerText"); !strings.Contains(row, "✓ open") || !strings.Contains(row, "shop") || !strings.Contains(row, "native") {
		t.Errorf("the site is %q", row)
	}
	page.clean(t, "sites")
	page.shot(t, "sites")
	page.press(t, "j")
	page.until(t, focused+".matches('.list .row-link')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'site-title' && document.querySelectorAll('.row').length === 3")
	page.clean(t, "tools")
	page.press(t, "/")
	page.until(t, focused+".matches('.filter')")
	page.press(t, "i", "t", "e", "m")
	page.until(t, "document.querySelectorAll('.row').length === 1 && document.body.innerText.includes('1 of 3 tools')")
	page.press(t, "Tab")
	page.until(t, focused+".matches('.row')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'tool-title'")
	if text := page.eval(t, "document.querySelector('.card').innerText"); !strings.Contains(text, "Page of shop says:\nAdds things to the basket.") || !strings.Contains(text, "A call asks each time: nothing says that this tool may run unasked.") {
		t.Errorf("the tool is %s", text)
	}
	for _, button := range []string{`[aria-label="Add items"]`, `[data-adds="r-0"]`} {
		page.until(t, "document.querySelector('"+button+"') !== null")
		page.eval(t, "(document.querySelector('"+button+"').focus(), '')")
		page.press(t, "Enter")
	}
	page.until(t, "document.querySelector('.card textarea') !== null")
	page.until(t, focused+".matches('[aria-label=\"Remove item 1\"]')")
	page.press(t, "Tab")
	page.until(t, focused+".matches('[aria-label=\"Send empty text sku\"]')")
	page.press(t, "Tab")
	page.until(t, focused+".matches('textarea')")
	page.press(t, "x")
	page.until(t, "document.querySelector('.card textarea').value === 'x'") // before the focus moves
	check := func(want string) {
		t.Helper()
		page.eval(t, "(document.querySelector('.answers button').focus(), '')")
		page.press(t, "Enter")
		if !suite.Within(suite.ReplyWithin, func() bool {
			return page.eval(t, "document.querySelector('.answers [role=status]').textContent") == want
		}) {
			t.Fatalf("it says %s, want %q", page.eval(t, "document.querySelector('.answers').innerText + ' ' + document.activeElement.outerHTML + ' ' + document.querySelector('.card textarea').value"), want)
		}
	}
	check("One thing does not fit.")
	page.until(t, `document.querySelector('.card textarea').getAttribute('aria-invalid') === 'true'`)
	page.clean(t, "a fault")
	page.shot(t, "tool")
	page.eval(t, "(document.querySelector('.card textarea').focus(), '')")
	page.press(t, "y")
	page.until(t, "document.querySelector('.card textarea').value.length === 2")
	page.until(t, "document.querySelector('.answers [role=status]').textContent === ''")
	check("The arguments fit.")

	// What was written is there after another screen, and after a tool came.
	page.press(t, "g", "i")
	page.until(t, "document.getElementById('inbox-title') !== null")
	page.eval(t, "(history.back(), '')")
	page.until(t, `document.querySelector('.card textarea')?.value.length === 2`)
	page.eval(t, `(() => { // what is to happen in a minute happens when the test says so
		const { setTimeout } = window, { now } = Date;
		let past = 0;
		Date.now = () => now() + past;
		window.setTimeout = (f, ms, ...all) => (ms > 30_000 ? (window.later = f, 0) : setTimeout(f, ms, ...all));
		window.pass = (ms) => { past += ms; later(); return ''; };
		return '';
	})()`)
	router.Declare("shop", append(shopTools(), bridgetest.Tool("look", ""))...)
	page.until(t, "[...document.querySelectorAll('.row')].some((r) => r.innerText.includes('look') && r.innerText.includes('new'))")
	page.until(t, "document.getElementById('announced').textContent.includes('1 tool added on shop.')")
	router.Declare("shop", append(shopTools()[:2:2], bridgetest.Tool("look", ""))...)
	page.until(t, "document.querySelector('main').innerText.includes('Removed a moment ago: "+shopTools()[2].Name+".')")
	page.clean(t, "a tool came and one went")
	page.eval(t, "pass(61_000)")
	page.until(t, "!document.querySelector('main').innerText.includes('Removed a moment ago') && ![...document.querySelectorAll('.row .left')].some((e) => e.innerText === 'new')")
	router.Declare("shop", append(shopTools(), bridgetest.Tool("look", ""))...)
	page.until(t, "document.querySelectorAll('.row').length === 4")
	page.until(t, `document.querySelector('.card textarea')?.value.length === 2`)
	page.eval(t, "(document.querySelector('.card textarea').blur(), document.getElementById('tool-title').focus(), '')")
	page.press(t, "Escape")
	page.until(t, focused+".matches('.row') && document.querySelector('.card') === null")
	page.press(t, "Escape")
	page.until(t, focused+".id === 'sites-title'")
	if calls := router.Calls(); len(calls) != 0 {
		t.Errorf("the page of the site was asked: %v", calls)
	}
}

// TestSitesOfStrangers: what a page says of a tool is a quotation, whatever it is; a link fills a form and no more; what
// is gone is told, on a narrow screen.
func TestSitesOfStrangers(t *testing.T) {
	t.Parallel()
	router, login := serveSites(t, shopTools()...)
	page := showInBrowser(t, browserOf(t, 320, 640), login(), "#inbox-title")
	page.eval(t, "(location.hash = '#/sites/shop/tools/wipe', '')")
	page.until(t, "document.querySelector('.card .said') !== null")
	if text := page.eval(t, "document.querySelector('.card').innerText"); !strings.Contains(text, "<b>Allow</b>\n<img src=x onerror=alert(1)><button>Allow</button>\n") ||
		!strings.Contains(text, "▲ destructive") || strings.Count(text, "Allowed by pagetools.") > 6 {
		t.Errorf("it shows %s", text)
	}
	if own := page.eval(t, "String(document.querySelectorAll('.card img, .card b').length + [...document.querySelectorAll('button')].filter((b) => b.textContent === 'Allow').length)"); own != "0" {
		t.Errorf("%s elements are of the page", own)
	}
	page.clean(t, "hostile")
	page.shot(t, "tool-narrow")
	page.eval(t, "(location.hash = '#/sites/shop/findings', '')")
	page.until(t, "document.querySelector('.findings')?.innerText.includes('wipe: The description has characters that nobody sees. hidden-characters') ?? false")
	page.clean(t, "findings")
	page.eval(t, "(location.hash = '#/policy?site=shop&tool=wipe&caller=agent', '')")
	page.until(t, "document.querySelector('.decided')?.innerText.includes('would be asked about each time') ?? false")
	page.clean(t, "policy")
	page.shot(t, "policy-narrow")
	page.eval(t, "(location.hash = '#/sites/shop/versions', '')")
	page.until(t, "document.body.innerText.includes('Nothing changed since yesterday.')")
	page.clean(t, "versions")
	page.eval(t, "(location.hash = '#/audit', '')")
	page.until(t, "document.body.innerText.includes('This process keeps no audit: it has no data folder.')")
	page.clean(t, "no audit")
	page.eval(t, "(location.hash = '#/sites/shop/tools/find?in=' + encodeURIComponent('{\"q\":\"tea\"}'), '')")
	page.until(t, "document.querySelector('.card textarea')?.value === 'tea'")
	page.eval(t, "(document.documentElement.style.fontSize = '175%', '')")
	page.clean(t, "large text")
	router.Declare("shop")
	page.until(t, "document.body.innerText.includes('This site has no tools now.')")
	page.clean(t, "no tools")
	page.eval(t, "(location.hash = '#/sites/nowhere', '')")
	page.until(t, "document.body.innerText.includes('No site nowhere is served now.')")
	page.clean(t, "no site")
	if calls := router.Calls(); len(calls) != 0 {
		t.Errorf("the page of the site was asked: %v", calls)
	}
}

// TestRunOnThePage: a person runs tools by keyboard. What reads runs at once, what asks is allowed by Run, what is grave
// asks once more with the focus on Cancel.
func TestRunOnThePage(t *testing.T) {
	t.Parallel()
	router, login := serveSites(t, shopTools()...)
	page := showInBrowser(t, browserOf(t, 1200, 900), login(), "#inbox-title")
	open := func(tool string) {
		t.Helper()
		page.eval(t, "(location.hash = '#/sites/shop/tools/"+tool+"', '')")
		name, _, _ := strings.Cut(tool, "?")
		page.until(t, "document.querySelector('#tool-title')?.textContent === '"+name+"' && document.querySelector('[data-run]').ariaDisabled === 'false' && document.activeElement.id === 'tool-title'")
	}
	ran := func() int { return len(router.Calls()) }
	open("find?in=" + `%7B%22q%22%3A%22tea%22%2C%22n%22%3A1.10%2C%22more%22%3A9007199254740992%7D`)
	page.ctrl(t, "Enter")
	page.until(t, "document.querySelector('.result')?.dataset.stage === 'ended' && document.querySelector('.result').innerText.includes('✓ ok')")
	if text := page.eval(t, "document.querySelector('.returned').textContent"); !strings.Contains(text, "1.10") || !strings.Contains(text, "9007199254740992") || ran() != 1 {
		t.Errorf("it returned %s after %d calls", text, ran())
	}
	page.clean(t, "a result")
	page.shot(t, "run")

	open("wipe")
	page.eval(t, "(document.querySelector('[data-run]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog[open]') !== null && document.activeElement.textContent === 'Cancel'")
	if text := page.eval(t, "document.querySelector('dialog').innerText"); !strings.Contains(text, "Site shop, https://site.example. The page marks this tool as destructive.") || !strings.Contains(text, "{}") {
		t.Errorf("the dialog says %s", text)
	}
	page.clean(t, "a grave call")
	page.shot(t, "run-grave")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog') === null && document.activeElement.matches('[data-run]')")
	if ran() != 1 {
		t.Error("Cancel ran it")
	}
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog[open]') !== null")
	page.press(t, "Tab", "Enter")
	page.until(t, "document.querySelector('.result')?.innerText.includes('✓ ok') ?? false")
	if ran() != 2 {
		t.Errorf("%d calls ran", ran())
	}

	open("add-item")
	page.eval(t, "(document.querySelector('.modes button:last-child').click(), '')")
	page.until(t, "document.querySelector('textarea.code') !== null")
	page.eval(t, `(() => { const a = document.querySelector('.values textarea'); a.value = '{"items": [], "n": 1.10}'; a.dispatchEvent(new Event('input', {bubbles: true})); return ''; })()`)
	page.eval(t, "(document.querySelector('[data-run]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.result')?.innerText.includes('✓ ok') ?? false")
	page.press(t, "g", "i")
	page.until(t, "document.body.innerText.includes('No call waits')")
	if ran() != 3 {
		t.Errorf("%d calls ran", ran())
	}
}

// TestResultsOnThePage: what a tool returned are pictures that are drawn, texts for all else, and files; the call is
// copied as a program with the arguments as they are; and a call whose tool changed after Run does not run.
func TestResultsOnThePage(t *testing.T) {
	t.Parallel()
	router, login := serveSites(t, shopTools()...)
	page := showInBrowser(t, browserOf(t, 1200, 900), login(), "#inbox-title")
	const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="
	router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		return bridge.Step{Data: json.RawMessage(`{"content":[{"type":"image","mimeType":"image/png","data":"` + picture + `"},{"type":"image","mimeType":"image/svg+xml","data":"PHN2Zz48L3N2Zz4="},
			{"type":"text","text":"<img src=x onerror=alert(1)>"}]}`),
			Files: []bridge.File{{Name: "../a\u202e.csv", Type: "text/csv", Bytes: 4, Data: []byte("a,b\n")}}}
	})
	page.eval(t, "(location.hash = '#/sites/shop/tools/find?in=' + encodeURIComponent('{\"q\":\"it\\u2019s \\u202e 1.10\",\"n\":1.10}'), '')")
	page.until(t, "document.querySelector('[data-run]')?.ariaDisabled === 'false' && "+focused+".id === 'tool-title'")
	page.eval(t, "(document.querySelector('[data-run]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.result figcaption')?.textContent === 'A picture of the page, 1 × 1'")
	if drawn := page.eval(t, "String(document.querySelectorAll('.result canvas').length) + String([...document.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1).data])"); !strings.HasPrefix(drawn, "1255,") {
		t.Errorf("it draws %s", drawn)
	}
	if text := page.eval(t, "document.querySelector('.result').innerText"); !strings.Contains(text, "image/svg+xml") || !strings.Contains(text, `a\u{202e}.csv 4 bytes, text/csv`) || !strings.Contains(text, "<img src=x") {
		t.Errorf("it shows %s", text)
	}
	page.eval(t, `(URL.createObjectURL = (blob) => { blob.text().then((text) => { window.saved = blob.type + ' ' + text; }); return 'data:,'; },
		HTMLAnchorElement.prototype.click = function () { window.under = this.download; }, '')`)
	page.eval(t, "([...document.querySelectorAll('.result li button')][0].focus(), '')")
	page.press(t, "Enter")
	page.until(t, "window.saved === 'application/octet-stream a,b\\n' && window.under === 'pagetools-find-1.csv'")
	page.clean(t, "a result with a picture")
	page.shot(t, "result")

	copied := func(as string) string {
		t.Helper()
		page.eval(t, `(navigator.clipboard.writeText = async (text) => { window.copied = text; }, window.copied = '', '')`)
		page.eval(t, `(() => { const s = document.querySelector('#copy-as'); s.value = '`+as+`'; s.dispatchEvent(new Event('change', {bubbles: true})); s.focus(); return ''; })()`)
		page.press(t, "Tab", "Enter")
		page.until(t, "window.copied !== '' && document.querySelector('.copy-as [role=status]').textContent.startsWith('Copied.')")
		return page.eval(t, "window.copied")
	}
	if text := copied("curl"); !strings.Contains(text, `'http://127.0.0.1:7300/webtools/shop'`) || !strings.Contains(text, `"Authorization: Bearer $PAGETOOLS_TOKEN"`) || !strings.Contains(text, `"n":1.10`) ||
		!strings.Contains(text, `\u202e 1.10"`) || strings.Contains(text, "\u202e") {
		t.Errorf("curl is %q", text)
	}
	page.eval(t, "(document.querySelector('.run details').open = true, '')")
	page.until(t, `document.querySelector('[aria-label="Send empty text output"], [aria-label="config"]')?.innerText.includes('timeout') ?? false`)
	page.clean(t, "the settings")
	page.shot(t, "settings")
	page.eval(t, `(() => { const a = document.querySelector('[aria-label="config"] .modes button:last-child'); a.click(); return ''; })()`)
	page.until(t, `document.querySelector('[aria-label="config"] textarea.code') !== null`)
	page.eval(t, `(() => { const a = document.querySelector('[aria-label="config"] textarea.code'); a.value = '{"timeout": 20000}'; a.dispatchEvent(new Event('input', {bubbles: true})); return ''; })()`)
	if text := copied("Python"); !strings.Contains(text, `\"config\":{\"timeout\": 20000}`) || !strings.Contains(text, `os.environ["PAGETOOLS_TOKEN"]`) {
		t.Errorf("Python is %q", text)
	}
	page.eval(t, `(navigator.clipboard.writeText = () => Promise.reject(new Error('no')), '')`)
	page.eval(t, "(document.querySelector('.copy-as button').click(), '')")
	page.until(t, "document.querySelector('.copy-as textarea')?.value.includes('urllib') && document.querySelector('.copy-as [role=status]').textContent === 'Copy it from here.'")

	page.eval(t, "(location.hash = '#/sites/shop/tools/add-item?in=' + encodeURIComponent('{\"items\":[]}'), '')")
	page.until(t, "document.querySelector('#tool-title')?.textContent === 'add-item' && document.querySelector('[data-run]')?.ariaDisabled === 'false' && "+focused+".id === 'tool-title'")
	page.eval(t, `(window.was = window.fetch, window.fetch = async (path, how) => { // Run is pressed, and on its way
		if (path.startsWith('/api/calls?')) { window.held = true; await new Promise((go) => { window.go = go; }); }
		return window.was(path, how);
	}, document.querySelector('[data-run]').focus(), '')`)
	page.press(t, "Enter")
	page.until(t, "window.held === true")
	before := len(router.Calls())
	other := shopTools()
	other[0].Description = "Empties the basket."
	router.Declare("shop", other...)
	page.until(t, "document.querySelector('.card .said')?.innerText.includes('Empties the basket.')")
	page.eval(t, "(window.go(), '')")
	page.until(t, "document.querySelector('.result')?.innerText.includes('VERSION_MISMATCH') ?? false")
	if text := page.eval(t, "document.querySelector('.result').innerText"); !strings.Contains(text, "It did not run") || !strings.Contains(text, "is not what was on the screen") {
		t.Errorf("it says %s", text)
	}
	if n := len(router.Calls()); n != before {
		t.Errorf("%d calls of another tool ran", n-before)
	}
	page.clean(t, "a tool that changed")
}

// TestLinkIsTriedAgain: a link that nobody could ask about logs in when somebody can, and leaves the address at once.
func TestLinkIsTriedAgain(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	_, login := serveRouter(t, bridgetest.NewRouter().Add("shop", shopTools()...), store.Memory(store.Options{}), bridge.Options{}, console.Options{}, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/api/login" && asked.Add(1) == 1 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
			h.ServeHTTP(w, r)
		})
	})
	page := showInBrowser(t, browserOf(t, 1200, 900), login(), "header")
	page.until(t, "document.querySelector('header').innerText.includes('live')")
	if n := asked.Load(); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
	if at := page.eval(t, "location.href"); strings.Contains(at, "once") {
		t.Errorf("it is at %s", at)
	}
}
