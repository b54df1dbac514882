package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// TestNothingIsKept: whatever becomes of calls, a day later nothing of them is held,
// and every page was given back.
func TestNothingIsKept(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) { nothingIsKept(t, rand.New(rand.NewPCG(seed, 1))) })
	}
}

func nothingIsKept(t *testing.T, dice *rand.Rand) {
	var mu sync.Mutex
	roll := func(n int) int {
		mu.Lock()
		defer mu.Unlock()
		return dice.IntN(n)
	}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("ask", ""))
	r.Handle("shop", func(ctx context.Context, _ bridge.Invocation) bridge.Step { return anything(ctx, roll) })
	b := open(t, r, bridge.SiteOptions{})
	watching, stop := context.WithCancel(t.Context())
	unread := b.Watch(watching, bridge.Interest{Caller: operator, Runs: true, Tools: true})
	slow, reader := bridge.Inbox{}, sync.WaitGroup{}
	reader.Go(func() {
		for ev := range b.Watch(watching, bridge.Interest{Caller: operator, Runs: true}) {
			slow.Take(ev)
			<-time.After(time.Duration(roll(2000)) * time.Millisecond)
		}
	})
	taken := make(chan struct{})
	var all sync.WaitGroup
	for i := range 60 {
		c := bridge.Call{Site: "shop", Tool: []string{"write", "ask"}[roll(2)], Caller: bridge.Local()}
		c.Input = bridgetest.JSON(fmt.Sprintf(`{"n":%d}`, roll(5)))
		switch roll(4) {
		case 0:
			c.Key = fmt.Sprint(roll(10))
		case 1:
			c.Again = true
		case 2:
			c.Caller = bridge.Caller{Name: fmt.Sprint("agent", i%3), May: []bridge.Right{bridge.MayCall}, Revoked: taken}
		}
		if roll(3) == 0 {
			all.Go(func() { oneLongCall(t.Context(), b, c, roll) })
			continue
		}
		all.Go(func() { oneCall(t.Context(), b, c, roll) })
	}
	all.Go(func() {
		for range 50 {
			<-time.After(time.Duration(roll(200)) * time.Millisecond)
			for _, q := range bridgetest.Questions(b, operator) {
				if roll(2) == 0 {
					_ = b.Answer(operator, q.ID, bridge.Answer{OK: roll(3) > 0})
				}
			}
		}
		close(taken)
		b.Revoke()
	})
	if roll(2) == 0 { // while calls run and wait
		<-time.After(time.Duration(roll(3000)) * time.Millisecond)
		b.StopAsking()
		b.Close()
	}
	all.Wait()
	<-time.After(25 * time.Hour)
	stop()
	reader.Wait()
	synctest.Wait()
	if _, more := <-unread; more {
		t.Error("a watch outlives its context")
	}
	if left := slow.Questions(); len(left) > 0 {
		t.Errorf("who reads slowly takes these for open: %v", left)
	}
	if held := b.Held(); slices.Max(held) > 0 || r.Leases() > 0 || r.Waiting() > 0 {
		t.Errorf("it holds %v, %d pages, %d questions", held, r.Leases(), r.Waiting())
	}
	b.Close()
}

// anything returns a random outcome of a tool.
func anything(ctx context.Context, roll func(int) int) bridge.Step {
	select {
	case <-time.After(time.Duration(roll(300)) * time.Millisecond):
	case <-ctx.Done():
		return bridge.AsError(context.Cause(ctx)).Step()
	}
	switch roll(6) {
	case 0:
		return bridge.Errorf(bridge.ToolError, "", bridge.Failed, "no").Step()
	case 1:
		panic("a page that breaks us")
	case 2, 3:
		over := make(chan struct{})
		if roll(3) == 0 {
			time.AfterFunc(time.Duration(roll(1000))*time.Millisecond, func() { close(over) })
		}
		return bridge.Step{Pause: &bridge.Pause{Question: bridge.Question{Kind: bridge.Confirm}, Over: over,
			Continue: func(ctx context.Context, _ *bridge.Answer) bridge.Step { return anything(ctx, roll) }}}
	}
	return bridge.Step{Data: json.RawMessage("1")}
}

// oneCall is a caller that may leave, come back, and spend what it was told.
func oneCall(ctx context.Context, b *bridge.Bridge, c bridge.Call, roll func(int) int) {
	<-time.After(time.Duration(roll(2000)) * time.Millisecond)
	for range 4 {
		bounded, cancel := context.WithTimeout(ctx, time.Duration(roll(1000))*time.Millisecond)
		run, end := b.Serve(bounded, &c)
		cancel()
		if roll(2) == 0 {
			_ = run.Deliver(written)
		}
		if end.Err == nil || end.Err.Details["resume"] == nil {
			return
		}
		c.Config = json.RawMessage(fmt.Sprintf(`{"resume":%q,"wait":%d}`, end.Err.Details["resume"], roll(500)))
	}
}

// oneLongCall is a caller that does not wait, and may look, cancel, forget, or never come back.
func oneLongCall(ctx context.Context, b *bridge.Bridge, c bridge.Call, roll func(int) int) {
	<-time.After(time.Duration(roll(2000)) * time.Millisecond)
	bounded, cancel := context.WithTimeout(ctx, time.Duration(roll(1000))*time.Millisecond)
	run, s := b.Detach(bounded, &c, time.Duration(roll(2)*roll(1000))*time.Millisecond)
	cancel()
	if s.IsOver() {
		_ = run.Deliver(written)
	}
	for range roll(4) {
		<-time.After(time.Duration(roll(500)) * time.Millisecond)
		long, err := b.LongCall(c.Caller, s.ID)
		if err != nil {
			return
		}
		_, _ = long.State()
		switch roll(4) {
		case 0:
			long.Cancel(c.Caller)
		case 1:
			long.Forget()
		}
	}
}

// TestStrangers: issuers can name any number of callers. One that comes under 20,000 names leaves
// nothing of a name without a call that waits, and what such calls leave goes with them.
func TestStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		stranger := func(n int) bridge.Caller {
			return bridge.Caller{Name: fmt.Sprint("acme:", n), Credential: fmt.Sprint(n), May: []bridge.Right{bridge.MayCall},
				Rate: policy.Rate{N: 60, Per: time.Minute}}
		}
		for n := range 20_000 {
			c := bridge.Call{Site: "shop", Tool: "read", Caller: stranger(n), Session: "s", Input: bridgetest.JSON(`{"n":1}`)}
			if n%100 == 0 { // keys, and calls that wait, of some
				c.Key = "k"
				<-time.After(2 * time.Second)
			}
			if n%200 == 0 {
				c.Tool = "write"
			}
			if _, err := b.Do(t.Context(), &c); err != nil && bridge.AsError(err).Code != bridge.ApprovalRequired {
				t.Fatalf("stranger %d: %v", n, err)
			}
		}
		if of := b.Accounts(); of > 200 || of < 100 {
			t.Errorf("%d callers have an account, want those with a call that waits or a key: 200", of)
		}
		<-time.After(25 * time.Hour)
		synctest.Wait()
		if held := b.Held(); slices.Max(held) > 0 {
			t.Errorf("a day later it holds %v", held)
		}
	})
}
