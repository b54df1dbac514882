package mcp

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	pixels "image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// asksOnCardOf is a world whose tool "look" asks that question, a card for it, and the ticket.
func asksOnCardOf(t *testing.T, q bridge.Question) (*world, *cardOf, string) {
	t.Helper()
	w := newWorld(t, Options{}, "mail")
	w.asking(q)
	c := w.as(agent).since2026(apps).card()
	c.path = "/mcp/shop"
	ticket := ticketIn(c.tool("look", `{"n":1}`))
	if ticket == "" {
		t.Fatal("there is no ticket")
	}
	return w, c, ticket
}

// open returns the question that is open.
func (w *world) open1(t *testing.T) bridge.OpenQuestion {
	t.Helper()
	list := bridgetest.Questions(w.bridge, operator)
	if len(list) != 1 {
		t.Fatalf("%d questions are open", len(list))
	}
	return list[0]
}

// TestCardAnswers: the card reads a question and answers it; the call goes on with the answer,
// once, when the model calls again. The card never gets the outcome.
func TestCardAnswers(t *testing.T) {
	for _, x := range []struct {
		q          bridge.Question
		rest, want string
	}{
		{bridge.Question{Kind: bridge.Confirm, Title: "The page asks.", Detail: "Sure?"}, `{"ok":true}`, `{"ok":true}`},
		{bridge.Question{Kind: bridge.Confirm, Title: "The page asks.", Detail: "Sure?"}, `{"ok":false}`, `{"ok":false}`},
		{bridge.Question{Kind: bridge.Prompt, Title: "The page asks.", Schema: json.RawMessage(`{"type":"string","default":"Ada"}`)}, `{"ok":true,"value":"Zoë"}`, `{"ok":true,"value":"Zoë"}`},
		{bridge.Question{Kind: bridge.Interact, Title: "The page waits."}, `{"ok":true}`, `{"ok":true}`},
		{bridge.Question{Kind: bridge.Interact, Title: "A form waits.", Form: true}, `{"ok":true}`, `{"ok":true}`},
	} {
		w, c, ticket := asksOnCardOf(t, x.q)
		s := c.do(ticket, "state", "{}").state(t)
		q := s.Question
		if s.State != "input_required" || s.Ticket == "" || s.Picture == nil || *s.Picture != (x.q.Kind == bridge.Interact) || q.ID != "" || q.Kind != string(x.q.Kind) || q.Title != x.q.Title ||
			q.Detail != x.q.Detail || q.Tool != "look" || q.Site != "shop" || q.Origin == "" || q.Facts == nil || string(q.Input) != `{"n":1}` || q.InputText != "" || q.ExpiresAt == "" ||
			string(q.Schema) != string(x.q.Schema) || q.Form != x.q.Form {
			t.Errorf("the card gets %+v %+v", s, q)
		}
		if s := c.do(s.Ticket, "answer", x.rest).state(t); s.State == "input_required" || s.Question != nil {
			t.Errorf("after the answer: %+v", s)
		}
		r := c.tool("look", `{"n":1}`)
		if r.Result.IsError || r.text() != x.want || len(w.router.Calls()) != 1 {
			t.Errorf("%s: the call came to %s, of %d", x.rest, r.text(), len(w.router.Calls()))
		}
		if s := c.do(ticket, "state", `{"wait":1000}`).state(t); s.State != "over" {
			t.Errorf("after the end: %+v", s)
		}
	}
}

// TestCardTakesNoOutcome: a card that reads the state after the end leaves the outcome to the
// model: the call does not run again.
func TestCardTakesNoOutcome(t *testing.T) {
	w, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	c.do(ticket, "answer", `{"ok":true}`)
	for c.do(ticket, "state", `{"wait":20000}`).state(t).State != "over" {
	}
	if r := c.tool("look", `{"n":1}`); r.text() != `{"ok":true}` || len(w.router.Calls()) != 1 {
		t.Errorf("the call came to %s, of %d", r.text(), len(w.router.Calls()))
	}
}

