package serve_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/transport/console"
)

// TestAnywhere: a person who comes without a place begins where the process says; the palette goes to sites, tools and
// screens by some letters of their names, by keyboard alone, and gives the focus back; notifications come only to who
// turned them on, only while nobody looks, and have no word of a page.
func TestAnywhere(t *testing.T) {
	t.Parallel()
	router := bridgetest.NewRouter().Add("shop", shopTools()...)
	b, login := serveRouter(t, router, store.Memory(store.Options{}), bridge.Options{}, console.Options{Start: "/sites/shop/tools/find?in=" + "%7B%22q%22%3A%22tea%22%7D"})
	page := showInBrowser(t, browserOf(t, 1200, 900), login(), "#tool-title")
	page.until(t, focused+".id === 'tool-title' && document.querySelector('.values textarea').value === 'tea' && document.querySelector('[data-run]').ariaDisabled === 'false'")
	if n := len(router.Calls()); n != 0 {
		t.Errorf("a link ran %d calls", n)
	}
	palette := func() {
		t.Helper()
		page.ctrl(t, "k")
		page.until(t, focused+".matches('dialog.palette input') && document.querySelectorAll('#choices li').length > 0")
	}
	palette()
	page.until(t, "document.querySelector('#choices').innerText.includes('tool of shop')")
	page.clean(t, "the palette")
	page.shot(t, "palette")
	page.press(t, "w", "p", "e")
	page.until(t, "document.querySelector('#choices [aria-selected=true]').innerText.includes('wipe') && document.querySelector('dialog input').getAttribute('aria-activedescendant') === 'choice-0'")
	page.press(t, "Enter")
	page.until(t, "document.querySelector('dialog') === null && "+focused+".id === 'tool-title' && "+focused+".textContent === 'wipe'")
	palette()
	page.press(t, "x", "q", "z")
	page.until(t, "document.querySelector('dialog [role=status]').textContent === 'Nothing has this name.' && document.querySelectorAll('#choices li').length === 0")
	page.clean(t, "a palette with nothing in it")
	page.press(t, "Enter", "Escape")
	page.until(t, "document.querySelector('dialog') === null && "+focused+".id === 'tool-title'")
	palette()
	page.press(t, "i", "n", "b", "o")
	page.until(t, "document.querySelectorAll('#choices li').length === 1")
	page.press(t, "Enter")
	page.until(t, focused+".id === 'inbox-title'")

	page.eval(t, `(window.told = [], window.Notification = class { static permission = 'default'; static requestPermission = async () => { this.permission = window.allows; return window.allows; };
		constructor(title, o) { window.told.push([title, o.body, o.silent].join('|')); } }, window.allows = 'denied',
		Object.defineProperty(document, 'hidden', { configurable: true, get: () => window.away === true }), '')`)
	page.press(t, "?")
	page.until(t, "document.querySelector('#notify') !== null")
	page.clean(t, "the settings of the page")
	choose := func(way string) {
		t.Helper()
		page.eval(t, "(() => { const s = document.querySelector('#notify'); s.value = '"+way+"'; s.dispatchEvent(new Event('change', {bubbles: true})); return ''; })()")
	}
	asked := func() {
		t.Helper()
		_, s := b.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: "add-item", Caller: bridge.Local(), Input: bridgetest.JSON(`{"items":[]}`)})
		if s.Err == nil || s.Err.Code != bridge.ApprovalRequired {
			t.Fatalf("nobody is asked: %v", s.Err)
		}
	}
	choose("silent")
	page.until(t, "document.querySelector('dialog [role=status]').textContent.startsWith('The browser does not allow') && document.querySelector('#notify').value === 'off'")
	page.eval(t, "(window.away = true, '')")
	asked() // nobody turned them on
	page.until(t, "document.title.startsWith('(1)')")
	page.eval(t, "(window.allows = 'granted', '')")
	choose("silent")
	page.until(t, "document.querySelector('#notify').value === 'silent'")
	asked()
	page.until(t, "window.told.length > 0")
	if told := page.eval(t, "window.told.join()"); told != "pagetools|2 calls wait for you.|true" {
		t.Errorf("the desktop shows %q", told)
	}
	page.eval(t, "(window.away = false, '')")
	asked()
	page.until(t, "document.title.startsWith('(3)')")
	if told := page.eval(t, "String(window.told.length)"); told != "1" {
		t.Errorf("%s are told to who looks", told)
	}
}
