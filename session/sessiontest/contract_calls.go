package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

func testCalls(t *testing.T, h Harness) {
	t.Run("outcomes", func(t *testing.T) { t.Parallel(); testOutcomes(t, h) })
	t.Run("input", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, echoPage)
		for _, input := range []string{
			`{}`, `{"__proto__":{"polluted":true}}`, `{"constructor":1,"toString":2,"hasOwnProperty":null,"":[]}`,
			`{"s":"é ü 漢 😀"}`, "{\"s\":\"\u2028\u2029\"}", `{"s":"\ud800 and \udc00"}`, `{"s":"9007199254740993"}`, `{"n":9007199254740991}`,
			`{"s":"\"'` + "`" + `\\ \b\f\n\r\t \u0000\u001f </script> ${x} // */"}`, `{"n":[0,-1,1.5,1e+300,1e-7]}`, `{"s":"` + "\u007f\ufeff\u200b" + `"}`,
			`{"a":` + strings.Repeat("[", 150) + strings.Repeat("]", 150) + `}`, `{"s":"` + strings.Repeat("x", 200<<10) + `"}`,
		} {
			if got := w.result("echo", input); got != input {
				t.Errorf("%.80s came back as %.80s", input, got)
			}
		}
	})
	t.Run("at once", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, Page{
			HTML: `<script>tool('slow', async (input) => { await new Promise((r) => setTimeout(r, input.n * 3)); return input.n })</script>`,
			Fake: func(d *Document) {
				d.Register(Tool{Name: "slow", Run: func(c *Call) (json.RawMessage, error) {
					return json.RawMessage(strings.TrimSuffix(strings.TrimPrefix(string(c.Input), `{"n":`), "}")), nil
				}})
			},
		})
		var wg sync.WaitGroup
		for n := range 20 {
			end := w.begin(t.Context(), "slow", fmt.Sprintf(`{"n":%d}`, n))
			wg.Go(func() {
				if r, err := end(); err != nil || string(r.Data) != fmt.Sprint(n) {
					t.Errorf("call %d: %s, %v", n, r.Data, err)
				}
			})
		}
		wg.Wait()
	})
	t.Run("read your writes", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, Page{
			HTML: `<script>let n = 0; tool('more', () => { tool('t' + n++, () => 1); return n })</script>`,
			Fake: func(d *Document) {
				n := 0
				d.Register(Tool{Name: "more", Run: func(*Call) (json.RawMessage, error) {
					d.Register(Tool{Name: fmt.Sprintf("t%d", n)})
					n++
					return json.RawMessage(fmt.Sprint(n)), nil
				}})
			},
		})
		for n := range 50 {
			r, err := w.invoke("more", "{}")
			if err != nil {
				t.Fatal(err)
			}
			all := w.await("the state of the reply", func(all []session.Event) bool { return tools(all).Revision >= r.Revision })
			if named(tools(all), fmt.Sprintf("t%d", n)) == nil {
				t.Fatalf("the state %d of the reply does not have its tool", r.Revision)
			}
		}
	})
}

func testOutcomes(t *testing.T, h Harness) {
	fail := func(err error) Tool {
		return Tool{Run: func(*Call) (json.RawMessage, error) { return nil, err }}
	}
	called := func(name string, x Tool) Tool {
		x.Name = name
		return x
	}
	w := one(t, h, Page{
		HTML: `<script>
			tool('nothing', () => undefined); tool('throws',
				() => { throw new TypeError('not so') }); tool('rejects', async () => { throw 'a text' });
			tool('circular', () => { const a = {}; a.a = a; return a });
			tool('large', () => 'x'.repeat(2 << 20)); tool('limit',
				() => 'x'.repeat((1 << 20) - 2)); tool('over', () => 'x'.repeat((1 << 20) - 1));
			navigator.modelContext.provideContext;
			tool('last', () => 1);
		</script>`,
		Fake: func(d *Document) {
			text := func(n int) Tool {
				return Tool{Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(`"` + strings.Repeat("x", n) + `"`), nil }}
			}
			d.Register(Tool{Name: "nothing"}, called("throws", fail(errors.New("not so"))), called("rejects", fail(errors.New("a text"))),
				called("circular", fail(ErrInvalid)), called("large", text(2<<20)), called("limit", text(1<<20-2)), called("over", text(1<<20-1)),
				Tool{Name: "last"})
		},
	})
	if got := w.result("nothing", "{}"); got != "null" {
		t.Errorf("nothing gives %s", got)
	}
	for name, text := range map[string]string{"throws": "not so", "rejects": "a text"} {
		_, err := w.invoke(name, "{}")
		fails(t, err, bridge.ToolError, "", bridge.Failed)
		if e := bridge.AsError(err); e.Message != text {
			t.Errorf("%s says %q", name, e.Message)
		}
	}
	_, err := w.invoke("circular", "{}")
	fails(t, err, bridge.ToolError, bridge.ResultInvalid, bridge.Unknown)
	for _, name := range []string{"large", "over"} {
		_, err = w.invoke(name, "{}")
		fails(t, err, bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown)
	}
	if got := w.result("limit", "{}"); len(got) != 1<<20 {
		t.Errorf("a result of the very limit has %d bytes", len(got))
	}
	last := w.tool("last")
	_, err = came(w.Invoke(t.Context(), session.Invocation{Document: last.Document, Tool: last.ID + 1000}))
	fails(t, err, bridge.WebtoolNotFound, "", bridge.NotRun)
	if !errors.Is(err, session.ErrGone) {
		t.Errorf("an unknown registration: %v", err)
	}
	t.Run("unhandled", func(t *testing.T) {
		w := one(t, h, Page{
			HTML: `<script>navigator.modelContext.provideContext({tools: [{name: 'nobody', description: 'd', inputSchema: {type: 'object'}}]})</script>`,
			Fake: func(d *Document) { d.Register(called("nobody", fail(ErrUnhandled))) },
		})
		_, err := w.invoke("nobody", "{}")
		fails(t, err, bridge.ToolError, "", bridge.Failed)
	})
}

