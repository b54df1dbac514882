package serve_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/js"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/cdp"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

var newScreens = flag.Bool("screens", false, "make the pictures of the operators' page in docs/console anew")

// scripted is the operators' page with its real policy, and questions of a test's making.
type scripted struct {
	*httptest.Server

	mu      sync.Mutex
	status  int // of the stream; 0 is 200
	open    []map[string]any
	answers map[string]bool
	events  chan string
	rights  string // of who uses the page
	blind   bool   // pictures are refused
	views   int    // live views that are open
}

func serveInbox(t *testing.T, questions ...map[string]any) *scripted {
	t.Helper()
	b, err := bridge.New(bridgetest.NewRouter(), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	x := &scripted{open: questions, answers: map[string]bool{}, events: make(chan string, 100), rights: `["view","answer","call"]`}
	pages := transport.Trusted(transport.NewMux(console.New(b, console.Options{}).Routes()...), bridge.Local(), transport.Options{})
	mux := http.NewServeMux()
	mux.Handle("/", pages)
	mux.HandleFunc("GET /api/me", func(w http.ResponseWriter, _ *http.Request) {
		x.mu.Lock()
		defer x.mu.Unlock()
		_, _ = fmt.Fprintf(w, `{"name":"ada","rights":%s,"node":"here","login":"1"}`, x.rights)
	})
	mux.HandleFunc("GET /api/events", x.stream)
	mux.HandleFunc("POST /api/questions/{id}", x.answer)
	mux.HandleFunc("GET /api/questions/{id}/live", x.live)
	mux.HandleFunc("GET /api/questions/{id}/picture", func(w http.ResponseWriter, _ *http.Request) {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.blind {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		page := image.NewGray(image.Rect(0, 0, 640, 400)) // with a line of black
		for at := range page.Pix[640*300:] {
			page.Pix[at] = 0xff
		}
		_ = png.Encode(w, page)
	})
	x.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		x.CloseClientConnections()
		x.Close()
		b.Close()
	})
	return x
}

func event(name string, data any) string {
	text, _ := json.Marshal(data)
	return fmt.Sprintf("event: %s\ndata: %s\n\n", name, text)
}

func closedBy(id, person string) string {
	return event("question.closed", map[string]string{"node": "here", "id": id, "answeredBy": person})
}

func (x *scripted) stream(w http.ResponseWriter, r *http.Request) {
	x.mu.Lock()
	status, open := x.status, x.open
	x.mu.Unlock()
	if status != 0 {
		w.WriteHeader(status)
		said := `{"error":{"code":"FORBIDDEN","message":"The right \"answer\" is missing."}}`
		if status != http.StatusForbidden {
			said = `{"error":{"code":"INTERNAL_ERROR","message":"pagetools is ending."}}`
		}
		_, _ = fmt.Fprint(w, said)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = fmt.Fprint(w, event("snapshot", map[string]any{"node": "here", "questions": open, "sites": []any{}, "calls": []any{}}))
	for {
		w.(http.Flusher).Flush()
		select {
		case text := <-x.events:
			_, _ = fmt.Fprint(w, text)
		case <-r.Context().Done():
			return
		}
	}
}

func (x *scripted) answer(_ http.ResponseWriter, r *http.Request) {
	var a struct{ OK bool }
	_ = json.NewDecoder(r.Body).Decode(&a)
	x.mu.Lock()
	x.answers[r.PathValue("id")] = a.OK
	x.mu.Unlock()
	x.events <- closedBy(r.PathValue("id"), "person")
}

func (x *scripted) answered() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return len(x.answers)
}

// asking is a question of the n-th site and caller.
func asking(n int, more map[string]any) map[string]any {
	q := map[string]any{
		"node": "here", "id": fmt.Sprintf("Q%02d", n), "kind": "approve", "title": fmt.Sprintf("Run add-stamp %d", n), "detail": "Adds a stamp to the collection.", "tool": "add-stamp",
		"input": map[string]any{"name": "Penny Black", "year": 1840, "password": "hunter2"}, "origin": "https://www.stamps.example", "domain": "stamps.example", "site": fmt.Sprintf("stamps%d", n%3), "caller": fmt.Sprintf("agent%d", n%3),
		"since": time.Now().Format(time.RFC3339), "expiresAt": time.Now().Add(5*time.Minute + time.Duration(n)*time.Second).Format(time.RFC3339), "session": "s1", "always": true, "picture": false,
	}
	for name, value := range more {
		q[name] = value
	}
	return q
}

