package cdp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
)

// keepers is a site that keeps a login: what its first request and its first
// script find.
func keepers(t *testing.T, h *heard) string {
	t.Helper()
	return site(t, map[string]http.HandlerFunc{
		"/": h.record(html(`<script>
			const first = JSON.stringify([document.cookie, {...localStorage}, history.length, performance.getEntriesByType('navigation').length]);
			tool('first', () => first);
			tool(location.hostname === 'localhost' ? 'writeFar' : 'write', () => { localStorage.late = 'w'; document.cookie = 'late=w'; document.cookie = 'deep=d; path=/deep' });
			</script>`)),
		"/deep/x": h.record(html(``)),
	})
}

// first returns what the page's first script found.
func (s *shown) first() (cookies string, items map[string]string, history float64) {
	s.t.Helper()
	var text string
	if err := json.Unmarshal([]byte(s.must("first", "{}")), &text); err != nil {
		s.t.Fatal(err)
	}
	var all []any
	if err := json.Unmarshal([]byte(text), &all); err != nil {
		s.t.Fatal(err)
	}
	items = map[string]string{}
	for k, v := range all[1].(map[string]any) {
		items[k] = fmt.Sprint(v)
	}
	parts := strings.Split(all[0].(string), "; ")
	slices.Sort(parts)
	return strings.Join(parts, "; "), items, all[2].(float64)
}

// TestStoredSettings: cookies are there with the first request, items with the
// first script, and only for the site, in this tab's context, without a trace.
func TestStoredSettings(t *testing.T) {
	t.Parallel()
	var h heard
	base := keepers(t, &h)
	set := pageconfig.Settings{
		Cookies: []pageconfig.Cookie{{Name: "seen", Value: "1"}, {Name: "hidden", Value: "2", HTTPOnly: true, SameSite: "Lax", Expires: 4e9},
			{Name: "deep", Value: "3", Path: "/deep", Domain: "127.0.0.1"}},
		LocalStorage: map[string]pageconfig.Secret{"token": `{"a":"ü"}`, "__proto__x": "y"},
	}
	plain := showPage(t, shared, base+"/")
	_, _, history := plain.first()
	s := showPageWith(t, shared, with(t, base, set), base+"/")
	cookies, items, length := s.first()
	if cookies != "seen=1" || items["token"] != `{"a":"ü"}` || items["__proto__x"] != "y" || len(items) != 2 {
		t.Errorf("the first script finds %q and %q", cookies, items)
	}
	if length != history {
		t.Errorf("the history has %v entries, and %v without settings", length, history)
	}
	if got := h.await(t, base+"/").Get("Cookie"); got != "seen=1; hidden=2" && got != "hidden=2; seen=1" {
		t.Errorf("the first request has %q", got)
	}
	if err := s.Load(t.Context(), base+"/deep/x"); err != nil {
		t.Fatal(err)
	}
	if got := h.await(t, base+"/deep/x").Get("Cookie"); !strings.Contains(got, "deep=3") {
		t.Errorf("below its path the request has %q", got)
	}
	far := showPageWith(t, shared, with(t, base, set), elsewhere(base)+"/")
	if cookies, items, _ := far.first(); cookies != "" || len(items) > 0 {
		t.Errorf("another site finds %q and %q", cookies, items)
	}
	after := showPage(t, shared, base+"/")
	if cookies, items, _ := after.first(); cookies != "" || len(items) > 0 {
		t.Errorf("another tab finds %q and %q", cookies, items)
	}
}

// TestStorageState: what a tab exports, another one starts with; cookies and items
// of other sites are not in it.
func TestStorageState(t *testing.T) {
	t.Parallel()
	var h heard
	base := keepers(t, &h)
	a := showPageWith(t, shared, with(t, base, pageconfig.Settings{LocalStorage: map[string]pageconfig.Secret{"early": "e"},
		Cookies: []pageconfig.Cookie{{Name: "hidden", Value: "2", HTTPOnly: true}}}), base+"/")
	a.must("write", "{}")
	if err := a.Load(t.Context(), elsewhere(base)+"/"); err != nil {
		t.Fatal(err)
	}
	a.must("writeFar", "{}")
	state, err := a.StorageState(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(state), "localhost") || !strings.Contains(string(state), `"value":"2"`) {
		t.Errorf("the state is %s", state)
	}
	login, err := pageconfig.ParseStored(state, base)
	if err != nil {
		t.Fatal(err)
	}
	set := pageconfig.Settings{Login: login, LocalStorage: map[string]pageconfig.Secret{"early": "new"}}
	b := showPageWith(t, shared, with(t, base, set), base+"/")
	cookies, items, _ := b.first()
	if cookies != "late=w" || items["late"] != "w" || items["early"] != "new" || len(items) != 2 {
		t.Errorf("with the state the page finds %q and %q", cookies, items)
	}
	plain := showPageWith(t, shared, session.TabOptions{Origin: base}, base+"/")
	if cookies, items, _ := plain.first(); cookies != "" || len(items) > 0 {
		t.Errorf("without it the page finds %q and %q", cookies, items)
	}
	none, err := plain.StorageState(t.Context())
	if err != nil || string(none) != `{"cookies":[],"origins":[]}` {
		t.Errorf("a new page's state is %s, %v", none, err)
	}
	if _, err := showPage(t, shared, base+"/").StorageState(t.Context()); err == nil {
		t.Error("a tab without an origin gives a state")
	}
}
