package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestFacts: who watches all calls gets when a call got to each stage, how long it waited for persons,
// what was decided and why, and who allowed it; of a call that is refused, too.
func TestFacts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("buy", ""))
		r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
			<-time.After(2 * time.Second)
			return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "Sure?"}, bridgetest.Then(`"done"`))
		})
		b, err := bridge.New(r, bridge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		events := b.Watch(t.Context(), bridge.Interest{Caller: operator, Calls: true})
		<-events // the snapshot
		ended := make(chan bridge.RunState, 100)
		go func() {
			for ev := range events {
				if ev.Runs[0].Over {
					ended <- ev.Runs[0]
				}
			}
		}()
		began := time.Now()
		if _, err := b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "buy", Caller: bridge.Local(), Input: bridgetest.JSON(`{"n":1}`), Key: "k", Version: "latest", Asker: slow{time.Minute}}); err != nil {
			t.Fatal(err)
		}
		s := <-ended
		for what, got := range map[string]time.Duration{
			"asked": s.Asked.Sub(began), "ran": s.Ran.Sub(began) - time.Minute, "answered": s.Answered.Sub(began) - 2*time.Minute - 2*time.Second,
			"ended": s.Ended.Sub(s.Answered), "waited": s.Waited - 2*time.Minute, "at": s.At.Sub(s.Ended),
		} {
			if got != 0 {
				t.Errorf("%s is %v off", what, got)
			}
		}
		if s.Decision != "ask" || s.Layer != "operator" || s.Rule == "" || s.Version != "latest" || s.ArgumentBytes != 7 || s.ResultBytes != 6 || s.Approval == "" || s.Approver == "" {
			t.Errorf("it is %+v", s)
		}
		_, _ = b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "none", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
		if s := <-ended; s.Decision != "" || s.Tool != "none" || s.Code != "WEBTOOL_NOT_FOUND" || s.Ended.IsZero() || !s.Ran.IsZero() || !s.Asked.IsZero() {
			t.Errorf("one that is refused is %+v", s)
		}
		run := b.Start(t.Context(), &bridge.Call{Site: "shop", Tool: "none", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)})
		if err := run.Deliver(func() error { return context.Canceled }); err == nil {
			t.Error("a reply that cannot be written is written")
		}
		_ = run.Deliver(func() error { <-time.After(3 * time.Second); return nil })
		for s = <-ended; s.Call != run.ID() || s.Delivered.IsZero(); s = <-ended { // it is told when it ended, too
			if !s.Delivered.IsZero() {
				t.Errorf("nobody delivered %+v", s)
			}
		}
		if s.Delivered.Sub(s.Ended) != 3*time.Second || s.At != s.Ended {
			t.Errorf("one that was delivered is %+v", s)
		}
	})
}

// TestEveryCallIsTold: who watches all calls is told of each, also of those that ended before the first
// snapshot was read, where changes are gathered.
func TestEveryCallIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("find", ""))
		b, err := bridge.New(r, bridge.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		events := b.Watch(t.Context(), bridge.Interest{Caller: operator, Calls: true, Every: 20 * time.Millisecond})
		const calls = 5000
		for range calls { // no time passes
			if _, err := b.Do(t.Context(), &bridge.Call{Site: "shop", Tool: "find", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}); err != nil {
				t.Fatal(err)
			}
		}
		if ev := <-events; ev.Kind != bridge.Snapshot || len(ev.Runs) != 0 {
			t.Errorf("it begins with %+v", ev)
		}
		told := map[string]bool{}
		for range calls {
			ev := <-events
			if told[ev.Runs[0].Call] || !ev.Runs[0].Over {
				t.Fatalf("%+v", ev.Runs[0])
			}
			told[ev.Runs[0].Call] = true
		}
	})
}