// TestCardSeesTheNextQuestion: consent, then what the page asks, with a ticket each; the first is
// spent.
func TestCardSeesTheNextQuestion(t *testing.T) {
	w := newWorld(t, Options{})
	w.asking(bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	c := w.as(agent).since2026(apps).card()
	first := ticketIn(c.tool("buy", `{"n":1}`))
	if s := c.do(first, "state", "{}").state(t); s.Question.Kind != "approve" || *s.Picture || s.Question.Title != "Run buy on shop?" {
		t.Fatalf("it asks %+v", s)
	}
	c.do(first, "answer", `{"ok":true}`)
	s := c.do(first, "state", `{"wait":20000}`).state(t)
	for s.State == "working" {
		s = c.do(first, "state", `{"wait":20000}`).state(t)
	}
	if s.Question.Kind != "confirm" || s.Ticket == first {
		t.Fatalf("then it asks %+v", s)
	}
	if r := c.do(first, "answer", `{"ok":true}`); r.code() != "CONFLICT" {
		t.Errorf("the first ticket answers the second question: %s", r.text())
	}
	c.do(s.Ticket, "answer", `{"ok":false}`)
	if r := c.tool("buy", `{"n":1}`); r.text() != `{"ok":false}` {
		t.Errorf("it came to %s", r.text())
	}
}

// TestCardWaits: with wait, the state comes when it changes, and not before.
func TestCardWaits(t *testing.T) {
	w, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	got := make(chan string, 1)
	go func() { got <- c.do(ticket, "state", `{"wait":20000}`).text() }()
	id := w.open1(t).ID
	select {
	case s := <-got:
		t.Fatalf("nothing has changed, and it comes: %s", s)
	default:
	}
	if err := w.bridge.Answer(operator, id, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	select {
	case s := <-got:
		if s != "ok" {
			t.Errorf("it comes as %s", s)
		}
	case <-time.After(hang):
		t.Error("it does not come")
	}
}

// TestForgedCards (rule 4): attacks on answers, each beside the request that it is made of, which
// counts. A refusal leaves the question as it was.
func TestForgedCards(t *testing.T) {
	w, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	proof := c.prove(ticket, "answer", `{"ok":true}`)
	otherCard := w.as(other).since2026(apps).card()
	otherKey := *c
	otherKey.key = bytes.Repeat([]byte{7}, 32)
	flipped := func(s string, at int) string {
		b := []byte(s)
		b[at] = map[bool]byte{true: 'A', false: 'B'}[b[at] != 'A']
		return string(b)
	}
	state := w.as(agent).since2026(forms).tool("buy", `{"n":9}`).Result.RequestState
	id := bridgetest.Questions(w.bridge, operator)[0].ID
	attacks := map[string]func() toolReply{
		"no proof": func() toolReply {
			return c.tool("pagetools_card", fmt.Sprintf(`{"ticket":%q,"op":"answer","ok":true}`, ticket))
		},
		"an empty proof": func() toolReply { return c.raw(ticket, "answer", "", `{"ok":true}`) },
		"a proof that is no text": func() toolReply {
			return c.tool("pagetools_card", fmt.Sprintf(`{"ticket":%q,"op":"answer","proof":null,"ok":true}`, ticket))
		},
		"a proof of no": func() toolReply {
			return c.raw(ticket, "answer", c.prove(ticket, "answer", `{"ok":false}`), `{"ok":true}`)
		},
		"a proof of another op": func() toolReply {
			return c.raw(ticket, "answer", c.prove(ticket, "state", `{"ok":true}`), `{"ok":true}`)
		},
		"a proof of fewer arguments":     func() toolReply { return c.raw(ticket, "answer", proof, `{"ok":true,"value":"x"}`) },
		"a proof with another key":       func() toolReply { return otherKey.do(ticket, "answer", `{"ok":true}`) },
		"a proof with no key":            func() toolReply { k := *c; k.key = nil; return k.do(ticket, "answer", `{"ok":true}`) },
		"a proof with padding":           func() toolReply { return c.raw(ticket, "answer", proof+"=", `{"ok":true}`) },
		"a proof that is cut":            func() toolReply { return c.raw(ticket, "answer", proof[:42], `{"ok":true}`) },
		"a bit of the proof":             func() toolReply { return c.raw(ticket, "answer", flipped(proof, 5), `{"ok":true}`) },
		"no ticket":                      func() toolReply { return c.do("", "answer", `{"ok":true}`) },
		"a bit of the ticket":            func() toolReply { return c.do(flipped(ticket, 30), "answer", `{"ok":true}`) },
		"another caller with the ticket": func() toolReply { return otherCard.do(ticket, "answer", `{"ok":true}`) },
		"another caller with the proof":  func() toolReply { return otherCard.raw(ticket, "answer", proof, `{"ok":true}`) },
		"a requestState as a ticket":     func() toolReply { return c.do(state, "answer", `{"ok":true}`) },
		"the id of the question":         func() toolReply { return c.do(id, "answer", `{"ok":true}`) },
		"an op with a line end":          func() toolReply { return c.do(ticket, "answer\n{}", `{"ok":true}`) },
		"a ticket that contains the op": func() toolReply {
			return c.raw(ticket+"\nanswer", "", c.prove(ticket, "answer\n", `{"ok":true}`), `{"ok":true}`)
		},
		"a client without apps": func() toolReply {
			return (&cardOf{w.as(agent).since2026(forms), c.key}).do(ticket, "answer", `{"ok":true}`)
		},
		"a caller without the right": func() toolReply {
			return (&cardOf{w.as(quiet).since2026(apps), c.key}).do(ticket, "answer", `{"ok":true}`)
		},
		"a caller without the right, and its own ticket": func() toolReply {
			of := w.opened(t, ticket)
			of.Caller = quiet.Name
			return (&cardOf{w.as(quiet).since2026(apps), c.key}).do(w.seal.close(forTicket, of), "state", "{}")
		},
		"a caller without both": func() toolReply {
			return (&cardOf{w.as(quiet).since2026(forms), c.key}).do(ticket, "answer", `{"ok":true}`)
		},
		"a ticket sealed for another thing": func() toolReply { return c.do(w.seal.close(forState, w.opened(t, ticket)), "answer", `{"ok":true}`) },
		"an expired ticket": func() toolReply {
			of := w.opened(t, ticket)
			of.Until = time.Now()
			return c.do(w.seal.close(forTicket, of), "answer", `{"ok":true}`)
		},
		"another form of the same letters": func() toolReply {
			return c.raw(ticket, "answer", c.prove(ticket, "answer", `{"ok":true,"value":"é"}`), `{"ok":true,"value":"e\u0301"}`)
		},
		"always":              func() toolReply { return c.do(ticket, "answer", `{"always":true,"ok":true}`) },
		"an answer of no":     func() toolReply { return c.do(ticket, "answer", `{}`) },
		"an answer that is 1": func() toolReply { return c.do(ticket, "answer", `{"ok":1}`) },
		"null":                func() toolReply { return c.do(ticket, "answer", `{"ok":null}`) },
		"a value to a yes":    func() toolReply { return c.do(ticket, "answer", `{"ok":true,"value":"x"}`) },
		"an unknown op":       func() toolReply { return c.do(ticket, "approve", `{"ok":true}`) },
	}
	codes := map[string]string{"an expired ticket": "CONFLICT", "an op with a line end": "SCHEMA_ERROR", "always": "SCHEMA_ERROR", "an answer of no": "SCHEMA_ERROR", "an answer that is 1": "SCHEMA_ERROR", "null": "SCHEMA_ERROR",
		"a value to a yes": "SCHEMA_ERROR", "an unknown op": "SCHEMA_ERROR", "a client without apps": "WEBTOOL_NOT_FOUND", "a caller without both": "WEBTOOL_NOT_FOUND"}
	if len(attacks) < 20 {
		t.Errorf("there are %d attacks", len(attacks))
	}
	for name, attack := range attacks {
		want := codes[name]
		if want == "" {
			want = "FORBIDDEN"
		}
		if r := attack(); !r.Result.IsError || r.code() != want {
			t.Errorf("%s: %s %s", name, r.code(), r.text())
		}
		if n := len(bridgetest.Questions(w.bridge, operator)); n != 2 {
			t.Fatalf("%s: %d questions are open", name, n)
		}
	}
	if r := c.raw(ticket, "answer", proof, `{"ok":true}`); r.Result.IsError { // what they were made of
		t.Errorf("the card itself: %s", r.text())
	}
	if r := c.raw(ticket, "answer", proof, `{"ok":true}`); r.code() != "CONFLICT" {
		t.Errorf("the same again: %s", r.text())
	}
	if r := c.tool("look", `{"n":1}`); r.text() != `{"ok":true}` {
		t.Errorf("the call came to %s", r.text())
	}
}

// opened returns what a ticket holds.
func (w *world) opened(t *testing.T, sealed string) (of ticket) {
	t.Helper()
	if err := w.seal.open(forTicket, sealed, &of); err != nil {
		t.Fatal(err)
	}
	return of
}

// TestCardOfAnotherSite: a ticket is good where its call was made: at the endpoint of its site, and
// of all.
func TestCardOfAnotherSite(t *testing.T) {
	_, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	for path, want := range map[string]string{"/mcp/mail": "FORBIDDEN", "/mcp/shop": "", "/mcp": ""} {
		at := *c.client
		at.path = path
		if r := (&cardOf{&at, c.key}).do(ticket, "state", "{}"); r.code() != want {
			t.Errorf("%s: %s", path, r.text())
		}
	}
}

// TestManyCardAnswers (rule 4): of 30 answers at once, one counts.
func TestManyCardAnswers(t *testing.T) {
	w, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	var mu sync.Mutex
	codes := map[string]int{}
	var all sync.WaitGroup
	for i := range 30 {
		all.Go(func() {
			r := c.do(ticket, "answer", fmt.Sprintf(`{"ok":%v}`, i%2 == 0))
			mu.Lock()
			defer mu.Unlock()
			codes[r.code()]++
		})
	}
	all.Wait()
	if codes[""] != 1 || codes["CONFLICT"] != 29 || len(w.router.Calls()) != 1 {
		t.Errorf("they are answered %v", codes)
	}
}

// TestModelsReadNoTicket (rule 5): nothing that a model reads has a ticket, the id of a question,
// the key, or an address that logs in: texts, structured content, the list, the instructions.
func TestModelsReadNoTicket(t *testing.T) {
	w := newWorld(t, Options{Operators: func(bool) string { return "http://127.0.0.1:7301/" }})
	c := w.as(agent).since2026(apps).card()
	key := base64.RawURLEncoding.EncodeToString(c.key)
	r := c.tool("buy", `{"n":1}`)
	id, ticket := w.open1(t).ID, ticketIn(r)
	for what, text := range map[string]string{
		"the result": r.text() + string(r.Result.Structured), "pagetools_waiting": c.tool("pagetools_waiting", "{}").text(),
		"the list": c.call(3, "tools/list", "{}").body, "the handshake": c.call(3, "server/discover", "{}").body, "the resources": c.call(3, "resources/list", "{}").body,
		"a search": c.tool("pagetools_search", `{"query":"card"}`).text(),
		"an error": c.do(ticket, "answer", `{"ok":1}`).text(), "another error": c.raw(ticket, "state", "x", "{}").text(),
	} {
		if text == "" || strings.Contains(text, ticket) || strings.Contains(text, id) || strings.Contains(text, key) || strings.Contains(text, "7301") {
			t.Errorf("%s has what answers: %s", what, text)
		}
	}
	if meta := string(encode(r.Result.Meta)); !strings.Contains(meta, ticket) { // where it is
		t.Errorf("_meta is %s", meta)
	}
}

// TestCardIsNoCall: what the card asks is neither in the record of calls nor in the rate of the
// caller; it has a budget of its own.
func TestCardIsNoCall(t *testing.T) {
	_, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Confirm, Title: "The page asks."})
	let, began := 0, time.Now()
	for n := 0; n < 300 || time.Since(began) < time.Second/4; n++ {
		if c.do(ticket, "state", "{}").code() != "RATE_LIMIT" {
			let++
		}
	}
	for range 20 { // answers count as well
		if c.do(ticket, "answer", `{"ok":true}`).code() != "RATE_LIMIT" {
			let++
		}
	}
	took := time.Since(began)
	if most := 240 + int(took/(time.Minute/240)) + 1; let < 240 || let > most {
		t.Errorf("in %v it let %d requests, and %d at most count", took, let, most)
	}
	if r := c.as(other).since2026(apps).card().do(ticket, "state", "{}"); r.code() != "FORBIDDEN" {
		t.Errorf("another caller: %s", r.text())
	}
	if r := c.tool("look", `{"n":1}`); r.Result.IsError {
		t.Errorf("a call: %s", r.text())
	}
}

