package serve_test

import (
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport/console"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestAnswerWithChanges: a person changes the arguments of a call by keyboard, hears from the server what does not fit, sees
// what they change, and lets it run; they refuse another one with a reason, which Enter sends and nothing else.
func TestAnswerWithChanges(t *testing.T) {
	t.Parallel()
	router := bridgetest.NewRouter().Add("shop", bridgetest.Asking("order", `{"type":"object","required":["n"],"properties":{"n":{"type":"integer","maximum":9},
		"password":{"type":"string"},"note":{"type":"string"}}}`))
	b, login := serveRouter(t, router, store.Memory(store.Options{}), bridge.Options{}, console.Options{})
	ask := func(input string) (q *bridge.Question, end func() bridge.Step) {
		t.Helper()
		call := bridge.Call{Site: "shop", Tool: "order", Caller: bridge.Local(), Input: bridgetest.JSON(input), TellsChanges: true}
		_, s := b.Serve(t.Context(), &call)
		if s.Err == nil {
			t.Fatalf("it ran: %s", s.Data)
		}
		q, _ = s.Err.Details["question"].(*bridge.Question)
		token, _ := s.Err.Details["resume"].(string)
		call.Config = []byte(`{"resume":"` + token + `","wait":60000}`)
		return q, func() bridge.Step {
			_, s := b.Serve(t.Context(), &call)
			return s
		}
	}
	const differs = "[...document.querySelectorAll('.changes tbody tr')].map((row) => [...row.children].map((cell) => cell.textContent).join(' ')).join()"
	_, end := ask(`{"n":7,"password":"hunter2","big":9007199254740992,"note":"a<b>"}`)
	page := showInBrowser(t, browserOf(t, 320, 640), login(), "article[data-id]")
	page.press(t, "e")
	page.until(t, focused+".closest('.values') !== null")
	replace := func(value string) {
		t.Helper()
		page.eval(t, "(() => { const at = [...document.querySelectorAll('.values .field')].find((f) => f.querySelector('.name')?.textContent === 'n' && f.dataset.field !== 'r').querySelector('input'); at.focus(); at.select(); return ''; })()")
		page.press(t, value)
	}
	replace("x")
	page.until(t, "document.querySelector('.yes').ariaDisabled === 'true' && document.querySelector('.changes') === null")
	replace("8")
	page.press(t, "8")
	page.until(t, differs+" === '/n 7 88' && document.querySelector('.yes').textContent === 'Allow with these changes'")
	page.until(t, "document.querySelector('.yes').ariaDisabled === 'false'")
	page.eval(t, "(document.querySelector('.yes').focus(), '')")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('.values .error')?.parentElement !== null && document.querySelector('.answers .problem').textContent.includes('at most 9')")
	page.clean(t, "a change that does not fit")
	replace("8")
	page.until(t, differs+" === '/n 7 8' && document.querySelector('.values .error + .error, .problem:not([hidden])') === null")
	if text := page.eval(t, "document.querySelector('.card').innerText"); strings.Contains(text, "hunter2") {
		t.Errorf("it shows the secret: %s", text)
	}
	page.clean(t, "changes")
	page.eval(t, "(document.querySelector('.changes').scrollIntoView(), '')")
	page.shot(t, "edit-changes")
	page.until(t, "document.querySelector('.yes').ariaDisabled === 'false'")
	page.eval(t, "(document.querySelector('.yes').focus(), '')")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'inbox-title' && document.querySelector('.ended').textContent.includes('You answered: Allow with these changes')")
	if s := end(); s.Err != nil || string(s.Data) != `{"n":8,"password":"hunter2","big":9007199254740992,"note":"a<b>"}` || s.Changed == nil || s.Changed.By != "console:ada" {
		t.Errorf("the call gave %s, %v, %+v", s.Data, s.Err, s.Changed)
	}

	_, end = ask(`{"n":1}`)
	page.until(t, "document.querySelector('article[data-id]') !== null")
	page.press(t, "r")
	page.until(t, focused+".matches('.reason input')")
	page.press(t, "t", "o", "o", " ", "d", "e", "a", "r")
	page.clean(t, "a reason")
	page.eval(t, "(document.documentElement.dataset.theme = 'dark', '')")
	page.shot(t, "reason")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'inbox-title'")
	if s := end(); s.Err == nil || s.Err.Details["reason"] != "too dear" {
		t.Errorf("the call gave %s, %+v", s.Data, s.Err)
	}
	if calls := router.Calls(); len(calls) != 1 {
		t.Errorf("%d calls ran", len(calls))
	}
	suite.Eventually(t, suite.ReplyWithin, "no question", func() bool { return b.OpenQuestions() == 0 })
}
