package console_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/transport/console"
)

// told is an event of the stream.
type told struct {
	id, event string
	data      map[string]json.RawMessage
	text      string
}

// events reads the one stream, from an event on.
type events struct {
	lines *bufio.Scanner
	body  io.Closer
}

func (p *page) events(t *testing.T, token, from string) *events {
	t.Helper()
	var headers []string
	if from != "" {
		headers = []string{"Last-Event-ID", from}
	}
	resp := p.send(t, token, http.MethodGet, "/api/events", "", headers...)
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("the stream is %d %v", resp.StatusCode, resp.Header)
	}
	s := bufio.NewScanner(resp.Body)
	s.Buffer(nil, 16<<20)
	return &events{s, resp.Body}
}

// next returns the next event.
func (e *events) next(t *testing.T) (ev told) {
	t.Helper()
	for e.lines.Scan() {
		name, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch name {
		case "id":
			ev.id = value
		case "event":
			ev.event = value
		case "data":
			ev.text = value
			if len(value) > 64<<10 { // to read those takes a while
				return ev
			}
			if err := json.Unmarshal([]byte(value), &ev.data); err != nil {
				t.Fatal(err)
			}
			return ev
		}
	}
	t.Fatalf("the stream ended: %v", e.lines.Err())
	return ev
}

// until returns the next event of that name; those before it must be of the others.
func (e *events) until(t *testing.T, name string) told {
	t.Helper()
	for {
		if ev := e.next(t); ev.event == name {
			return ev
		}
	}
}

func (ev told) get(member string) string { return strings.Trim(string(ev.data[member]), `"`) }

func (p *page) run(t *testing.T, tool, input string) {
	t.Helper()
	p.Serve(t.Context(), &bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Local(), Input: bridgetest.JSON(input)})
}

// TestOneStream: it begins with a snapshot, and tells each change of questions, calls and tools,
// without arguments or results of calls.
func TestOneStream(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	first := p.asks(t)
	e := p.events(t, p.login(t, "ada"), "")
	ev := e.next(t)
	if ev.event != "snapshot" || ev.get("node") != "here" || ev.get("reset") != "false" || !strings.HasPrefix(ev.id, "here:") ||
		strings.Count(ev.text, first) != 2 || !strings.Contains(ev.text, `"stage":"asked"`) || !strings.Contains(string(ev.data["sites"]), `"name":"shop"`) {
		t.Errorf("it begins with %+v", ev)
	}
	second := p.asks(t)
	if ev = e.until(t, "question.opened"); ev.get("id") != second || ev.get("node") != "here" || ev.get("site") != "shop" || ev.get("call") == "" {
		t.Errorf("a question is %s", ev.text)
	}
	call := ev.get("call")
	if err := p.Answer(person, second, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if ev = e.until(t, "question.closed"); ev.get("id") != second || ev.get("answeredBy") != "person" || ev.get("ok") != "true" {
		t.Errorf("its answer is %s", ev.text)
	}
	if ev = e.until(t, "call.ended"); ev.get("call") != call || ev.get("outcome") != "ok" || ev.get("stage") != "ended" {
		t.Errorf("its end is %s", ev.text)
	}
	p.run(t, "find", `{"secret":"in-the-arguments"}`)
	for {
		if ev = e.next(t); strings.Contains(ev.text, "in-the-arguments") {
			t.Errorf("it tells arguments: %s", ev.text)
		}
		if ev.event == "call.ended" && ev.get("tool") == "find" {
			break
		}
	}
	p.Router.Declare("shop", bridgetest.Asking("buy", ""), bridgetest.Tool("look", ""))
	if ev = e.until(t, "tools"); string(ev.data["added"]) != `["look"]` || string(ev.data["removed"]) != `["find"]` || !strings.Contains(string(ev.data["site"]), `"tools":2`) {
		t.Errorf("the tools are %s", ev.text)
	}
}

// TestWhyAsked: a question says which layers of the policy wanted it, and whether the caller made such a call before, as far as that
// is remembered; of one that nobody answered, nothing is said.
func TestWhyAsked(t *testing.T) {
	records := &console.Records{}
	p := servePageOf(t, memory(t), console.Options{Records: records}, bridge.Options{Sites: map[string]bridge.SiteOptions{
		"shop": {Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "b*", Level: policy.Ask}}}}}})
	destructive := bridgetest.Asking("buy", "")
	destructive.Annotations = json.RawMessage(`{"destructiveHint":true}`)
	p.Router.Declare("shop", destructive, bridgetest.Asking("book", ""))
	e := p.events(t, p.login(t, "ada"), "")
	e.until(t, "snapshot")
	first := p.asks(t)
	ev := e.until(t, "question.opened")
	want := `[{"name":"operator","level":"ask","reason":"the operator's rule \"b*\"","decided":true},{"name":"hints","level":"ask","reason":"the site says that the tool destroys something","decided":false}]`
	if string(ev.data["why"]) != want || ev.get("firstSince") == "" {
		t.Errorf("the first question is %s", ev.text)
	}
	if status, body := p.as(t, viewing, http.MethodGet, "/api/questions/"+first, ""); status != http.StatusOK || !strings.Contains(body, `"why":`+want) {
		t.Errorf("by itself it is %d %s", status, body)
	}
	p.calls(t, viewing, "?q=status:running", 1)
	p.asks(t)
	if ev = e.until(t, "question.opened"); ev.get("firstSince") != "" {
		t.Errorf("the second question is %s", ev.text)
	}
	forgetful := servePage(t, memory(t), console.Options{})
	e = forgetful.events(t, forgetful.login(t, "ada"), "")
	e.until(t, "snapshot")
	forgetful.asks(t)
	if ev = e.until(t, "question.opened"); ev.get("firstSince") != "" || !strings.Contains(string(ev.data["why"]), `"reason":"nothing says that this tool may run unasked"`) {
		t.Errorf("without records the first question is %s", ev.text)
	}
}