// tenQuestions are of every kind.
func tenQuestions() (all []map[string]any) {
	for n := range 10 {
		more := map[string]any{}
		switch n {
		case 3:
			more = map[string]any{"hints": []string{"destructiveHint"}, "title": "Delete order 4711", "picture": true}
		case 4:
			more = map[string]any{"kind": "confirm", "title": "The page asks for a confirmation.", "detail": "Buy it?", "always": false}
		case 5:
			more = map[string]any{"kind": "prompt", "title": "The page asks for a text.", "detail": "Your name?", "schema": map[string]any{"type": "string", "default": "Ada"}, "always": false}
		case 6:
			more = map[string]any{"kind": "interact", "title": "The page waits for a person.", "detail": "Pick a seat.", "picture": true, "always": false}
		case 7:
			more = map[string]any{"hints": []string{"readOnlyHint"}}
		}
		all = append(all, asking(n, more))
	}
	return all
}

// eval runs an expression in the page.
func (p *shownPage) eval(t *testing.T, expression string) string {
	t.Helper()
	text, err := cdp.Evaluate(t.Context(), p.Tab, expression)
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return text
}

// ctrl presses a key while Ctrl is held.
func (p *shownPage) ctrl(t *testing.T, key string) {
	t.Helper()
	code := key
	if len(key) == 1 {
		code = "Key" + strings.ToUpper(key)
	}
	for _, kind := range []bridge.InputType{bridge.KeyDown, bridge.KeyUp} {
		if err := p.Act(t.Context(), bridge.Input{Type: kind, Key: key, Code: code, Modifiers: 2}); err != nil {
			t.Fatal(err)
		}
	}
}

// until waits until an expression is "true".
func (p *shownPage) until(t *testing.T, expression string) {
	t.Helper()
	if !suite.Within(20*time.Second, func() bool { return p.eval(t, "String("+expression+")") == "true" }) {
		t.Fatalf("it does not become true: %s\n%s", expression, p.eval(t, "document.body.innerText.slice(0, 1500)"))
	}
}

// clean fails when axe finds something, when the policy of the page was not kept, or when the page is wider than its window.
func (p *shownPage) clean(t *testing.T, state string) {
	t.Helper()
	if p.eval(t, "typeof axe") == "undefined" {
		axe, err := os.ReadFile(filepath.Join(docs.Root(t), "js", "vendor", "axe-core", "axe.min.js"))
		if err != nil {
			t.Fatal(err)
		}
		p.eval(t, "(() => {"+string(axe)+"; return axe.version})()")
	}
	if found := p.eval(t, `axe.run().then((r) => r.violations.map((v) => v.id + ': ' + v.nodes.map((n) => n.target + ' ' + n.failureSummary).join('; ')).join('\n'))`); found != "" {
		t.Errorf("%s: axe finds %s", state, found)
	}
	if found := p.eval(t, `new Promise((found) => {
		const all = [];
		const o = new ReportingObserver((reports) => all.push(...reports.map((r) => JSON.stringify(r.body))), {types: ['csp-violation'], buffered: true});
		o.observe();
		setTimeout(() => found(all.join('\n')), 50);
	})`); found != "" {
		t.Errorf("%s: the policy was not kept: %s", state, found)
	}
	if wider := p.eval(t, `String(document.documentElement.scrollWidth > innerWidth)`); wider != "false" {
		t.Errorf("%s: the page is wider than its window: %s", state, p.eval(t, `[...document.querySelectorAll('body *')].filter((e) => (e.getBoundingClientRect().right > innerWidth || e.scrollWidth > innerWidth) && !e.closest('.frame')).slice(-3).map((e) => e.outerHTML.slice(0, 200)).join('\n')`))
	}
}

