package app

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"image/png"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/e2e/har"
	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/transport/console"
)

// recordedPage has a tool that says things, asks its server, and repeats what it was given.
const recordedPage = `<!doctype html><title>recorded</title><script>
console.log('before any call');
fetch('/early');
navigator.modelContext.provideContext({tools: [{name: "send", description: "Sends.",
	inputSchema: {type: "object", properties: {text: {type: "string"}, password: {type: "string", writeOnly: true}}},
	execute: async function* ({text, password}) {
		console.warn('sending ' + text + ' for ' + password);
		const answer = await fetch('/data?access_token=tok-in-address&q=' + encodeURIComponent(text) + '&p=' + password,
			{method: 'POST', body: password, headers: {Authorization: 'Bearer in-a-header', 'X-Api-Key': 'api-key-value', 'X-Plain': 'plain'}});
		yield {message: 'half of it'};
		if (text === 'ask' && !confirm('Really?')) throw new Error('no');
		document.body.style.background = 'rgb(0, 128, 0)';
		yield (await answer.text()) + ' ' + text;
	}}]});
</script><body>`

func startRecorded(t *testing.T) (a *App, site string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "login", Value: "cookie-value"})
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			_, _ = io.WriteString(w, recordedPage)
			return
		}
		_, _ = io.WriteString(w, "answered")
	}))
	target, err := ParseTarget("shop=" + server.URL + "/")
	if err == nil {
		a, err = Start(t.Context(), Options{Sites: []Site{{Target: target, Tools: bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}}}, Local: browser()})
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
		server.Close()
	})
	return a, target.Name
}

func sends(t *testing.T, a *App, site, id, session, text string, record bool) {
	t.Helper()
	input, err := bridge.ReadValue("the arguments", []byte(`{"text":"`+text+`","password":"hunter-two"}`))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Bridge.Do(t.Context(), &bridge.Call{Site: site, Tool: "send", ID: id, Session: session, Caller: bridge.Local(), Input: input, Record: record}); err != nil {
		t.Fatal(err)
	}
}

// unzipped returns the texts of a trace.
func unzipped(t *testing.T, a *App, c *console.TracedCall) map[string]string {
	t.Helper()
	var b bytes.Buffer
	if err := a.Traces.WriteTrace(&b, c); err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name] = string(text)
	}
	return all
}

// noSecrets fails where a text has what nobody may read.
func noSecrets(t *testing.T, what, text string) {
	t.Helper()
	for _, secret := range []string{"hunter-two", "tok-in-address", "in-a-header", "api-key-value", "cookie-value"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s has %s:\n%s", what, secret, text)
		}
	}
}

