package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestOpened(t *testing.T) {
	const ms = time.Millisecond
	tests := []struct {
		name   string
		script sessiontest.Script
		change func(*session.Options, *sessiontest.Engine)
		want   time.Duration
		tools  int
	}{
		{"the load event and a quiet time", shop, nil, 100 * ms, 3},
		{"no tools, and never idle", func(*sessiontest.Document) {}, nil, 5 * time.Second, 0},
		{"no tools, after a load event that takes its time", func(d *sessiontest.Document) {
			d.Unfinished()
			later(200*ms, d.Loaded)
		}, nil, 5200 * ms, 0},
		{"the first tool comes late", func(d *sessiontest.Document) {
			later(1000*ms, func() { d.Register(named("a")) })
		}, nil, 1100 * ms, 1},
		{"and later still", func(d *sessiontest.Document) {
			later(4900*ms, func() { d.Register(named("a")) })
		}, nil, 5000 * ms, 1},
		{"a framework that registers after the load event", func(d *sessiontest.Document) {
			later(240*ms, func() { d.Register(named("a")) })
		}, nil, 340 * ms, 1},
		{"each registration starts the time again", func(d *sessiontest.Document) {
			d.Register(named("a"))
			later(60*ms, func() { d.Register(named("b")) })
			later(140*ms, func() { d.Register(named("c")) })
			later(239*ms, func() { d.Register(named("d")) })
			later(340*ms, func() { d.Register(named("e")) })
		}, nil, 339 * ms, 4},
		{"a late load event", func(d *sessiontest.Document) {
			d.Unfinished()
			d.Register(named("a"))
			later(2*time.Second, d.Loaded)
		}, nil, 2100 * ms, 1},
		{"no load event", func(d *sessiontest.Document) {
			d.Unfinished()
			d.Register(named("a"))
		}, nil, 10 * time.Second, 1},
		{"never quiet", func(d *sessiontest.Document) {
			var again func()
			again = func() {
				d.Register(named("a"))
				later(50*ms, again)
			}
			again()
		}, nil, 10 * time.Second, 1},
		{"a document that takes its time counts from its arrival", shop, func(_ *session.Options, e *sessiontest.Engine) {
			e.Arrive(address, func(ctx context.Context) error { return sessiontest.Wait(ctx, 15*time.Second) })
		}, 15*time.Second + 100*ms, 3},
		{"another document follows", func(d *sessiontest.Document) {
			later(50*ms, func() { d.Navigate(origin + "/2") })
		}, func(_ *session.Options, e *sessiontest.Engine) { e.Handle(origin+"/2", shop) }, 150 * ms, 3},
		{"a tool to wait for", func(d *sessiontest.Document) {
			d.Unfinished()
			d.Register(named("a"))
			later(3*time.Second, func() { d.Register(named("wanted")) })
		}, func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].WaitFor.Tools = []string{"wanted"} }, 3 * time.Second, 2},
		{"what the engine is to wait for", func(d *sessiontest.Document) {
			d.Register(named("a"))
			later(2*time.Second, d.Ready)
		}, await(session.WaitFor{Await: session.Await{Selector: "#app"}}), 2 * time.Second, 1},
		{"what the engine is to wait for, and a tool that comes later", func(d *sessiontest.Document) {
			later(2*time.Second, d.Ready)
			later(4*time.Second, func() { d.Register(named("wanted")) })
		}, await(session.WaitFor{Tools: []string{"wanted"}, Await: session.Await{Idle: true}}), 4 * time.Second, 1},
		{"no change for a while after that", func(d *sessiontest.Document) {
			later(time.Second, d.Ready)
			later(1500*ms, func() { d.Register(named("a")) })
		}, await(session.WaitFor{Await: session.Await{Idle: true}, Quiet: time.Second}), 2500 * ms, 1},
		{"what the engine is to wait for that never comes", shop, await(session.WaitFor{Await: session.Await{Idle: true}}), 10 * time.Second, 3},
		{"a tool to wait for that never comes", shop, func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].WaitFor.Tools = []string{"wanted"} }, 10 * time.Second, 3},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			inWorld(t, test.script, test.change, func(t *testing.T, w *world) {
				if w.Tried() {
					t.Error("it is opened before it can be")
				}
				if err := w.WaitOpened(t.Context()); err != nil {
					t.Fatal(err)
				}
				lasts(t, w.took(), test.want)
				c, err := w.Await(t.Context(), ref(""))
				if err != nil || len(c.Tools()) != test.tools {
					t.Errorf("catalog %v, %v", c, err)
				}
				lasts(t, w.took(), test.want)
			})
		})
	}
}

func await(f session.WaitFor) func(*session.Options, *sessiontest.Engine) {
	return func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].WaitFor = f }
}