// hanging has tools that never answer, and tells how many were aborted and how
// many ran.
var hanging = Page{
	HTML: `<script>
		let aborts = 0, runs = 0, left = 0;
		tool('hang', (input, {signal}) => { runs++; signal.addEventListener('abort', () => aborts++); return forever });
		tool('spin', () => { runs++; for (;;); });
		tool('aborts', () => aborts); tool('runs', () => runs);
	</script>`,
	Fake: func(d *Document) {
		var mu sync.Mutex
		aborts, runs := 0, 0
		number := func(n *int) func(*Call) (json.RawMessage, error) {
			return func(*Call) (json.RawMessage, error) {
				mu.Lock()
				defer mu.Unlock()
				return json.RawMessage(fmt.Sprint(*n)), nil
			}
		}
		add := func(n *int) {
			mu.Lock()
			defer mu.Unlock()
			*n++
		}
		d.Register(Tool{Name: "hang", Run: func(c *Call) (json.RawMessage, error) {
			add(&runs)
			<-c.Aborted()
			add(&aborts)
			return nil, nil
		}}, Tool{Name: "spin", Run: func(c *Call) (json.RawMessage, error) {
			add(&runs)
			<-c.Over()
			return nil, nil
		}}, Tool{Name: "aborts", Run: number(&aborts)}, Tool{Name: "runs", Run: number(&runs)})
	},
}

func testDeadlines(t *testing.T, h Harness) {
	t.Run("a tool that never resolves", func(t *testing.T) { t.Parallel(); testNeverResolves(t, h) })
	t.Run("the deadline's own words", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, hanging)
		w.tool("hang")
		cause := bridge.Errorf(bridge.InternalError, bridge.Timeout, bridge.NotRun, "Not within the time.")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, cause)
		defer cancel()
		_, err := w.begin(ctx, "hang", "{}")()
		fails(t, err, bridge.InternalError, bridge.Timeout, bridge.Unknown)
		if e := bridge.AsError(err); e.Message != cause.Message || cause.Outcome != bridge.NotRun {
			t.Errorf("it says %q; the cause is now %v", e.Message, cause)
		}
	})
	t.Run("a tool that spins", func(t *testing.T) { t.Parallel(); testSpins(t, h) })
	t.Run("the caller leaves", func(t *testing.T) { t.Parallel(); testCallerLeaves(t, h) })
}

func testNeverResolves(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, hanging)
	w.tool("hang")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := w.begin(ctx, "hang", "{}")()
	within(t, began, 2*time.Second, "a deadline of a second")
	fails(t, err, bridge.InternalError, bridge.Timeout, bridge.Unknown)
	w.awaitResult(time.Second, "aborts", "1")
	if got := w.result("runs", "{}"); got != "1" {
		t.Errorf("it ran %s times", got)
	}
}

func testSpins(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, hanging)
	w.tool("spin")
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second) // a busy machine needs some of it to reach the page
	defer cancel()
	_, err := w.begin(ctx, "spin", "{}")()
	within(t, began, 3*time.Second, "a deadline of a second")
	fails(t, err, bridge.InternalError, bridge.Timeout, bridge.Unknown)
	if r, err := w.invoke("runs", "{}"); err != nil {
		e := bridge.AsError(err)
		if e.Reason != bridge.PageCrashed || e.Outcome != bridge.NotRun {
			t.Errorf("the page is neither usable nor dead: %v", err)
		}
	} else if string(r.Data) != "1" {
		t.Errorf("it ran %s times", r.Data)
	}
}

func testCallerLeaves(t *testing.T, h Harness) {
	t.Helper()
	w := one(t, h, hanging)
	ctx, cancel := context.WithCancel(t.Context())
	end := w.begin(ctx, "hang", "{}")
	w.awaitResult(5*time.Second, "runs", "1")
	began := time.Now()
	cancel()
	_, err := end()
	within(t, began, 500*time.Millisecond, "leaving")
	fails(t, err, bridge.Cancelled, "", bridge.Unknown)
	w.awaitResult(500*time.Millisecond, "aborts", "1")
	// Who left before is not run at all.
	_, err = w.begin(ctx, "hang", "{}")()
	fails(t, err, bridge.Cancelled, "", bridge.NotRun)
	if got := w.result("runs", "{}"); got != "1" {
		t.Errorf("it ran %s times", got)
	}
}
