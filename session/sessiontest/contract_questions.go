package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// questionsPage has a tool for each way to ask.
var questionsPage = Page{
	HTML: `<script>let done;
		tool('confirm', () => confirm('c')); tool('prompt', () => prompt('p', 'd'));
		tool('act', (i, c) => c.requestUserInteraction(() => new Promise((r) => { done = r })));
		tool('acted', () => done(5) ?? 1); tool('last', () => 1);
		tool('asks', (i, c) => c.requestUserInteraction(() => confirm('mine')));
		tool('asks_later', (i, c) => c.requestUserInteraction(async () => { await new Promise((r) => { setTimeout(r, 20) }); return confirm('mine') }));
		tool('asks_prompt', (i, c) => c.requestUserInteraction(async () => prompt('mine', 'd') !== null));
		tool('asks_own', () => confirm('mine'));
		let free; tool('waits', () => { tool('at_work', () => 1); return new Promise((r) => { free = r }) }); tool('frees', () => { const said = confirm('c'); free(2); return said });
	</script>`,
	Fake: func(d *Document) {
		acted, free := make(chan struct{}), make(chan struct{})
		d.Register(
			Tool{Name: "waits", Run: func(c *Call) (json.RawMessage, error) {
				c.Document.Register(Tool{Name: "at_work"})
				select {
				case <-free:
				case <-c.Over():
				}
				return json.RawMessage("2"), nil
			}},
			Tool{Name: "frees", Run: func(c *Call) (json.RawMessage, error) {
				a := c.Ask(bridge.Confirm, "c", nil)
				close(free)
				return json.Marshal(a != nil && a.OK)
			}},
			Tool{Name: "confirm", Run: func(c *Call) (json.RawMessage, error) {
				a := c.Ask(bridge.Confirm, "c", nil)
				return json.Marshal(a != nil && a.OK)
			}},
			Tool{Name: "prompt", Run: func(c *Call) (json.RawMessage, error) {
				a := c.Ask(bridge.Prompt, "p", nil)
				switch {
				case a == nil || !a.OK:
					return json.RawMessage("null"), nil
				case len(a.Value) == 0:
					return json.RawMessage(`"d"`), nil
				}
				return a.Value, nil
			}},
			Tool{Name: "act", Run: func(c *Call) (json.RawMessage, error) {
				a := c.Ask(bridge.Interact, "", acted)
				switch {
				case a == nil:
					return json.RawMessage("5"), nil
				case !a.OK:
					return nil, errors.New("declined")
				}
				return a.Value, nil
			}},
			Tool{Name: "acted", Run: func(*Call) (json.RawMessage, error) {
				close(acted)
				return json.RawMessage("1"), nil
			}},
			Tool{Name: "asks", Run: asksWithin(bridge.Confirm)}, Tool{Name: "asks_later", Run: asksWithin(bridge.Confirm)},
			Tool{Name: "asks_prompt", Run: asksWithin(bridge.Prompt)}, Tool{Name: "asks_own", Run: asksWithin(bridge.Confirm)},
			Tool{Name: "last"})
	},
}

// asksWithin asks inside of an interaction, and returns whether a person agreed.
func asksWithin(kind bridge.Kind) func(c *Call) (json.RawMessage, error) {
	return func(c *Call) (json.RawMessage, error) {
		a := c.AskWithin(kind, "mine")
		return json.Marshal(a != nil && a.OK)
	}
}

// stops runs a tool until it asks.
func (w *watched) stops(name string) *bridge.Pause {
	w.t.Helper()
	s, err := w.invoke(name, "{}")
	if s.Pause == nil {
		w.t.Fatalf("%s came to %s, %v, want a question", name, s.Data, err)
	}
	return s.Pause
}

