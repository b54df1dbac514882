package cdp

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// askingPage has tools that ask.
const askingPage = `<button id=b>seat</button><form toolname=order tooldescription=o><input name=q><button>go</button></form><script>
	let pick, outside = [];
	document.querySelector('form').addEventListener('submit', (e) => { if (e.agentInvoked) { e.preventDefault(); e.respondWith('ordered ' + e.target.q.value) } });
	tool('plain', () => 1);
	tool('confirm', () => confirm('sure?'));
	tool('prompt', () => prompt('name?', 'Ada'));
	tool('alert', () => alert('hi') ?? 'seen');
	tool('twice', () => [confirm('a'), prompt('b')]);
	tool('inside', (i, c) => c.requestUserInteraction(() => confirm('inside?')));
	tool('seat', (i, c) => c.requestUserInteraction(() => new Promise((r) => { pick = r })));
	tool('pick', (i) => pick(i.seat) ?? 'picked');
	tool('later', (i, c) => c.requestUserInteraction(() => new Promise((r) => setTimeout(() => r(confirm('later?')), 300))));
	tool('still', (i, c) => c.requestUserInteraction(() => new Promise((r) => { pick = r; setTimeout(() => confirm('still?'), 300) })));
	tool('several', async (i, c) => { const out = []; for (let n = 0; n < 6; n++) try { out.push(await c.requestUserInteraction(() => new Promise(() => {}))) } catch (e) { out.push(e.name) } return out });
	tool('leaves', (i, c) => c.requestUserInteraction(() => new Promise(() => setTimeout(() => location = '/next', 300))));
	tool('spins', (i, c) => c.signal.addEventListener('abort', () => outside.push('aborted')) ?? new Promise(() => {}));
	tool('outside', () => new Promise((r) => setTimeout(() => r(outside))));
</script>`

// asks runs a tool until it stops.
func (w *shown) asks(name, input string) *bridge.Pause {
	w.t.Helper()
	d := w.find(name)
	ctx, cancel := context.WithTimeout(w.t.Context(), hang)
	defer cancel()
	s := w.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(input), MaxBytes: 1 << 20})
	if s.Pause == nil {
		w.t.Fatalf("%s came to %s, %v, want a question", name, s.Data, s.Err)
	}
	return s.Pause
}

// answered returns the answer and the end of the call.
func answered(t *testing.T, asked *bridge.Pause, a *bridge.Answer) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := came(asked.Continue(ctx, a))
	return string(r.Data), err
}

func value(text string) *bridge.Answer { return &bridge.Answer{OK: true, Value: json.RawMessage(text)} }

var (
	yes = &bridge.Answer{OK: true}
	no  = &bridge.Answer{}
)

// TestQuestions: what a page asks in a call stops the call, and each answer goes
// to the page as a person's would.
func TestQuestions(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(askingPage)})
	w := showPage(t, shared, base+"/")
	for _, c := range []struct {
		tool, input string
		kind        bridge.Kind
		detail      string
		answer      *bridge.Answer
		want        string
	}{
		{"confirm", `{}`, bridge.Confirm, "sure?", yes, `true`},
		{"confirm", `{}`, bridge.Confirm, "sure?", no, `false`},
		{"confirm", `{}`, bridge.Confirm, "sure?", nil, `false`},
		{"prompt", `{}`, bridge.Prompt, "name?", value(`"Bob \"x\" é"`), `"Bob \"x\" é"`},
		{"prompt", `{}`, bridge.Prompt, "name?", value(`""`), `""`},
		{"prompt", `{}`, bridge.Prompt, "name?", yes, `"Ada"`},
		{"prompt", `{}`, bridge.Prompt, "name?", no, `null`},
		{"inside", `{}`, bridge.Confirm, "inside?", yes, `true`},
		{"inside", `{}`, bridge.Confirm, "inside?", no, `false`},
		{"seat", `{}`, bridge.Interact, "", value(`{"row":4}`), `{"row":4}`},
		{"seat", `{}`, bridge.Interact, "", yes, `null`},
		{"seat", `{}`, bridge.Interact, "", no, "AbortError"},
		{"order", `{"q":"tea"}`, bridge.Interact, "", yes, `"ordered tea"`},
		{"order", `{"q":"tea"}`, bridge.Interact, "", no, "NOT_SUBMITTED"},
	} {
		w.begin(t, base+"/")
		asked := w.asks(c.tool, c.input)
		q := asked.Question
		if q.Kind != c.kind || q.Detail != c.detail || q.Title == "" || q.Origin != base {
			t.Errorf("%s asks %+v", c.tool, q)
		}
		got, err := answered(t, asked, c.answer)
		if e := bridge.AsError(err); e != nil {
			name, _ := e.Details["name"].(string)
			got = name + string(e.Reason)
			if e.Code != bridge.ToolError || e.Outcome != bridge.Failed {
				t.Errorf("%s: %v", c.tool, e)
			}
		}
		if got != c.want {
			t.Errorf("%s with %+v gave %s, %v; want %s", c.tool, c.answer, got, err, c.want)
		}
		if got := w.must("plain", `{}`); got != `1` {
			t.Errorf("after %s: %s", c.tool, got)
		}
	}
}

