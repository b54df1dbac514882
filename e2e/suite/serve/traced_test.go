package serve_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport/console"
)

// tapes record what they are asked for, with one picture for all.
type tapes struct {
	png []byte

	mu       sync.Mutex
	calls    map[string]console.Recorded
	sessions map[string]console.Recorded
}

func newTapes(png []byte) *tapes {
	return &tapes{png: png, calls: map[string]console.Recorded{}, sessions: map[string]console.Recorded{}}
}

func (x *tapes) Record(_ context.Context, c *bridge.RecordedCall) bridge.Recording {
	if c.Record {
		x.add(c.ID)
	}
	return nil
}

func (x *tapes) add(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.calls[id] = console.Recorded{Site: "shop", Before: x.png, After: x.png, HAR: func(context.Context) ([]byte, error) { return []byte("har of " + id), nil },
		Did: func() []console.PageEvent {
			return []console.PageEvent{{At: time.Now(), Took: time.Second, Kind: "request", Text: "GET /a: 200"}, {At: time.Now(), Kind: "console", Bad: true, Text: "error: <b>\u202e"}}
		}}
}

func (x *tapes) Call(id string) (console.Recorded, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, there := x.calls[id]
	return r, there
}

func (x *tapes) Session(id string) (console.Recorded, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, there := x.sessions[id]
	return r, there
}

func (x *tapes) RecordSession(_ context.Context, s bridge.SessionState) error {
	x.set(s.ID, false)
	return nil
}

func (x *tapes) StopSession(id string) { x.set(id, true) }

func (x *tapes) set(id string, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sessions[id] = console.Recorded{Site: "shop", Since: time.Now(), Until: time.Now().Add(10 * time.Minute), Over: over,
		HAR: func(context.Context) ([]byte, error) { return []byte("har of session " + id), nil }}
}

func (*tapes) WriteTrace(w io.Writer, c *console.TracedCall) error {
	_, err := fmt.Fprintf(w, "trace of %s with %s", c.Tool, c.Input)
	return err
}

// saves notes the names and the texts of what the page downloads.
const saves = `(() => {
	window.saved = [];
	const made = new Map(), make = URL.createObjectURL;
	URL.createObjectURL = (blob) => { const url = make.call(URL, blob); made.set(url, blob); return url; };
	HTMLAnchorElement.prototype.click = function () { made.get(this.href).text().then((text) => saved.push(this.download + ': ' + text)); };
	return '';
})()`

