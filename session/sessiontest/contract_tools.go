package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// echo returns its input.
var echo = Tool{Name: "echo", Run: func(c *Call) (json.RawMessage, error) { return c.Input, nil }}

var echoPage = Page{HTML: `<title>Echo</title><script>tool('echo', (input) => input)</script>`, Fake: func(d *Document) {
	d.Title("Echo")
	d.Register(echo)
}}

func testLife(t *testing.T, h Harness) {
	t.Run("open load close", func(t *testing.T) {
		t.Parallel()
		base := h.Serve(t, h.Engine, Pages{"/": echoPage}, false)
		w := show(t, h.Engine, base+"/")
		all, _ := w.told()
		nav, ok := all[0].(session.Navigated)
		if !ok || nav.URL != base+"/" || nav.Origin != base || nav.Document == "" {
			t.Fatalf("the first event is %#v", all[0])
		}
		d := w.tool("echo")
		closeTwice(t, w)
		<-w.ended
		all, _ = w.told()
		if died, ok := all[len(all)-1].(session.Died); !ok || died.Err == nil {
			t.Errorf("the last event is %#v", all[len(all)-1])
		}
		_, err := came(w.Invoke(t.Context(), session.Invocation{Document: d.Document, Tool: d.ID}))
		fails(t, err, bridge.InternalError, bridge.Draining, bridge.NotRun)
		fails(t, w.Load(t.Context(), base+"/"), bridge.InternalError, bridge.Draining,
			bridge.NotRun)
	})
	t.Run("a second document", func(t *testing.T) {
		t.Parallel()
		base := h.Serve(t, h.Engine, Pages{"/": echoPage, "/2": echoPage}, false)
		w := show(t, h.Engine, base+"/")
		old := w.tool("echo")
		w.load(base + "/2")
		w.loaded()
		if now := w.tool("echo"); now.Document == old.Document {
			t.Error("two documents have one name")
		}
		_, err := came(w.Invoke(t.Context(), session.Invocation{Document: old.Document, Tool: old.ID}))
		if !errors.Is(err, session.ErrGone) {
			t.Errorf("a call for the document before: %v", err)
		}
		fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
	})
	t.Run("who left before", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := h.Engine.Open(ctx, session.TabOptions{})
		if err == nil {
			t.Fatal("Open succeeded")
		}
		fails(t, err, bridge.Cancelled, "", bridge.NotRun)
	})
	t.Run("other schemes", func(t *testing.T) {
		t.Parallel()
		w := openTab(t, h.Engine)
		for _, address := range []string{"file:///etc/passwd", "FILE:///etc/passwd",
			"chrome://version", "view-source:http://127.0.0.1/", "javascript:1", "data:text/html,x", "about:blank", "", "\x00"} {
			fails(t, w.Load(t.Context(), address), bridge.InternalError, bridge.OriginBlocked,
				bridge.NotRun)
		}
	})
}

func closeTwice(t *testing.T, w *watched) {
	t.Helper()
	for range 2 {
		if err := w.Close(t.Context()); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
}

func testTools(t *testing.T, h Harness) {
	t.Run("one set of 256", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, Page{
			HTML: `<script>for (let i = 0; i < 256; i++) tool('t' + i, () => i)</script>`,
			Fake: func(d *Document) {
				for i := range 256 {
					d.Register(Tool{Name: fmt.Sprintf("t%d", i)})
				}
			},
		})
		all, _ := w.told()
		if n := len(tools(all).Tools); n != 256 {
			t.Errorf("%d tools when the page is loaded", n)
		}
		if changes := count[session.ToolsChanged](all); changes > 4 {
			t.Errorf("%d events for one run of a script", changes)
		}
	})
	t.Run("order", func(t *testing.T) { t.Parallel(); testOrder(t, h) })
	t.Run("changes", func(t *testing.T) { t.Parallel(); testChanges(t, h) })
	t.Run("everything crosses", func(t *testing.T) { t.Parallel(); testDeclaration(t, h) })
}

func count[E session.Event](all []session.Event) (n int) {
	for _, ev := range all {
		if _, ok := ev.(E); ok {
			n++
		}
	}
	return n
}

// testOrder holds a page that is busy after its load event: what it registered
// before is reported before.
func testOrder(t *testing.T, h Harness) {
	w := one(t, h, Page{
		HTML: `<script>tool('early', () => 1); addEventListener('load', () => {
			tool('at-load', () => 1); const end = performance.now() + 400; while (performance.now() < end); tool('late', () => 1); })</script>`,
		Fake: func(d *Document) { d.Register(Tool{Name: "early"}, Tool{Name: "at-load"}, Tool{Name: "late"}) },
	})
	all, _ := w.told()
	revision, loadedSeen := int64(-1), false
	for i, ev := range all {
		switch ev := ev.(type) {
		case session.Navigated:
			if i != 0 {
				t.Error("Navigated is not the first event")
			}
		case session.ToolsChanged:
			if ev.Revision <= revision {
				t.Errorf("revision %d after %d", ev.Revision, revision)
			}
			revision = ev.Revision
		case session.Loaded:
			loadedSeen = true
			if named(tools(all[:i]), "at-load") == nil {
				t.Error("Loaded came before the tools that were registered before")
			}
		}
	}
	if !loadedSeen {
		t.Error("no Loaded")
	}
}