// TestNumbersOnTheCard: a host's JavaScript reads numbers as doubles; where that changes arguments,
// the card gets them as they were written, too.
func TestNumbersOnTheCard(t *testing.T) {
	for text, kept := range map[string]bool{`{"n":1.5}`: false, `{"a":-0.25,"b":[1e3]}`: true, `{"n":1.10}`: true, `{"n":9007199254740993}`: true, `{"b":"x","a":null}`: false} {
		got := forCard("shop", &bridge.Question{Input: json.RawMessage(text)})
		if (got.InputText == text) != kept || !kept && got.InputText != "" {
			t.Errorf("%s: %q", text, got.InputText)
		}
	}
}

// TestProofIsCanonical: a proof covers what the arguments mean, however a host writes them again.
func TestProofIsCanonical(t *testing.T) {
	_, c, ticket := asksOnCardOf(t, bridge.Question{Kind: bridge.Interact, Title: "The page waits."})
	rest := `{"inputs":[{"text":"a\u003cb é\"","type":"text","x":10.5,"y":0}]}`
	proof := c.prove(ticket, "act", `{"inputs":[{"text":"a<b é\"","type":"text","x":10.5,"y":0}]}`)
	r := c.tool("pagetools_card", fmt.Sprintf(`{"inputs":[{"y":-0.0e1 , "x":1.05E1,"type":"text","text":"a<b \u00e9\""}], "proof":%q,"op":"act","ticket":%q}`, proof, ticket))
	if r.Result.IsError {
		t.Errorf("written otherwise: %s", r.text())
	}
	if r := c.raw(ticket, "act", proof, strings.Replace(rest, "10.5", "10.6", 1)); r.code() != "FORBIDDEN" {
		t.Errorf("another number: %s", r.text())
	}
}

