package console_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/console"
)

// taped are recordings that a test sets.
type taped struct {
	mu       sync.Mutex
	calls    map[string]console.Recorded
	sessions map[string]console.Recorded
	written  *console.TracedCall
}

func (x *taped) Call(id string) (console.Recorded, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, there := x.calls[id]
	return r, there
}

func (x *taped) Session(id string) (console.Recorded, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r, there := x.sessions[id]
	return r, there
}

func (x *taped) RecordSession(_ context.Context, s bridge.SessionState) error {
	if s.ID == "full" {
		return bridge.Errorf(bridge.RateLimit, "", bridge.NotRun, "Too many.")
	}
	x.set(s.ID, false)
	return nil
}

func (x *taped) StopSession(id string) { x.set(id, true) }

func (x *taped) set(id string, over bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.sessions == nil {
		x.sessions = map[string]console.Recorded{}
	}
	x.sessions[id] = console.Recorded{Site: "shop", Since: time.Unix(1, 0), Until: time.Unix(601, 0), Over: over,
		HAR: func(context.Context) ([]byte, error) { return []byte("har of session " + id), nil }}
}

func (x *taped) WriteTrace(w io.Writer, c *console.TracedCall) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.written = c
	_, err := fmt.Fprintf(w, "trace of %s", c.Call)
	return err
}

// TestTraces: who may answer gets the trace of a call, and what was recorded of its page and of a
// session's, of any process; nobody else does, and nobody names the files.
func TestTraces(t *testing.T) {
	elsewhere := &taped{}
	b, err := bridge.New(bridgetest.NewRouter().Add("garden", bridgetest.Tool("dig", "")), bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	over := make(chan struct{})
	t.Cleanup(func() { close(over); b.Close() })
	records := &console.Records{}
	records.Gather(t.Context(), b, "there")
	there := other{transport.Trusted(transport.NewMux(console.New(b, console.Options{Done: over, Node: "there", Traces: elsewhere, Records: records}).Routes()...), person, transport.Options{})}
	tapes, s := &taped{calls: map[string]console.Recorded{}}, &scripted{state: "running"}
	p := servePageOf(t, memory(t), console.Options{Traces: tapes, Records: &console.Records{},
		Scenario: func(s bridge.Site, o bridge.Observed) ([]byte, error) {
			if string(o.Call.Input.Text()) == `{"q":7}` {
				return nil, errors.New("seven")
			}
			return fmt.Appendf(nil, "%s: %s %s %s", s.Target, o.Tool.Name(), o.Call.Input.Text(), o.End.Data), nil
		},
		Peers: func() map[string]http.RoundTripper { return map[string]http.RoundTripper{"there": there} }}, bridge.Options{Sessions: s})
	ada := p.login(t, "ada")

	id := p.made(t, ada, `{"site":"shop","tool":"find","input":{"q":"tea"},"key":"k1","record":true}`)
	p.became(t, ada, id, "ended")
	seven := p.made(t, ada, `{"site":"shop","tool":"find","input":{"q":7},"key":"k3"}`)
	p.became(t, ada, seven, "ended")
	if _, err := b.Do(t.Context(), &bridge.Call{Site: "garden", Tool: "dig", ID: "FAR\"x", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}); err != nil {
		t.Fatal(err)
	}
	for found := false; !found; { // it is remembered soon
		_, body := p.as(t, answerer, http.MethodGet, "/api/calls", "")
		found = strings.Contains(body, `FAR\"x`)
	}
	tapes.calls[id] = console.Recorded{Site: "shop", Before: []byte("png before"), HAR: func(context.Context) ([]byte, error) { return []byte("har of the call"), nil },
		Did: func() []console.PageEvent {
			return []console.PageEvent{{At: time.Unix(1, 0), Took: 1500 * time.Microsecond, Kind: "request", Bad: true, Text: "GET /<b>"}}
		}}
	s.set(bridge.SessionState{ID: "a", Site: "shop"}, bridge.SessionState{ID: "full", Site: "shop"}, bridge.SessionState{ID: "bank", Site: "bank"})
	if body := p.became(t, answerer, id, "ended"); !strings.Contains(body, `"recorded":true`) {
		t.Errorf("the call is %s", body)
	}
	for _, x := range []struct {
		token, method, path, body string
		status                    int
		want                      string
	}{
		{answerer, http.MethodGet, "/api/calls/" + id + "/trace", "", 200, "trace of " + id},
		{answerer, http.MethodGet, "/api/calls/" + id + "/har", "", 200, "har of the call"},
		{answerer, http.MethodGet, "/api/calls/" + id + "/page", "", 200, `"took":1.5,"kind":"request","bad":true,"text":"GET /<b>"}],"next":null}`},
		{viewing, http.MethodGet, "/api/calls/" + id + "/page", "", 403, `"right":"answer"`},
		{answerer, http.MethodGet, "/api/calls/FAR%22x/page", "", 404, "was not recorded"},
		{answerer, http.MethodGet, "/api/calls/" + id + "/picture/before", "", 200, "png before"},
		{answerer, http.MethodGet, "/api/calls/" + id + "/picture/after", "", 404, "no such picture"},
		{answerer, http.MethodGet, "/api/calls/" + id + "/picture/else", "", 404, "no such picture"},
		{answerer, http.MethodGet, "/api/calls/" + id + "/scenario", "", 200, `https://shop.example/: find {"q":"tea"} `},
		{viewing, http.MethodGet, "/api/calls/" + id + "/scenario", "", 403, `"right":"answer"`},
		{agent, http.MethodGet, "/api/calls/" + id + "/scenario", "", 403, `"right":"answer"`},
		{answerer, http.MethodGet, "/api/calls/" + seven + "/scenario", "", 409, "No scenario can be written of this call: seven."},
		{answerer, http.MethodGet, "/api/calls/FAR%22x/scenario", "", 404, "This process writes no scenarios."},
		{viewing, http.MethodGet, "/api/me", "", 200, `"scenario"]`},
		{viewing, http.MethodGet, "/api/calls/" + id + "/trace", "", 403, `"right":"answer"`},
		{viewing, http.MethodGet, "/api/calls/" + id + "/har", "", 403, `"right":"answer"`},
		{viewing, http.MethodGet, "/api/calls/" + id + "/picture/before", "", 403, `"right":"answer"`},
		{agent, http.MethodGet, "/api/calls/" + id + "/trace", "", 403, `"right":"answer"`},
		{answerer, http.MethodGet, "/api/calls/none/trace", "", 404, "No call with this id"},
		{answerer, http.MethodGet, "/api/calls/FAR%22x/trace", "", 200, "trace of FAR\"x"},
		{shopper, http.MethodGet, "/api/calls/FAR%22x/trace", "", 404, "No call with this id"},
		{answerer, http.MethodGet, "/api/sessions/a/har", "", 404, "was not recorded"},
		{viewing, http.MethodPost, "/api/sessions/a/record", `{"on":true}`, 403, `"right":"answer"`},
		{answerer, http.MethodPost, "/api/sessions/a/record", `{"on":1}`, 400, "on must be true or false"},
		{answerer, http.MethodPost, "/api/sessions/a/record", `{"on":true,"for":1}`, 400, "unknown member"},
		{answerer, http.MethodPost, "/api/sessions/none/record", `{"on":true}`, 404, "not there any more"},
		{shopper, http.MethodPost, "/api/sessions/bank/record", `{"on":true}`, 404, "not there any more"},
		{answerer, http.MethodPost, "/api/sessions/full/record", `{"on":true}`, 429, "Too many."},
		{answerer, http.MethodPost, "/api/sessions/a/record", `{"on":true}`, 200, `"recording":{"since":"1970`},
		{viewing, http.MethodGet, "/api/sessions", "", 200, `"over":false}`},
		{viewing, http.MethodGet, "/api/sessions/a/har", "", 403, `"right":"answer"`},
		{answerer, http.MethodPost, "/api/sessions/a/record", `{"on":false}`, 200, `"over":true`},
		{answerer, http.MethodGet, "/api/sessions/a/har", "", 200, "har of session a"},
		{shopper, http.MethodPost, "/api/calls", `{"site":"shop","tool":"find","input":{},"key":"k2","record":1}`, 400, "record must be true or false"},
	} {
		if status, body := p.as(t, x.token, x.method, x.path, x.body); status != x.status || !strings.Contains(body, x.want) {
			t.Errorf("%s %s %s: %d %s", x.method, x.path, x.body, status, body)
		}
	}
	if c := tapes.written; c == nil || !c.Kept || string(c.Input) != `{"q":"tea"}` || len(c.Result) == 0 || c.Status != "ok" || c.Began.IsZero() {
		t.Errorf("the trace was of %+v", c)
	}
	for path, name := range map[string]string{"/api/calls/FAR%22x/trace": "trace-FARx.zip", "/api/sessions/a/har": "a.har"} {
		resp := p.send(t, answerer, http.MethodGet, path, "")
		_ = resp.Body.Close()
		if resp.Header.Get("Content-Type") != "application/octet-stream" || resp.Header.Get("Content-Disposition") != `attachment; filename="`+name+`"` || resp.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s is %v", path, resp.Header)
		}
	}
}

