package serve_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
	"github.com/pagetools/pagetools/transport/console"
)

// doCall makes a call as an agent does.
func doCall(t *testing.T, b *bridge.Bridge, tool, id string) {
	t.Helper()
	_, _ = b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: tool, ID: id, Session: "s1", Caller: bridge.Caller{Name: "agent\u202e", May: []bridge.Right{bridge.MayCall}}, Input: bridgetest.JSON(`{"q":"in-the-arguments"}`)})
}

// TestCallsOnThePage: a person finds, by keyboard alone, why a call was refused; new calls do not move what
// they read; a call of their own is run again; the focus is never lost, also on a narrow screen.
func TestCallsOnThePage(t *testing.T) {
	t.Parallel()
	router := bridgetest.NewRouter().Add("shop", shopTools()...)
	b, login := serveRouter(t, router, store.Memory(store.Options{}), bridge.Options{}, console.Options{})
	page := showInBrowser(t, browserOf(t, 1280, 800), login(), "#inbox-title")
	page.eval(t, `(() => { window.lost = []; document.addEventListener('focusout', () => setTimeout(() => { if (document.activeElement === document.body) lost.push(location.hash); }, 50)); return ''; })()`)
	page.press(t, "g", "c")
	page.until(t, focused+".id === 'calls-title' && document.body.innerText.includes('No call came since pagetools began.') && document.title === 'pagetools: calls'")
	page.clean(t, "no calls")
	for n := range 40 {
		doCall(t, b, "find", fmt.Sprintf("F%02d", n))
	}
	doCall(t, b, "wipe", "REFUSED")
	doCall(t, b, "none", "NONE")
	bob := bridge.Caller{Name: "bob", May: []bridge.Right{bridge.MayAnswer}}
	for _, q := range bridgetest.Questions(b, bob) {
		if err := b.Answer(bob, q.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
	}
	page.until(t, "document.querySelector('.call-head') !== null && document.body.innerText.includes('42 calls') && document.body.innerText.includes('APPROVAL_DENIED')")
	if rows := page.eval(t, "[...document.querySelectorAll('.call')].slice(0, 3).map((r) => r.innerText.split('\\n').slice(1).join(' ')).join('|')"); !strings.Contains(rows, "✕ error shop none agent s1") || !strings.Contains(rows, "✕ refused shop wipe") || !strings.Contains(rows, "APPROVAL_DENIED") || !strings.Contains(rows, "✓ ok shop find") {
		t.Errorf("the first rows are %s", rows)
	}
	page.clean(t, "calls")
	page.shot(t, "calls")
	page.press(t, "g", "s")
	page.until(t, "document.querySelector('.sparkline')?.ariaLabel === '42 calls in 15 minutes' && document.querySelector('.list tbody').innerText.includes('2 %')")
	doCall(t, b, "none", "NONE2")
	page.until(t, "document.querySelector('.sparkline').ariaLabel === '43 calls in 15 minutes' && document.querySelector('.list tbody').innerText.includes('5 %')")
	page.clean(t, "sites with calls")
	page.shot(t, "sites-calls")
	page.press(t, "g", "c")
	page.until(t, focused+".id === 'calls-title'")

	// The timeline draws the same calls, and a part of its time is a filter.
	page.eval(t, "([...document.querySelectorAll('button')].find((b) => b.textContent === 'Timeline').click(), '')")
	drawn := "(() => { const c = document.querySelector('.timeline canvas'); return c && c.width > 0 ? c.getContext('2d').getImageData(c.width / 2, 0, c.width / 2, c.height).data.filter((v, i) => i % 4 === 3 && v > 0).length : 0; })()"
	page.until(t, "document.querySelector('.timeline canvas')?.ariaLabel.startsWith('43 of these calls over time') && "+drawn+" > 20")
	page.clean(t, "the timeline")
	page.shot(t, "timeline")
	before := page.eval(t, "document.querySelector('.timeline canvas').ariaLabel")
	page.press(t, "+")
	page.until(t, "document.querySelector('.timeline canvas').ariaLabel !== "+strconv.Quote(before))
	page.eval(t, "(document.querySelector('.timeline figcaption button:last-child').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "/^since:\\S+Z until:\\S+Z$/.test(document.getElementById('calls-filter').value) && location.hash.includes('since%3A') && document.body.innerText.includes('43 calls')")
	page.eval(t, "([...document.querySelectorAll('button')].find((b) => b.textContent === 'Timeline').click(), document.getElementById('calls-filter').select(), document.getElementById('calls-filter').focus(), '')")
	page.press(t, "Backspace")
	page.until(t, "document.getElementById('calls-filter').value === '' && document.querySelector('.timeline') === null")

	page.press(t, "s", "t", "a")
	page.until(t, "document.querySelectorAll('.completions li').length === 1")
	page.clean(t, "completion")
	page.press(t, "ArrowDown", "Enter", "r", "e", "f", "ArrowDown", "Enter")
	page.until(t, "document.getElementById('calls-filter').value === 'status:refused ' && document.querySelectorAll('.call').length === 1 && location.hash === '#/calls?q=status%3Arefused+'")
	page.press(t, "Tab", "Tab", "Tab", "Tab")
	page.until(t, focused+".matches('.call')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'call-title' && document.querySelector('.card').innerText.includes('keeps no arguments')")
	if text := page.eval(t, "document.querySelector('.card').innerText"); !strings.Contains(text, "It did not run: it is safe to repeat it.") || !strings.Contains(text, "A person is asked each time: nothing says that this tool may run unasked") ||
		!strings.Contains(text, "Refused by bob.") || !strings.Contains(text, "keeps no arguments") || strings.Contains(text, "in-the-arguments") {
		t.Errorf("the call is %s", text)
	}
	page.clean(t, "a call")
	page.shot(t, "call")
	page.press(t, "Escape")
	page.until(t, focused+".matches('.call') && document.querySelector('.card') === null")

	// Another filter, and news that wait while the list is read.
	page.eval(t, "(document.querySelector('.chips button').focus(), '')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'calls-filter' && document.getElementById('calls-filter').value === '' && document.body.innerText.includes('43 calls')")
	page.press(t, "f", "o", "o", ":", "x")
	page.until(t, "document.body.innerText.includes('unknown word \"foo\" in the filter')")
	page.clean(t, "a wrong filter")
	page.eval(t, "(window.lists = () => performance.getEntriesByType('resource').filter((r) => r.name.includes('/api/calls?')).length, window.before = lists(), document.querySelector('.chips button').click(), '')")
	page.until(t, "lists() > before && document.body.innerText.includes('43 calls') && document.querySelectorAll('.call').length > 10") // a list that comes later would have the next call
	page.eval(t, "new Promise((heard) => { const list = document.querySelector('.virtual'); list.addEventListener('scroll', () => setTimeout(heard, 0, ''), {once: true}); list.scrollTop = 200; })")
	doCall(t, b, "find", "NEW1")
	page.until(t, "document.body.innerText.includes('1 new') && document.body.innerText.includes('43 calls')")
	page.eval(t, "(document.querySelector('.virtual').scrollTop = 0, '')")
	page.until(t, "document.body.innerText.includes('44 calls') && document.querySelector('.call[data-id=NEW1]') !== null")
	page.eval(t, "(document.getElementById('calls-title').focus(), '')")
	page.press(t, ".")
	page.until(t, "document.body.innerText.includes('paused')")
	doCall(t, b, "find", "NEW2")
	page.press(t, ".")
	page.until(t, "document.querySelector('.call[data-id=NEW2]') !== null")

	// A call of their own, again.
	page.eval(t, "(location.hash = '#/sites/shop/tools/find?in=%7B%22q%22%3A%22tea%22%2C%22n%22%3A1.10%7D', '')")
	page.until(t, "document.querySelector('[data-run]')?.ariaDisabled === 'false' && document.activeElement.id === 'tool-title'")
	page.eval(t, "(document.querySelector('[data-run]').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.result')?.dataset.stage === 'ended'")
	page.press(t, "g", "c")
	page.until(t, focused+".id === 'calls-title' && document.body.innerText.includes('46 calls')")
	page.press(t, "j", "Enter")
	page.until(t, "document.querySelector('.card pre')?.textContent === '{\"q\":\"tea\",\"n\":1.10}' && document.querySelector('.card .returned') !== null")
	page.clean(t, "an own call")
	page.shot(t, "call-own")
	page.eval(t, "(document.querySelector('.card .answers a').focus(), '')")
	page.press(t, "Enter")
	page.until(t, focused+".matches('[data-run]') && document.querySelector('.result') === null")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.result')?.dataset.stage === 'ended'")
	if ran := len(router.Calls()); ran != 40+2+2 {
		t.Errorf("%d calls ran", ran)
	}
	if lost := page.eval(t, "JSON.stringify(lost)"); lost != "[]" {
		t.Errorf("the focus was lost at %s", lost)
	}
}

// TestCallsOnNarrowScreens: the list has one column, the call takes its place, large text fits, and a
// thousand calls are some rows of the document; the row that has the focus stays in it.
func TestCallsOnNarrowScreens(t *testing.T) {
	gatetest.Nightly(t, "TestScreensInThemes looks at narrow windows, too")
	t.Parallel()
	b, login := serveRouter(t, bridgetest.NewRouter().Add("shop", shopTools()...), store.Memory(store.Options{}), bridge.Options{}, console.Options{})
	for n := range 1000 {
		doCall(t, b, "find", fmt.Sprintf("F%03d", n))
	}
	page := showInBrowser(t, browserOf(t, 320, 640), login(), "#inbox-title")
	page.eval(t, "(location.hash = '#/calls?q=tool:find&sel=F998', '')")
	page.until(t, focused+".id === 'call-title' && document.querySelector('.calls-list').offsetParent === null")
	page.clean(t, "a call")
	page.shot(t, "call-narrow")
	page.press(t, "Escape")
	page.until(t, focused+".dataset.id === 'F998'")
	page.eval(t, "([...document.querySelectorAll('button')].find((b) => b.textContent === 'Timeline').click(), document.documentElement.dataset.theme = 'dark', '')")
	page.until(t, "document.querySelector('.timeline canvas')?.width > 0")
	page.clean(t, "calls, dark")
	page.shot(t, "calls-narrow")
	page.eval(t, "(document.documentElement.dataset.theme = 'system', '')")
	page.eval(t, `(() => { const real = fetch; let newest = true; window.fetch = (u, o) => { // older calls that the list has already, as after it began anew
		if (newest && u.includes('before=')) { newest = false; u = u.replace(/limit=1000&before=[^&]*/, 'limit=200'); }
		return real(u, o);
	}; document.querySelector('.virtual').scrollTop = 1e6; return ''; })()`)
	page.until(t, "document.querySelector('[role=grid]').ariaRowCount === '1001'")
	page.eval(t, "(document.querySelector('.virtual').scrollTop = 1e6, '')")
	page.until(t, "document.querySelector('.call[data-id=F000]') !== null")
	if rows := page.eval(t, "String(document.querySelectorAll('.call').length)"); len(rows) > 2 || rows > "60" {
		t.Errorf("%s rows are in the document", rows)
	}
	page.until(t, focused+".dataset.id === 'F998'")
	page.press(t, "j")
	page.until(t, focused+".dataset.id === 'F997' && document.querySelector('.virtual').scrollTop < 100")
	page.eval(t, "(document.documentElement.style.fontSize = '175%', '')")
	page.clean(t, "large text")
}

// countedCalls are the calls of a process by how they ended, and the pages that are held.
type countedCalls struct{ OK, Refused, Error, Held int }

// inStats reads what the operators' page counts: calls are summed, pages are as in the newest second.
func inStats(t *testing.T, s *suite.Server) (sum countedCalls) {
	t.Helper()
	var stats struct {
		Items []struct{ Samples []countedCalls }
	}
	if r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/stats", ""); json.Unmarshal(r.Body, &stats) != nil || len(stats.Items) != 1 {
		t.Fatalf("the stats are %s", r.Body)
	}
	for _, one := range stats.Items[0].Samples {
		sum = countedCalls{sum.OK + one.OK, sum.Refused + one.Refused, sum.Error + one.Error, one.Held}
	}
	return sum
}

// inMetrics reads the same in /metrics.
func inMetrics(t *testing.T, s *suite.Server) (sum countedCalls) {
	t.Helper()
	body := s.As(t, "", http.MethodGet, s.URL+"/metrics", "").Body
	for _, line := range regexp.MustCompile(`(?m)^pagetools_(?:calls_total\{code="(\w*)",outcome="(\w+)",site="\w*"\}|pages_(held)) (\d+)$`).FindAllSubmatch(body, -1) {
		n, err := strconv.Atoi(string(line[4]))
		if err != nil {
			t.Fatal(err)
		}
		switch code := string(line[1]); {
		case string(line[3]) != "":
			sum.Held = n
		case string(line[2]) == "ok":
			sum.OK += n
		case code == "APPROVAL_DENIED" || code == "APPROVAL_REQUIRED" || code == "RATE_LIMIT":
			sum.Refused += n
		default:
			sum.Error += n
		}
	}
	return sum
}

// TestStatsAgreeWithMetrics: the operators' page counts the same calls and pages as /metrics.
func TestStatsAgreeWithMetrics(t *testing.T) {
	t.Parallel()
	s, _ := operators(t, filepath.Join(docs.Root(t), "examples", "stampdb"))
	asked := waits(s, "add-stamp", `{"name":"Basel Dove","description":"Three colours","year":1845}`)
	var list struct{ Questions []struct{ ID string } }
	suite.Eventually(t, suite.ReplyWithin, "the call asks", func() bool {
		r := s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/questions", "")
		return json.Unmarshal(r.Body, &list) == nil && len(list.Questions) == 1
	})
	s.As(t, s.Ready.Console.Token, http.MethodPost, s.Ready.Console.URL+"/api/questions/"+list.Questions[0].ID, `{"ok":false}`)
	if r := <-asked; !strings.Contains(string(r.Body), "APPROVAL_DENIED") {
		t.Fatalf("the call that was refused is %s", r.Body)
	}
	s.Ask("/webtools/site", `{"sessionId":"me","action":"none","request":{}}`)
	suite.Eventually(t, suite.ReplyWithin, "what the page counts is what /metrics has", func() bool {
		if r := s.Ask("/webtools/site", `{"sessionId":"me","action":"list-stamps","request":{}}`); r.Status != http.StatusOK {
			t.Fatalf("the call is %s", r.Body)
		}
		shown, measured := inStats(t, s), inMetrics(t, s)
		t.Logf("%+v %+v", shown, measured)
		return shown == measured && shown.OK > 0 && shown.Refused == 1 && shown.Error == 1 && shown.Held == 1
	})
}

// TestSavedScenarios: a call that was made is a scenario that makes it again, and that another page of the site does
// not pass.
func TestSavedScenarios(t *testing.T) {
	folder := suite.TempDir(t)
	page := func(sum string) {
		t.Helper()
		text := `<script>document.modelContext.registerTool({name: 'add', description: 'adds', annotations: {readOnlyHint: true},
			inputSchema: {type: 'object', properties: {a: {type: 'number'}, b: {type: 'number'}, pin: {type: 'string', format: 'password'}}},
			execute: ({a, b}) => ({sum: ` + sum + `, words: 'it\'s "$HOME" ${x} \u202e'})})</script>`
		if err := os.WriteFile(filepath.Join(folder, "index.html"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	page("a + b")
	s, _ := operators(t, folder, "--console-payloads", "all")
	r := s.Ask("/webtools/site", `{"action":"add","request":{"a":1.10,"b":9007199254740991,"pin":"hunter2"}}`)
	if r.Status != http.StatusOK {
		t.Fatalf("the call is %s", r.Body)
	}
	var saved suite.Reply
	suite.Eventually(t, suite.ReplyWithin, "the call is remembered", func() bool {
		saved = s.As(t, s.Ready.Console.Token, http.MethodGet, s.Ready.Console.URL+"/api/calls/"+r.Header.Get("Pagetools-Request-Id")+"/scenario", "")
		return saved.Status == http.StatusOK
	})
	if text := string(saved.Body); strings.Contains(text, "hunter2") || !strings.Contains(text, "${env.ADD_PIN}") || !strings.Contains(text, "1.10") || !strings.Contains(text, "9007199254740991") {
		t.Errorf("the scenario is\n%s", text)
	}
	file := suite.WriteFile(t, "saved.webtool.yaml", string(saved.Body))
	t.Setenv("ADD_PIN", "hunter2") // which the file names
	suite.PagetoolsRun(t, 0, "test", file)
	page("a - b")
	suite.PagetoolsRun(t, 1, "test", file)
}
