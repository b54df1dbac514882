package bridge_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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

// slow is a person who takes a time for each answer.
type slow struct{ time.Duration }

func (s slow) Ask(context.Context, bridge.Question) (bridge.Answer, error) {
	<-time.After(s.Duration)
	return bridge.Answer{OK: true}, nil
}

// TestWaitedIsNotTook (D14): the minutes of persons are told apart from the time of a call.
func TestWaitedIsNotTook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := make(chan bridge.CallRecord, 1)
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", ""))
		r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
			<-time.After(2 * time.Second)
			return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "Sure?"}, bridgetest.Then(`"done"`))
		})
		b, err := bridge.New(r, bridge.Options{Memory: bridge.Memory{Calls: logged(func(c bridge.CallRecord) { told <- c })}})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		if _, err := b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Asker: slow{time.Minute}}); err != nil {
			t.Fatal(err)
		}
		if c := <-told; c.Waited != 2*time.Minute || c.Took != 2*time.Minute+2*time.Second { // consent, and the page's own question
			t.Errorf("it took %v, and waited %v", c.Took, c.Waited)
		}
	})
}
