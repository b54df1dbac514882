package bridge_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestWatch: who watches gets a snapshot, then each change of what they asked for, and
// nothing of sites that they do not know of.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", "")).Add("bank", bridgetest.Asking("pay", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		q, _ := parked(t, b, &bridge.Call{Site: "bank", Tool: "pay", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}, bridge.ApprovalRequired)
		ctx, cancel := context.WithCancel(t.Context())
		blind := bridge.Caller{Name: "blind", May: operator.May, Sites: []string{"shop"}}
		all := b.Watch(ctx, bridge.Interest{Caller: operator, Tools: true, Runs: true})
		shop := b.Watch(ctx, bridge.Interest{Caller: blind, Tools: true, Runs: true})
		first := <-all
		if first.Kind != bridge.Snapshot || len(first.Runs) != 1 || first.Runs[0].Question.ID != q.ID || first.Runs[0].Question.Site != "bank" {
			t.Errorf("it begins with %+v", first)
		}
		if ev := <-shop; ev.Kind != bridge.Snapshot || len(ev.Runs) != 0 {
			t.Errorf("who does not know of the bank begins with %+v", ev)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		var last bridge.RunState
		for last = (<-all).Runs[0]; !last.Over; last = (<-all).Runs[0] {
		}
		if last.Question != nil || last.Run != first.Runs[0].Run {
			t.Errorf("it ends with %+v", last)
		}
		r.Declare("bank", bridgetest.Tool("look", ""))
		ev := <-all
		if ev.Kind == bridge.RunChanged && ev.Runs[0].Over { // it may be told twice
			ev = <-all
		}
		if ev.Kind != bridge.ToolsChanged || ev.Site != "bank" {
			t.Errorf("a list that changed is %+v", ev)
		}
		r.Declare("shop", bridgetest.Tool("look", ""))
		if ev := <-shop; ev.Kind != bridge.ToolsChanged || ev.Site != "shop" {
			t.Errorf("who does not know of the bank is told %+v", ev)
		}
		cancel()
		synctest.Wait()
		for range all { // what was on its way
		}
		if _, more := <-shop; more {
			t.Error("a watch goes on after its context")
		}
	})
}

// TestSlowWatcher: a reader that is too slow holds up nobody, and gets what is true now.
func TestSlowWatcher(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		events := b.Watch(t.Context(), bridge.Interest{Caller: operator, Runs: true})
		var inbox bridge.Inbox
		inbox.Take(<-events)
		const calls = 200
		for i := range calls {
			call := write(fmt.Sprintf(`{"n":%d}`, i))
			parked(t, b, &call, bridge.ApprovalRequired)
			if i == 0 {
				synctest.Wait() // the watch waits for its reader
			}
		}
		snapshots := 0
		for len(inbox.Questions()) < calls {
			ev := <-events
			inbox.Take(ev)
			if ev.Kind == bridge.Snapshot {
				snapshots++
			}
		}
		if snapshots != 1 {
			t.Errorf("there were %d snapshots, want one", snapshots)
		}
	})
}

// slowReplies takes its time to keep an outcome.
type slowReplies struct {
	bridge.Replies
	hold chan struct{}
}

func (s slowReplies) Finish(ctx context.Context, claim string, reply []byte) error {
	<-s.hold
	return s.Replies.Finish(ctx, claim, reply)
}

// TestTheEndIsTold: who watches hears of the end of a call before it is kept for its
// key.
func TestTheEndIsTold(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
	page := &pages{steps: []bridge.Kind{bridge.Confirm}, hold: make(chan struct{})}
	r.Handle("shop", page.invoke)
	memory := inMemory(t).Memory
	hold := make(chan struct{})
	memory.Replies = slowReplies{memory.Replies, hold}
	b := remembering(t, r, memory, bridge.SiteOptions{})
	call := bridge.Call{Site: "shop", Tool: "ask", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Key: "k"}
	q, _ := parked(t, b, &call, bridge.InputRequired)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	defer close(hold)
	events := b.Watch(ctx, bridge.Interest{Caller: operator, Runs: true})
	<-events // the snapshot
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	<-events // the question is closed
	close(page.hold)
	for ev := range events {
		if len(ev.Runs) == 1 && ev.Runs[0].Over {
			return
		}
	}
	t.Error("nobody was told of the end")
}
