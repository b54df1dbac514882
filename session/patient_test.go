package session_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestPatient (L3): who lists the tools for a page's author looks on, and what came when the page
// counted as opened is listed and late.
func TestPatient(t *testing.T) {
	const ms = time.Millisecond
	register := func(d *sessiontest.Document, after time.Duration, name string) {
		later(after, func() { d.Register(named(name)) })
	}
	for _, test := range []struct {
		name   string
		script sessiontest.Script
		change func(*session.Options, *sessiontest.Engine)
		want   time.Duration
		tools  int
		late   []string
	}{
		{"all at once", shop, nil, 2500 * ms, 3, nil},
		{"a second one 1.5 s after the first", func(d *sessiontest.Document) {
			d.Register(named("a"))
			register(d, 1500*ms, "b")
		}, nil, 2500 * ms, 2, []string{"b"}},
		{"a second one just before the end", func(d *sessiontest.Document) {
			d.Register(named("a"))
			register(d, 2400*ms, "b")
		}, nil, 3400 * ms, 2, []string{"b"}},
		{"one after the other, without end", func(d *sessiontest.Document) {
			d.Register(named("a"))
			for i := range 20 {
				register(d, time.Duration(i+1)*500*ms+10*ms, fmt.Sprint("t", i))
			}
		}, nil, 5000 * ms, 10, []string{"t0", "t1", "t2", "t3", "t4", "t5", "t6", "t7", "t8"}},
		{"the only tool, before the page counts as opened", func(d *sessiontest.Document) { register(d, 1000*ms, "a") }, nil, 2500 * ms, 1, nil},
		{"the first one late, and another one", func(d *sessiontest.Document) {
			register(d, 1000*ms, "a")
			register(d, 2000*ms, "b")
		}, nil, 3000 * ms, 2, []string{"b"}},
		{"none", func(*sessiontest.Document) {}, nil, 5000 * ms, 0, nil},
		{"a load event that takes its time", func(d *sessiontest.Document) {
			d.Unfinished()
			d.Register(named("a"))
			later(9000*ms, d.Loaded)
			register(d, 10500*ms, "b")
		}, nil, 11500 * ms, 2, []string{"b"}},
		{"taken back and registered again, as by an effect that runs twice", func(d *sessiontest.Document) {
			d.Register(named("a"))
			later(300*ms, func() { d.Unregister("a"); d.Register(named("a")) })
		}, nil, 5000 * ms, 1, nil},
		{"churn, and a tool that comes late", func(d *sessiontest.Document) {
			d.Register(named("a"))
			later(400*ms, func() { d.Register(named("a")) })
			register(d, 3500*ms, "b")
		}, nil, 5000 * ms, 2, []string{"b"}},
		{"wait-for replaces it", func(d *sessiontest.Document) {
			d.Register(named("a"))
			register(d, 500*ms, "b")
		}, await(session.WaitFor{Tools: []string{"a"}}), 0, 1, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			change := func(o *session.Options, e *sessiontest.Engine) {
				o.Sites[0].Patient = true
				if test.change != nil {
					test.change(o, e)
				}
			}
			inWorld(t, test.script, change, func(t *testing.T, w *world) {
				if err := w.WaitOpened(t.Context()); err != nil {
					t.Fatal(err)
				}
				lasts(t, w.took(), test.want)
				c, err := w.Await(t.Context(), ref(""))
				if err != nil || len(c.Tools()) != test.tools {
					t.Errorf("catalog %v, %v", c, err)
				}
				var late []string
				for _, f := range w.Findings("shop") {
					if f.Rule == bridge.RuleLate {
						late = append(late, f.Tool)
					}
				}
				if !slices.Equal(late, test.late) {
					t.Errorf("late are %q, want %q", late, test.late)
				}
			})
		})
	}
}

// TestLeft (L9): a tool that was there and left is said to have left, before anything else.
func TestLeft(t *testing.T) {
	inWorld(t, func(d *sessiontest.Document) { d.Register(named("a"), named("b")) }, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		w.engine.Tabs()[0].Document().Unregister("a")
		synctest.Wait()
		c, err := w.Await(t.Context(), ref(""))
		if err != nil || !slices.Equal(c.Left(), []string{"a"}) {
			t.Fatalf("left are %q, %v", c.Left(), err)
		}
		for tool, want := range map[string]string{"a": `The page offered "a", and took it back.`, "never": "", "b": ""} {
			if said := c.Trouble(tool); said != want {
				t.Errorf("of %s it says %q, want %q", tool, said, want)
			}
		}
		w.engine.Tabs()[0].Document().Register(named("a")) // and came again
		synctest.Wait()
		if c, _ := w.Await(t.Context(), ref("")); len(c.Left()) > 0 || c.Trouble("a") != "" {
			t.Errorf("left are %q", c.Left())
		}
	})
}