// TestCardActs: the person sees the page, and acts in it with the pen, which nobody else holds
// meanwhile; what the page makes of it ends the question.
func TestCardActs(t *testing.T) {
	w := newWorld(t, Options{})
	over := make(chan struct{})
	w.router.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		s := bridgetest.Asks(bridge.Question{Kind: bridge.Interact, Title: "The page waits."}, func(a *bridge.Answer) bridge.Step { return bridge.Step{Data: encode(a)} })
		s.Pause.Over = over
		return s
	})
	c := w.as(agent).since2026(apps).card()
	ticket := ticketIn(c.tool("look", `{}`))
	shows := func(op, rest string) {
		t.Helper()
		r := c.do(ticket, op, rest)
		var got struct{ Width, Height float64 }
		if _ = json.Unmarshal(r.Result.Structured, &got); r.Result.IsError || len(r.Result.Content) != 1 || r.Result.Content[0].Type != "image" || got.Width != 800 || got.Height != 600 {
			t.Errorf("%s: %s %+v", op, r.text(), r.Result)
		}
	}
	shows("picture", "{}")
	shows("act", `{"inputs":[{"type":"mousemove","x":10,"y":20},{"button":"left","clicks":1,"type":"mousedown","x":10,"y":20}]}`)
	acts := w.router.Views()[1].Acts()
	if len(acts) != 2 || acts[1].X != 10 || acts[1].Button != "left" || len(w.router.Views()[0].Acts()) != 0 {
		t.Errorf("in the page: %+v", acts)
	}
	many := strings.TrimSuffix(strings.Repeat(`{"text":"x","type":"text"},`, 33), ",")
	for name, rest := range map[string]string{
		"nothing": `{"inputs":[]}`, "too much": `{"inputs":[` + many + `]}`, "no list": `{"inputs":{}}`, "an unknown member": `{"inputs":[{"type":"text","text":"x","x2":1}]}`,
		"an unknown type": `{"inputs":[{"text":"x","type":"text"},{"type":"drag"}]}`, "far away": `{"inputs":[{"type":"mousemove","x":1e9}]}`, "no inputs": `{}`, "another argument": `{"inputs":[{"text":"x","type":"text"}],"ok":true}`,
	} {
		before := len(w.router.Views())
		if r := c.do(ticket, "act", canonicalOf(t, rest)); r.code() != "SCHEMA_ERROR" {
			t.Errorf("%s: %s", name, r.text())
		}
		for _, v := range w.router.Views()[before:] {
			if len(v.Acts()) > 0 {
				t.Errorf("%s: in the page: %+v", name, v.Acts())
			}
		}
	}
	live, err := w.bridge.Live(t.Context(), operator, w.open1(t).ID)
	if err != nil || !live.Take() {
		t.Fatal(err)
	}
	if r := c.do(ticket, "act", `{"inputs":[{"text":"x","type":"text"}]}`); r.code() != "CONFLICT" || !strings.Contains(r.text(), "Somebody else holds the pen") {
		t.Errorf("while an operator holds the pen: %s", r.text())
	}
	live.Close()
	shows("act", `{"inputs":[{"text":"x","type":"text"}]}`)
	id := w.open1(t).ID
	close(over)
	for c.do(ticket, "state", `{"wait":20000}`).state(t).State != "over" {
	}
	if err := w.bridge.Answer(operator, id, bridge.Answer{}); err == nil || bridge.AsError(err).Details["answeredBy"] != "agent via card" { // acts in the page were the answer
		t.Errorf("who it was: %v", err)
	}
	for _, op := range []string{"picture", "act"} {
		if r := c.do(ticket, op, map[string]string{"picture": "{}", "act": `{"inputs":[{"text":"x","type":"text"}]}`}[op]); r.code() != "CONFLICT" {
			t.Errorf("%s after the end: %s", op, r.text())
		}
	}
}

