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
	"github.com/pagetools/pagetools/session/pageconfig"
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

// checked makes settings usable for the site of an origin.
func checked(t *testing.T, origin string, s pageconfig.Settings) *pageconfig.Config {
	t.Helper()
	c, err := s.Check(origin)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// showWith shows the page of a site in a tab with settings.
func showWith(t *testing.T, e session.Engine, origin string, s pageconfig.Settings) *watched {
	t.Helper()
	w := openTabWith(t, e, session.TabOptions{Origin: origin, Config: checked(t, origin, s)})
	w.load(origin + "/")
	w.loaded()
	return w
}

func testSettings(t *testing.T, h Harness) {
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		const origin = "http://site.example"
		config := checked(t, origin, pageconfig.Settings{Timezone: "Mars/Olympus"})
		_, err := h.Engine.Open(t.Context(), session.TabOptions{Origin: origin, Config: config})
		fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		if said := err.Error(); !strings.Contains(said, "config.timezone") {
			t.Errorf("it says %s", said)
		}
	})
	t.Run("seen", func(t *testing.T) {
		t.Parallel()
		origin := h.Serve(t, h.Engine, settingsPages(), false)
		a := showWith(t, h.Engine, origin, pageconfig.Settings{Locale: "fr-FR", Timezone: "Europe/Paris", UserAgent: "a/1", Bearer: "t0ken",
			Headers: map[string]pageconfig.Secret{"X-Env": "blue"}})
		b := showWith(t, h.Engine, origin, pageconfig.Settings{Locale: "ja-JP", Timezone: "Asia/Tokyo", UserAgent: "b/2"})
		plain := showWith(t, h.Engine, origin, pageconfig.Settings{})
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
		if got := plain.result("sees", "{}"); strings.Contains(got,
			"a/1") || strings.Contains(got, "b/2") {
			t.Errorf("a tab without settings sees %s", got)
		}
	})
	t.Run("stored", func(t *testing.T) {
		t.Parallel()
		origin := h.Serve(t, h.Engine, settingsPages(), false)
		a := showWith(t, h.Engine, origin, pageconfig.Settings{LocalStorage: map[string]pageconfig.Secret{"item": "given"},
			Cookies: []pageconfig.Cookie{{Name: "b", Value: "2"}, {Name: "a", Value: "1"}, {Name: "h", Value: "3", HTTPOnly: true}}})
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
		login, err := pageconfig.ParseStored(state, origin)
		if err != nil {
			t.Fatal(err)
		}
		sees(showWith(t, h.Engine, origin, pageconfig.Settings{Login: login}), "a=1; b=2|stored")
		sees(showWith(t, h.Engine, origin, pageconfig.Settings{}), "|none")
		if _, err := pageconfig.ParseStored(state, "https://other.example"); err == nil {
			t.Error("another site starts with the state")
		}
	})
}