// TestTracesOnThePage: by keyboard, a person records the page of a call that they run, and takes its trace and its network
// along, there and in the list of calls; and records the page of a session, until they end that.
func TestTracesOnThePage(t *testing.T) {
	t.Parallel()
	pages := newScriptedPages(t)
	kept := newTapes(pages.png)
	_, login := serveRouter(t, bridgetest.NewRouter().Add("shop", shopTools()...), store.Memory(store.Options{}), bridge.Options{Sessions: pages, Recorder: kept},
		console.Options{Pages: pages, Traces: kept, Scenario: func(_ bridge.Site, o bridge.Observed) ([]byte, error) { return []byte("scenario of " + o.Tool.Name()), nil }})
	pages.set(bridge.Pool{}, bridge.SessionState{ID: "one", Caller: "agent", Site: "shop", Session: "first\u202e", Since: time.Now(), Used: time.Now()})
	page := showInBrowser(t, browserOf(t, 1280, 800), login(), "#inbox-title")
	page.eval(t, saves)
	page.eval(t, "(location.hash = '#/sites/shop/tools/find?in=%7B%22q%22%3A%22tea%22%7D', '')")
	page.until(t, "document.querySelector('[data-run]')?.ariaDisabled === 'false' && document.activeElement.id === 'tool-title'")
	took := func(want string) {
		t.Helper()
		page.until(t, "saved.length === 1")
		if got := page.eval(t, "saved.splice(0).join()"); !strings.Contains(got, want) || !strings.HasPrefix(got, "pagetools-") {
			t.Errorf("it saved %s", got)
		}
	}
	page.ctrl(t, "Enter")
	page.until(t, "document.querySelector('.result .trace') !== null && document.querySelector('.result').innerText.includes('The page was not recorded')")
	page.eval(t, "(document.querySelector('.run input[type=checkbox]').focus(), '')")
	page.press(t, " ")
	page.until(t, "document.querySelector('.run input[type=checkbox]').checked")
	page.ctrl(t, "Enter")
	page.until(t, "document.querySelectorAll('.result .shots canvas').length === 2 && [...document.querySelectorAll('.shots figcaption')].map((f) => f.innerText).join() === 'The page before the call, 40 × 30,The page after the call, 40 × 30'")
	page.clean(t, "a recorded result")
	page.eval(t, "(document.querySelector('.result .trace').focus(), '')")
	page.press(t, "Enter")
	took(`.zip: trace of find with {"q":"tea"}`)
	page.press(t, "Tab", "Enter")
	took(".har: har of ")
	page.press(t, "Tab", "Enter")
	took(".webtool.yaml: scenario of find")
	page.press(t, "g", "c")
	page.until(t, focused+".id === 'calls-title' && document.querySelectorAll('.call').length === 2")
	page.press(t, "j", "Enter")
	page.until(t, focused+".id === 'call-title' && document.querySelectorAll('.card .shots canvas').length === 2")
	page.press(t, "t")
	took(".zip: trace of find")
	page.until(t, "document.querySelector('.card details summary')?.textContent === 'What the page did (2)'")
	page.eval(t, "(document.querySelector('.card details summary').focus(), '')")
	page.press(t, "Enter")
	page.until(t, `document.querySelector('.card details').open && document.querySelector('.card details tbody').innerText.includes('error: <b>\\u{202e}')`)
	page.clean(t, "a recorded call")
	page.shot(t, "call-recorded")
	page.eval(t, "([...document.querySelectorAll('button')].find((b) => b.textContent === 'Timeline').click(), '')")
	page.until(t, "document.querySelector('.timeline canvas')?.ariaLabel.includes('what the page of the open call did') && document.querySelector('.timeline canvas').style.height === '54px'")
	page.eval(t, "([...document.querySelectorAll('.timeline button')].find((b) => b.textContent === 'The open call').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "(() => { const [from, to] = document.querySelector('.timeline figcaption span').textContent.split(' to ').map((at) => Date.parse('1970-01-01T' + at)); return to - from < 5000; })()")
	page.shot(t, "timeline-page")
	page.eval(t, "([...document.querySelectorAll('button')].find((b) => b.textContent === 'Timeline').click(), [...document.querySelectorAll('.card .answers a')].find((a) => a.textContent === 'Replay').focus(), '')")
	page.press(t, "Enter")
	page.until(t, focused+".matches('[data-run]') && document.body.innerText.includes('A replay of call ')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.result .trace') !== null")
	page.eval(t, "([...document.querySelectorAll('.run p a')].find((a) => a.hash.startsWith('#/calls?sel=')).focus(), '')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'call-title' && document.querySelector('.card').innerText.includes('Run again as ')")
	page.press(t, "Escape", "g", "e")
	page.until(t, "document.querySelector('[data-session] button[aria-pressed=false]')?.ariaDisabled === 'false'")
	page.eval(t, "(document.querySelector('[data-session] button[aria-pressed]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('[data-session] button[aria-pressed=true]') === document.activeElement && document.body.innerText.includes('● recorded until')")
	page.press(t, "Tab", "Enter")
	took("pagetools-shop-first_.har: har of session one")
	page.clean(t, "a recorded session")
	page.shot(t, "sessions-recorded")
	page.eval(t, "(document.querySelector('[data-session] button[aria-pressed]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('[data-session] button[aria-pressed=false]') === document.activeElement && !document.body.innerText.includes('recorded until')")
}
