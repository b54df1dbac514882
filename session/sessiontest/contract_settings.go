package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// settingsPages are a page that tells what it sees of settings.
func settingsPages() Pages {
	return Pages{"/": {
		Handler: func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprintf(w, `%s<script>
				tool('sent', () => %q);
				tool('sees', () => [navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent].join('|'));
				tool('stored', () => document.cookie.split('; ').sort().join('; ') + '|' + (localStorage.getItem('item') ?? 'none'));
				tool('store', () => { localStorage.setItem('item', 'stored') });
				</script>`, prelude, r.Header.Get("Authorization")+"|"+r.Header.Get("X-Env"))
		},
		Fake: func(d *Document) {
			s := d.Settings()
			text := func(v string) string { b, _ := json.Marshal(v); return string(b) }
			d.Register(answer("sent", func() string {
				bearer := ""
				if s.Bearer != "" {
					bearer = "Bearer " + string(s.Bearer)
				}
				return text(bearer + "|" + string(s.Headers["X-Env"]))
			}), answer("sees", func() string { return text(s.Locale + "|" + s.Timezone + "|" + s.UserAgent) }),
				answer("stored", func() string {
					item, ok := d.Item("item")
					if !ok {
						item = "none"
					}
					return text(d.Cookies() + "|" + item)
				}), answer("store", func() string { d.SetItem("item", "stored"); return "null" }))
		},
	}}
}

// showWith shows the page of a site in a tab with settings.
func showWith(t *testing.T, e session.Engine, origin string, s session.Settings) *watched {
	t.Helper()
	w := openTabWith(t, e, session.TabOptions{Origin: origin, Settings: s})
	w.load(origin + "/")
	w.loaded()
	return w
}

func testSettings(t *testing.T, h Harness) {
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		const secret = "s3cret"
		for key, s := range map[string]session.Settings{
			"config.headers":      {Headers: map[string]session.Secret{"X-Key": secret + "\r\nHost: evil.example"}},
			"config.bearer":       {Bearer: secret + " " + secret},
			"config.basicAuth":    {BasicAuth: &session.BasicAuth{User: "a:b", Password: secret}},
			"config.cookies":      {Cookies: []session.Cookie{{Name: "a", Value: secret, Domain: "evil.example"}}},
			"config.viewport":     {Viewport: &session.Viewport{Width: 0, Height: 1}},
			"config.locale":       {Locale: "not a locale"},
			"config.timezone":     {Timezone: "Mars/Olympus"},
			"config.geolocation":  {Geolocation: &session.Geolocation{Latitude: 91}},
			"config.colorScheme":  {ColorScheme: "pink"},
			"config.userAgent":    {UserAgent: "a\nb"},
			"config.profile":      {StorageState: json.RawMessage(`{"cookies":[{"name":"a","value":"` + secret + `;","domain":"site.example"}]}`)},
			"config.localStorage": {LocalStorage: map[string]session.Secret{"a": session.Secret(strings.Repeat(secret, 1<<20))}},
		} {
			_, err := h.Engine.Open(t.Context(), session.TabOptions{Origin: "http://site.example", Settings: s})
			fails(t, err, bridge.ConfigError, "", bridge.NotRun)
			if said := err.Error(); !strings.Contains(said, key) || strings.Contains(said, secret) {
				t.Errorf("%s: it says %s", key, said)
			}
		}
	})
	t.Run("seen", func(t *testing.T) {
		t.Parallel()
		origin := h.Serve(t, h.Engine, settingsPages(), false)
		a := showWith(t, h.Engine, origin, session.Settings{Locale: "fr-FR", Timezone: "Europe/Paris", UserAgent: "a/1", Bearer: "t0ken",
			Headers: map[string]session.Secret{"X-Env": "blue"}})
		b := showWith(t, h.Engine, origin, session.Settings{Locale: "ja-JP", Timezone: "Asia/Tokyo", UserAgent: "b/2"})
		plain := showWith(t, h.Engine, origin, session.Settings{})
		for _, x := range []struct {
			of         *watched
			tool, want string
		}{
			{a, "sees", "fr-FR|Europe/Paris|a/1"}, {b, "sees", "ja-JP|Asia/Tokyo|b/2"},
			{a, "sent", "Bearer t0ken|blue"}, {b, "sent", "|"}, {plain, "sent", "|"},
		} {
			if got := x.of.result(x.tool, "{}"); got != fmt.Sprintf("%q", x.want) {
				t.Errorf("%s gives %s, want %s", x.tool, got, x.want)
			}
		}
		if got := plain.result("sees", "{}"); strings.Contains(got, "a/1") || strings.Contains(got, "b/2") {
			t.Errorf("a tab without settings sees %s", got)
		}
	})
	t.Run("stored", func(t *testing.T) {
		t.Parallel()
		origin := h.Serve(t, h.Engine, settingsPages(), false)
		a := showWith(t, h.Engine, origin, session.Settings{LocalStorage: map[string]session.Secret{"item": "given"},
			Cookies: []session.Cookie{{Name: "b", Value: "2"}, {Name: "a", Value: "1"}, {Name: "h", Value: "3", HTTPOnly: true}}})
		sees := func(w *watched, want string) {
			t.Helper()
			if got := w.result("stored", "{}"); got != fmt.Sprintf("%q", want) {
				t.Errorf("the page finds %s, want %s", got, want)
			}
		}
		sees(a, "a=1; b=2|given")
		a.result("store", "{}")
		exporter, ok := a.Tab.(session.StorageExporter)
		if !ok {
			t.Fatal("the tab exports no storage state")
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		state, err := exporter.StorageState(ctx)
		if err != nil {
			t.Fatal(err)
		}
		sees(showWith(t, h.Engine, origin, session.Settings{StorageState: state}), "a=1; b=2|stored")
		sees(showWith(t, h.Engine, origin, session.Settings{}), "|none")
		if _, err := h.Engine.Open(ctx, session.TabOptions{Origin: "https://other.example", Settings: session.Settings{StorageState: state}}); err == nil {
			t.Error("another site starts with the state")
		}
	})
}
