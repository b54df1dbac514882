package serve_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/e2e/suite"
)

// TestUnfinished (F5): the page of a call is not closed while what the call may change is on its
// way to the site, at most until the call's deadline, and what was cut off is in the log. Who only
// reads is not waited for.
func TestUnfinished(t *testing.T) {
	t.Parallel()
	answer := map[string]chan struct{}{"/post": make(chan struct{}), "/put": make(chan struct{}), "/get": make(chan struct{}), "/never": make(chan struct{})}
	arrived, ended := make(chan string, 10), make(chan string, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/arrived" { // the request before it has
			arrived <- <-arrived
			return
		}
		wait := answer[r.URL.Path]
		if wait == nil {
			w.Header().Set("Content-Type", "text/html")
			_, _ = fmt.Fprint(w, `<!doctype html><meta charset=utf-8><link rel=icon href=data:,><title>Unfinished</title><script>
for (const method of ['post', 'put', 'get', 'never']) document.modelContext.registerTool({name: method, description: 'Sends and does not wait.',
  execute: async () => {
    fetch('/' + method, {method: method === 'never' ? 'POST' : method});
    if (method === 'get') await fetch('/arrived');
    return 'sent';
  }});
document.modelContext.registerTool({name: 'nothing', description: 'Does nothing.', execute: () => 'done'});
</script>`)
			return
		}
		arrived <- r.URL.Path
		select {
		case <-wait:
			ended <- r.URL.Path + " answered"
		case <-r.Context().Done():
			ended <- r.URL.Path + " cut off"
		}
	}))
	t.Cleanup(site.Close)
	s := suite.Serve(t, "shop="+site.URL+"/", "--approval", "auto")
	for _, x := range []struct{ tool, config, want string }{
		{"post", "{}", "answered"}, {"put", "{}", "answered"}, {"get", "{}", "cut off"}, {"never", `{"timeout":1500}`, "cut off"},
	} {
		if got := suite.AsksFor(t, s, "", "shop", "", x.tool, x.config).OK(t); got != "sent" {
			t.Errorf("%s: %v", x.tool, got)
		}
		<-arrived
		if x.want == "answered" { // the page would be gone by now
			if got := suite.AsksFor(t, s, "", "shop", "", "nothing", "{}").OK(t); got != "done" {
				t.Errorf("the next call: %v", got)
			}
			close(answer["/"+x.tool])
		}
		select {
		case got := <-ended:
			if got != "/"+x.tool+" "+x.want {
				t.Errorf("%s: %s", x.tool, got)
			}
		case <-time.After(suite.ReplyWithin):
			t.Fatalf("%s: its request never ends", x.tool)
		}
	}
	suite.Eventually(t, suite.ReplyWithin, "the log has what was cut off", func() bool { return strings.Contains(s.Stderr.String(), "POST "+site.URL+"/never") })
}
