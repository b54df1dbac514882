package sessiontest_test

import (
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(sessiontest.Run(m, os.Stderr, nil)) }

var sites atomic.Int64

// serve registers the pages with the fake engine, at an origin of their own.
func serve(_ *testing.T, e session.Engine, pages sessiontest.Pages, tls bool) string {
	scheme := "http"
	if tls {
		scheme = "https"
	}
	base := fmt.Sprintf("%s://site-%d.test", scheme, sites.Add(1))
	fake := e.(*sessiontest.Engine)
	for path, p := range pages {
		fake.Handle(base+path, p.Fake)
		if p.FakeArrive != nil {
			fake.Arrive(base+path, p.FakeArrive)
		}
	}
	return base
}

// TestFake holds the fake to the contract of the real ones.
func TestFake(t *testing.T) {
	fresh := func(t *testing.T) session.Engine {
		t.Helper()
		e := sessiontest.NewEngine()
		t.Cleanup(func() { _ = e.Close() })
		return e
	}
	sessiontest.TestEngine(t, sessiontest.Harness{
		Engine: fresh(t), Fresh: fresh, Impatient: fresh, Serve: serve,
		KillBrowser: func(_ *testing.T, e session.Engine) { e.(*sessiontest.Engine).Lose() },
		KillRenderers: func(_ *testing.T, e session.Engine) {
			for _, tab := range e.(*sessiontest.Engine).Tabs() {
				tab.Crash()
			}
		},
		Freeze: func(_ *testing.T, e session.Engine) {
			for _, tab := range e.(*sessiontest.Engine).Tabs() {
				tab.Document().Hang()
			}
		},
		Lasting: func(t *testing.T) sessiontest.Lasting {
			t.Helper()
			browser := sessiontest.NewEngine()
			return sessiontest.Lasting{
				Engine: func(t *testing.T, _ bool) session.Engine {
					t.Helper()
					e := browser.Another()
					t.Cleanup(func() { _ = e.Close() })
					return e
				},
				Cut: func(_ *testing.T, e session.Engine) { e.(*sessiontest.Engine).Cut() },
				Has: func(_ *testing.T, _ session.Engine, handle []byte) bool { return browser.Has(handle) },
			}
		},
	})
}
