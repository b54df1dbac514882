package bridge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

var operator = bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}

// parked serves a call that must stop, and returns its question and its token.
func parked(t *testing.T, b *bridge.Bridge, c *bridge.Call, code bridge.Code) (*bridge.Question, string) {
	t.Helper()
	out := serve(t.Context(), b, c)
	if out.Err == nil || out.Err.Code != code {
		t.Fatalf("got %v, %v; want %s", out.Data, out.Err, code)
	}
	q, _ := out.Err.Details["question"].(*bridge.Question)
	token, _ := out.Err.Details["resume"].(string)
	if q == nil || len(token) < 20 || len(q.ID) < 20 || q.ID == token {
		t.Fatalf("question %+v, token %q", q, token)
	}
	return q, token
}

// resume asks for the outcome of a call that stopped, and spends its token.
func resume(t *testing.T, b *bridge.Bridge, c bridge.Call, config string) (string, *bridge.Error) {
	t.Helper()
	c.Config = json.RawMessage(config)
	out := serve(t.Context(), b, &c)
	defer out.told()
	if out.Err != nil {
		return "", out.Err
	}
	return string(out.Data), nil
}

func resuming(token string) string { return fmt.Sprintf(`{"resume":%q,"wait":60000}`, token) }

func write(input string) bridge.Call {
	return bridge.Call{Site: "shop", Tool: "write", Caller: bridge.Local(), Input: bridgetest.JSON(input)}
}

// TestConsentOutlivesItsRequest: a call that needs consent goes on when a person
// agrees, once, and its caller gets the result by its token, once.
func TestConsentOutlivesItsRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		call := write(`{"a":1}`)
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		if r.Leases() != 0 || len(r.Calls()) != 0 {
			t.Error("a call that waits for consent holds a page or ran")
		}
		list := bridgetest.Questions(b, operator)
		if len(list) != 1 || list[0].ID != q.ID || list[0].Site != "shop" || list[0].Caller != "local" {
			t.Fatalf("the operator sees %+v", list)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		if got, e := resume(t, b, call, resuming(token)); e != nil || got != `{"a":1}` {
			t.Fatalf("got %s, %v", got, e)
		}
		if len(r.Calls()) != 1 {
			t.Errorf("it ran %d times", len(r.Calls()))
		}
		_, e := resume(t, b, call, resuming(token))
		want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)
	})
}

// pass lets time pass in a bubble of synctest.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// TestConsentRefused: by a person, and by time.
func TestConsentRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		call := write(`{}`)
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
		_, e := resume(t, b, call, resuming(token))
		want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
		if !strings.Contains(e.Message, "a person said no") {
			t.Errorf("declined, it says %q", e.Message)
		}

		q, token = parked(t, b, &call, bridge.ApprovalRequired)
		if left := time.Until(q.ExpiresAt); left != 5*time.Minute {
			t.Errorf("it expires in %s", left)
		}
		pass(5 * time.Minute)
		late := b.Answer(operator, q.ID, bridge.Answer{OK: true})
		want(t, bridge.AsError(late), bridge.Conflict, "", bridge.NotRun)
		pass(14 * time.Minute)
		_, e = resume(t, b, call, resuming(token))
		want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
		if !strings.Contains(e.Message, "nobody answered in time") {
			t.Errorf("after its time, it says %q", e.Message)
		}

		_, token = parked(t, b, &call, bridge.ApprovalRequired)
		pass(20*time.Minute + time.Second) // nobody answered, nobody came back
		_, e = resume(t, b, call, resuming(token))
		want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)
		if len(r.Calls()) != 0 {
			t.Errorf("%d calls ran", len(r.Calls()))
		}
	})
}