// TestTraces: the page of a call is recorded where that was asked for, and only then: what it said and
// asked for while the call was in it, pictures before and after, progress and questions, and nothing that
// is a secret; the page of a session for all its calls.
func TestTraces(t *testing.T) {
	t.Parallel()
	a, site := startRecorded(t)
	sends(t, a, site, "plain", "", "unrecorded", false)
	if _, there := a.Traces.Call("plain"); there {
		t.Error("a call is recorded, and nobody asked for it")
	}
	sends(t, a, site, "one", "", "hello", true)
	rec, there := a.Traces.Call("one")
	if !there || !rec.Over || rec.Site != site || len(rec.Before) == 0 || bytes.Equal(rec.Before, rec.After) {
		t.Fatalf("the recording is %v %+v", there, rec)
	}
	if _, err := png.Decode(bytes.NewReader(rec.After)); err != nil {
		t.Errorf("the picture after it: %v", err)
	}
	call := &console.TracedCall{Call: "one", Site: site, Tool: "send", Caller: "local", Status: "ok", Outcome: "ok", Began: rec.Since.Add(-time.Second), Ran: rec.Since, Ended: rec.Until,
		Kept: true, Input: json.RawMessage(`{"text":"hello","password":"***"}`), Result: json.RawMessage(`"hunter-two"`)}
	files := unzipped(t, a, call)
	noSecrets(t, "the trace", files["trace.trace"]+files["trace.network"])
	for _, want := range []string{"call send", "sending hello for ***", `"messageType":"warning"`, "half of it", "picture@2", `{\"text\":\"hello\",\"password\":\"***\"}`} {
		if !strings.Contains(files["trace.trace"], want) {
			t.Errorf("the trace is without %s", want)
		}
	}
	for _, want := range []string{`/data?access_token=***\u0026q=hello`, `"X-Plain"`, `"status":200`} {
		if !strings.Contains(files["trace.network"], want) {
			t.Errorf("the network of the trace is without %s: %s", want, files["trace.network"])
		}
	}
	text, err := rec.HAR(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	noSecrets(t, "the HAR", string(text))
	f, err := har.Read(text)
	if err != nil || f.Log.Version != "1.2" {
		t.Fatalf("the HAR is %v\n%s", err, text)
	}
	if last := f.Log.Entries[len(f.Log.Entries)-1]; !strings.HasSuffix(last.Request.URL, "/data?access_token=***&q=hello&p=***") || last.Response.Status != 200 {
		t.Errorf("the HAR is %s", text)
	}
	kinds := map[string]string{}
	for _, e := range rec.Did() {
		noSecrets(t, "what the page did", e.Text)
		kinds[e.Kind] = e.Text
	}
	if !strings.HasSuffix(kinds["request"], ": 200") || kinds["console"] != "warning: sending hello for ***" || kinds["progress"] == "" {
		t.Errorf("the page did %v", kinds)
	}
	unrecorded := unzipped(t, a, &console.TracedCall{Call: "plain", Site: site, Tool: "send", Status: "ok", Began: time.Now(), Ended: time.Now()})
	if !strings.Contains(unrecorded["trace.trace"], "The page was not recorded") {
		t.Errorf("the control has %s", unrecorded["trace.trace"])
	}
	testSessionTraces(t, a, site)
}

// testSessionTraces: the page of a session is recorded for its calls, until somebody ends that.
func testSessionTraces(t *testing.T, a *App, site string) {
	t.Helper()
	sends(t, a, site, "first", "s1", "first", false)
	all := session.SessionsOf(a.Manager).All()
	if len(all) != 1 {
		t.Fatalf("the sessions are %+v", all)
	}
	for range 2 { // the second changes nothing
		if err := a.Traces.RecordSession(t.Context(), all[0]); err != nil {
			t.Fatal(err)
		}
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		operator := bridge.Caller{Name: "ada", May: []bridge.Right{bridge.MayAnswer}}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for ev := range a.Bridge.Watch(ctx, bridge.Interest{Caller: operator, Runs: true}) {
			for _, s := range ev.Runs {
				if s.Question != nil {
					_ = a.Bridge.Answer(operator, s.Question.ID, bridge.Answer{OK: true})
					return
				}
			}
		}
	}()
	run := a.Bridge.Start(t.Context(), callOf(t, site, "asked", "s1", "ask"))
	for {
		q, s := run.Await(t.Context(), time.Minute)
		if q == nil {
			if s.Err != nil {
				t.Fatal(s.Err)
			}
			break
		}
	}
	<-answered
	rec, there := a.Traces.Session(all[0].ID)
	if !there || rec.Over || rec.Until.Before(time.Now().Add(recordFor-time.Minute)) {
		t.Fatalf("the session's recording is %v %+v", there, rec)
	}
	of, there := a.Traces.Call("asked")
	if !there {
		t.Fatal("the call in the session is not recorded")
	}
	files := unzipped(t, a, &console.TracedCall{Call: "asked", Site: site, Tool: "send", Status: "ok", Began: of.Since, Ended: of.Until})
	for _, want := range []string{"asked: confirm", "Really?", `"answer":"accepted"`} {
		if !strings.Contains(files["trace.trace"], want) {
			t.Errorf("the trace is without %s: %s", want, files["trace.trace"])
		}
	}
	if all := files["trace.trace"] + files["trace.network"]; strings.Contains(all, "before any call") || strings.Contains(all, "/early") {
		t.Error("what was before the call is in its trace")
	}
	a.Traces.StopSession(all[0].ID)
	for rec.Over = false; !rec.Over; rec, _ = a.Traces.Session(all[0].ID) {
		if t.Context().Err() != nil {
			t.Fatal("it does not end")
		}
	}
	sends(t, a, site, "late", "s1", "late", false)
	if _, there := a.Traces.Call("late"); there {
		t.Error("a call is recorded after its session's recording was ended")
	}
	text, err := rec.HAR(t.Context())
	if err != nil || !strings.Contains(string(text), "q=ask") || strings.Contains(string(text), "q=late") || strings.Contains(string(text), "q=first") {
		t.Errorf("%v: the session's HAR is %s", err, text)
	}
	noSecrets(t, "the session's HAR", string(text))
}

func callOf(t *testing.T, site, id, session, text string) *bridge.Call {
	t.Helper()
	input, err := bridge.ReadValue("the arguments", []byte(`{"text":"`+text+`","password":"hunter-two"}`))
	if err != nil {
		t.Fatal(err)
	}
	return &bridge.Call{Site: site, Tool: "send", ID: id, Session: session, Caller: bridge.Local(), Input: input}
}

// TestQuiet: what is called like a login is masked, and what is not stays.
func TestQuiet(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://a.example/?q=tea&accessToken=x&page=2": "https://a.example/?q=tea&accessToken=***&page=2",
		"/cb#id_token=a.b.c&state=1":                    "/cb#id_token=***&state=1",
		"/?code=abc":                                    "/?code=***",
		"/?api-key=k&apikey=k&x_key=k&monkey=see":       "/?api-key=***&apikey=***&x_key=***&monkey=see",
		"Authorization: Bearer abcdefgh":                "Authorization: Bearer ***",
		"user_password=hunter2 next":                    "user_password=*** next",
		"a=b, tokens are counted":                       "a=b, tokens are counted",
		"the bearer of news":                            "the bearer of news",
	} {
		if got := quiet(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

// TestTracesAreBounded: what is kept of calls makes room, the oldest first; too many secrets end what is
// read of a session.
func TestTracesAreBounded(t *testing.T) {
	t.Parallel()
	tr := &Traces{app: &App{}}
	for i := range maxKeptCalls + 5 {
		tr.keep(&recordedCall{id: string(rune('a' + i)), ended: time.Now()})
	}
	if len(tr.calls) != maxKeptCalls || tr.calls[0].id != "f" {
		t.Errorf("%d calls are kept, from %s on", len(tr.calls), tr.calls[0].id)
	}
	big := strings.Repeat("x", 1<<20)
	for range 40 {
		tr.keep(&recordedCall{id: "big", ended: time.Now(), seen: session.Traced{Messages: []session.Message{{Said: session.Said{Text: big}}}}})
	}
	if tr.bytes > maxKeptBytes || len(tr.calls) < 25 {
		t.Errorf("%d bytes of %d calls", tr.bytes, len(tr.calls))
	}
	tr.forget(time.Now().Add(2 * keepFor))
	if len(tr.calls) != 0 || tr.bytes != 0 {
		t.Errorf("after its time, %d calls of %d bytes are kept", len(tr.calls), tr.bytes)
	}
	s := &recordedSession{}
	tr.conceal(s, []string{"one", "one", "two"})
	if s.full || len(s.secrets) != 2 {
		t.Errorf("the secrets are %v", s.secrets)
	}
	if tr.conceal(s, []string{strings.Repeat("y", maxSecretText)}); !s.full {
		t.Error("secrets have no bound")
	}
}