func testQuestions(t *testing.T, h Harness) {
	for _, c := range []struct {
		tool   string
		kind   bridge.Kind
		answer *bridge.Answer
		want   string
	}{
		{"confirm", bridge.Confirm, &bridge.Answer{OK: true}, "true"},
		{"confirm", bridge.Confirm, &bridge.Answer{}, "false"},
		{"prompt", bridge.Prompt, &bridge.Answer{OK: true, Value: json.RawMessage(`"x"`)}, `"x"`},
		{"prompt", bridge.Prompt, &bridge.Answer{OK: true}, `"d"`},
		{"prompt", bridge.Prompt, &bridge.Answer{}, "null"},
		{"act", bridge.Interact, &bridge.Answer{OK: true, Value: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		{"act", bridge.Interact, &bridge.Answer{}, ""},
	} {
		t.Run(c.tool, func(t *testing.T) {
			t.Parallel()
			w := one(t, h, questionsPage)
			asked := w.stops(c.tool)
			if q := asked.Question; q.Kind != c.kind || q.Title == "" || q.Origin == "" {
				t.Errorf("it asks %+v", q)
			}
			r, err := came(asked.Continue(t.Context(), c.answer))
			if c.want == "" {
				fails(t, err, bridge.ToolError, "", bridge.Failed)
			} else if err != nil || string(r.Data) != c.want {
				t.Errorf("got %s, %v; want %s", r.Data, err, c.want)
			}
			if got := w.result("last", "{}"); got != "1" && got != "null" {
				t.Errorf("the next tool gives %s", got)
			}
		})
	}
	t.Run("over", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, questionsPage)
		asked := w.stops("act")
		w.result("acted", "{}")
		<-asked.Over
		if r, err := came(asked.Continue(t.Context(), nil)); err != nil || string(r.Data) != "5" {
			t.Errorf("got %s, %v", r.Data, err)
		}
	})
	t.Run("closed", func(t *testing.T) {
		t.Parallel()
		w := one(t, h, questionsPage)
		asked := w.stops("confirm")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := w.Close(ctx); err != nil {
			t.Fatal(err)
		}
		<-asked.Over
		_, err := came(asked.Continue(ctx, &bridge.Answer{OK: true}))
		if e := bridge.AsError(err); e == nil || e.Outcome != bridge.Unknown {
			t.Errorf("got %v", err)
		}
	})
}

// testDialogsOfOneCall: a dialog inside of an interaction is asked of the call whose it is, and of
// no other one that is at work in the page; so is a dialog of a call that begins while another
// asks. C2.
func testDialogsOfOneCall(t *testing.T, h Harness) {
	for _, c := range []struct {
		tool, beside, other string // the calls, and the caller of the second one
		ok                  bool
	}{
		{"asks", "waits", "ann", true},
		{"asks", "waits", "ann", false},
		{"asks", "waits", "bob", true}, // it is certain, so that another caller's call changes nothing
		{"asks_prompt", "waits", "ann", true},
		{"asks_prompt", "waits", "bob", false},
		{"asks_later", "waits", "ann", true},
		{"asks_own", "act", "ann", true},
		{"asks_own", "act", "bob", false},
	} {
		t.Run(fmt.Sprintf("%s beside %s of %s, %v", c.tool, c.beside, c.other, c.ok), func(t *testing.T) {
			t.Parallel()
			w := one(t, h, questionsPage)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			beside := w.beginAs(c.other, c.beside)
			var waits *bridge.Pause
			if c.beside == "act" {
				if waits = beside().Pause; waits == nil || waits.Question.Kind != bridge.Interact {
					t.Fatalf("it asks %+v", waits)
				}
			} else {
				w.tool("at_work")
			}
			for range 3 {
				step := w.beginAs("ann", c.tool)()
				if step.Pause == nil {
					t.Fatalf("it came to %s, %v", step.Data, step.Err)
				}
				if q := step.Pause.Question; q.Detail != "mine" || q.Foreign || q.Among > 0 && c.tool != "asks_later" {
					t.Errorf("it asks %+v", q)
				}
				if end := step.Pause.Continue(ctx, &bridge.Answer{OK: c.ok}); end.Err != nil || string(end.Data) != strconv.FormatBool(c.ok) {
					t.Errorf("it came to %s, %v", end.Data, end.Err)
				}
			}
			if waits == nil { // the control: it was never asked, and goes on to its end
				if end := w.beginAs("ann", "frees")(); end.Pause == nil {
					t.Fatalf("it came to %s, %v", end.Data, end.Err)
				} else if other := beside(); other.Pause == nil || other.Pause.Question.Detail != "c" {
					t.Errorf("the other is asked %+v", other)
				}
				return
			}
			select {
			case <-waits.Over:
				t.Error("the question of the other call is over")
			default:
			}
			if end := waits.Continue(ctx, &bridge.Answer{OK: true, Value: json.RawMessage("7")}); end.Err != nil || string(end.Data) != "7" {
				t.Errorf("the other came to %s, %v", end.Data, end.Err)
			}
		})
	}
}

