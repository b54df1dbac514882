package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestMetadataWhileThePageChanges reads while the catalog flips: every read
// finds the webtool.
func TestMetadataWhileThePageChanges(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	stop, changed := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(changed)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				r.Declare("shop", bridgetest.Tool([]string{"a", "b"}[i%2], ""))
			}
		}
	}()
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for range 500 {
				if _, err := b.Webtool(context.Background(), bridge.Ref{Site: "shop", Caller: bridge.Local()}, "", ""); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	readers.Wait()
	close(stop)
	<-changed
}

func TestAPinnedCallIsCompletedBeforeItIsChecked(t *testing.T) {
	narrow := `{"type":"object","properties":{"units":{"enum":["metric"]}},"required":["units"],"additionalProperties":false}`
	wide := `{"type":"object","properties":{"units":{"enum":["metric","imperial"]}},"required":["units"],"additionalProperties":false}`
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", narrow))
	b := open(t, r, bridge.SiteOptions{Params: map[string]json.RawMessage{"units": json.RawMessage(`{"type":"string"}`)}})
	if _, e := described(t, b, "", ""); e != nil {
		t.Fatal(e)
	}
	r.Declare("shop", bridgetest.Tool("a", wide))
	call := func(input string) ([]byte, *bridge.Error) {
		return run(t, b, &bridge.Call{Site: "shop", Tool: "a", Version: "1.0.0", Caller: bridge.Local(), Input: bridgetest.JSON(input), Config: json.RawMessage(`{"units":"metric"}`)})
	}
	if res, e := call(`{"action":"a"}`); e != nil || string(res) != `{"units":"metric"}` {
		t.Errorf("got %v, %v", res, e)
	}
	_, e := call(`{"units":"imperial"}`)
	want(t, e, bridge.SchemaError, "", bridge.NotRun)
}

func TestAnErrorBeforeTheDispatchRanNothing(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	r.FailAcquire("shop", errors.New("odd"))
	_, e := do(t, b, "a", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.NotRun)
	r.FailAcquire("shop", nil)
	r.Fail("shop", errors.New("odd"))
	_, e = do(t, b, "a", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.NotRun)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r.Fail("shop", context.Canceled)
	_, err := b.Do(ctx, &bridge.Call{Site: "shop", Tool: "a", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
	want(t, bridge.AsError(err), bridge.Cancelled, "", bridge.NotRun)
}

func TestNobodySeesNothing(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", "")), bridge.SiteOptions{})
	if got := b.Sites(bridge.Caller{}); len(got) != 0 {
		t.Errorf("the zero caller sees %v", got)
	}
	if got := b.Sites(bridge.Local()); len(got) != 1 {
		t.Errorf("the local caller sees %v", got)
	}
}

func TestResultsAreJSONWithinTheirLimit(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("a", ""))
	b := open(t, r, bridge.SiteOptions{})
	r.Answer("shop", `{"a":`, nil)
	_, e := do(t, b, "a", `{}`, "")
	want(t, e, bridge.ToolError, bridge.ResultInvalid, bridge.Unknown)
	r.Answer("shop", `{"a":"`+strings.Repeat(`\n`, 10)+`"}`, nil)
	if _, e := do(t, b, "a", `{}`, `{"maxOutputBytes":60}`); e != nil {
		t.Errorf("raw: %v", e)
	}
	_, e = do(t, b, "a", `{}`, `{"maxOutputBytes":40,"output":"text"}`) // escaping makes it longer
	want(t, e, bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown)
	r.Answer("shop", "", bridge.Errorf(bridge.ToolError, "", bridge.Failed, " "))
	if _, e := do(t, b, "a", `{}`, ""); strings.TrimSpace(e.Message) == "" {
		t.Error("an empty message")
	}
}
