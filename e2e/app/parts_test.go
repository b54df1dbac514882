package app

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// endlessPage yields without end, and tells its server when it is closed.
const endlessPage = `<!doctype html><script>
document.modelContext.registerTool({name: 'endless', description: 'Yields.', annotations: {readOnlyHint: true}, async *execute() {
	try { for (let i = 1; ; i++) { yield i; await new Promise((r) => setTimeout(r, 10)) } } finally { await fetch('/closed', {method: 'POST'}) } }});
</script>`

// TestPartsEndWithTheirPage (anyone 6): the end of a session, and of the browser, closes what a
// tool yields from once; its caller learns that the call may have run. TestMain finds what is left.
func TestPartsEndWithTheirPage(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 10)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			closed <- struct{}{}
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = w.Write([]byte(endlessPage))
	}))
	defer site.Close()
	target, err := ParseTarget(site.URL)
	if err == nil {
		err = NameAll([]*Target{target})
	}
	if err != nil {
		t.Fatal(err)
	}
	var browsers Browsers
	a, err := Start(t.Context(), Options{Sites: []Site{{Target: target, Tools: bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}}}, Local: browser(), Browsers: &browsers})
	if err != nil {
		t.Fatal(err)
	}
	none, err := bridge.ReadValue("the arguments", []byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	revoked := make(chan struct{})
	for _, x := range []struct {
		name    string
		revoked chan struct{}
		end     func()
		want    bridge.Code
	}{
		{"revoked", revoked, func() { close(revoked); a.Bridge.Revoke(); a.Revoke() }, bridge.Forbidden},
		{"browser", nil, func() { _ = browsers.Close() }, bridge.InternalError},
	} {
		said := make(chan *bridge.Error, 1)
		started := make(chan *bridge.Run, 1)
		c := &bridge.Call{Site: target.Name, Tool: "endless", Session: "s", Input: none, Started: func(r *bridge.Run) { started <- r },
			Caller: bridge.Caller{Name: x.name, May: []bridge.Right{bridge.MayCall}, Revoked: x.revoked}}
		go func() { said <- a.Bridge.Complete(context.WithoutCancel(t.Context()), c).Err }()
		run := <-started
		for p, more := run.Progress(); p == nil; p, more = run.Progress() {
			select {
			case <-more:
			case e := <-said:
				t.Fatalf("%s: it ends with %v", x.name, e)
			}
		}
		x.end()
		if e := <-said; e == nil || e.Code != x.want || x.revoked == nil && e.Reason != bridge.Draining || e.Outcome != bridge.Unknown {
			t.Errorf("%s: it ends with %v", x.name, e)
		}
		select {
		case <-closed:
		case <-time.After(10 * time.Second):
			t.Errorf("%s: nobody closed what it yields from", x.name)
		}
	}
	if n := len(closed); n > 0 {
		t.Errorf("closed %d times too often", n)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
}