// TestRecordNeedsTheRight: who may only run tools records no page.
func TestRecordNeedsTheRight(t *testing.T) {
	w := open(t, bridge.Caller{Name: "runner", May: []bridge.Right{bridge.MayView, bridge.MayCall}})
	const call = `{"site":"shop","tool":"buy","input":{},"key":"k","record":%v}`
	if status, body := w.do(t, http.MethodPost, "/api/calls", fmt.Sprintf(call, true)); status != http.StatusForbidden || !strings.Contains(body, `"right":"answer"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := w.do(t, http.MethodPost, "/api/calls", fmt.Sprintf(call, false)); status != http.StatusAccepted {
		t.Errorf("the control: %d %s", status, body)
	}
}

// TestReplays: a call that was made from another one says so, and so does that one, to who may see calls.
func TestReplays(t *testing.T) {
	p := servePageOf(t, memory(t), console.Options{Records: &console.Records{}}, bridge.Options{})
	ada := p.login(t, "ada")
	first := p.made(t, ada, `{"site":"shop","tool":"find","input":{},"key":"k1"}`)
	second := p.made(t, ada, `{"site":"shop","tool":"find","input":{},"key":"k2","replays":"`+first+`"}`)
	for _, token := range []string{ada, viewing} {
		if body := p.became(t, token, second, "ended"); !strings.Contains(body, `"replays":"`+first+`"`) || strings.Contains(body, "replayed") {
			t.Errorf("the replay is %s", body)
		}
		if body := p.became(t, token, first, "ended"); !strings.Contains(body, `"replayed":["`+second+`"]`) || strings.Contains(body, "replays") {
			t.Errorf("the call that was replayed is %s", body)
		}
	}
	for _, of := range []string{`7`, `"` + strings.Repeat("x", 129) + `"`} {
		if status, body := p.as(t, ada, http.MethodPost, "/api/calls", `{"site":"shop","tool":"find","input":{},"key":"k3","replays":`+of+`}`); status != http.StatusBadRequest {
			t.Errorf("%d %s", status, body)
		}
	}
}