func TestCatalogFollowsThePage(t *testing.T) {
	inWorld(t, func(d *sessiontest.Document) {
		d.Title("A shop")
		d.Register(named("a"), sessiontest.Tool{Name: "bad name"})
	}, nil, func(t *testing.T, w *world) {
		before, err := w.Await(t.Context(), ref(""))
		if err != nil {
			t.Fatal(err)
		}
		if url, title, _ := w.Page("shop"); url != address || title != "A shop" {
			t.Errorf("the page is %q, %q", url, title)
		}
		if f := w.Findings("shop"); len(f) != 1 || f[0].Rule != "name-illegal" {
			t.Errorf("findings %v", f)
		}
		w.engine.Tabs()[0].Document().Register(named("b"))
		synctest.Wait()
		after, err := w.Await(t.Context(), ref(""))
		if err != nil || after.Digest() == before.Digest() || after.Tool("b") == nil || before.Tool("b") != nil {
			t.Errorf("the catalog after a registration: %v, %v", after, err)
		}
		if _, err := w.Await(t.Context(), bridge.Ref{Site: "none"}); err == nil {
			t.Error("there is a site that nobody named")
		}
	})
}

func TestPageWithoutToolsHasATitle(t *testing.T) {
	inWorld(t, func(d *sessiontest.Document) { d.Title("Nothing here") }, nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		if _, title, _ := w.Page("shop"); title != "Nothing here" {
			t.Errorf("the title is %q", title)
		}
		w.engine.Tabs()[0].Document().Title("A slow shop") // which comes alone
		synctest.Wait()
		if _, title, _ := w.Page("shop"); title != "A slow shop" {
			t.Errorf("then the title is %q", title)
		}
	})
}

// TestLateTool: a fresh page may register a tool of the catalog up to five
// seconds late.
func TestLateTool(t *testing.T) {
	for _, delay := range []time.Duration{0, 3 * time.Second, 4990 * time.Millisecond, 5010 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			fresh := func(d *sessiontest.Document) { later(delay, func() { d.Register(named("where")) }) }
			inWorld(t, first(shop, fresh), nil, func(t *testing.T, w *world) {
				_ = w.WaitOpened(t.Context())
				began := time.Now()
				_, err := w.call(t.Context(), ref(""), "where", "{}")
				if delay <= 5*time.Second {
					if err != nil {
						t.Fatal(err)
					}
					lasts(t, time.Since(began), delay)
					return
				}
				e := fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
				if e.Details["reason"] != "action" {
					t.Errorf("details %v", e.Details)
				}
				lasts(t, time.Since(began), 5*time.Second)
			})
		})
	}
	t.Run("after a load that takes long", func(t *testing.T) {
		fresh := func(d *sessiontest.Document) {
			d.Unfinished()
			later(17*time.Second, func() { d.Register(named("where")) })
			later(18*time.Second, d.Loaded)
		}
		inWorld(t, first(shop, fresh), nil, func(t *testing.T, w *world) {
			_ = w.WaitOpened(t.Context())
			began := time.Now()
			if _, err := w.call(t.Context(), ref(""), "where", "{}"); err != nil {
				t.Fatal(err)
			}
			lasts(t, time.Since(began), 17*time.Second)
		})
	})
	t.Run("not on a used page", func(t *testing.T) {
		inWorld(t, func(d *sessiontest.Document) {
			shop(d)
			d.Register(sessiontest.Tool{Name: "drop", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
				c.Document.Unregister("where")
				return nil, nil
			}})
		}, nil, func(t *testing.T, w *world) {
			catalog, err := w.Await(t.Context(), ref(""))
			if err != nil {
				t.Fatal(err)
			}
			w.must(ref("s"), "drop")
			began := time.Now()
			lease, err := w.Acquire(t.Context(), ref("s"))
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
			_, err = came(lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("where"), Input: json.RawMessage("{}")}))
			fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
			lasts(t, time.Since(began), 0)
		})
	})
	t.Run("again on the document after a call that navigated", func(t *testing.T) {
		next := func(d *sessiontest.Document) { later(2*time.Second, func() { d.Register(named("where")) }) }
		inWorld(t, func(d *sessiontest.Document) {
			shop(d)
			d.Register(sessiontest.Tool{Name: "go", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
				c.Document.Navigate(origin + "/next")
				<-c.Over()
				return nil, nil
			}})
		}, func(_ *session.Options, e *sessiontest.Engine) { e.Handle(origin+"/next", next) }, func(t *testing.T, w *world) {
			catalog, err := w.Await(t.Context(), ref(""))
			if err != nil {
				t.Fatal(err)
			}
			_, err = w.call(t.Context(), ref("s"), "go", "{}")
			fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.Unknown)
			began := time.Now()
			lease, err := w.Acquire(t.Context(), ref("s"))
			if err != nil {
				t.Fatal(err)
			}
			defer lease.Release()
			if _, err := came(lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("where"), Input: json.RawMessage("{}")})); err != nil {
				t.Fatal(err)
			}
			lasts(t, time.Since(began), 2*time.Second)
		})
	})
}

