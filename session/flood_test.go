package session_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

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
