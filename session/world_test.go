package session_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/session/sessiontest"
)

func TestMain(m *testing.M) { os.Exit(sessiontest.Run(m, os.Stderr, nil)) }

const (
	origin  = "https://shop.test"
	address = origin + "/"
)

// world is a manager over a fake engine with the site "shop". It lives in a
// synctest bubble: its time is not real.
type world struct {
	*session.Manager
	t      *testing.T
	engine *sessiontest.Engine
	began  time.Time
}

// inWorld runs a test in a world. Its document is script; change may be nil.
func inWorld(t *testing.T, script sessiontest.Script, change func(*session.Options, *sessiontest.Engine), test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, engine: sessiontest.NewEngine(), began: time.Now()}
		if script != nil {
			w.engine.Handle(address, script)
		}
		o := session.Options{Engine: w.engine, MaxSessions: 4, Sites: []session.SiteOptions{site("shop", address)}}
		if change != nil {
			change(&o, w.engine)
		}
		w.Manager = session.New(o)
		defer func() {
			if err := w.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if c := w.Counts(); c != (session.Counts{}) {
				t.Errorf("after Close there are %+v", c)
			}
			if left := len(w.engine.Tabs()); left > 0 {
				t.Errorf("%d tabs are left", left)
			}
		}()
		test(t, w)
	})
}

func site(name, url string) session.SiteOptions {
	return session.SiteOptions{Site: bridge.Site{Name: name, Target: url, Origin: url[:len(url)-1]}, URL: url}
}

// took returns how long ago the world began.
func (w *world) took() time.Duration { return time.Since(w.began) }

func ref(session string) bridge.Ref {
	return bridge.Ref{Site: "shop", Session: session, Caller: bridge.Local()}
}

// call does what the bridge does: it looks the tool up, takes a page, runs the
// tool and gives the page back.
func (w *world) call(ctx context.Context, r bridge.Ref, tool, input string) (string, error) {
	catalog, err := w.Await(ctx, r)
	if err != nil {
		return "", err
	}
	x := catalog.Tool(tool)
	if x == nil {
		return "", fmt.Errorf("the catalog has no %q", tool)
	}
	lease, err := w.Acquire(ctx, r)
	if err != nil {
		return "", err
	}
	defer lease.Release()
	data, err := came(lease.Invoke(ctx, bridge.Invocation{Tool: x, Input: json.RawMessage(input), MaxBytes: 1 << 20}))
	return string(data), err
}

// came returns what a step that ended came to.
func came(s bridge.Step) (json.RawMessage, error) {
	if s.Err != nil {
		return nil, s.Err
	}
	return s.Data, nil
}

// must is call for what has to succeed.
func (w *world) must(r bridge.Ref, tool string) string {
	w.t.Helper()
	got, err := w.call(w.t.Context(), r, tool, "{}")
	if err != nil {
		w.t.Fatalf("%s: %v", tool, err)
	}
	return got
}

// fails checks an error that leaves the package.
func fails(t *testing.T, err error, code bridge.Code, reason bridge.Reason, outcome bridge.Outcome) *bridge.Error {
	t.Helper()
	e, ok := errors.AsType[*bridge.Error](err)
	if !ok {
		t.Fatalf("the error is %v, not %s %s", err, code, reason)
	}
	if e.Code != code || e.Reason != reason || e.Outcome != outcome {
		t.Fatalf("the error is %s/%s/%s, want %s/%s/%s: %v", e.Code, e.Reason, e.Outcome, code, reason, outcome, err)
	}
	return e
}

// lasts checks a time of the bubble, to the millisecond.
func lasts(t *testing.T, got, want time.Duration) {
	t.Helper()
	if got.Round(time.Millisecond) != want {
		t.Errorf("it took %s, want %s", got, want)
	}
}

// later runs f in a while.
func later(d time.Duration, f func()) { time.AfterFunc(d, f) }

// named is a tool that says which document it is of.
func named(name string) sessiontest.Tool {
	return sessiontest.Tool{Name: name, Run: func(c *sessiontest.Call) (json.RawMessage, error) { return json.Marshal(c.Document.ID()) }}
}

// slow is a tool that takes that long, unless it is aborted.
func slow(name string, d time.Duration) sessiontest.Tool {
	return sessiontest.Tool{Name: name, Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		if err := sessiontest.Wait(c.Context(), d); err != nil {
			return nil, err
		}
		return json.Marshal(c.Document.ID())
	}}
}

// shop is the usual document: `where` says which page ran it, `slow` takes a
// second, `crash` ends the page.
func shop(d *sessiontest.Document) {
	d.Register(named("where"), slow("slow", time.Second), sessiontest.Tool{Name: "crash", Run: func(c *sessiontest.Call) (json.RawMessage, error) {
		c.Document.Crash()
		<-c.Over()
		return nil, nil
	}})
}

// first runs one script for the first document, the catalog page's, and
// another for the rest.
func first(one, rest sessiontest.Script) sessiontest.Script {
	var mu sync.Mutex
	n := 0
	return func(d *sessiontest.Document) {
		mu.Lock()
		n++
		script := rest
		if n == 1 {
			script = one
		}
		mu.Unlock()
		script(d)
	}
}

// together runs n calls at once and returns what they end with, in order of their
// number.
func together(n int, f func(i int) error) []error {
	all := make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { all[i] = f(i) })
		synctest.Wait() // so they come in order
	}
	wg.Wait()
	return all
}