func testChanges(t *testing.T, h Harness) {
	w := one(t, h, Page{
		HTML: `<script>
			const again = (n) => tool('kept', () => n);
			again(1);
			tool('add', () => { setTimeout(() => tool('late', () => 1), 20) });
			tool('remove', () => { navigator.modelContext.unregisterTool('late') });
			tool('replace', () => { navigator.modelContext.unregisterTool('kept'); again(2) });
		</script>`,
		Fake: func(d *Document) {
			kept := func(n string) Tool {
				return Tool{Name: "kept", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(n), nil }}
			}
			d.Register(kept("1"), Tool{Name: "add", Run: func(*Call) (json.RawMessage, error) {
				time.AfterFunc(20*time.Millisecond, func() { d.Register(Tool{Name: "late"}) })
				return json.RawMessage("null"), nil
			}}, Tool{Name: "remove", Run: func(*Call) (json.RawMessage, error) {
				d.Unregister("late")
				return json.RawMessage("null"), nil
			}}, Tool{Name: "replace", Run: func(*Call) (json.RawMessage, error) {
				d.Register(kept("2"))
				return json.RawMessage("null"), nil
			}})
		},
	})
	w.result("add", "{}")
	late := w.tool("late")
	// Read your writes: the state that the reply has seen is reported.
	reply, err := w.invoke("remove", "{}")
	if err != nil {
		t.Fatal(err)
	}
	all := w.await("the state of the reply", func(all []session.Event) bool { return tools(all).Revision >= reply.Revision })
	if reply.Document != late.Document || named(tools(all), "late") != nil {
		t.Errorf("after the reply of %s at %d there is %v", reply.Document, reply.Revision,
			named(tools(all), "late"))
	}
	if _, err := came(w.Invoke(t.Context(), session.Invocation{Document: late.Document, Tool: late.ID})); !errors.Is(err, session.ErrGone) {
		t.Errorf("a call of what was unregistered: %v", err)
	}
	before := w.tool("kept")
	w.result("replace", "{}")
	w.await("the replacement", func(all []session.Event) bool {
		d := named(tools(all), "kept")
		return d != nil && d.ID != before.ID
	})
	if _, err := came(w.Invoke(t.Context(), session.Invocation{Document: before.Document, Tool: before.ID})); !errors.Is(err, session.ErrGone) {
		t.Errorf("a call of what was replaced: %v", err)
	}
	if got := w.result("kept", "{}"); got != "2" {
		t.Errorf("the replacement gives %s", got)
	}
}

func testDeclaration(t *testing.T, h Harness) {
	w := one(t, h, Page{
		HTML: `<title>Täst</title><script>tool('get_Item.v-1', () => 1, {title: 'Ein Titel 😀', description: 'Zeile 1\nZeile "2" \u2028',
			inputSchema: {type: 'object', properties: {__proto__: null, ['__proto__']: {type: 'string'}}}, outputSchema: {type: 'number'},
			annotations: {readOnlyHint: true, destructiveHint: false}})</script>`,
		Fake: func(d *Document) {
			d.Title("Täst")
			d.Register(Tool{Name: "get_Item.v-1", Title: "Ein Titel 😀", Description: "Zeile 1\nZeile \"2\" \u2028",
				Input:  json.RawMessage(`{"type":"object","properties":{"__proto__":{"type":"string"}}}`),
				Output: json.RawMessage(`{"type":"number"}`), Annotations: json.RawMessage(`{"readOnlyHint":true,"destructiveHint":false}`)})
		},
	})
	d := w.tool("get_Item.v-1")
	all, _ := w.told()
	nav, _ := all[0].(session.Navigated)
	if d.Title != "Ein Titel 😀" || d.Description != "Zeile 1\nZeile \"2\" \u2028" || d.Origin != nav.Origin || d.Document != nav.Document {
		t.Errorf("got %+v", d)
	}
	if string(d.Input) != `{"type":"object","properties":{"__proto__":{"type":"string"}}}` || string(d.Output) != `{"type":"number"}` {
		t.Errorf("schemas %s and %s", d.Input, d.Output)
	}
	var hints map[string]bool
	if err := json.Unmarshal(d.Annotations, &hints); err != nil || !hints["readOnlyHint"] || hints["destructiveHint"] || len(hints) != 2 {
		t.Errorf("annotations %s", d.Annotations)
	}
	if title := tools(all).Title; title != "Täst" {
		t.Errorf("the title is %q", title)
	}
	if strings.HasSuffix(d.Origin, "/") {
		t.Errorf("the origin is %q", d.Origin)
	}
}
