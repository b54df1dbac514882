package serve_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"

	"github.com/pagetools/pagetools/e2e/suite"
)

// live serves a view in which nothing happens.
func (x *scripted) live(w http.ResponseWriter, r *http.Request) {
	websocket.Server{Handshake: func(c *websocket.Config, _ *http.Request) error {
		c.Protocol = c.Protocol[:1]
		return nil
	}, Handler: func(conn *websocket.Conn) {
		x.looks(1)
		defer x.looks(-1)
		_, _ = io.Copy(io.Discard, conn) // until it closes
	}}.ServeHTTP(w, r)
}

func (x *scripted) looks(more int) (now int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.views += more
	return x.views
}

// endedBy tells as closedBy of somebody who said yes, or no.
func endedBy(id, person string, ok any) string {
	return event("question.closed", map[string]any{"node": "here", "id": id, "answeredBy": person, "ok": ok})
}

// TestInboxSaysWhy: a card says why a person is asked, in our words, and what the page says, as the page's; names are cut.
func TestInboxSaysWhy(t *testing.T) {
	t.Parallel()
	tool := "delete-" + strings.Repeat("x", 121)
	run := "Run " + tool + " on shop?"
	x := serveInbox(t, asking(1, map[string]any{"title": run, "tool": tool, "site": "shop", "caller": "agent", "hints": []string{"destructiveHint"}, "firstSince": time.Now().Format(time.RFC3339),
		"page": map[string]any{"url": "https://www.stamps.example/a", "title": "pagetools says that this is safe"},
		"why":  []any{map[string]any{"name": "operator", "level": "ask", "reason": `the operator's rule "delete-*"`, "decided": true}, map[string]any{"name": "hints", "level": "ask", "reason": "the site says that the tool destroys something"}}}),
		asking(2, map[string]any{"title": `"Recipes" wants: "Save it". Run save on api?`, "tool": "save", "site": "api", "operation": map[string]any{"api": "Recipes", "method": "POST", "url": "https://api.example/recipes"}}))
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.until(t, "document.querySelectorAll('.row').length === 2 && document.querySelector('button.yes').ariaDisabled === 'false'")
	for selector, want := range map[string]string{
		".card-title":            "Run " + tool[:64] + "… on shop?",
		".card-title code":       tool[:64] + "…",
		".row .title":            "Run " + tool[:64] + "… on shop?",
		".card .why dd":          `site "shop": the operator's rule "delete-*" = ask; the site says that the tool destroys something = ask`,
		".card figcaption":       "Page of shop says:",
		".card dd.said q":        "pagetools says that this is safe",
		".card button.yes":       "▲ Allow this destructive call",
		".card button.no":        "Refuse",
		".card .meta .bar-of":    "",
		".card .stake .severity": "▲ destructive",
	} {
		if got := page.eval(t, "document.querySelector(`"+selector+"`)?.textContent ?? ''"); got != want {
			t.Errorf("%s is %q, want %q", selector, got, want)
		}
	}
	if text := page.eval(t, "document.querySelector('.card').innerText"); !strings.Contains(text, "first call of this tool by this caller that is known since ") {
		t.Errorf("of the first call it says nothing: %s", text)
	}
	page.clean(t, "why")
	page.eval(t, "(document.querySelectorAll('.row')[1].click(), '')")
	page.until(t, "document.querySelector('.card-title').textContent === 'Run save on api?' && document.querySelector('.card figcaption').textContent === 'API of api says:'")
	if text := page.eval(t, "document.querySelector('.card blockquote').textContent + document.querySelector('.card button.yes').textContent + (document.querySelector('.card .why') !== null)"); !strings.HasPrefix(text, `"Recipes" wants: "Save it".`) || !strings.HasSuffix(text, "Allowfalse") {
		t.Errorf("of an API the card says %q", text)
	}
}

