package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// leaving is a document whose tool leaves for one without tools.
func leaving(d *sessiontest.Document) {
	shop(d)
	d.Register(sessiontest.Tool{Name: "leave", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		c.Document.Navigate(origin + "/empty")
		return json.RawMessage("1"), nil
	}})
}

func withEmptyPage(_ *session.Options, e *sessiontest.Engine) {
	e.Handle(origin+"/empty", func(*sessiontest.Document) {})
	e.Handle(origin+"/cart", func(d *sessiontest.Document) { d.Register(named("pay")) })
}

// open does what Bridge.Open does.
func (w *world) open(r bridge.Ref, page string) error {
	w.t.Helper()
	lease, err := w.Acquire(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer lease.Release()
	return lease.(bridge.Opener).Open(w.t.Context(), page)
}

func (w *world) tools(r bridge.Ref) string {
	w.t.Helper()
	c, err := w.Await(w.t.Context(), r)
	if err != nil {
		w.t.Fatal(err)
	}
	var names []string
	for _, t := range c.Tools() {
		names = append(names, t.Name())
	}
	return strings.Join(names, " ")
}

// TestOpen: a session whose page went to one without tools is sent back to the start, or to
// a path, in the same tab, and its list changes with the document. E6.
func TestOpen(t *testing.T) {
	inWorld(t, leaving, withEmptyPage, func(t *testing.T, w *world) {
		mine, other := ref("s"), ref("other")
		start := w.tools(mine)
		w.must(other, "where")
		_, _ = w.call(t.Context(), mine, "leave", "{}")
		if got := w.tools(mine); got != "" || !strings.Contains(start, "leave") {
			t.Fatalf("after it left %q", got)
		}
		tabs := len(w.engine.Tabs())
		if err := w.open(mine, ""); err != nil || w.tools(mine) != start || w.Shows(mine).URL != address {
			t.Errorf("at the start: %v, %s", err, w.tools(mine))
		}
		if err := w.open(mine, `{"path":"/cart"}`); err != nil || w.tools(mine) != "pay" || w.tools(other) != start {
			t.Errorf("at a path: %v, %s", err, w.tools(mine))
		}
		if n := len(w.engine.Tabs()); n != tabs {
			t.Errorf("%d tabs became %d", tabs, n)
		}
		fails(t, w.open(mine, `{"path":"//evil.test/"}`), bridge.ConfigError, "", bridge.NotRun)
		w.engine.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, time.Hour) })
		fails(t, w.open(mine, ""), bridge.InternalError, bridge.Unreachable, bridge.NotRun)
	})
}
