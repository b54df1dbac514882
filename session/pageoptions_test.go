package session_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// recorder notes how tabs are opened.
type recorder struct {
	*sessiontest.Engine
	mu      sync.Mutex
	options []session.TabOptions
}

func (r *recorder) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	r.mu.Lock()
	r.options = append(r.options, o)
	r.mu.Unlock()
	return r.Engine.Open(ctx, o)
}

// locales returns the locales of the tabs that were opened since the last time, where
// they have one.
func (r *recorder) locales() (set []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.options {
		if o.Config != nil && o.Config.Locale != "" {
			set = append(set, o.Config.Locale)
		}
	}
	r.options = nil
	return set
}

func asking(id, config string) bridge.Ref {
	r := ref(id)
	r.Page = config
	return r
}

// TestPageOptions (A10): a page is as config wants it: never a spare, the session's own as
// long as that lasts, and nobody else's.
func TestPageOptions(t *testing.T) {
	const german, french = `{"locale":"de-DE"}`, `{"locale":"fr-FR"}`
	rec := &recorder{}
	inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
		rec.Engine = e
		o.Engine, o.Sites[0].Warm = rec, 2
	}, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		opened := func(want ...string) {
			t.Helper()
			got := rec.locales()
			if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
				t.Errorf("tabs were opened with %q, want %q", got, want)
			}
		}
		first := w.must(asking("s", german), "where")
		opened("de-DE")
		for _, config := range []string{german, ""} {
			if page := w.must(asking("s", config), "where"); page != first {
				t.Errorf("with %q it is another page", config)
			}
		}
		opened()
		_, err := w.call(t.Context(), asking("s", french), "where", "{}")
		fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		if page := w.must(asking("s", ""), "where"); page != first {
			t.Error("a call that was refused took the session's page away")
		}
		w.must(ref("plain"), "where")
		_, err = w.call(t.Context(), asking("plain", french), "where", "{}")
		fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		opened()
		other := asking("s", "")
		other.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
		if page := w.must(other, "where"); page == first {
			t.Error("another caller has the page")
		}
		opened()
		w.must(asking("", french), "where")
		opened("fr-FR")
		if page := w.must(ref(""), "where"); page == first {
			t.Error("a call without config has a page that somebody changed")
		}
		opened()
	})
}

// TestPathOfAPage: another page of the site, and of no other.
func TestPathOfAPage(t *testing.T) {
	german := func(d *sessiontest.Document) {
		shop(d)
		d.Unregister("where")
		d.Register(sessiontest.Tool{Name: "where", Run: func(*sessiontest.Call) (json.RawMessage, error) { return json.RawMessage(`"in Germany"`), nil }})
	}
	inWorld(t, shop, func(_ *session.Options, e *sessiontest.Engine) { e.Handle(origin+"/de?x=1", german) }, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		if got := w.must(asking("", `{"path":"/de?x=1"}`), "where"); got != `"in Germany"` {
			t.Errorf("got %s", got)
		}
		for _, path := range []string{"//evil.example/", "https://evil.example/", "javascript:alert(1)"} {
			config, _ := json.Marshal(map[string]string{"path": path})
			lease, err := w.Acquire(t.Context(), asking("", string(config)))
			if err == nil {
				lease.Release()
			}
			fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		}
	})
}

// TestPageOptionsThatCannotBe: what does not fit the site, and what everybody would share.
func TestPageOptionsThatCannotBe(t *testing.T) {
	inWorld(t, shop, func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		for _, r := range []bridge.Ref{asking("", `{"locale":"de"}`), asking("s", `{"locale":"!"}`), asking("s", `{"cookies":[{"name":"a","value":"b","domain":"evil.example"}]}`),
			asking("s", `{"headers":{"Host":"evil.example"}}`), asking("s", `{"bearer":"a b"}`), asking("s", `{`)} {
			_, err := w.call(t.Context(), r, "where", "{}")
			fails(t, err, bridge.ConfigError, "", bridge.NotRun)
		}
		w.must(asking("s", `{"locale":"de"}`), "where") // the positive control
	})
}
