package serve_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
)

// longPage has tools that take as long as the site wants, and one whose signal is watched.
const longPage = `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Long</title><script>
const add = (name, execute, annotations) => document.modelContext.registerTool({name, description: 'Takes its time.', annotations, execute});
const at = (path, options) => fetch(path, {method: 'POST', ...options});
add('wait', async (input, {signal} = {}) => {
  signal.addEventListener('abort', () => at('/aborted', {keepalive: true}));
  return (await at('/hold', {signal})).text();
}, {readOnlyHint: true});
add('fail', async () => { await at('/hold'); throw new Error('not today'); }, {readOnlyHint: true});
add('confirm', async () => { await at('/hold'); return 'it was ' + confirm('Really?'); }, {readOnlyHint: true});
add('save', () => 'saved');
</script>`

// longReply holds an answer of the address of a long call.
type longReply struct {
	Status string
	Call   struct {
		ID, State  string
		Question   struct{ ID, Kind string }
		HTTPStatus int
		Reply      json.RawMessage
		Error      suite.Failure
	}
}

// long asks the address of a long call.
func long(t *testing.T, s *suite.Server, method, at string, header ...string) (r suite.Reply, l longReply) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), suite.ReplyWithin)
	defer cancel()
	r = s.In(ctx, "", method, s.URL+at, "", header...)
	if len(r.Body) > 0 {
		if err := json.Unmarshal(r.Body, &l); err != nil {
			t.Fatalf("%s %s: %v: %s", method, at, err, r.Body)
		}
	}
	return r, l
}

// TestLongCalls takes calls to tools of a page in a browser through all that can become of them.
func TestLongCalls(t *testing.T) {
	t.Parallel()
	held, release, aborted := make(chan struct{}, 10), make(chan string), make(chan struct{}, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/hold":
			held <- struct{}{}
			select {
			case text := <-release:
				_, _ = fmt.Fprint(w, text)
			case <-r.Context().Done():
			}
		case "/aborted":
			aborted <- struct{}{}
		default:
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, longPage)
		}
	}))
	t.Cleanup(site.Close)
	s := suite.Serve(t, "shop="+site.URL+"/")
	begin := func(path, body string) string {
		t.Helper()
		r := s.In(t.Context(), "", http.MethodPost, s.URL+path, body, "Prefer", "respond-async")
		if r.Status != http.StatusAccepted || !strings.HasPrefix(r.Header.Get("Location"), "/calls/") {
			t.Fatalf("%d %s", r.Status, r.Body)
		}
		return r.Header.Get("Location")
	}

	t.Run("outlives its request", func(t *testing.T) {
		for path, x := range map[string]struct{ body, want string }{
			"/webtools/shop":              {`{"action":"wait","request":{}}`, `{"status":"ok","data":"done"}`},
			"/webtools/shop/actions/wait": {`{"payload":{}}`, `"done"`},
			"/tools/shop/wait":            {`{}`, `"done"`},
		} {
			at := begin(path, x.body)
			<-held
			if _, l := long(t, s, http.MethodGet, at); l.Call.State != "working" {
				t.Errorf("%s: it is %+v", path, l)
			}
			release <- "done"
			if r, l := long(t, s, http.MethodGet, at+"?wait=60"); l.Call.State != "completed" || l.Call.HTTPStatus != 200 || string(l.Call.Reply) != x.want {
				t.Errorf("%s: it came to %s", path, r.Body)
			}
			if r, _ := long(t, s, http.MethodDelete, at); r.Status != http.StatusNoContent {
				t.Errorf("%s: it is forgotten with %d", path, r.Status)
			}
		}
	})
	t.Run("fails", func(t *testing.T) {
		at := begin("/webtools/shop", `{"action":"fail","request":{}}`)
		<-held
		release <- ""
		r, l := long(t, s, http.MethodGet, at+"?wait=60")
		var e struct{ Error suite.Failure }
		if json.Unmarshal(l.Call.Reply, &e) != nil || l.Call.HTTPStatus != 422 || e.Error.Outcome != "failed" || e.Error.Message != "not today" {
			t.Errorf("it came to %s", r.Body)
		}
	})
	t.Run("is cancelled in the page", func(t *testing.T) {
		at := begin("/webtools/shop", `{"action":"wait","request":{}}`)
		<-held
		if r, _ := long(t, s, http.MethodDelete, at); r.Status != http.StatusAccepted {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		<-aborted
		if r, l := long(t, s, http.MethodGet, at+"?wait=60"); l.Call.State != "cancelled" || l.Call.Error.Outcome != "unknown" || l.Call.Reply != nil {
			t.Errorf("it came to %s", r.Body)
		}
	})
	t.Run("asks in the page", func(t *testing.T) {
		at := begin("/webtools/shop", `{"action":"confirm","request":{}}`)
		<-held
		release <- ""
		if r, l := long(t, s, http.MethodGet, at+"?wait=60"); l.Call.State != "input_required" || l.Call.Question.Kind != "confirm" {
			t.Errorf("it is %s", r.Body)
		}
		if r, _ := long(t, s, http.MethodDelete, at); r.Status != http.StatusAccepted {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		if r, l := long(t, s, http.MethodGet, at+"?wait=60"); l.Call.State != "completed" || !strings.Contains(string(l.Call.Reply), "it was false") {
			t.Errorf("it came to %s", r.Body)
		}
	})
	t.Run("needs consent", func(t *testing.T) {
		at := begin("/webtools/shop", `{"action":"save","request":{}}`)
		if _, l := long(t, s, http.MethodGet, at); l.Call.State != "input_required" || l.Call.Question.Kind != "approve" {
			t.Errorf("it is %+v", l)
		}
		long(t, s, http.MethodDelete, at)
		if r, l := long(t, s, http.MethodGet, at+"?wait=60"); l.Call.State != "cancelled" || l.Call.Error.Outcome != "not_run" {
			t.Errorf("it came to %s", r.Body)
		}
	})
	t.Run("is gone after a restart", func(t *testing.T) {
		at := begin("/webtools/shop", `{"action":"wait","request":{}}`)
		<-held
		another := suite.Serve(t, "shop="+site.URL+"/")
		r, _ := long(t, another, http.MethodGet, at)
		if f := r.Failed(t); r.Status != http.StatusNotFound || f.Code != "RESUME_NOT_FOUND" || f.Outcome != "unknown" {
			t.Errorf("%d %s", r.Status, r.Body)
		}
		long(t, s, http.MethodDelete, at)
		<-aborted
	})
}