// shot writes a picture to docs/console, with -screens.
func (p *shownPage) shot(t *testing.T, name string) {
	t.Helper()
	if !*newScreens {
		return
	}
	shot, err := p.Tab.(session.Photographer).Screenshot(t.Context())
	if err == nil {
		err = os.WriteFile(filepath.Join(docs.Root(t), "docs", "console", name+".png"), shot, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// token is the address of the page with a credential, which the scripted stream does not look at.
const token = "/#token"

// TestInboxThemes: the inbox with ten questions, in each theme: axe finds nothing, at least five are seen at once, and what says yes
// looks different from what says no.
func TestInboxThemes(t *testing.T) {
	gatetest.Nightly(t, "it starts four browsers")
	t.Parallel()
	for name, theme := range map[string]struct{ arg, media string }{
		"light": {"--blink-settings=preferredColorScheme=1", "(prefers-color-scheme: light)"}, "dark": {"--blink-settings=preferredColorScheme=0", "(prefers-color-scheme: dark)"},
		"contrast": {"--blink-settings=preferredContrast=0", "(prefers-contrast: more)"}, "forced": {"--force-high-contrast", "(forced-colors: active)"},
	} {
		x := serveInbox(t, tenQuestions()...)
		page := showInBrowser(t, browserOf(t, 1200, 900, theme.arg), x.URL+token, ".card button.yes")
		page.until(t, "matchMedia('"+theme.media+"').matches")
		page.until(t, "document.querySelectorAll('.row').length === 10 && document.querySelector('button.yes').ariaDisabled === 'false'")
		if seen := page.eval(t, `String([...document.querySelectorAll('.row')].filter((r) => r.getBoundingClientRect().bottom <= innerHeight).length)`); seen < "5" && seen != "10" {
			t.Errorf("%s: %s of ten questions are seen", name, seen)
		}
		if same := page.eval(t, `(() => { const [y, n] = ['yes', 'no'].map((c) => { const s = getComputedStyle(document.querySelector('.card .' + c)); return s.borderTopWidth + s.borderTopStyle + s.backgroundColor; }); return String(y === n); })()`); same != "false" {
			t.Errorf("%s: Allow looks like Refuse", name)
		}
		if first := page.eval(t, "document.querySelector('.row .severity').textContent"); first != "▲ destructive" {
			t.Errorf("the first row is %q", first)
		}
		if bold := page.eval(t, "document.querySelector('.card .meta strong').textContent + document.querySelector('nav a[href=\"#/live\"]').innerText"); bold != "stamps.exampleLive 1" {
			t.Errorf("%s: of the address and of pages that wait it shows %q", name, bold)
		}
		page.until(t, "document.querySelector('.card .shown figcaption')?.textContent !== ''")
		page.clean(t, name)
		page.shot(t, "inbox-"+name)
	}
}

// TestInboxByKeyboard: ten questions are answered in a row without a mouse, and the focus is never lost.
func TestInboxByKeyboard(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, tenQuestions()...)
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.until(t, "document.querySelectorAll('.row').length === 10")
	if text := page.eval(t, "document.querySelector('.card').innerText"); strings.Contains(text, "hunter2") || !strings.Contains(text, "••••") {
		t.Errorf("a password is shown: %s", text)
	}
	page.until(t, "document.querySelector('.card .shown canvas')?.width === 640 && document.querySelector('.card .shown figcaption').textContent === 'A picture of the page, 640 × 400'")
	page.eval(t, `(() => { window.lost = []; document.addEventListener('focusout', () => setTimeout(() => { if (document.activeElement === document.body) lost.push(document.querySelectorAll('.row').length); }, 50)); return ''; })()`)
	page.press(t, "j", "Enter")
	page.until(t, "document.activeElement.matches('.card-title')")
	page.press(t, "a")
	if err := page.Act(t.Context(), bridge.Input{Type: bridge.KeyDown, Key: "Enter", Code: "Enter", Text: "\r"}); err != nil || x.answered() != 0 {
		t.Errorf("%v; a button that has just appeared answers %d questions", err, x.answered())
	}
	page.press(t, "k")
	for n := range 10 {
		page.until(t, fmt.Sprintf("document.querySelectorAll('.row').length === %d", 10-n))
		if n%2 == 0 {
			page.allow(t)
		} else {
			page.press(t, "r", "Enter")
		}
		if !suite.Within(10*time.Second, func() bool { return x.answered() == n+1 }) {
			t.Fatalf("%d answers after %d\n%s", x.answered(), n+1, page.eval(t, "document.activeElement.outerHTML"))
		}
	}
	page.until(t, "document.activeElement.id === 'inbox-title'")
	if lost := page.eval(t, "JSON.stringify(lost)"); lost != "[]" {
		t.Errorf("the focus was lost with so many rows left: %s", lost)
	}
	if title := page.eval(t, "document.title"); title != "pagetools: inbox" {
		t.Errorf("the title is %q", title)
	}
	page.clean(t, "empty")
}

// TestInboxStates: what the page says while there is nothing, without the right, without a server, and of answers by others; on a
// narrow screen with large text.
func TestInboxStates(t *testing.T) {
	t.Parallel()
	e := browserOf(t, 320, 640)
	hurtful := asking(1, map[string]any{"title": "<img src=x> \u202eAllow\u200b", "detail": "<button>Allow</button>" + strings.Repeat("long", 500), "site": "Allow", "caller": "Refuse"})
	x := serveInbox(t, hurtful)
	page := showInBrowser(t, e, x.URL+token, ".card button.yes")
	page.until(t, "document.querySelector('.card button.yes').ariaDisabled === 'false'")
	page.clean(t, "hostile")
	page.shot(t, "inbox-narrow")
	if text := page.eval(t, "document.querySelector('.card').innerText"); !strings.Contains(text, `<img src=x> \u{202e}Allow\u{200b}`) || page.eval(t, "String(document.querySelectorAll('.card button.yes, img').length)") != "1" {
		t.Errorf("what strangers wrote is %s", text)
	}
	page.eval(t, "(document.documentElement.style.fontSize = '175%', '')")
	page.clean(t, "large text")
	page.eval(t, "(document.documentElement.style.fontSize = '', '')")

	x.mu.Lock()
	x.status = http.StatusInternalServerError
	x.mu.Unlock()
	x.CloseClientConnections()
	page.until(t, "document.querySelector('.offline') !== null && document.querySelector('.card button.yes').ariaDisabled === 'true'")
	page.clean(t, "offline")
	page.shot(t, "inbox-offline")
	x.mu.Lock()
	x.status, x.open = 0, append(x.open, asking(2, nil))
	x.mu.Unlock()
	page.until(t, "document.querySelector('.offline') === null")
	page.until(t, "document.title.startsWith('(2)')")
	x.events <- closedBy("Q01", "Ada\u202e")
	page.until(t, "document.querySelector('.over')?.textContent.startsWith('Answered by Ada\\\\u{202e},') ?? false")
	page.clean(t, "answered by somebody else")
	page.until(t, "document.querySelectorAll('.row').length === 1")

	x.mu.Lock()
	x.status = http.StatusForbidden
	x.mu.Unlock()
	x.CloseClientConnections()
	page.until(t, "document.querySelector('.login')?.innerText.includes('The right \"answer\" is missing.') ?? false")
	page.clean(t, "not allowed")
}

// TestInboxFlood: too many questions of one caller are one row, and are refused together; what others ask on the same site is not among
// them, and each question can be reached from every screen.
func TestInboxFlood(t *testing.T) {
	t.Parallel()
	all := []map[string]any{}
	for n := range 8 {
		all = append(all, asking(n, map[string]any{"site": "one", "caller": "flood"}))
	}
	x := serveInbox(t, append(all, asking(8, map[string]any{"site": "one", "caller": "ann"}))...)
	page := showInBrowser(t, operatorsBrowser(t), x.URL+token, ".many")
	page.until(t, "document.querySelector('.many').innerText.includes('8 questions of one caller') && document.querySelectorAll('.row').length === 1 && document.querySelector('.row').innerText.includes('ann')")
	page.clean(t, "flood")
	page.press(t, "g", "s")
	page.until(t, "document.querySelector('.waits')?.innerText.includes('Run add-stamp 0') ?? false")
	page.ctrl(t, "k")
	page.until(t, "document.querySelectorAll('[role=option]').length > 0 && [...document.querySelectorAll('[role=option]')].filter((o) => o.innerText.startsWith('question')).length === 9")
	page.press(t, "Escape")
	page.eval(t, "(document.querySelector('.waits a').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.activeElement.matches('.card-title') && document.activeElement.innerText === 'Run add-stamp 0' && document.querySelectorAll('.row').length === 9")
	page.eval(t, "(document.querySelectorAll('.many button')[1].click(), '')") // a script's press is nobody's
	page.eval(t, "(document.querySelectorAll('.many button')[1].focus(), '')")
	if x.answered() != 0 {
		t.Error("a script refuses")
	}
	page.press(t, "Enter")
	page.until(t, "document.activeElement.id === 'inbox-title' && document.querySelector('.many') === null && document.querySelectorAll('.row').length === 1")
	if x.answered() != 8 {
		t.Errorf("%d are refused", x.answered())
	}
}

// TestTabsLendTheirLogin: a new tab has the login of another one, and asks for a credential where there is none.
func TestTabsLendTheirLogin(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, nil))
	page := showInBrowser(t, operatorsBrowser(t), x.URL+token, ".row")
	if lent := page.eval(t, `new Promise((found) => {
		const other = new BroadcastChannel('pagetools.login');
		other.onmessage = ({ data }) => found(data.login);
		other.postMessage('login?');
	})`); lent != "token" {
		t.Errorf("it lends %q", lent)
	}
	page.eval(t, `(() => {
		window.other = new BroadcastChannel('pagetools.login');
		other.onmessage = ({ data }) => { if (data === 'login?') other.postMessage({ login: 'lent' }); };
		sessionStorage.clear();
		return '';
	})()`)
	x.CloseClientConnections()
	page.until(t, "sessionStorage.getItem('pagetools.credential') === 'lent' && document.querySelector('.row') !== null && document.querySelector('.login') === null")
	page.eval(t, "(other.close(), sessionStorage.clear(), '')")
	x.CloseClientConnections()
	page.until(t, "document.querySelector('.login') !== null && document.querySelector('.row') === null")
}