func canonicalOf(t *testing.T, text string) string {
	t.Helper()
	v := bridgetest.JSON(text)
	return strings.ReplaceAll(string(v.Canonical()), "1e+9", "1000000000")
}

// TestNoPictureOfDialogs: where the page shows a dialog, or no page was reached, there is nothing
// to see and nothing to act in.
func TestNoPictureOfDialogs(t *testing.T) {
	for tool, kind := range map[string]bridge.Kind{"look": bridge.Confirm, "buy": bridge.Approve} {
		w := newWorld(t, Options{})
		w.asking(bridge.Question{Kind: kind, Title: "The page asks."})
		c := w.as(agent).since2026(apps).card()
		ticket := ticketIn(c.tool(tool, `{}`))
		for op, rest := range map[string]string{"picture": "{}", "act": `{"inputs":[{"text":"x","type":"text"}]}`} {
			if r := c.do(ticket, op, rest); r.code() != "WEBTOOL_NOT_FOUND" || len(w.router.Views()) != 0 {
				t.Errorf("%s of %s: %s", op, kind, r.text())
			}
		}
	}
}

// TestPicturesAreBounded: a picture is at most 1280 pixels wide and 200 KiB, whatever the page
// shows.
func TestPicturesAreBounded(t *testing.T) {
	noise := pixels.NewRGBA(pixels.Rect(0, 0, 1600, 1600))
	source := rand.New(rand.NewPCG(1, 2))
	for i := range noise.Pix {
		noise.Pix[i] = byte(source.Uint32())
	}
	plain := pixels.NewRGBA(pixels.Rect(0, 0, 1600, 900))
	for y := range 900 {
		for x := range 1600 {
			plain.Set(x, y, color.RGBA{R: uint8(x / 8), G: 100, B: 50, A: 255})
		}
	}
	for name, from := range map[string]pixels.Image{"noise": noise, "a wide one": plain, "a small one": plain.SubImage(pixels.Rect(0, 0, 300, 200))} {
		var b bytes.Buffer
		if err := jpeg.Encode(&b, from, &jpeg.Options{Quality: 95}); err != nil {
			t.Fatal(err)
		}
		got := bounded(b.Bytes())
		size, err := jpeg.DecodeConfig(bytes.NewReader(got))
		if err != nil || size.Width > 1280 || len(got) > 200<<10 || name == "a small one" && !bytes.Equal(got, b.Bytes()) {
			t.Errorf("%s: %d bytes, %+v, %v", name, len(got), size, err)
		}
		if name != "a wide one" {
			continue
		}
		small, _ := jpeg.Decode(bytes.NewReader(got))
		r, g, _, _ := small.At(size.Width/2, 10).RGBA()
		if size.Width != 1280 || size.Height != 720 || r>>8 < 95 || r>>8 > 105 || g>>8 < 95 || g>>8 > 105 {
			t.Errorf("it is %+v, %d %d in the middle", size, r>>8, g>>8)
		}
	}
}
