package sessiontest

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// formPage has forms that are tools: one that its script answers, one that leads
// to another page, one that leads to another origin, and one for a person.
func formPage(elsewhere string) Page {
	return Page{
		HTML: `<form id=f toolname=answers tooldescription="Says it" tooltitle=Title toolautosubmit><label>What <input name=q required></label><button>go</button></form>
			<form toolname=leads tooldescription=d toolautosubmit action=/next><button>go</button></form>
			<form toolname=leaves tooldescription=d toolautosubmit action="` + elsewhere + `"><button>go</button></form>
			<form toolname=waits tooldescription=d action=/next><input name=q><button>go</button></form>
			<script>f.onsubmit = (e) => { e.preventDefault(); if (f.q.value === 'no') e.respondWith(Promise.reject(new Error('not that'))); else e.respondWith({said: f.q.value}) };
			tool('last', () => 1);</script>`,
		Fake: func(d *Document) {
			d.Register(Tool{Name: "answers", Description: "Says it", Title: "Title", Input: json.RawMessage(formSchema), Run: answers},
				Tool{Name: "leads", Run: func(c *Call) (json.RawMessage, error) { return c.Leave("/next", json.RawMessage(`[{"next":1}]`), nil) }},
				Tool{Name: "leaves", Run: func(c *Call) (json.RawMessage, error) { return c.Leave("/next", nil, errors.New("another origin")) }},
				Tool{Name: "waits", Run: func(*Call) (json.RawMessage, error) { return nil, ErrAwaiting }}, Tool{Name: "last"})
		},
	}
}

const formSchema = `{"type":"object","properties":{"q":{"type":"string","description":"What"}},"required":["q"]}`

// answers plays the script of the page, and the form before it.
func answers(c *Call) (json.RawMessage, error) {
	var in map[string]any
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return nil, err
	}
	for name := range in {
		if name != "q" {
			return nil, errors.New(`Input contains a parameter "` + name + `" but there is no such parameter for the tool`)
		}
	}
	switch in["q"] {
	case nil, "":
		return nil, bridge.Errorf(bridge.ToolError, bridge.NotSubmitted, bridge.Failed, "Form validation failed: q: Please fill out this field.. ")
	case "no":
		return nil, errors.New("not that")
	}
	return json.Marshal(map[string]any{"said": in["q"]})
}

// testForms holds an engine to what declarative tools are and do.
func testForms(t *testing.T, h Harness) {
	other := h.Serve(t, h.Engine, Pages{"/": {HTML: `<script type="application/ld+json">{"secret":1}</script>`}}, false)
	next := Page{HTML: `<script type="application/ld+json">{"next":1}</script><script>tool('there', () => 'there')</script>`,
		Fake: func(d *Document) {
			d.Register(Tool{Name: "there", Run: func(*Call) (json.RawMessage, error) { return json.RawMessage(`"there"`), nil }})
		}}
	open := func(t *testing.T) *watched {
		t.Helper()
		w := show(t, h.Engine, h.Serve(t, h.Engine, Pages{"/": formPage(other + "/"), "/next": next}, false)+"/")
		w.tool("last")
		return w
	}
	t.Run("answers", func(t *testing.T) {
		t.Parallel()
		w := open(t)
		d := w.tool("answers")
		var got, want any
		if json.Unmarshal(d.Input, &got) != nil || json.Unmarshal([]byte(formSchema),
			&want) != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("the schema is %s, want %s", d.Input, formSchema)
		}
		if d.Description != "Says it" || d.Title != "Title" {
			t.Errorf("the tool is %q, %q", d.Title, d.Description)
		}
		if got := w.result("answers", `{"q":"v"}`); got != `{"said":"v"}` {
			t.Errorf("the form answers %s", got)
		}
		for input, text := range map[string]string{
			`{"q":"no"}`: "not that", `{"q":""}`: "Form validation failed: q: Please fill out this field.. ",
			`{"z":1}`: `Input contains a parameter "z" but there is no such parameter for the tool`,
		} {
			_, err := w.invoke("answers", input)
			reason := bridge.Reason("")
			if input == `{"q":""}` {
				reason = bridge.NotSubmitted
			}
			fails(t, err, bridge.ToolError, reason, bridge.Failed)
			if e := bridge.AsError(err); e.Message != text {
				t.Errorf("%s: %q, want %q", input, e.Message, text)
			}
		}
	})
	t.Run("leads on", func(t *testing.T) {
		t.Parallel()
		w := open(t)
		if got := w.result("leads", "{}"); got != `[{"next":1}]` {
			t.Errorf("the form answers %s", got)
		}
		if got := w.result("there", "{}"); got != `"there"` {
			t.Errorf("the next page answers %s", got)
		}
	})
	t.Run("leaves", func(t *testing.T) {
		t.Parallel()
		_, err := open(t).invoke("leaves", "{}")
		fails(t, err, bridge.InternalError, bridge.PageNavigated, bridge.Unknown)
	})
	t.Run("waits for a person", func(t *testing.T) {
		t.Parallel()
		w := open(t)
		d := w.tool("waits")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s, err := came(w.Invoke(ctx, session.Invocation{Document: d.Document, Tool: d.ID, Input: json.RawMessage(`{"q":"v"}`), MaxBytes: 1 << 20}))
		if asked := s.Pause; asked != nil {
			if asked.Question.Kind != bridge.Interact {
				t.Errorf("it asks %+v", asked.Question)
			}
			_, err = came(asked.Continue(ctx, &bridge.Answer{}))
			fails(t, err, bridge.ToolError, bridge.NotSubmitted, bridge.Failed)
		} else { // an engine that cannot submit it
			fails(t, err, bridge.ToolError, bridge.AwaitingSubmission, bridge.Failed)
		}
		if got := w.result("last", "{}"); got != "1" && got != "null" {
			t.Errorf("after a form that waits another tool gives %s", got)
		}
	})
}
