package sessiontest

import (
	"encoding/json"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// framePages is a page whose frame has a tool that answers and one that never
// does; the page itself can change the frame.
func framePages() Pages {
	return Pages{
		"/": {
			HTML: `<script>
				const frame = () => document.querySelector('iframe');
				let release = null;
				tool('remove', () => { frame().remove() });
				tool('go', () => { frame().src = '/other' });
				tool('wait', () => new Promise((r) => { release = r }));
				tool('waits', () => release !== null);
				tool('release', () => { release('released') });
			</script><iframe name=f src="/frame"></iframe>`,
			Fake: func(d *Document) {
				var waits, stuck atomic.Bool
				released := make(chan struct{})
				f := d.Frame("f", "", func(f *Document) {
					f.Register(answer("inner", func() string { return `"inner"` }), answer("isStuck", func() string { return strconv.FormatBool(stuck.Load()) }),
						Tool{Name: "stuck", Run: func(c *Call) (json.RawMessage, error) {
							stuck.Store(true)
							<-c.Aborted()
							return nil, nil
						}})
				})
				d.Register(answer("remove", func() string { f.Remove(); return "null" }), answer("go", func() string {
					f.Remove()
					d.Frame("f", "", func(f *Document) { f.Register(answer("other", func() string { return `"other"` })) })
					return "null"
				}), Tool{Name: "wait", Run: func(c *Call) (json.RawMessage, error) {
					waits.Store(true)
					select {
					case <-released:
						return json.RawMessage(`"released"`), nil
					case <-c.Aborted():
						return nil, nil
					}
				}}, answer("waits", func() string { return strconv.FormatBool(waits.Load()) }),
					answer("release", func() string { close(released); return "null" }))
			},
		},
		"/frame": {HTML: `<script>
			let isStuck = false;
			tool('inner', () => 'inner'); tool('isStuck', () => isStuck); tool('stuck', () => { isStuck = true; return forever })</script>`},
		"/other": {HTML: `<script>tool('other', () => 'other')</script>`},
	}
}

// answer is a tool of the fake that answers at once.
func answer(name string, f func() string) Tool {
	return Tool{Name: name, Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(f()), nil }}
}

// lacks waits until nobody offers the tool.
func (w *watched) lacks(name string) {
	w.t.Helper()
	w.await("nobody offers "+name, func(all []session.Event) bool { return named(tools(all), name) == nil })
}

func testFrames(t *testing.T, h Harness) {
	for _, change := range []string{"remove", "go"} {
		t.Run(change, func(t *testing.T) {
			t.Parallel()
			w := show(t, h.Engine, h.Serve(t, h.Engine, framePages(), false)+"/")
			top, inner := w.tool("remove"), w.tool("inner")
			if top.Frame != "" || inner.Frame != "f" || inner.Origin != top.Origin || inner.Document == top.Document {
				t.Errorf("the page's tool is of %q, the frame's of %q at %s", top.Frame, inner.Frame, inner.Origin)
			}
			if got := w.result("inner", "{}"); got != `"inner"` {
				t.Errorf("the frame's tool gives %s", got)
			}
			waiting := w.begin(t.Context(), "wait", "{}")
			stuck := w.begin(t.Context(), "stuck", "{}")
			w.awaitResult(patience, "waits", "true")
			w.awaitResult(patience, "isStuck", "true")
			w.result(change, "{}")
			_, err := stuck()
			fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.Unknown)
			w.lacks("inner")
			if change == "go" {
				if got := w.result("other", "{}"); got != `"other"` {
					t.Errorf("the frame's next document gives %s", got)
				}
			}
			w.result("release", "{}")
			if r, err := waiting(); err != nil || string(r.Data) != `"released"` {
				t.Errorf("the call of the page itself ended with %s, %v", r.Data, err)
			}
			all, _ := w.told()
			if !slices.Contains(all, session.Event(session.FrameGone{Document: inner.Document})) {
				t.Error("that the frame's document went was not told")
			}
		})
	}
}
