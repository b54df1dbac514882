package sessiontest

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
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
				t.Errorf("the page's tool is of %q, the frame's of %q at %s", top.Frame, inner.Frame,
					inner.Origin)
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

// testDeclared: what all documents of a tab declare is counted when it is taken; the last
// tools of a document that are too much are dropped, and what goes away makes room.
func testDeclared(t *testing.T, h Harness) {
	long := strings.Repeat("x", 10<<10)
	three := func(d *Document) {
		for _, name := range []string{"a", "b", "c"} {
			d.Register(Tool{Name: name, Description: long})
		}
	}
	html := `for (const name of ['a', 'b', 'c']) tool(name, () => 1, {description: 'x'.repeat(10240)});`
	address := h.Serve(t, h.Engine, Pages{
		"/": {HTML: `<script>tool('remove', () => { document.querySelector('iframe').remove() });` + html + `</script><iframe name=f src="/frame"></iframe>`,
			Fake: func(d *Document) {
				var f *Document
				d.Register(answer("remove", func() string { f.Remove(); return "null" }))
				three(d)
				f = d.Frame("f", "", three)
			}},
		"/frame": {HTML: "<script>" + html + "</script>"},
	}, false) + "/"
	account := policy.NewAccount(45<<10, nil)
	w := openTabWith(t, h.Engine, session.TabOptions{Bytes: account})
	w.load(address)
	w.loaded()
	all := w.await("the finding", func(all []session.Event) bool {
		return slices.ContainsFunc(all, func(ev session.Event) bool {
			set, is := ev.(session.ToolsChanged)
			return is && slices.ContainsFunc(set.Findings,
				func(f bridge.Finding) bool { return f.Rule == "declarations-too-large" })
		})
	})
	offered := int64(0)
	newest := map[string]session.ToolsChanged{}
	for _, ev := range all {
		if set, is := ev.(session.ToolsChanged); is {
			newest[set.Document] = set
		}
	}
	for _, set := range newest {
		for i := range set.Tools {
			offered += set.Tools[i].Bytes()
		}
	}
	if offered > 45<<10 || offered < 30<<10 || account.Used() != offered {
		t.Errorf("%d bytes are offered, and %d counted", offered, account.Used())
	}
	w.result("remove", "{}")
	w.await("the frame's end", func(all []session.Event) bool {
		return slices.ContainsFunc(all, func(ev session.Event) bool { _, is := ev.(session.FrameGone); return is })
	})
	if used := account.Used(); used > 35<<10 {
		t.Errorf("after the frame is gone, %d bytes are counted", used)
	}
}
