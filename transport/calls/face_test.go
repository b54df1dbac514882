package calls_test

import (
	"bufio"
	"context"
	"encoding/json"
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
)

// TestAccepted: a call that goes on has an address, which says what became of it, until its caller
// forgets it.
func TestAccepted(t *testing.T) {
	w := newWorld(t)
	r := w.send(t, agent, http.MethodPost, "/run/read", `{}`, "Prefer: foo=bar, Respond-Async; x=y")
	r.want(t, http.StatusAccepted, bridge.Working)
	at := "/calls/" + r.call.ID
	for name, want := range map[string]string{"Location": at, "Retry-After": "1", "Preference-Applied": "respond-async", "Cache-Control": "no-store"} {
		if got := r.Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if c := r.call; c.Site != "shop" || c.Action != "read" || len(c.ID) < 26 || !strings.HasPrefix(r.body, `{"status":"accepted","call":{"id":"`) || !c.ExpiresAt.After(c.CreatedAt) {
		t.Errorf("it is %s", r.body)
	}
	r = w.send(t, agent, http.MethodGet, at, "")
	r.want(t, http.StatusOK, bridge.Working)
	tag := r.Header.Get("ETag")
	if again := w.send(t, agent, http.MethodGet, at, "", "If-None-Match: "+tag); again.StatusCode != http.StatusNotModified || again.Header.Get("ETag") != tag {
		t.Errorf("unchanged, it is %d %s", again.StatusCode, again.body)
	}
	w.ok(t, `{"n":1}`)
	r = w.send(t, agent, http.MethodGet, at+"?wait=60", "", "If-None-Match: "+tag)
	r.want(t, http.StatusOK, bridge.Completed)
	if r.Header.Get("ETag") == tag || r.call.HTTPStatus != http.StatusOK || string(r.call.Reply) != `{"n":1}` {
		t.Errorf("it came to %s", r.body)
	}
	w.send(t, agent, http.MethodGet, at, "").want(t, http.StatusOK, bridge.Completed)
	if r = w.send(t, agent, http.MethodDelete, at, ""); r.StatusCode != http.StatusNoContent || r.body != "" {
		t.Errorf("it is forgotten with %d %s", r.StatusCode, r.body)
	}
	w.send(t, agent, http.MethodGet, at, "").wantError(t, http.StatusNotFound, bridge.ResumeNotFound, bridge.Unknown)
	w.send(t, agent, http.MethodGet, "/calls/none", "").wantError(t, http.StatusNotFound, bridge.ResumeNotFound, bridge.NotRun)
	w.send(t, agent, http.MethodGet, "/calls", "").wantError(t, http.StatusNotFound, bridge.WebtoolNotFound, bridge.NotRun) // there is no list
}

// TestInTime: what is over in time, and what fails before it begins, is answered as ever.
func TestInTime(t *testing.T) {
	w := newWorld(t)
	go w.ok(t, `{"n":1}`)
	if r := w.send(t, agent, http.MethodPost, "/run/read", `{}`, "Prefer: respond-async, wait=60"); r.StatusCode != http.StatusOK || r.body != `{"n":1}` || r.Header.Get("Location") != "" {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	go w.ok(t, `{"n":2}`)
	if r := w.send(t, agent, http.MethodPost, "/run/read", `{}`, "Prefer: wait=0"); r.StatusCode != http.StatusOK {
		t.Errorf("wait alone gives %d %s", r.StatusCode, r.body)
	}
	const async = "Prefer: respond-async"
	w.send(t, agent, http.MethodPost, "/run/none", `{}`, async).wantError(t, http.StatusNotFound, bridge.WebtoolNotFound, bridge.NotRun)
	w.send(t, agent, http.MethodPost, "/run/read", `[]`, async).wantError(t, http.StatusBadRequest, bridge.SchemaError, bridge.NotRun)
	w.send(t, answerer, http.MethodPost, "/run/read", `{}`, async).wantError(t, http.StatusForbidden, bridge.Forbidden, bridge.NotRun)
	w.send(t, "unknown-token-of-tests", http.MethodPost, "/run/read", `{}`, async).wantError(t, http.StatusForbidden, bridge.Forbidden, bridge.NotRun)
	r := w.send(t, agent, http.MethodPost, "/run/write", `{}`, async+", wait=60")
	r.want(t, http.StatusAccepted, bridge.InputAwaited)
	if q := r.call.Question; q == nil || q.Kind != bridge.Approve {
		t.Errorf("it asks %s", r.body)
	}
}

// TestClientsGoAway: whoever makes a call, and whoever waits for it, may leave it alone.
func TestClientsGoAway(t *testing.T) {
	w := newWorld(t)
	gone, leave := context.WithCancel(t.Context())
	began := make(chan error, 1)
	go func() {
		res, err := http.DefaultClient.Do(w.request(t, agent, http.MethodPost, "/run/read", `{"a":1}`, "Prefer: respond-async, wait=60", "Idempotency-Key: k").WithContext(gone))
		if err == nil {
			_ = res.Body.Close()
		}
		began <- err
	}()
	w.does(t, `"it runs"`)
	leave()
	if <-began == nil {
		t.Error("it was answered")
	}
	at := w.begin(t, "read", "Idempotency-Key: k") // the same call
	if w.send(t, agent, http.MethodGet, at, "").call.Progress == nil {
		t.Error("it is another call")
	}
	w.ok(t, `1`)
	w.send(t, agent, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.Completed)
	if len(w.aborted) > 0 || len(w.Calls()) != 1 {
		t.Errorf("%d were aborted, %d ran", len(w.aborted), len(w.Calls()))
	}
}

// TestEventsEndWithTheCredential (reach 3): a stream ends when the credential expires that it was
// asked for with; the call goes on.
func TestEventsEndWithTheCredential(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	res, err := http.DefaultClient.Do(w.request(t, expiring, http.MethodGet, at, "", "Accept: text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("it ends with %d, %v", res.StatusCode, err)
	}
	w.send(t, agent, http.MethodGet, at, "").want(t, http.StatusOK, bridge.Working)
}

// TestEvents: a stream has the call as it is, each change, and ends.
func TestEvents(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	res, err := http.DefaultClient.Do(w.request(t, agent, http.MethodGet, at, "", "Accept: text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	lines, last := bufio.NewScanner(res.Body), ""
	event := func() (c transport.LongCall) {
		t.Helper()
		for _, form := range []string{"event: call", "id: ", "data: ", ""} {
			if !lines.Scan() || !strings.HasPrefix(lines.Text(), form) {
				t.Fatalf("%q, want %q: %v", lines.Text(), form, lines.Err())
			}
			if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok && json.Unmarshal([]byte(data), &c) != nil {
				t.Fatalf("not JSON: %s", data)
			}
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				last = id
			}
		}
		return c
	}
	if c := event(); c.State != bridge.Working || c.Progress != nil {
		t.Errorf("it begins with %+v", c)
	}
	w.does(t, "{\n\"done\":1}")
	if c := event(); c.Progress == nil || c.Progress.Parts != 1 {
		t.Errorf("then it is %+v", c)
	}
	w.does(t, `not JSON`)
	if c := event(); c.Progress == nil || string(c.Progress.Last) != `"not JSON"` {
		t.Errorf("then it is %+v", c)
	}
	w.ok(t, `{"n":1}`)
	if c := event(); c.State != bridge.Completed || string(c.Reply) != `{"n":1}` {
		t.Errorf("it ends with %+v", c)
	}
	if lines.Scan() {
		t.Errorf("after the last comes %q", lines.Text())
	}
	if r := w.send(t, agent, http.MethodGet, at, "", "Accept: text/event-stream", "Last-Event-ID: "+last); r.StatusCode != http.StatusNoContent {
		t.Errorf("who has seen the end gets %d %s", r.StatusCode, r.body)
	}
	w.send(t, agent, http.MethodGet, at, "", "Accept: application/json, text/event-stream").want(t, http.StatusOK, bridge.Completed)
}

// TestCancelled (rule 10): DELETE aborts what runs, which is an end of its own, and nothing runs
// that call again: neither GET, nor DELETE, nor its key.
func TestCancelled(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read", "Idempotency-Key: k")
	if r := w.send(t, agent, http.MethodDelete, at, ""); r.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	select {
	case <-w.aborted:
	case <-time.After(hang):
		t.Fatal("the page is not told")
	}
	r := w.send(t, agent, http.MethodGet, at+"?wait=60", "")
	r.want(t, http.StatusOK, bridge.CancelledCall)
	if r.call.HTTPStatus != 0 || r.call.Reply != nil || r.call.Error == nil || r.call.Error.Outcome != bridge.Unknown {
		t.Errorf("it is %s", r.body)
	}
	again := w.send(t, agent, http.MethodPost, "/run/read", `{"a":1}`, "Prefer: respond-async", "Idempotency-Key: k")
	again.want(t, http.StatusAccepted, bridge.CancelledCall)
	if again.Header.Get("Location") != at {
		t.Errorf("the key is that of %s", again.Header.Get("Location"))
	}
	if r = w.send(t, agent, http.MethodDelete, at, ""); r.StatusCode != http.StatusNoContent {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	if again = w.send(t, agent, http.MethodPost, "/run/read", `{"a":1}`, "Prefer: respond-async", "Idempotency-Key: k"); again.code != bridge.Cancelled || again.why != bridge.Unknown || again.Header.Get("Location") != "" {
		t.Errorf("when it is forgotten, its key gives %d %s", again.StatusCode, again.body)
	}

	at = w.begin(t, "write")
	if r = w.send(t, agent, http.MethodDelete, at, ""); r.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r = w.send(t, agent, http.MethodGet, at+"?wait=60", "")
	r.want(t, http.StatusOK, bridge.CancelledCall)
	if r.call.Error.Outcome != bridge.NotRun || len(w.Calls()) != 1 {
		t.Errorf("it is %s, and %d ran", r.body, len(w.Calls()))
	}
}

// TestDeclined: DELETE of a call that waits in its page is a no, and the page makes something of
// it.
func TestDeclined(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	w.does(t, bridgetest.Asks(bridge.Question{Kind: bridge.Confirm}, func(a *bridge.Answer) bridge.Step {
		return bridge.Step{Data: json.RawMessage(fmt.Sprint(a.OK))}
	}))
	w.send(t, agent, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.InputAwaited)
	if r := w.send(t, agent, http.MethodDelete, at, ""); r.StatusCode != http.StatusAccepted {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	r := w.send(t, agent, http.MethodGet, at+"?wait=60", "")
	r.want(t, http.StatusOK, bridge.Completed)
	if string(r.call.Reply) != "false" || len(w.aborted) > 0 {
		t.Errorf("it came to %s", r.body)
	}
}

// TestAnswered: with the rights call and answer, and for one's own call.
func TestAnswered(t *testing.T) {
	w := newWorld(t)
	answer := func(token, at, body string) reply {
		return w.send(t, token, http.MethodPost, at+"/answer", body)
	}
	r := w.send(t, agent, http.MethodPost, "/run/write", `{}`, "Prefer: respond-async")
	yes := fmt.Sprintf(`{"question":%q,"ok":true}`, r.call.Question.ID)
	answer(agent, r.Header.Get("Location"), yes).wantError(t, http.StatusForbidden, bridge.Forbidden, bridge.NotRun)
	answer(answerer, r.Header.Get("Location"), yes).wantError(t, http.StatusForbidden, bridge.Forbidden, bridge.NotRun)
	answer(other, r.Header.Get("Location"), yes).wantError(t, http.StatusNotFound, bridge.ResumeNotFound, bridge.Unknown)

	r = w.send(t, person, http.MethodPost, "/run/write", `{}`, "Prefer: respond-async")
	at, yes := r.Header.Get("Location"), fmt.Sprintf(`{"question":%q,"ok":true}`, r.call.Question.ID)
	for _, bad := range []string{``, `[]`, `{}`, `{"ok":true}`, `{"question":"x"}`, `{"question":1,"ok":true}`, `{"question":"x","ok":1}`,
		`{"question":"x","ok":null}`, `{"question":"x","ok":true,"OK":false}`, `{"question":"x","ok":true,"reason":"y"}`,
		strings.Replace(yes, "}", `,"value":1}`, 1)} {
		answer(person, at, bad).wantError(t, http.StatusBadRequest, bridge.SchemaError, bridge.NotRun)
	}
	answer(person, at, `{"question":"x","ok":true}`).wantError(t, http.StatusConflict, bridge.Conflict, bridge.NotRun)
	w.send(t, person, http.MethodGet, at, "").want(t, http.StatusOK, bridge.InputAwaited)
	if r = answer(person, at, yes); r.StatusCode != http.StatusOK || r.call.ID == "" {
		t.Fatalf("%d %s", r.StatusCode, r.body)
	}
	answer(person, at, yes).wantError(t, http.StatusConflict, bridge.Conflict, bridge.NotRun)
	w.ok(t, `1`)
	w.send(t, person, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.Completed)
}

// TestForeignCalls (rule 3): to another caller, a call is one that never was.
func TestForeignCalls(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	never := at[:len(at)-1] + map[bool]string{true: "A", false: "B"}[at[len(at)-1] != 'A']
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		foreign, none := w.send(t, other, method, at, ""), w.send(t, agent, method, never, "")
		foreign.wantError(t, http.StatusNotFound, bridge.ResumeNotFound, bridge.Unknown)
		cut := func(r reply) string { before, _, _ := strings.Cut(r.body, `,"details"`); return before }
		if cut(foreign) != cut(none) || cut(foreign) == foreign.body {
			t.Errorf("%s\n%s", foreign.body, none.body)
		}
	}
	w.send(t, agent, http.MethodGet, at, "").want(t, http.StatusOK, bridge.Working)
	w.ok(t, `1`)
}

// TestRevokedWhileItWaits (rule 3): who waits for a call with a credential that is revoked is told so at once, and nothing of the
// call, also where that goes on, because another credential of the same caller has begun it.
func TestRevokedWhileItWaits(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	tag := w.send(t, agent, http.MethodGet, at, "").Header.Get("ETag")
	replies := make(chan reply, 33)
	for range 33 {
		go func() { replies <- w.send(t, expiring, http.MethodGet, at+"?wait=60", "", "If-None-Match: "+tag) }()
	}
	(<-replies).wantError(t, http.StatusTooManyRequests, bridge.RateLimit, bridge.NotRun) // the others wait
	w.credentials.Replace([]transport.Credential{{Token: agent, Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}}}})
	w.b.Revoke()
	for range 32 {
		select {
		case r := <-replies:
			r.wantError(t, http.StatusForbidden, bridge.Forbidden, bridge.NotRun)
		case <-time.After(hang):
			t.Fatal("it waits on")
		}
	}
	w.ok(t, `1`)
	w.send(t, agent, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.Completed) // the control
}

// TestManyPoll: of 1,000 requests of one caller that wait at once, most are refused; another caller
// notices nothing; and nothing is left of them.
func TestManyPoll(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	tag := w.send(t, agent, http.MethodGet, at, "").Header.Get("ETag")
	var all sync.WaitGroup
	statuses := make(chan reply, 1000)
	for range 1000 {
		all.Go(func() { statuses <- w.send(t, agent, http.MethodGet, at+"?wait=60", "", "If-None-Match: "+tag) })
	}
	for range 1000 - 32 { // those that wait are not among them
		var r reply
		select {
		case r = <-statuses:
		case <-time.After(hang):
			t.Fatal("too many wait")
		}
		r.wantError(t, http.StatusTooManyRequests, bridge.RateLimit, bridge.NotRun)
		if r.Header.Get("Retry-After") != "1" {
			t.Fatalf("Retry-After is %q", r.Header.Get("Retry-After"))
		}
	}
	w.send(t, agent, http.MethodGet, at, "").want(t, http.StatusOK, bridge.Working) // without waiting
	res, err := http.DefaultClient.Do(w.request(t, agent, http.MethodGet, at, "", "Accept: text/event-stream"))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusTooManyRequests {
		t.Errorf("a stream is %d", res.StatusCode)
	}
	w.ok(t, `1`)
	for range 32 {
		(<-statuses).want(t, http.StatusOK, bridge.Completed)
	}
	all.Wait()
	at = w.begin(t, "read")
	go w.ok(t, `1`)
	w.send(t, agent, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.Completed)
}

// TestWait: what wait takes, and that it ends with its time, and with the process.
func TestWait(t *testing.T) {
	w := newWorld(t)
	at := w.begin(t, "read")
	for _, bad := range []string{"61", "-1", "x", "1.5", "", "1&wait=2"} {
		w.send(t, agent, http.MethodGet, at+"?wait="+bad, "").wantError(t, http.StatusBadRequest, bridge.SchemaError, bridge.NotRun)
	}
	tag := w.send(t, agent, http.MethodGet, at, "").Header.Get("ETag")
	if r := w.send(t, agent, http.MethodGet, at+"?wait=1", "", "If-None-Match: "+tag); r.StatusCode != http.StatusNotModified {
		t.Errorf("%d %s", r.StatusCode, r.body)
	}
	time.AfterFunc(50*time.Millisecond, func() { close(w.done) })
	w.send(t, agent, http.MethodGet, at+"?wait=60", "").want(t, http.StatusOK, bridge.Working)
	w.ok(t, `1`)
}
