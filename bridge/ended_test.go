package bridge_test

import (
	"context"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// logged is a call log that hears of every call.
type logged func(bridge.CallRecord)

func (l logged) Log(_ context.Context, r bridge.CallRecord) error { l(r); return nil }

func (logged) Calls(context.Context, bridge.CallFilter) ([]bridge.CallRecord, error) { return nil, nil }

// TestEnded: every call that ended is told once, with what it came to, whether it
// ran or not; one that waits is not.
func TestEnded(t *testing.T) {
	var mu sync.Mutex
	var told []bridge.CallRecord
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("look", ""), bridgetest.Asking("buy", ""))
	b, err := bridge.New(r, bridge.Options{Memory: bridge.Memory{Calls: logged(func(c bridge.CallRecord) {
		mu.Lock()
		defer mu.Unlock()
		told = append(told, c)
	})}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, c := range []bridge.Call{{Site: "shop", Tool: "look"}, {Site: "shop", Tool: "none"}, {Site: "bank", Tool: "look"}, {Site: "shop", Tool: "buy"}} {
		c.Caller, c.Input = bridge.Local(), bridgetest.JSON(`{}`)
		serve(t.Context(), b, &c)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 3 || told[0].Outcome != "ok" || told[0].Site != "shop" || told[1].Code != "WEBTOOL_NOT_FOUND" || told[1].Outcome != "not_run" || told[2].Site != "bank" {
		t.Errorf("told %+v", told)
	}
}