// TestLostProcess: what a process asked that does not answer any more is unknown, until it is back.
func TestLostProcess(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, nil))
	page := showInBrowser(t, operatorsBrowser(t), x.URL+token, ".card button.yes")
	page.eval(t, `(() => { // what is to happen in half a minute happens when the test says so
		const { setTimeout } = window;
		window.setTimeout = (f, ms, ...all) => (ms === 30_000 ? (window.later = f, 0) : setTimeout(f, ms, ...all));
		return '';
	})()`)
	lost := event("node", map[string]string{"node": "here", "state": "lost"})
	x.events <- lost
	page.until(t, "document.querySelector('.over')?.innerText.startsWith('Unknown: the process that asked does not answer since ')")
	page.clean(t, "unknown")
	x.events <- event("snapshot", map[string]any{"node": "here", "questions": x.open, "sites": []any{}, "calls": []any{}})
	page.until(t, "document.querySelector('.over') === null && document.querySelector('.card button.yes') !== null")
	page.eval(t, "(later(), '')")
	page.until(t, "document.querySelectorAll('.row').length === 1")
	x.events <- lost
	page.until(t, "document.querySelector('.over') !== null")
	page.eval(t, "(later(), '')")
	page.until(t, "document.querySelectorAll('.row').length === 0")
}

// TestOperatorsPageIsSmall holds the budgets of the first screen, and of all.
func TestOperatorsPageIsSmall(t *testing.T) {
	packed := func(text []byte) int {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, _ = w.Write(text)
		_ = w.Close()
		return b.Len()
	}
	script := func(name string) int {
		text, err := js.Console.ReadFile("dist/console/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return packed(text)
	}
	first := script("main.js") + script("chunk.js")
	for name, of := range map[string]struct{ size, most int }{
		"first screen's script": {first, 60_000}, "script": {first + script("rest.js"), 120_000}, "style": {packed([]byte(js.ConsoleCSS)), 12_000},
	} {
		if of.size > of.most || of.size < 100 {
			t.Errorf("the %s has %d bytes, more than %d", name, of.size, of.most)
		}
	}
}