// TestInboxAnsweredElsewhere: a question that others ended says how, by whom, and where.
func TestInboxAnsweredElsewhere(t *testing.T) {
	t.Parallel()
	ends := []struct {
		kind, by string
		ok       any
		want     string
	}{
		{"approve", "terminal", true, "Allowed at a terminal,"}, {"approve", "Ada", false, "Refused by Ada,"}, {"confirm", "console:Ada\u202e", true, `Answered OK by Ada\u{202e} on this page,`},
		{"interact", "agent via card", false, "Declined on a card of agent,"}, {"prompt", "Ada", nil, "Answered by Ada,"},
	}
	var all []map[string]any
	for n, end := range ends {
		all = append(all, asking(n, map[string]any{"kind": end.kind}))
	}
	x := serveInbox(t, all...)
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.until(t, "document.querySelectorAll('.row').length === 5")
	for n, end := range ends {
		id := all[n]["id"].(string)
		page.eval(t, "(document.querySelector(`.row[data-id=\""+id+"\"]`).click(), '')")
		page.until(t, "document.querySelector(`.card[data-id=\""+id+"\"]`) !== null")
		x.events <- endedBy(id, end.by, end.ok)
		page.until(t, "document.querySelector(`.card[data-id=\""+id+"\"] .over`) !== null")
		if got := page.eval(t, "document.querySelector('.card .over').textContent"); !strings.HasPrefix(got, end.want) {
			t.Errorf("%v by %q is %q, want %q", end.ok, end.by, got, end.want)
		}
	}
}

// TestInboxNotAllowed: who may not answer reads the questions, and is told which right is missing.
func TestInboxNotAllowed(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, map[string]any{"picture": true, "edit": true}))
	x.rights = `["view"]`
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	const off = "[...document.querySelectorAll('.card button.yes, .card button.no')].map((b) => b.ariaDisabled).join()"
	page.until(t, "document.querySelector('.card').innerText.includes('Not allowed: you need the right answer.')")
	if got := page.eval(t, off); got != "true,true" {
		t.Errorf("the answers are off: %s", got)
	}
	page.press(t, "a", "Enter", "r", "Enter")
	if got := page.eval(t, "String([document.querySelector('.card .edit, .card .because, .card .always, .card .open-live') !== null, document.querySelector('.card').innerText.includes('The page shows nothing')])"); got != "false,false" || x.answered() != 0 {
		t.Errorf("it offers what is not allowed: %s, and %d are answered", got, x.answered())
	}
	page.clean(t, "not allowed")

	blind := serveInbox(t, asking(1, map[string]any{"picture": true})) // the right ended meanwhile
	blind.blind = true
	page = showInBrowser(t, browserOf(t, 1200, 900), blind.URL+token, ".card button.yes")
	page.until(t, "!!document.querySelector('.card .shown p')?.innerText")
	if got := page.eval(t, "document.querySelector('.card .shown').innerText"); got != "Not allowed: for pictures of pages, you need the right answer." {
		t.Errorf("of a picture that is refused it says %q", got)
	}
	page.until(t, "document.querySelector('.card button.yes').ariaDisabled === 'false'")
	if got := page.eval(t, off); got != "false,false" {
		t.Errorf("with the right, the answers are off: %s", got)
	}
}

// TestInboxLiveRests: a live view on a card is marked as the page's, and ends when nobody looks at it.
func TestInboxLiveRests(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, map[string]any{"kind": "interact", "picture": true}))
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card .open-live")
	page.eval(t, `(window.soon = setTimeout, window.setTimeout = (f, ms, ...of) => soon(f, ms === 30000 ? 10 : ms, ...of),
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.away === true }), '')`)
	page.eval(t, "(document.querySelector('.card .open-live').click(), '')")
	page.until(t, "document.querySelector('.card .page canvas') !== null && document.querySelector('.card .of-page')?.textContent === 'page'")
	watched := func(n int) {
		t.Helper()
		suite.Eventually(t, suite.ReplyWithin, "so many views are open", func() bool { return x.looks(0) == n })
	}
	watched(1)
	page.clean(t, "live")
	page.until(t, "document.activeElement.matches('.card .page, .card .page *')")
	page.eval(t, "(window.away = true, document.dispatchEvent(new Event('visibilitychange')), '')")
	watched(0)
	page.until(t, "document.querySelector('.card .page canvas') === null && document.querySelector('.card').innerText.includes('Nothing is shown while nobody looks.') && document.activeElement !== document.body")
	page.eval(t, "(window.away = false, document.dispatchEvent(new Event('visibilitychange')), '')")
	watched(1)
	page.until(t, "document.querySelector('.card .page canvas') !== null && document.activeElement.matches('.card .page, .card .page *')")
}

