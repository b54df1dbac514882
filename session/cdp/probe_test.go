package cdp

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/session"
)

// probed opens a page that is tested, and waits until it is loaded.
func probed(t *testing.T, address string) (*shown, *session.Probe) {
	t.Helper()
	return probedWith(t, session.TabOptions{Record: true}, address)
}

func probedWith(t *testing.T, o session.TabOptions, address string) (*shown, *session.Probe) {
	t.Helper()
	p := showPageWith(t, shared, o, address)
	p.complete(t)
	return p, p.Probe()
}

// complete waits until the page is loaded.
func (s *shown) complete(t *testing.T) {
	t.Helper()
	loaded := `new Promise((done) => document.readyState === 'complete' ? done() : addEventListener('load', done))`
	if _, err := s.Probe().Evaluate(t.Context(), loaded+".then(() => 1)"); err != nil {
		t.Fatal(err)
	}
}

// TestProbeLooks: what a person sees of a page can be read, also where the page has other ideas.
func TestProbeLooks(t *testing.T) {
	t.Parallel()
	_, probe := probed(t, site(t, map[string]http.HandlerFunc{"/": html(`<p class=a>One <b>two</b></p><p class=a>three</p>
<input id=in value=old><p id=no style="visibility:hidden">secret</p>
<script>
document.querySelectorAll = () => [];
JSON.stringify = () => '"mine"';
document.getElementById('in').value = 'new';
</script>`)})+"/")
	for selector, want := range map[string]session.Element{
		".a":   {Text: "One two", Count: 2, Visible: true},
		"#in":  {Value: "new", Count: 1, Visible: true},
		"#no":  {Count: 1},
		".new": {},
	} {
		if got, err := probe.Look(t.Context(), selector); err != nil || got != want {
			t.Errorf("%s is %+v, %v, want %+v", selector, got, err, want)
		}
	}
	_, err := probe.Look(t.Context(), "p[")
	if e := bridge.AsError(err); e.Code != bridge.SchemaError || !strings.Contains(e.Message, `"p["`) {
		t.Errorf("a bad selector: %v", err)
	}
}

// TestProbeEvaluates: an expression has its value as JSON, or says why it has none.
func TestProbeEvaluates(t *testing.T) {
	t.Parallel()
	_, probe := probed(t, site(t, map[string]http.HandlerFunc{"/": html(`<title>Page</title>`)})+"/")
	for expression, want := range map[string]string{
		`({a: [1, "x"]})`: `{"a":[1,"x"]}`, `Promise.resolve(document.title)`: `"Page"`,
		`undefined`: `null`, `null`: `null`,
	} {
		if got, err := probe.Evaluate(t.Context(), expression); err != nil || got != want {
			t.Errorf("%s is %s, %v, want %s", expression, got, err, want)
		}
	}
	for expression, want := range map[string]string{
		`nowhere.x`: "nowhere is not defined", `(() => { throw 7 })()`: "7", `((`: "SyntaxError",
	} {
		_, err := probe.Evaluate(t.Context(), expression)
		if e := bridge.AsError(err); err == nil || e.Code != bridge.ToolError || !strings.Contains(e.Message, want) {
			t.Errorf("%s failed as %v, want %s", expression, err, want)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := probe.Evaluate(ctx, `new Promise(() => {})`); bridge.AsError(err).Reason != bridge.Timeout {
		t.Errorf("what never ends failed as %v", err)
	}
	// The control: pages that nobody tests have no probe.
	if plain := open(t, shared); plain.Probe() != nil {
		t.Error("a page that is not tested has a probe")
	}
}

// TestProbeTraces: what a page said and asked for is told with its times and headers, of pages that
// are opened for that alone. A page that says much keeps itself from nothing else.
func TestProbeTraces(t *testing.T) {
	t.Parallel()
	address := site(t, map[string]http.HandlerFunc{
		"/": html(`<script>console.info('hello', 7); console.warn('careful'); setTimeout(() => { throw new Error('thrown') });
const got = fetch('/data?x=1', {headers: {'X-Mine': 'yes'}});
for (let i = 0; i < 2500; i++) console.log('x');</script>`),
		"/data": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusTeapot)
		},
	})
	began := time.Now()
	_, probe := probedWith(t, session.TabOptions{Record: true, Trace: true}, address+"/")
	if _, err := probe.Evaluate(t.Context(), "got.then((r) => r.text()).then(() => 1)"); err != nil {
		t.Fatal(err)
	}
	var got *session.Traced
	var data *session.TracedRequest
	deadline := time.Now().Add(hang)
	for (data == nil || data.Took == 0) && time.Now().Before(deadline) { // the browser tells of it by itself
		got = probe.Traced(t.Context())
		for i := range got.Requests {
			if strings.HasSuffix(got.Requests[i].URL, "/data?x=1") {
				data = &got.Requests[i]
			}
		}
	}
	if len(got.Messages) < 1000 || len(got.Messages) > 2000 || got.Messages[0].Level != "info" ||
		got.Messages[0].Text != "hello 7" || got.Messages[1].Level != "warning" || got.Messages[0].At.Before(began) {
		t.Errorf("%d messages, the first %+v", len(got.Messages), got.Messages[:min(2, len(got.Messages))])
	}
	if data == nil || data.Status != http.StatusTeapot || data.MIMEType != "application/json" || data.Took <= 0 ||
		data.At.Before(began) || data.Headers.Get("X-Mine") != "yes" ||
		len(data.Answered) == 0 {
		t.Errorf("the request was %+v of %d", data, len(got.Requests))
	}
	_, other := probed(t, address+"/") // the control: nothing is kept that nobody asked for
	if got := other.Traced(t.Context()); len(got.Messages)+len(got.Requests) > 0 {
		t.Errorf("without asking, %d messages and %d requests", len(got.Messages), len(got.Requests))
	}
}
