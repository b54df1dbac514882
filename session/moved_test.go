package session_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestRoutes (L6): after a call that changed the address, the list and the next call belong to the
// new place: they wait until it has registered its tools. After any other call nothing waits.
func TestRoutes(t *testing.T) {
	const ms = time.Millisecond
	for _, x := range []struct {
		name  string
		route func(d *sessiontest.Document) // what the call does
		want  time.Duration
		tools string
	}{
		{"nothing", func(*sessiontest.Document) {}, 0, "a0 go"},
		{"tools, but no address", func(d *sessiontest.Document) { later(50*ms, func() { d.Register(named("b")) }) }, 0, "a0 go"},
		{"an address with its tools at once", func(d *sessiontest.Document) { d.Move(); d.Register(named("b")) }, 100 * ms, "a0 b go"},
		{"tools later", func(d *sessiontest.Document) {
			d.Move()
			later(330*ms, func() { d.Register(named("b")) })
			later(400*ms, func() { d.Register(named("c")) })
			later(2*time.Second, d.Calm)
		}, 500 * ms, "a0 b c go"},
		{"first those of before go", func(d *sessiontest.Document) {
			d.Move()
			later(20*ms, func() { d.Unregister("go") })
			later(800*ms, func() { d.Register(named("b")) })
			later(2*time.Second, d.Calm)
		}, 900 * ms, "a0 b"},
		{"no other tools", func(d *sessiontest.Document) { d.Move(); later(time.Second, d.Calm) }, time.Second, "a0 go"},
		{"moved on", func(d *sessiontest.Document) {
			d.Move()
			later(10*ms, func() { d.Calm(); d.Move(); d.Calm() })
		}, 10 * ms, "a0 go"},
		{"another document", func(d *sessiontest.Document) {
			d.Move()
			later(300*ms, func() { d.Navigate(origin + "/2") })
		}, 400 * ms, "a"},
	} {
		t.Run(x.name, func(t *testing.T) {
			script := func(d *sessiontest.Document) {
				d.Register(named("a0"), sessiontest.Tool{Name: "go", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
					x.route(c.Document)
					return json.RawMessage("1"), nil
				}})
			}
			inWorld(t, script, func(_ *session.Options, e *sessiontest.Engine) {
				e.Handle(origin+"/2", func(d *sessiontest.Document) { d.Register(named("a")) })
			}, func(t *testing.T, w *world) {
				for _, tool := range []string{"a0", "go"} { // the page counts as opened in between
					if _, err := w.call(t.Context(), ref("s"), tool, "{}"); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				c, err := w.Await(t.Context(), ref("s"))
				if err != nil {
					t.Fatal(err)
				}
				lasts(t, time.Since(began), x.want)
				var names []string
				for _, tool := range c.Tools() {
					names = append(names, tool.Name())
				}
				if got := strings.Join(names, " "); got != x.tools {
					t.Errorf("the list is %s, want %s", got, x.tools)
				}
			})
		})
	}
}