// TestTokens: unknown, foreign and truncated tokens name nothing; other arguments,
// another action or session than the call's are refused, and the call stays.
func TestTokens(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Asking("other", ""))
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	call := write(`{"a":1,"b":2}`)
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	for name, change := range map[string]struct {
		edit func(c *bridge.Call) string
		code bridge.Code
	}{
		"unknown":   {func(*bridge.Call) string { return "AAAAAAAAAAAAAAAAAAAAAAAAAA" }, bridge.ResumeNotFound},
		"truncated": {func(*bridge.Call) string { return token[:len(token)-1] }, bridge.ResumeNotFound},
		"foreign": {func(c *bridge.Call) string {
			c.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
			return token
		}, bridge.ResumeNotFound},
		"the question's id": {func(*bridge.Call) string { return q.ID }, bridge.ResumeNotFound},
		"one byte":          {func(c *bridge.Call) string { c.Input = bridgetest.JSON(`{"a":1,"b":3}`); return token }, bridge.SchemaError},
		"action":            {func(c *bridge.Call) string { c.Tool = "other"; return token }, bridge.SchemaError},
		"session":           {func(c *bridge.Call) string { c.Session = "s"; return token }, bridge.SchemaError},
		"single":            {func(c *bridge.Call) string { c.Single = true; return token }, bridge.SchemaError},
	} {
		c := call
		given := change.edit(&c)
		_, e := resume(t, b, c, resuming(given))
		if e == nil || e.Code != change.code {
			t.Errorf("%s: %v, want %s", name, e, change.code)
		}
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	call.Input = bridgetest.JSON(` { "b" : 2, "a" : 1.0 } `) // the same arguments
	if got, e := resume(t, b, call, resuming(token)); e != nil || got != `{"a":1,"b":2}` {
		t.Errorf("got %s, %v", got, e)
	}
	if len(r.Calls()) != 1 {
		t.Errorf("it ran %d times", len(r.Calls()))
	}
}

// TestManyResumeAtOnce: whoever waits when the call ends gets its outcome; it ran
// once.
func TestManyResumeAtOnce(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	call := write(`{"a":1}`)
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	var wait sync.WaitGroup
	var got, spent atomic.Int64
	for range 50 {
		wait.Go(func() {
			switch data, e := resume(t, b, call, resuming(token)); {
			case e == nil && data == `{"a":1}`:
				got.Add(1)
			case e != nil && e.Code == bridge.ResumeNotFound:
				spent.Add(1)
			default:
				t.Errorf("got %s, %v", data, e)
			}
		})
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Error(err)
	}
	wait.Wait()
	if got.Load() == 0 || got.Load()+spent.Load() != 50 || len(r.Calls()) != 1 {
		t.Errorf("%d got the result, %d found the token spent, it ran %d times", got.Load(), spent.Load(), len(r.Calls()))
	}
}

// TestConsentIsForWhatWasShown (C3, C4): a tool that is swapped after consent does
// not run, and neither does one of a document that took the place of the one that
// the person was asked about.
func TestConsentIsForWhatWasShown(t *testing.T) {
	shown := bridgetest.Asking("write", "")
	for name, change := range map[string]func(d *bridge.Declaration){
		"definition": func(d *bridge.Declaration) { d.Description += " And more." },
		"document":   func(d *bridge.Declaration) { d.Document = "the next" },
	} {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
		r.DeclareIn("shop", "s", shown)
		b := open(t, r, bridge.SiteOptions{})
		call := write(`{}`)
		call.Session = "s"
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		swapped := shown
		change(&swapped)
		r.DeclareIn("shop", "s", swapped)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		_, e := resume(t, b, call, resuming(token))
		want(t, e, bridge.VersionMismatch, bridge.ToolChanged, bridge.NotRun)
		if len(r.Calls()) != 0 {
			t.Errorf("%s: it ran", name)
		}
		q, token = parked(t, b, &call, bridge.ApprovalRequired) // the control: consent to what is there now
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		if _, e := resume(t, b, call, resuming(token)); e != nil {
			t.Error(e)
		}
		b.Close()
	}
}

// TestConsentNamesThePage (A1, A2): the source is told which document a person agreed to,
// or that there was none; where nobody was asked, it is told nothing.
func TestConsentNamesThePage(t *testing.T) {
	asking, reading := bridgetest.Asking("write", ""), bridgetest.Tool("read", "")
	r := bridgetest.NewRouter().Add("shop", asking, reading)
	var told []string
	r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		if inv.Agreed == nil {
			inv.Agreed = &bridge.Agreed{}
		}
		told = append(told, inv.Agreed.Document)
		return bridgetest.Echo(ctx, inv)
	})
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	r.DeclareIn("shop", "s", asking, reading)
	for _, c := range []struct{ session, tool string }{{"s", "write"}, {"new", "write"}, {"", "write"}, {"s", "read"}} {
		call := bridge.Call{Site: "shop", Session: c.session, Tool: c.tool, Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
		if c.tool == "write" {
			q, token := parked(t, b, &call, bridge.ApprovalRequired)
			if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			call.Config = json.RawMessage(resuming(token))
		}
		if out := serve(t.Context(), b, &call); out.Err != nil {
			t.Fatalf("%+v: %v", c, out.Err)
		}
	}
	if want := []string{"d1", bridge.NewPage, bridge.NewPage, ""}; !slices.Equal(told, want) {
		t.Errorf("the source was told %q, want %q", told, want)
	}
}

