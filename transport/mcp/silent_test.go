package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport"
	"github.com/pagetools/pagetools/transport/mcp/toolset"
)

// silent is a face over a site that answers and one that is never opened.
func silent(t *testing.T) (f *Face, r *bridgetest.Router, opened func(), call func(session, method, name string) string) {
	t.Helper()
	r = bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", "")).Add("other", bridgetest.Tool("peek", ""))
	opened = r.Opening("other")
	b, err := bridge.New(r, bridge.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if f, err = New(b, Options{}); err != nil {
		t.Fatal(err)
	}
	h := transport.Trusted(transport.NewMux(f.Routes()...), bridge.Local(), transport.Options{})
	return f, r, opened, func(session, method, name string) string {
		body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"name":%q,"arguments":{}}}`, method, modernMeta, name)
		req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp?session="+session, strings.NewReader(body))
		for key, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
			"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name} {
			req.Header.Set(key, value)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		return w.Body.String()
	}
}

// TestSilentSite (B4): a call of one site does not wait for another one that is being opened; a
// call of that one does.
func TestSilentSite(t *testing.T) {
	_, _, opened, call := silent(t)
	if got := call("a", "tools/call", "shop_look"); !strings.Contains(got, `"text":"{}"`) {
		t.Errorf("a call beside a silent site gives %s", got)
	}
	done := make(chan string, 1)
	go func() { done <- call("a", "tools/call", "other_peek") }()
	opened()
	if got := <-done; !strings.Contains(got, `"text":"{}"`) {
		t.Errorf("a call of a site that is opened meanwhile gives %s", got)
	}
}

// TestListsAreOfCatalogs (B7): however many states a caller names, there is one list for one
// catalog.
func TestListsAreOfCatalogs(t *testing.T) {
	f, _, opened, call := silent(t)
	opened()
	for i := range 200 {
		if got := call(fmt.Sprint("s", i), "tools/call", "shop_look"); !strings.Contains(got, `"text":"{}"`) {
			t.Fatal(got)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	distinct := map[*toolset.List]bool{}
	for _, l := range f.lists {
		distinct[l.List] = true
	}
	if len(f.lists) != 200 || len(distinct) != 1 {
		t.Errorf("%d states have %d lists", len(f.lists), len(distinct))
	}
}

// TestListsFade (B7): a list of what pages do not declare any more is not held for who had it,
// but it is known what it had.
func TestListsFade(t *testing.T) {
	f, r, opened, call := silent(t)
	opened()
	for i := range 20 {
		call(fmt.Sprint("s", i), "tools/list", "")
	}
	f.fade()
	held := func() (n int) {
		f.mu.Lock()
		defer f.mu.Unlock()
		for _, l := range f.lists {
			if l.List != nil {
				n++
			}
		}
		return n
	}
	if got := held(); got != 20 {
		t.Fatalf("%d lists of 20 are held while they are those of now", got)
	}
	r.Declare("shop", bridgetest.Tool("see", ""))
	f.fade()
	if got := held(); got != 0 {
		t.Errorf("%d lists are held of what is not there any more", got)
	}
	if got := call("s3", "tools/call", "shop_look"); !strings.Contains(got, "had it and took it away since") {
		t.Errorf("a call of what the list had gives %s", got)
	}
}
