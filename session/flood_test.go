package session_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

// TestLogOfFlood (B8): a finding is logged once, and a page that makes them without end
// writes a bounded number of lines.
func TestLogOfFlood(t *testing.T) {
	var log bytes.Buffer
	change := func(o *session.Options, _ *sessiontest.Engine) {
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
	}
	inWorld(t, shop, change, func(t *testing.T, w *world) {
		w.must(ref("s"), "where")
		d := w.engine.Tabs()[0].Document()
		bad := func(name string) {
			d.Register(sessiontest.Tool{Name: name, Input: []byte(`{"type":"nonsense"}`)})
			synctest.Wait()
		}
		bad("same")
		for range 10 {
			d.Register(named("where")) // the list changes, the finding stays
			synctest.Wait()
		}
		if n := strings.Count(log.String(), "page: finding"); n != 1 {
			t.Errorf("a finding that stays is logged %d times", n)
		}
		for i := range 1000 {
			bad(fmt.Sprint("other", i%200))
			d.Unregister(fmt.Sprint("other", i%200))
			synctest.Wait()
		}
		if n := strings.Count(log.String(), "page: finding"); n > 100 || n < 10 {
			t.Errorf("a flood of findings is logged %d times", n)
		}
	})
}

// TestParkedCallsLeavePages (B5): a caller whose calls wait for persons does not hold every
// page: another one is served while they wait, though it came later.
func TestParkedCallsLeavePages(t *testing.T) {
	asks := func(d *sessiontest.Document) {
		shop(d)
		d.Register(sessiontest.Tool{Name: "ask", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
			return json.Marshal(c.Ask(bridge.Confirm, "Really?", nil) != nil)
		}})
	}
	for _, several := range []bool{true, false} {
		change := func(o *session.Options, _ *sessiontest.Engine) { o.Several = several }
		inWorld(t, asks, change, func(t *testing.T, w *world) {
			catalog, err := w.Await(t.Context(), ref(""))
			succeeds(t, err)
			parked := 0
			for i := range 4 {
				r := ref(fmt.Sprint("s", i))
				r.Turn, r.Patience = time.Second, time.Second
				lease, err := w.Acquire(t.Context(), r)
				if err != nil {
					continue
				}
				defer lease.Release()
				step := lease.Invoke(t.Context(), bridge.Invocation{Tool: catalog.Tool("ask"), Input: json.RawMessage("{}"), Answer: time.Minute})
				defer func() { _ = step.Pause.Continue(t.Context(), &bridge.Answer{}) }()
				parked++
			}
			other := ref("theirs")
			other.Caller.Name, other.Turn, other.Patience = "other", time.Second, time.Second
			_, err = w.call(t.Context(), other, "where", "{}")
			if several {
				succeeds(t, err)
			} else { // the control
				fails(t, err, bridge.InternalError, bridge.Overload, bridge.NotRun)
			}
			if want := map[bool]int{true: 3, false: 4}[several]; parked != want {
				t.Errorf("%d calls wait in pages, want %d", parked, want)
			}
		})
	}
}

// TestPlacesAreBounded (B6): so many calls wait for a site to open, or run on the page that
// all share, and one more is refused with a time to come back.
func TestPlacesAreBounded(t *testing.T) {
	var opened chan struct{}
	slow := func(o *session.Options, e *sessiontest.Engine) {
		o.Queue, opened = 3, make(chan struct{}) // of this bubble
		e.Arrive(address, func(ctx context.Context) error {
			select {
			case <-opened:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}
	inWorld(t, shop, slow, func(t *testing.T, w *world) {
		errs := together(4, func(int) error {
			r := ref("")
			r.Patience = time.Second
			_, err := w.Await(t.Context(), r)
			return err
		})
		refused := 0
		for _, err := range errs {
			if e := bridge.AsError(err); e.Code == bridge.RateLimit {
				refused++
				if e.Retry < time.Second || e.Outcome != bridge.NotRun {
					t.Errorf("it says %+v", e)
				}
			}
		}
		if refused != 1 {
			t.Errorf("%d of 4 were refused: %v", refused, errs)
		}
		close(opened)
	})
	shared := func(o *session.Options, _ *sessiontest.Engine) { o.Sites[0].Shared = true }
	inWorld(t, shop, shared, func(t *testing.T, w *world) {
		var leases []bridge.Source
		for {
			lease, err := w.Acquire(t.Context(), ref(""))
			if err != nil {
				fails(t, err, bridge.RateLimit, "", bridge.NotRun)
				break
			}
			leases = append(leases, lease)
		}
		if len(leases) != 64 {
			t.Errorf("%d calls run on the shared page at once", len(leases))
		}
		for _, l := range leases {
			l.Release()
		}
		w.must(ref(""), "where")
	})
}