func TestToolChanged(t *testing.T) {
	changed := func(d *sessiontest.Document) {
		x := named("where")
		x.Description = "Something else."
		d.Register(x)
	}
	inWorld(t, first(shop, changed), nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		_, err := w.call(t.Context(), ref(""), "where", "{}")
		fails(t, err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		if n := w.engine.Runs("where"); n != 0 {
			t.Errorf("it ran %d times", n)
		}
	})
}

// meddler changes the page between the dispatch of a call and its arrival.
type meddler struct {
	*sessiontest.Engine
	before func(tab *sessiontest.Tab) // runs once
}

type meddledTab struct {
	*sessiontest.Tab
	m *meddler
}

func (m *meddler) Open(ctx context.Context, o session.TabOptions) (session.Tab, error) {
	tab, err := m.Engine.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	return &meddledTab{tab.(*sessiontest.Tab), m}, nil
}

func (t *meddledTab) Invoke(ctx context.Context, inv session.Invocation) bridge.Step {
	if f := t.m.before; f != nil {
		t.m.before = nil
		f(t.Tab)
	}
	return t.Tab.Invoke(ctx, inv)
}

// TestGone: a registration that is gone when the call arrives ran nothing, so the
// call is tried on what replaced it, and only then.
func TestGone(t *testing.T) {
	tests := []struct {
		name   string
		before func(tab *sessiontest.Tab)
		check  func(t *testing.T, err error)
		runs   int
	}{
		{"replaced by its equal", func(tab *sessiontest.Tab) { tab.Document().Register(named("where")) }, succeeds, 1},
		{"on the next document", func(tab *sessiontest.Tab) { tab.Document().Reload() }, succeeds, 1},
		{"replaced by another", func(tab *sessiontest.Tab) {
			x := named("where")
			x.Description = "Something else."
			tab.Document().Register(x)
		}, func(t *testing.T, err error) {
			fails(t, err, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		}, 0},
		{"unregistered", func(tab *sessiontest.Tab) { tab.Document().Unregister("where") }, func(t *testing.T, err error) {
			fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
		}, 0},
		// Nothing was dispatched, and the page had no state: a fresh one takes its place.
		{"the page died", func(tab *sessiontest.Tab) { tab.Crash() }, succeeds, 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := &meddler{}
			inWorld(t, shop, func(o *session.Options, e *sessiontest.Engine) {
				m.Engine = e
				o.Engine = m
			}, func(t *testing.T, w *world) {
				_ = w.WaitOpened(t.Context())
				m.before = test.before
				_, err := w.call(t.Context(), ref(""), "where", "{}")
				test.check(t, err)
				if n := w.engine.Runs("where"); n != test.runs {
					t.Errorf("it ran %d times, want %d", n, test.runs)
				}
			})
		})
	}
}

func succeeds(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingRunsTwice: whatever becomes of a call that was dispatched, it is not
// dispatched again.
func TestNothingRunsTwice(t *testing.T) {
	ways := map[string]func(c *sessiontest.Call) (json.RawMessage, error){
		"navigates": func(c *sessiontest.Call) (json.RawMessage, error) { c.Document.Reload(); <-c.Over(); return nil, nil },
		"crashes":   func(c *sessiontest.Call) (json.RawMessage, error) { c.Document.Crash(); <-c.Over(); return nil, nil },
		"throws":    func(*sessiontest.Call) (json.RawMessage, error) { return nil, errors.New("no") },
		"hangs":     func(c *sessiontest.Call) (json.RawMessage, error) { <-c.Over(); return nil, nil },
		"leaves": func(c *sessiontest.Call) (json.RawMessage, error) {
			c.Document.Unregister(c.Tool())
			return nil, sessiontest.ErrInvalid
		},
	}
	inWorld(t, func(d *sessiontest.Document) {
		for name, run := range ways {
			d.Register(sessiontest.Tool{Name: name, Run: run})
		}
	}, nil, func(t *testing.T, w *world) {
		for name := range ways {
			for i, r := range []bridge.Ref{ref(""), ref(name)} {
				ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
				_, err := w.call(ctx, r, name, "{}")
				cancel()
				if err == nil || bridge.AsError(err).Outcome == bridge.NotRun {
					t.Errorf("%s: %v", name, err)
				}
				if n := w.engine.Runs(name); n != i+1 {
					t.Errorf("%s ran %d times for %d calls", name, n, i+1)
				}
			}
		}
	})
}

func TestReadYourWrites(t *testing.T) {
	inWorld(t, func(d *sessiontest.Document) {
		n := 0
		d.Register(sessiontest.Tool{Name: "more", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			n++
			c.Document.Register(named(fmt.Sprint("t", n)))
			return json.Marshal(n)
		}})
	}, nil, func(t *testing.T, w *world) {
		for n := 1; n <= 50; n++ {
			w.must(ref("s"), "more")
			c, err := w.Await(t.Context(), ref("s"))
			if err != nil || c.Tool(fmt.Sprint("t", n)) == nil {
				t.Fatalf("after call %d the list does not have its tool: %v", n, err)
			}
		}
		if c, _ := w.Await(t.Context(), ref("")); len(c.Tools()) != 1 {
			t.Error("the session's tools are in the catalog page's list")
		}
	})
}

