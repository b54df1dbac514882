package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/pageconfig"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// login is a stored login of the shop, with one cookie.
func login(value string) *pageconfig.Stored {
	return &pageconfig.Stored{Cookies: []pageconfig.Cookie{{Name: "sid", Value: pageconfig.Secret(value), Domain: "shop.test", Path: "/"}}}
}

// cookies is a document whose tool says what cookies it finds. Another one adds one.
func cookies(d *sessiontest.Document) {
	shop(d)
	d.Register(sessiontest.Tool{Name: "cookies", Run: func(c *sessiontest.Call) (json.RawMessage, error) { return json.Marshal(c.Document.Cookies()) }})
}

func by(name string, r bridge.Ref) bridge.Ref {
	r.Caller = bridge.Caller{Name: name, May: []bridge.Right{bridge.MayCall}}
	return r
}

// TestProfiles (X1): a stored login is on the pages of who may use it and asked for
// it, and nowhere else.
func TestProfiles(t *testing.T) {
	const work = `{"profile":"work"}`
	rec := &recorder{}
	inWorld(t, cookies, func(o *session.Options, e *sessiontest.Engine) {
		rec.Engine = e
		o.Engine, o.Sites[0].Warm = rec, 2
		o.Sites[0].Profiles = map[string]session.Profile{
			"work": {Login: login("of-work"), Callers: []string{"agent"}}, "home": {Login: login("of-home")},
		}
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		sees := func(r bridge.Ref, want string) {
			t.Helper()
			if got := w.must(r, "cookies"); got != want {
				t.Errorf("%s in %q with %s sees %s, want %s", r.Caller.Name, r.Session, r.Page, got, want)
			}
		}
		sees(by("agent", ref("")), `""`)
		sees(by("agent", asking("", work)), `"sid=of-work"`)
		sees(by("agent", ref("")), `""`)
		sees(by("agent", asking("s", work)), `"sid=of-work"`)
		sees(by("agent", ref("s")), `"sid=of-work"`) // a session keeps its login
		sees(by("agent", asking("s", work)), `"sid=of-work"`)
		sees(by("person", ref("s")), `""`)
		sees(asking("", `{"profile":"home"}`), `"sid=of-home"`) // without names it is local's
		if _, err := w.call(t.Context(), by("agent", asking("plain", "")), "where", "{}"); err != nil {
			t.Fatal(err)
		}
		_, err := w.call(t.Context(), by("agent", asking("plain", work)), "where", "{}")
		if e := fails(t, err, bridge.ConfigError, "", bridge.NotRun); !strings.Contains(e.Message, "another sessionId") {
			t.Errorf("a page without the login: %s", e.Message)
		}
		var said []string
		for _, r := range []bridge.Ref{by("person", asking("", work)), by("person", asking("", `{"profile":"none"}`)), by("agent", asking("", `{"profile":"home"}`)),
			by("person", asking("s", work)), asking("", work), by("agent", asking("s", `{"profile":""}`))} {
			_, err := w.call(t.Context(), r, "where", "{}")
			said = append(said, fails(t, err, bridge.ConfigError, "", bridge.NotRun).Message)
		}
		for _, text := range said {
			if text != said[0] {
				t.Errorf("it tells %q from %q", text, said[0])
			}
		}
		if n := rec.logins(); n != 3 {
			t.Errorf("%d tabs got a login, want those of three calls: not the catalog, not a spare", n)
		}
	})
}

// logins counts the tabs that were opened with a login.
func (r *recorder) logins() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.options {
		if o.Config != nil && o.Config.Login != nil {
			n++
		}
	}
	return n
}

// TestSiteLogin: the login of a site is on all of its pages, except where somebody
// asks for another one; what a call adds is added.
func TestSiteLogin(t *testing.T) {
	inWorld(t, cookies, func(o *session.Options, _ *sessiontest.Engine) {
		o.Sites[0].Warm = 1
		o.Sites[0].Login = login("of-all")
		o.Sites[0].Profiles = map[string]session.Profile{"home": {Login: login("of-home")}}
	}, func(t *testing.T, w *world) {
		page, err := w.CatalogPage(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		if state, err := page.StorageState(t.Context()); err != nil || !strings.Contains(string(state), "of-all") {
			t.Errorf("the catalog page has %s, %v", state, err)
		}
		for _, x := range []struct {
			r    bridge.Ref
			want string
		}{
			{ref(""), `"sid=of-all"`}, {by("agent", ref("s")), `"sid=of-all"`}, {asking("", `{"locale":"de"}`), `"sid=of-all"`},
			{asking("", `{"profile":"home"}`), `"sid=of-home"`}, {asking("", `{"cookies":[{"name":"more","value":"1"}]}`), `"more=1; sid=of-all"`},
		} {
			if got := w.must(x.r, "cookies"); got != x.want {
				t.Errorf("with %q it is %s, want %s", x.r.Page, got, x.want)
			}
		}
	})
}

// TestLoginOfAPage: the login belongs to the held page, and never to one that took its
// place.
func TestLoginOfAPage(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }, func(t *testing.T, w *world) {
		page, err := w.CatalogPage(t.Context(), "shop")
		if err != nil {
			t.Fatal(err)
		}
		w.engine.Tabs()[0].Document().SetItem("token", "t")
		if state, err := page.StorageState(t.Context()); err != nil || !strings.Contains(string(state), `"token"`) {
			t.Errorf("it has %s, %v", state, err)
		}
		w.engine.Tabs()[0].Crash()
		<-page.Gone()
		if state, err := page.StorageState(t.Context()); err == nil {
			t.Errorf("the page is gone and has %s", state)
		}
		again, err := w.CatalogPage(t.Context(), "shop")
		if err != nil || again == page {
			t.Fatalf("the next page: %v", err)
		}
		_, err = w.CatalogPage(t.Context(), "none")
		fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
	})
}
