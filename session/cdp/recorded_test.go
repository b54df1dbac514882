package cdp

import (
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/session"
)

// TestRecording: a page that is open already is recorded from now on, with its frames and workers and
// without logins, until that is closed; one that says more than is kept says so, and goes on.
func TestRecording(t *testing.T) {
	t.Parallel()
	address := site(t, map[string]http.HandlerFunc{
		"/":      html(`<title>Recorded</title><script>console.log('old');</script>`),
		"/frame": html(`<script>console.info('a frame says'); new Worker(URL.createObjectURL(new Blob(["console.info('a worker says')"])));</script>`),
		"/data": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Set-Cookie", "login=c")
			w.WriteHeader(http.StatusTeapot)
		},
	})
	tab, probe := probedWith(t, session.TabOptions{Record: true}, address+"/")
	recordable, ok := any(tab.tab).(session.Recordable)
	if !ok {
		t.Fatal("a page cannot be recorded")
	}
	r, err := recordable.Record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eval := func(expression string) {
		t.Helper()
		if _, err := probe.Evaluate(t.Context(), expression); err != nil {
			t.Fatal(err)
		}
	}
	elsewhere := strings.Replace(address, "127.0.0.1", "localhost", 1)
	eval(`fetch('/data', {headers: {Authorization: 'Bearer secret', 'X-Mine': 'yes'}}).then((r) => r.text())`)
	eval(`(() => { console.warn('new', 7); document.body.append(Object.assign(document.createElement('iframe'), {src: '` + elsewhere + `/frame'})); })()`)
	said := func(all *session.Traced, text string) bool {
		return slices.ContainsFunc(all.Messages, func(m session.Message) bool { return m.Text == text })
	}
	var got *session.Traced
	for end := time.Now().Add(hang); time.Now().Before(end); {
		if got = r.Traced(t.Context()); said(got, "a frame says") && said(got, "a worker says") {
			break
		}
	}
	if !said(got, "new 7") || !said(got, "a frame says") || !said(got, "a worker says") || said(got, "old") || got.Cut {
		t.Errorf("it has the messages %+v", got.Messages)
	}
	i := slices.IndexFunc(got.Requests, func(x session.TracedRequest) bool { return strings.HasSuffix(x.URL, "/data") })
	if i < 0 {
		t.Fatalf("it has the requests %+v", got.Requests)
	}
	if x := got.Requests[i]; x.Status != http.StatusTeapot || x.Headers.Get("X-Mine") != "yes" || x.Headers.Get("Authorization") != "" || x.Answered.Get("Set-Cookie") != "" {
		t.Errorf("the request is %+v", x)
	}
	r.Close()
	<-r.Over()
	eval(`(() => { console.log('later'); })()`)
	if after := r.Traced(t.Context()); said(after, "later") || len(after.Messages) != len(got.Messages) {
		t.Errorf("after its end it has %+v", after.Messages[len(got.Messages):])
	}

	r, err = recordable.Record(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	eval(`(() => { for (let i = 0; i < 2500; i++) console.log('more'); })()`)
	if got := r.Traced(t.Context()); !got.Cut || len(got.Messages) > 2000 || said(got, "later") {
		t.Errorf("of a page that says much, %d messages, %v", len(got.Messages), got.Cut)
	}
	eval(`1`)
	r.Close()
}