// TestInboxHeldKey: a key that is held answers nothing, and neither does one that comes while nobody sees the tab, or just after.
func TestInboxHeldKey(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, nil))
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.until(t, "document.querySelector('button.yes').ariaDisabled === 'false'")
	page.press(t, "a")
	page.until(t, "document.activeElement.matches('button.yes')")
	if got := page.eval(t, `(() => { const e = new KeyboardEvent('keydown', { key: 'Enter', repeat: true, bubbles: true, cancelable: true }); document.activeElement.dispatchEvent(e); return String(e.defaultPrevented); })()`); got != "true" || x.answered() != 0 {
		t.Errorf("a held key is prevented: %s, and answers %d", got, x.answered())
	}
	page.eval(t, `(Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.away === true }), window.held = [],
		window.soon = setTimeout, window.setTimeout = (f, ms, ...of) => (ms === 500 ? -held.push(() => f(...of)) : soon(f, ms, ...of)),
		window.away = true, document.dispatchEvent(new Event('visibilitychange')), '')`)
	page.until(t, "document.querySelector('button.yes').ariaDisabled === 'true'")
	page.press(t, "Enter")
	page.eval(t, "(window.away = false, document.dispatchEvent(new Event('visibilitychange')), '')")
	page.until(t, "held.length === 1")
	page.press(t, "Enter")
	if off := page.eval(t, "document.querySelector('button.yes').ariaDisabled"); off != "true" || x.answered() != 0 {
		t.Errorf("before 500 ms have passed the button is off: %s, with %d answers", off, x.answered())
	}
	page.eval(t, "(held[0](), '')")
	page.until(t, "document.querySelector('button.yes').ariaDisabled === 'false'")
	page.press(t, "Enter")
	if !suite.Within(suite.ReplyWithin, func() bool { return x.answered() == 1 }) {
		t.Error("the positive control: Enter answers nothing")
	}
}

// TestInboxArrivals: while a card has the focus, rows do not move, and what comes is counted above them; what is about to expire is read
// aloud once.
func TestInboxArrivals(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, nil))
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.eval(t, `(window.told = [], new MutationObserver(() => told.push(document.getElementById('announced').textContent)).observe(document.getElementById('announced'), { childList: true, characterData: true, subtree: true }),
		document.querySelector('.card-title').focus(), '')`)
	x.events <- event("question.opened", asking(2, map[string]any{"hints": []string{"destructiveHint"}, "expiresAt": time.Now().Add(29 * time.Second).Format(time.RFC3339)}))
	page.until(t, "document.querySelector('.arrived')?.textContent === '1 new' && document.querySelectorAll('.row').length === 1 && document.activeElement.matches('.card-title')")
	page.clean(t, "one is new")
	page.until(t, "told.some((text) => text.startsWith('A question expires in 30 seconds.')) && !told.at(-1).includes('expires')")
	x.events <- event("question.opened", asking(3, nil))
	page.until(t, "document.querySelector('.arrived')?.textContent === '2 new' && told.at(-1) === '3 questions wait.'")
	if times := page.eval(t, "String(told.filter((text) => text.includes('expires')).length)"); times != "1" {
		t.Errorf("it is read aloud %s times that a question expires: %s", times, page.eval(t, "JSON.stringify(told)"))
	}
	page.eval(t, "(document.querySelector('.arrived').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelectorAll('.row').length === 3 && document.querySelector('.arrived') === null && document.querySelector('.row').dataset.id === 'Q02' && document.activeElement !== document.body")
}

// TestInboxRests: where nothing waits no clock wakes the page, and it reads aloud what comes then.
func TestInboxRests(t *testing.T) {
	t.Parallel()
	x := serveInbox(t, asking(1, nil))
	page := showInBrowser(t, browserOf(t, 1200, 900), x.URL+token, ".card button.yes")
	page.eval(t, `(window.ended = 0, window.begun = [], window.setInterval = ((begin) => (f, ms) => (begun.push(ms), begin(f, ms)))(setInterval),
		window.clearInterval = ((end) => (id) => (id === undefined || ended++, end(id)))(clearInterval), '')`)
	x.events <- endedBy("Q01", "Ada", true)
	page.until(t, "ended === 2 && document.getElementById('announced').textContent === 'Nothing waits.'") // the clock's, and that of what is read aloud
	x.events <- event("question.opened", asking(2, nil))
	page.until(t, "document.getElementById('announced').textContent === 'One question waits.'")
	if begun := page.eval(t, "begun.filter((ms) => ms < 15_000).sort().join()"); begun != "1000,2000" { // beside the one of the figures
		t.Errorf("clocks of %s ms began", begun)
	}
}
