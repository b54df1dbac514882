package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestKeys (R38): a key names a call: repeated, it is the same one.
func TestKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		serve := func(c bridge.Call) (string, *bridge.Error) {
			out := serve(t.Context(), b, &c)
			defer out.told()
			if out.Err != nil {
				return "", out.Err
			}
			return string(out.Data), nil
		}
		call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{"a":1,"b":2}`), Key: "k"}
		for range 3 {
			if got, e := serve(call); e != nil || got != `{"a":1,"b":2}` {
				t.Errorf("got %s, %v", got, e)
			}
		}
		same := call
		same.Input = bridgetest.JSON(` {"b":2, "a":1.0}`)
		if _, e := serve(same); e != nil || len(r.Calls()) != 1 {
			t.Errorf("it ran %d times, %v", len(r.Calls()), e)
		}
		for _, change := range []func(*bridge.Call){
			func(c *bridge.Call) { c.Input = bridgetest.JSON(`{"a":2}`) }, func(c *bridge.Call) { c.Session = "s" },
			func(c *bridge.Call) { c.Config = json.RawMessage(`{"output":"text"}`) }, func(c *bridge.Call) { c.Single = true },
		} {
			other := call
			change(&other)
			_, e := serve(other)
			want(t, e, bridge.Conflict, "", bridge.NotRun)
		}
		foreign := call
		foreign.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
		foreign.Input = bridgetest.JSON(`{}`)
		if got, e := serve(foreign); e != nil || got != `{}` {
			t.Errorf("another caller's key is another key: %s, %v", got, e)
		}
		<-time.After(24*time.Hour + time.Second)
		if _, e := serve(call); e != nil || len(r.Calls()) != 3 {
			t.Errorf("a day later it ran %d times, %v", len(r.Calls()), e)
		}

		// While it waits for a person, the key returns the question.
		write := call
		write.Tool, write.Key = "write", "w"
		q, token := parked(t, b, &write, bridge.ApprovalRequired)
		if again, second := parked(t, b, &write, bridge.ApprovalRequired); again.ID != q.ID || second != token {
			t.Errorf("again it asks %v under %s", again, second)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		// What did not run may be tried again.
		if again, _ := parked(t, b, &write, bridge.ApprovalRequired); again.ID == q.ID {
			t.Error("the question is the old one")
		}
	})
}

// TestKeyOfARunningCall: a second call with the key does not run beside the first.
func TestKeyOfARunningCall(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	started, end := make(chan struct{}), make(chan struct{})
	r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step {
		close(started)
		<-end
		return bridge.Step{Data: json.RawMessage("1")}
	})
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Key: "k"}
	first := make(chan served, 1)
	go func() { c := call; first <- serve(t.Context(), b, &c) }()
	<-started
	second := call
	want(t, serve(t.Context(), b, &second).Err, bridge.Conflict, "", bridge.NotRun)
	close(end)
	if out := <-first; out.Err != nil {
		t.Error(out.Err)
	}
	if out := serve(t.Context(), b, &second); out.Err != nil || string(out.Data) != "1" || len(r.Calls()) != 1 {
		t.Errorf("the repetition gave %v, %v; it ran %d times", out.Data, out.Err, len(r.Calls()))
	}
}

// TestX4Keys: a caller that uses up its keys leaves others theirs, and is told when
// the first of its own is free.
func TestX4Keys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		serve := func(caller string, n int) *bridge.Error {
			return serve(t.Context(), b, &bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}},
				Input: bridgetest.JSON(`{}`), Key: fmt.Sprint(n)}).Err
		}
		const most = 10_000
		for n := range most {
			if n == 1 {
				<-time.After(time.Hour)
			}
			if e := serve("heavy", n); e != nil {
				t.Fatal(e)
			}
		}
		e := serve("heavy", most)
		want(t, e, bridge.RateLimit, "", bridge.NotRun)
		if e.Retry != 23*time.Hour {
			t.Errorf("it says %v", e.Retry)
		}
		if e := serve("light", 0); e != nil {
			t.Errorf("another caller gets %v", e)
		}
		<-time.After(e.Retry)
		synctest.Wait()
		if e := serve("heavy", most); e != nil {
			t.Errorf("after the wait: %v", e)
		}
		want(t, serve("heavy", most+1), bridge.RateLimit, "", bridge.NotRun)
	})
}

// BenchmarkRefusedKey: a caller that used up its keys holds nobody up, however many
// keys there are.
func BenchmarkRefusedKey(b *testing.B) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	shop, err := bridge.New(r, bridge.Options{})
	if err != nil {
		b.Fatal(err)
	}
	call := func(caller string, key int) {
		shop.Serve(b.Context(), &bridge.Call{
			Site: "shop", Tool: "read", Input: bridgetest.JSON(`{}`), Key: fmt.Sprint(key),
			Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}},
		})
	}
	for caller := range 5 {
		for key := range 10_000 {
			call(fmt.Sprint(caller), key)
		}
	}
	for b.Loop() {
		call("0", 10_000)
	}
}

// TestBytesOfCallers (B3): what waits for a caller, and what is kept for it, is bounded in
// bytes, at the limit and past it; one caller's bytes are not another's, and they come back.
func TestBytesOfCallers(t *testing.T) {
	synctest.Test(t, bytesOfCallers)
}

func bytesOfCallers(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
	large := `"` + strings.Repeat("x", 100<<10) + `"`
	b, err := bridge.New(r, bridge.Options{Limits: bridge.Limits{CallerBytes: 1 << 20, TotalBytes: 1500 << 10}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	parks := func(caller string) (*bridge.Error, bridge.Call) {
		c := bridge.Call{Site: "shop", Tool: "write", Caller: bridge.Caller{Name: caller, May: []bridge.Right{bridge.MayCall}}, Input: bridgetest.JSON(`{"a":` + large + `}`)}
		return serve(t.Context(), b, &c).Err, c
	}
	n := 0
	var last bridge.Call
	var token string
	for ; ; n++ {
		e, c := parks("heavy")
		if e.Code == bridge.RateLimit {
			if e.Outcome != bridge.NotRun || e.Retry < time.Second {
				t.Errorf("it is refused with %+v", e)
			}
			break
		}
		want(t, e, bridge.ApprovalRequired, "", bridge.NotRun)
		last, token = c, e.Details["resume"].(string)
	}
	if n < 4 || n > 6 {
		t.Errorf("%d calls of 100 KiB wait in 1 MiB", n)
	}
	others := 0
	for e, _ := parks("other"); e.Code == bridge.ApprovalRequired; e, _ = parks("other") {
		others++
	}
	if others < 2 || others > 3 {
		t.Errorf("%d calls of another caller wait in what is left of all", others)
	}
	for _, q := range bridgetest.Questions(b, operator) { // declined: nobody needs their arguments any more, and there is room again
		if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
	}
	synctest.Wait()
	if e, _ := parks("heavy"); e.Code != bridge.ApprovalRequired {
		t.Errorf("beside outcomes that wait to be fetched, a call gives %+v", e)
	}
	_, e := resume(t, b, last, resuming(token))
	want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	if e, _ := parks("heavy"); e.Code != bridge.ApprovalRequired {
		t.Errorf("after one was fetched: %v", e)
	}
}

// TestLargeResultThatNobodyFetches (B3): a result that has no room is dropped, and its
// caller is told that the call ended; one that somebody waits for arrives.
func TestLargeResultThatNobodyFetches(t *testing.T) {
	for _, waits := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
			r.Answer("shop", `"`+strings.Repeat("x", 100<<10)+`"`, nil)
			b, err := bridge.New(r, bridge.Options{Limits: bridge.Limits{CallerBytes: 50 << 10}})
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			call := write(`{}`)
			q, token := parked(t, b, &call, bridge.ApprovalRequired)
			run, err := b.Resume(t.Context(), &call, token)
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan bridge.Step, 1)
			if waits {
				go func() {
					_, s := run.Await(t.Context(), time.Minute)
					ended <- s
				}()
				synctest.Wait()
			}
			if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if !waits {
				_, s := run.Next(t.Context())
				want(t, s.Err, bridge.ToolError, bridge.ResultTooLarge, bridge.Unknown)
				return
			}
			if s := <-ended; s.Err != nil || len(s.Data) < 100<<10 {
				t.Errorf("who waits gets %d bytes, %v", len(s.Data), s.Err)
			}
		})
	}
}

// beginning are replies of which each claim that begins is noted, or fails.
type beginning struct {
	bridge.Replies
	r    *bridgetest.Router
	ran  []int // calls that had run when one began
	fail error
}

func (s *beginning) Begun(context.Context, string) error {
	s.ran = append(s.ran, len(s.r.Calls()))
	return s.fail
}

// TestBegun: before a call with a key runs, and before the first step of one, it is kept that it begins.
// Where that fails, nothing runs, and the key is free.
func TestBegun(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	memory := inMemory(t).Memory
	s := &beginning{Replies: memory.Replies, r: r}
	memory.Replies = s
	b := remembering(t, r, memory, bridge.SiteOptions{})
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Key: "k"}
	without, steps := call, call
	without.Key = ""
	steps.Key = "steps"
	steps.Steps = func(_ context.Context, do func(*bridge.Call) bridge.Step) bridge.Step { return do(&without) }
	serve := func(c bridge.Call) *bridge.Error {
		out := serve(t.Context(), b, &c)
		defer out.told()
		return out.Err
	}
	lost := bridge.Errorf(bridge.InternalError, bridge.NoQuorum, bridge.NotRun, "away")
	for reason, err := range map[bridge.Reason]error{bridge.Internal: errors.New("full"), bridge.NoQuorum: fmt.Errorf("keeping: %w", lost)} {
		s.fail = err
		for range 2 {
			want(t, serve(call), bridge.InternalError, reason, bridge.NotRun)
			want(t, serve(steps), bridge.InternalError, reason, bridge.NotRun)
		}
	}
	if n := len(r.Calls()); n != 0 {
		t.Fatalf("%d calls ran that had not begun", n)
	}
	s.fail, s.ran = nil, nil
	for i, c := range []bridge.Call{call, steps} {
		if e := serve(c); e != nil || len(r.Calls()) != i+1 || len(s.ran) == 0 || s.ran[0] != i {
			t.Errorf("%v, %d ran, begun after %v", e, len(r.Calls()), s.ran)
		}
		s.ran = nil
	}
	if e := serve(without); e != nil || s.ran != nil {
		t.Errorf("a call without a key: %v, begun after %v", e, s.ran)
	}
}
