package bridgetest_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

func TestRouter(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("add", ""), bridgetest.Asking("buy", ""))
	ref := bridge.Ref{Site: "shop", Session: "s"}
	c, err := r.Catalog(ref)
	if err != nil || len(c.Tools()) != 2 {
		t.Fatalf("%v %v", c, err)
	}
	r.DeclareIn("shop", "s", bridgetest.Tool("mine", ""))
	if c, _ := r.Catalog(ref); c.Tool("mine") == nil {
		t.Error("the session has not its own tools")
	}
	if c, _ := r.Catalog(bridge.Ref{Site: "shop"}); c.Tool("mine") != nil {
		t.Error("the session's tools are the site's")
	}
	page, err := r.Acquire(t.Context(), ref)
	if err != nil || r.Leases() != 1 {
		t.Fatalf("%v, %d pages", err, r.Leases())
	}
	got := page.Invoke(t.Context(), bridge.Invocation{Tool: c.Tool("add"), Input: json.RawMessage(`{"a":1}`)})
	if got.Err != nil || string(got.Data) != `{"a":1}` {
		t.Errorf("%s %v", got.Data, got.Err)
	}
	if calls := r.Calls(); len(calls) != 1 || calls[0].Tool != "add" || calls[0].Ref.Session != "s" {
		t.Errorf("%+v", calls)
	}
	page.Release()
	if r.Leases() != 0 {
		t.Error("the page was not given back")
	}
	defer func() {
		if recover() == nil {
			t.Error("a second Release was taken")
		}
	}()
	page.Release()
}

func TestRouterFails(t *testing.T) {
	t.Parallel()
	r := bridgetest.NewRouter().Add("shop")
	planned := errors.New("planned")
	r.Fail("shop", planned)
	r.FailAcquire("shop", planned)
	if _, err := r.Catalog(bridge.Ref{Site: "shop"}); !errors.Is(err, planned) {
		t.Error(err)
	}
	if _, err := r.Acquire(t.Context(), bridge.Ref{Site: "shop"}); !errors.Is(err, planned) {
		t.Error(err)
	}
	if _, err := r.Acquire(t.Context(), bridge.Ref{Site: "nowhere"}); bridge.AsError(err).Code != bridge.WebtoolNotFound {
		t.Error(err)
	}
}