// TestThousandConsents: many calls that wait hold no page, and each ends by its
// own answer.
func TestThousandConsents(t *testing.T) {
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	b := open(t, r, bridge.SiteOptions{})
	defer b.Close()
	const n = 1000
	ids, tokens := make([]string, n), make([]string, n)
	for i := range n {
		call := write(fmt.Sprintf(`{"i":%d}`, i))
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		ids[i], tokens[i] = q.ID, token
	}
	if r.Leases() != 0 {
		t.Errorf("%d pages are held", r.Leases())
	}
	// C13: one caller's flood ends, and costs nobody else their question.
	for i := n; i < 2*n; i++ {
		call := write(fmt.Sprintf(`{"i":%d}`, i))
		parked(t, b, &call, bridge.ApprovalRequired)
	}
	flood, other := write(`{}`), write(`{}`)
	e := serve(t.Context(), b, &flood).Err
	want(t, e, bridge.RateLimit, "", bridge.NotRun)
	if e.Retry < 19*time.Minute || e.Retry > 20*time.Minute {
		t.Errorf("nobody answers, and it says to come back in %v", e.Retry)
	}
	other.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
	parked(t, b, &other, bridge.ApprovalRequired)
	for i := range n {
		if err := b.Answer(operator, ids[i], bridge.Answer{OK: i%2 == 0}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range n {
		input := fmt.Sprintf(`{"i":%d}`, i)
		got, e := resume(t, b, write(input), resuming(tokens[i]))
		if i%2 == 0 && (e != nil || got != input) || i%2 == 1 && (e == nil || e.Code != bridge.ApprovalDenied) {
			t.Fatalf("%d: got %s, %v", i, got, e)
		}
	}
	if len(r.Calls()) != n/2 {
		t.Errorf("%d ran", len(r.Calls()))
	}
}

// TestRoomForQuestions (C13): who may ask no more is told when they may, if nobody
// answers: after the time of a question, and the time for which its outcome is
// kept. Who fetches outcomes may at once.
func TestRoomForQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		const most = 2000
		tokens := make([]string, most)
		fill := func() {
			for i := range most {
				call := write(`{}`)
				_, tokens[i] = parked(t, b, &call, bridge.ApprovalRequired)
			}
		}
		refused := func() time.Duration {
			call := write(`{}`)
			e := serve(t.Context(), b, &call).Err
			want(t, e, bridge.RateLimit, "", bridge.NotRun)
			return e.Retry
		}
		call := write(`{}`)
		parked(t, b, &call, bridge.ApprovalRequired)
		<-time.After(time.Minute)
		for i := range most - 1 {
			call := write(`{}`)
			_, tokens[i] = parked(t, b, &call, bridge.ApprovalRequired)
		}
		if wait := refused(); wait != 19*time.Minute {
			t.Errorf("it says %v", wait)
		}
		<-time.After(19*time.Minute - time.Second)
		if wait := refused(); wait != time.Second {
			t.Errorf("it says %v", wait)
		}
		<-time.After(time.Second)
		synctest.Wait()
		parked(t, b, &call, bridge.ApprovalRequired)
		refused()

		<-time.After(time.Hour)
		fill()
		refused()
		q := bridgetest.Questions(b, operator)
		if err := b.Answer(operator, q[0].ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		refused() // its outcome waits to be fetched
		for _, token := range tokens {
			call := write(`{}`)
			call.Config = json.RawMessage(fmt.Sprintf(`{"resume":%q}`, token))
			if out := serve(t.Context(), b, &call); out.Err.Code == bridge.ApprovalDenied {
				out.told()
			}
		}
		parked(t, b, &call, bridge.ApprovalRequired)
	})
}
