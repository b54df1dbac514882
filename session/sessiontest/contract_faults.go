package sessiontest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// faulty has what a call needs to be caught in the middle.
var faulty = Page{
	HTML: `<script>
		let runs = 0;
		tool('hang', () => { runs++; return forever }); tool('runs', () => runs);
		tool('oom', () => { const all = []; for (;;) all.push(new Array(1e5).fill({})) });
		tool('ready', () => 1);
	</script>`,
	Fake: func(d *Document) {
		var runs atomic.Int32
		wait := func(c *Call) (json.RawMessage, error) {
			runs.Add(1)
			<-c.Over()
			return nil, nil
		}
		d.Register(Tool{Name: "hang", Run: wait}, Tool{Name: "runs", Run: func(*Call) (json.RawMessage, error) {
			return json.RawMessage(fmt.Sprint(runs.Load())), nil
		}}, Tool{Name: "oom", Run: func(c *Call) (json.RawMessage, error) {
			d.Crash()
			return wait(c)
		}}, Tool{Name: "ready"})
	},
}

func testFaults(t *testing.T, h Harness) {
	t.Run("renderer killed", func(t *testing.T) { t.Parallel(); testRendererKilled(t, h) })
	t.Run("out of memory", func(t *testing.T) {
		t.Parallel()
		e := h.Fresh(t)
		base := h.Serve(t, e, Pages{"/": faulty}, false)
		other := show(t, e, base+"/")
		w := show(t, e, base+"/")
		_, err := w.invoke("oom", "{}")
		fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
		died(t, w, bridge.PageCrashed)
		other.result("ready", "{}")
	})
	t.Run("browser killed", func(t *testing.T) { t.Parallel(); testBrowserKilled(t, h) })
	t.Run("frozen before a call", func(t *testing.T) { t.Parallel(); testFrozen(t, h) })
	t.Run("closed during a call", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, faulty)
		end := w.begin(t.Context(), "hang", "{}")
		w.awaitResult(patience, "runs", "1")
		closeTwice(t, w)
		_, err := end()
		fails(t, err, bridge.InternalError, bridge.Draining, bridge.Unknown)
	})
}

func testRendererKilled(t *testing.T, h Harness) {
	t.Helper()
	if h.KillRenderers == nil {
		t.Skip("this engine's renderers cannot be killed")
	}
	e := h.Fresh(t)
	w := show(t, e, h.Serve(t, e, Pages{"/": faulty}, false)+"/")
	end := w.begin(t.Context(), "hang", "{}")
	w.awaitResult(patience, "runs", "1")
	began := time.Now()
	h.KillRenderers(t, e)
	_, err := end()
	within(t, began, time.Second, "noticing a crash")
	fails(t, err, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
	died(t, w, bridge.PageCrashed)
	again := show(t, e, h.Serve(t, e, Pages{"/": faulty}, false)+"/")
	again.result("ready", "{}")
}

func testBrowserKilled(t *testing.T, h Harness) {
	t.Helper()
	if h.KillBrowser == nil {
		t.Skip("this engine's browser cannot be killed")
	}
	e := h.Fresh(t)
	base := h.Serve(t, e, Pages{"/": faulty}, false)
	began := time.Now()
	w := show(t, e, base+"/")
	usual := time.Since(began) // on a machine that has other things to do
	end := w.begin(t.Context(), "hang", "{}")
	w.awaitResult(patience, "runs", "1")
	began = time.Now()
	h.KillBrowser(t, e)
	_, err := end()
	within(t, began, time.Second, "noticing the loss")
	fails(t, err, bridge.InternalError, bridge.BrowserLost, bridge.Unknown)
	died(t, w, bridge.BrowserLost)
	began = time.Now()
	again := openTab(t, e)
	within(t, began, max(5*time.Second, 3*usual), "opening a tab after the loss")
	again.load(base + "/")
	again.result("ready", "{}")
}

func testFrozen(t *testing.T, h Harness) {
	t.Helper()
	if h.Freeze == nil {
		t.Skip("this engine's renderers cannot be stopped")
	}
	e := h.Impatient(t)
	w := show(t, e, h.Serve(t, e, Pages{"/": faulty}, false)+"/")
	w.tool("ready")
	h.Freeze(t, e)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	_, err := w.begin(ctx, "ready", "{}")()
	fails(t, err, bridge.InternalError, bridge.PageHung, bridge.NotRun)
}

// died waits for the last event.
func died(t *testing.T, w *watched, reason bridge.Reason) {
	t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		t.Fatal("the tab did not end")
	}
	all, _ := w.told()
	d, ok := all[len(all)-1].(session.Died)
	if !ok || d.Err == nil || d.Err.Reason != reason {
		t.Errorf("the last event is %+v", all[len(all)-1])
	}
	_, err := came(w.Invoke(t.Context(), session.Invocation{Document: "x", Tool: 1}))
	fails(t, err, bridge.InternalError, reason, bridge.NotRun)
}