// TestStreamGoesOn: Last-Event-ID gets what was missed, as long as it is kept; what cannot be known
// gets a snapshot that says so.
func TestStreamGoesOn(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	token := p.login(t, "ada")
	e := p.events(t, token, "")
	from := e.next(t).id
	id := p.asks(t)
	e.until(t, "question.opened")
	_ = e.body.Close()
	e = p.events(t, token, from)
	if ev := e.next(t); ev.event == "snapshot" {
		t.Errorf("what was missed is a snapshot: %s", ev.text)
	}
	_ = e.body.Close()
	e = p.events(t, token, "")
	start, looked := e.next(t).id, false
	for n := 0; n < 300; { // more than are kept, which are 256
		p.run(t, "find", `{}`)
		for ended := false; !ended; n++ { // then it is kept
			ended = e.next(t).event == "call.ended"
		}
		if n >= 200 && !looked { // some more may have come
			if looked = true; p.events(t, token, start).next(t).event == "snapshot" {
				t.Errorf("%d events are not kept", n)
			}
		}
	}
	for _, x := range []struct{ from, reset string }{{from, "true"}, {"here:1", "true"}, {"nonsense", "false"}, {"there:5", "false"}, {"here:99999999999999999", "true"}} {
		e = p.events(t, token, x.from)
		if ev := e.next(t); ev.event != "snapshot" || ev.get("reset") != x.reset || !strings.Contains(ev.text, id) {
			t.Errorf("from %s it goes on with %.300s", x.from, ev.text)
		}
	}
}

// TestStreamOfSomeSites: a caller of some sites is told of no other.
func TestStreamOfSomeSites(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	p.Router.Add("bank", bridgetest.Asking("pay", ""))
	set, err := p.PrepareSites(map[string]bridge.SiteOptions{"shop": {}, "bank": {}})
	if err != nil {
		t.Fatal(err)
	}
	set(func() {})
	some, all := p.events(t, shopper, ""), p.events(t, answerer, "")
	if ev := some.next(t); strings.Contains(ev.text, "bank") {
		t.Errorf("it begins with %s", ev.text)
	}
	if ev := all.next(t); !strings.Contains(ev.text, "bank") {
		t.Errorf("the control: it begins with %s", ev.text)
	}
	p.Serve(context.Background(), &bridge.Call{Site: "bank", Tool: "pay", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	if ev := all.until(t, "question.opened"); ev.get("site") != "bank" {
		t.Errorf("the control is told %s", ev.text)
	}
	id := p.asks(t)
	for ev := some.next(t); ev.get("id") != id; ev = some.next(t) {
		if strings.Contains(ev.text, "bank") {
			t.Errorf("it is told %s", ev.text)
		}
	}
}

// TestTwoTabs: of two people who answer at once one decides; both tabs see who.
func TestTwoTabs(t *testing.T) {
	p := servePage(t, memory(t), console.Options{})
	tokens := []string{p.login(t, "ada"), p.login(t, "bob")}
	tabs := []*events{p.events(t, tokens[0], ""), p.events(t, tokens[1], "")}
	for _, tab := range tabs {
		tab.until(t, "snapshot")
	}
	id := p.asks(t)
	for _, tab := range tabs {
		if ev := tab.until(t, "question.opened"); ev.get("id") != id {
			t.Errorf("a tab sees %s", ev.text)
		}
	}
	type reply struct {
		status int
		body   string
	}
	replies := make([]chan reply, 2)
	for i, token := range tokens {
		replies[i] = make(chan reply, 1)
		go func() { // ends with the reply
			status, body := p.as(t, token, http.MethodPost, "/api/questions/"+id, fmt.Sprintf(`{"ok":%t}`, i == 0))
			replies[i] <- reply{status, body}
		}()
	}
	a, b := <-replies[0], <-replies[1]
	if a.status+b.status != http.StatusOK+http.StatusConflict {
		t.Fatalf("both answers: %v, %v", a, b)
	}
	winner, loser := "console:ada", b
	if b.status == http.StatusOK {
		winner, loser = "console:bob", a
	}
	if !strings.Contains(loser.body, `"answeredBy":"`+winner+`"`) {
		t.Errorf("the loser sees %s", loser.body)
	}
	for _, tab := range tabs {
		if ev := tab.until(t, "question.closed"); ev.get("id") != id || ev.get("answeredBy") != winner || ev.get("ok") != strconv.FormatBool(winner == "console:ada") {
			t.Errorf("a tab sees %s", ev.text)
		}
	}
}

// TestMe says who uses the page and what they may.
func TestMe(t *testing.T) {
	p := servePage(t, memory(t), console.Options{Version: "1.2.3"})
	for token, want := range map[string]string{
		p.login(t, "ada"): `{"name":"ada","rights":["view","answer","call"],"sites":null,"node":"here","version":"1.2.3"`,
		viewing:           `{"name":"viewer","rights":["view"],"sites":null`,
		shopper:           `{"name":"shopper","rights":["view","answer","call"],"sites":["shop"]`,
	} {
		if status, body := p.as(t, token, http.MethodGet, "/api/me", ""); status != http.StatusOK || !strings.HasPrefix(body, want) {
			t.Errorf("it is %d %s", status, body)
		}
	}
	if status, body := p.as(t, agent, http.MethodGet, "/api/me", ""); status != http.StatusForbidden {
		t.Errorf("an agent is %d %s", status, body)
	}
}