// TestAlertAsksNobody: it is accepted at once.
func TestAlertAsksNobody(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(askingPage)})+"/")
	if got := w.must("alert", `{}`); got != `"seen"` {
		t.Errorf("got %s", got)
	}
}

// TestQuestionsInTurn: a call asks again and again; a later dialog takes the place
// of an interaction, which is asked about again when it goes on after it.
func TestQuestionsInTurn(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(askingPage)})+"/")
	next := func(asked *bridge.Pause, a *bridge.Answer, kind bridge.Kind) *bridge.Pause {
		t.Helper()
		s := asked.Continue(t.Context(), a)
		if s.Pause == nil || s.Pause.Question.Kind != kind {
			t.Fatalf("it came to %s, %v, want %s", s.Data, s.Err, kind)
		}
		return s.Pause
	}
	if got, err := answered(t, next(w.asks("twice", `{}`), yes, bridge.Prompt), no); err != nil || got != `[true,null]` {
		t.Errorf("twice gave %s, %v", got, err)
	}
	asked := w.asks("later", `{}`)
	<-asked.Over // the dialog came
	if got, err := answered(t, next(asked, nil, bridge.Confirm), yes); err != nil || got != `true` {
		t.Errorf("later gave %s, %v", got, err)
	}
	asked = w.asks("still", `{}`)
	<-asked.Over
	if got, err := answered(t, next(next(asked, nil, bridge.Confirm), yes, bridge.Interact), value(`7`)); err != nil || got != `7` {
		t.Errorf("still gave %s, %v", got, err)
	}
	asked = w.asks("several", `{}`)
	for range 4 {
		asked = next(asked, value(`1`), bridge.Interact)
	}
	if got, err := answered(t, asked, no); err != nil || got != `[1,1,1,1,"AbortError","NotAllowedError"]` {
		t.Errorf("several gave %s, %v", got, err)
	}
}

// TestPageAnswersItself: what happens in the page ends the question: somebody
// acted there, it left, or it died.
func TestPageAnswersItself(t *testing.T) {
	t.Parallel()
	base := site(t, map[string]http.HandlerFunc{"/": html(askingPage), "/next": html(`next`)})
	w := showPage(t, shared, base+"/")
	asked := w.asks("seat", `{}`)
	if got := w.must("pick", `{"seat":"4A"}`); got != `"picked"` {
		t.Fatal(got)
	}
	<-asked.Over
	if got, err := answered(t, asked, nil); err != nil || got != `"4A"` {
		t.Errorf("seat gave %s, %v", got, err)
	}
	asked = w.asks("leaves", `{}`)
	<-asked.Over
	if _, err := answered(t, asked, nil); bridge.AsError(err).Reason != bridge.PageNavigated {
		t.Errorf("leaves gave %v", err)
	}
	for _, tool := range []string{"seat", "confirm"} {
		w := showPage(t, shared, base+"/")
		asked := w.asks(tool, `{}`)
		if err := w.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		<-asked.Over
		if _, err := answered(t, asked, yes); bridge.AsError(err) == nil || bridge.AsError(err).Outcome != bridge.Unknown {
			t.Errorf("%s gave %v", tool, err)
		}
	}
}

// TestAbortedQuestions: a call that is ended while it asks is aborted in its page,
// and the page is usable.
func TestAbortedQuestions(t *testing.T) {
	t.Parallel()
	w := showPage(t, shared, site(t, map[string]http.HandlerFunc{"/": html(askingPage)})+"/")
	for _, tool := range []string{"confirm", "seat", "order"} {
		asked := w.asks(tool, `{}`)
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(bridge.Errorf(bridge.InternalError, bridge.Draining, bridge.Unknown, "over"))
		_, err := came(asked.Continue(ctx, nil))
		// A dialog has to be dismissed first, and then the tool may return at once.
		if e := bridge.AsError(err); (e == nil || e.Reason != bridge.Draining) && (tool != "confirm" || e != nil) {
			t.Errorf("%s gave %v", tool, err)
		}
		if got := w.must("plain", `{}`); got != `1` {
			t.Errorf("after %s: %s", tool, got)
		}
	}
}