// testBothAsk: calls that ask at once each get the answer to their own dialog. C2.
func testBothAsk(t *testing.T, h Harness) {
	for _, tool := range []string{"asks", "asks_prompt"} {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			w := one(t, h, questionsPage)
			done := make(chan string, 2)
			for caller, ok := range map[string]bool{"ann": true, "bob": false} {
				inv := w.invocation(tool)
				inv.Caller = caller
				go func() {
					for range 10 {
						step := w.Invoke(t.Context(), inv)
						if step.Pause == nil || step.Pause.Question.Among > 0 || step.Pause.Question.Foreign {
							done <- fmt.Sprintf("%s is asked %+v, %v", caller, step.Pause, step.Err)
							return
						}
						if end := step.Pause.Continue(t.Context(), &bridge.Answer{OK: ok}); end.Err != nil || string(end.Data) != strconv.FormatBool(ok) {
							done <- fmt.Sprintf("%s said %v, and it came to %s, %v", caller, ok, end.Data, end.Err)
							return
						}
					}
					done <- ""
				}()
			}
			for range 2 {
				if wrong := <-done; wrong != "" {
					t.Error(wrong)
				}
			}
		})
	}
}

// testDialogsAmongCalls: nobody knows which of several calls opened a dialog. All of them
// stop; an answer to one is an answer to all; a call that is given up answers nothing.
func testDialogsAmongCalls(t *testing.T, h Harness) {
	two := func(t *testing.T, callers ...string) (first, second *bridge.Pause) {
		t.Helper()
		w := one(t, h, questionsPage)
		waiting := w.beginAs(callers[0], "waits")
		w.tool("at_work")
		step := w.beginAs(callers[1], "frees")()
		other := waiting()
		if step.Pause == nil || other.Pause == nil {
			t.Fatalf("they came to %+v and %+v", other, step)
		}
		for _, p := range []*bridge.Pause{other.Pause, step.Pause} {
			if q := p.Question; q.Kind != bridge.Confirm || q.Detail != "c" || q.Among != 2 || q.Foreign != (callers[0] != callers[1]) {
				t.Errorf("it asks %+v", q)
			}
		}
		return other.Pause, step.Pause
	}
	ends := func(t *testing.T, s bridge.Step, want string) {
		t.Helper()
		if s.Err != nil || string(s.Data) != want {
			t.Errorf("it came to %s, %v; want %s", s.Data, s.Err, want)
		}
	}
	t.Run("answered to one", func(t *testing.T) {
		t.Parallel()
		waits, frees := two(t, "ann", "bob")
		done := make(chan bridge.Step, 1)
		go func() {
			<-waits.Over
			done <- waits.Continue(t.Context(), nil)
		}()
		ends(t, frees.Continue(t.Context(), &bridge.Answer{OK: true}), "true")
		ends(t, <-done, "2")
	})
	t.Run("answered to the other", func(t *testing.T) {
		t.Parallel()
		waits, frees := two(t, "ann", "ann")
		done := make(chan bridge.Step, 1)
		go func() { done <- waits.Continue(t.Context(), &bridge.Answer{OK: true}) }()
		<-frees.Over
		ends(t, frees.Continue(t.Context(), nil), "true")
		ends(t, <-done, "2")
	})
	t.Run("given up", func(t *testing.T) {
		t.Parallel()
		waits, frees := two(t, "ann", "bob")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if s := waits.Continue(ctx, nil); s.Err == nil || s.Err.Outcome != bridge.Unknown {
			t.Errorf("a call that is given up came to %s, %v", s.Data, s.Err)
		}
		select {
		case <-frees.Over:
			t.Error("it answered the dialog, which may be another's")
		default:
		}
		ends(t, frees.Continue(t.Context(), &bridge.Answer{OK: true}), "true")
	})
}

// beginAs begins the call of a tool by a caller, and returns what waits for what it comes to.
func (w *watched) beginAs(caller, name string) func() bridge.Step {
	inv := w.invocation(name)
	inv.Caller = caller
	done := make(chan bridge.Step, 1)
	go func() { done <- w.Invoke(w.t.Context(), inv) }()
	return func() bridge.Step { return <-done }
}
