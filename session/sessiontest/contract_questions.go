package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// questionsPage has a tool for each way to ask.
var questionsPage = Page{
	HTML: `<script>let done;
		tool('confirm', () => confirm('c')); tool('prompt', () => prompt('p', 'd'));
		tool('act', (i, c) => c.requestUserInteraction(() => new Promise((r) => { done = r })));
		tool('acted', () => done(5) ?? 1); tool('last', () => 1);
	</script>`,
	Fake: func(d *Document) {
		acted := make(chan struct{})
		d.Register(
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
			Tool{Name: "last"})
	},
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