func TestReloadLoop(t *testing.T) {
	for _, every := range []time.Duration{40 * time.Millisecond, 1800 * time.Millisecond} {
		t.Run(every.String(), func(t *testing.T) { reloads(t, every) })
	}
}

func reloads(t *testing.T, every time.Duration) {
	t.Helper()
	loop := func(d *sessiontest.Document) {
		d.Unfinished()
		later(every, d.Reload)
	}
	inWorld(t, first(shop, loop), nil, func(t *testing.T, w *world) {
		_ = w.WaitOpened(t.Context())
		_, err := w.call(t.Context(), ref("s"), "where", "{}")
		e := fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.NotRun)
		if e.Message != "The page navigates without end and was closed." {
			t.Errorf("it says %q", e.Message)
		}
		synctest.Wait() // the answer does not wait for the end of the tab
		if n := len(w.engine.Tabs()); n != 1 {
			t.Errorf("%d tabs are open", n)
		}
	})
	t.Run("the catalog page", func(t *testing.T) {
		inWorld(t, loop, nil, func(t *testing.T, w *world) {
			_, err := w.Await(t.Context(), ref(""))
			fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.NotRun)
		})
	})
}

// TestFramesOfAPage: the tools of frames are in the page's catalog as long as the
// frame is there; a frame never takes the name of the page, and a call never
// reaches another document than the one whose tool was looked up.
func TestFramesOfAPage(t *testing.T) {
	var frame *sessiontest.Document
	script := func(d *sessiontest.Document) {
		d.Register(named("pay"))
		frame = d.Frame("ads", "https://ads.test", func(f *sessiontest.Document) {
			f.Register(sessiontest.Tool{Name: "pay", Annotations: json.RawMessage(`{"readOnlyHint":true}`)}, named("look"))
		})
	}
	inWorld(t, script, nil, func(t *testing.T, w *world) {
		c, err := w.Await(t.Context(), ref(""))
		if err != nil {
			t.Fatal(err)
		}
		var renamed *bridge.Tool
		for _, x := range c.Tools() {
			if x.Frame() == "ads" && x.Name() != "look" {
				renamed = x
			}
		}
		if len(c.Tools()) != 3 || c.Tool("pay").Origin() != origin || renamed == nil || renamed.Origin() != "https://ads.test" {
			t.Fatalf("the catalog is %+v", c.Tools())
		}
		r := ref("one")
		first := w.must(r, "look")
		if got := w.must(r, "pay"); got == first {
			t.Errorf("the page's tool ran in %s, the frame's document", got)
		}
		old, err := w.Await(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		frame.Remove()
		synctest.Wait()
		_, err = w.call(t.Context(), r, "look", "{}")
		if err == nil || old.Tool("look") == nil {
			t.Errorf("the tool of a frame that is gone: %v", err)
		}
		lease, err := w.Acquire(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		defer lease.Release()
		_, err = came(lease.Invoke(t.Context(), bridge.Invocation{Tool: old.Tool("look"), Input: json.RawMessage("{}"), MaxBytes: 100}))
		fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
	})
}

// TestWaitForUnmet (D3): what the page was to wait for, and did not come, is a finding.
func TestWaitForUnmet(t *testing.T) {
	for unmet, wait := range map[string]session.WaitFor{
		`the tool "wanted"`: {Tools: []string{"where", "wanted"}}, `matches "#app"`: {Await: session.Await{Selector: "#app"}}, "idle": {Await: session.Await{Idle: true}},
		"": {Tools: []string{"where"}}, // the control
	} {
		inWorld(t, shop, await(wait), func(t *testing.T, w *world) {
			succeeds(t, w.WaitOpened(t.Context()))
			found := w.Findings("shop")
			if (len(found) == 1) != (unmet != "") || len(found) > 0 && (found[0].Rule != "wait-for-unmet" || !strings.Contains(found[0].Message, unmet)) {
				t.Errorf("%q: %v", unmet, found)
			}
		})
	}
}
