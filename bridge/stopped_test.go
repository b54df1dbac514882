package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// pages scripts tools that stop for a person. A call takes the steps one after
// another; each is a question, and answers tells how they were answered.
type pages struct {
	steps   []bridge.Kind
	over    chan struct{}
	entered chan context.Context // one for each time that the page goes on
	hold    chan struct{}        // what the page waits for before it goes on; nil: nothing
	mu      sync.Mutex
	answers []string
}

func (p *pages) invoke(context.Context, bridge.Invocation) bridge.Step { return p.step(0) }

func (p *pages) step(i int) bridge.Step {
	if i == len(p.steps) {
		p.mu.Lock()
		defer p.mu.Unlock()
		data, _ := json.Marshal(p.answers)
		return bridge.Step{Data: data}
	}
	return bridge.Step{Pause: &bridge.Pause{Question: bridge.Question{Kind: p.steps[i], Title: "Sure?"}, Over: p.over,
		Continue: func(ctx context.Context, a *bridge.Answer) bridge.Step {
			text, _ := json.Marshal(a)
			p.mu.Lock()
			p.answers = append(p.answers, string(text))
			p.mu.Unlock()
			if p.entered != nil {
				p.entered <- ctx
			}
			if p.hold != nil {
				select {
				case <-p.hold:
				case <-ctx.Done():
				}
			}
			if ctx.Err() != nil {
				return bridge.AsError(context.Cause(ctx)).Step()
			}
			return p.step(i + 1)
		}}}
}

// stopping is a bridge whose tool "ask" runs p without consent.
func stopping(t *testing.T, p *pages) (*bridge.Bridge, *bridgetest.Router, bridge.Call) {
	t.Helper()
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
	r.Handle("shop", p.invoke)
	return open(t, r, bridge.SiteOptions{}), r, bridge.Call{Site: "shop", Tool: "ask", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
}

// TestPageAsks: a call that a page stopped holds its page, goes on with each
// answer, and gives the page back at its end.
func TestPageAsks(t *testing.T) {
	b, r, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Confirm, bridge.Prompt}})
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	if q.Kind != bridge.Confirm || q.Tool != "ask" || string(q.Input) != `{}` || q.Origin == "" || r.Leases() != 1 || r.Waiting() != 1 {
		t.Errorf("question %+v, %d pages held", q, r.Leases())
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Value: json.RawMessage(`1`)}); bridge.AsError(err) == nil || bridge.AsError(err).Code != bridge.SchemaError {
		t.Errorf("a confirm with a value: %v", err)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	c := call
	c.Config = json.RawMessage(resuming(token))
	second, again := parked(t, b, &c, bridge.InputRequired)
	if second.Kind != bridge.Prompt || second.ID == q.ID || again != token {
		t.Errorf("question %+v under %q", second, again)
	}
	if err := b.Answer(operator, second.ID, bridge.Answer{OK: true, Value: json.RawMessage(`1`)}); bridge.AsError(err) == nil || bridge.AsError(err).Code != bridge.SchemaError {
		t.Errorf("a prompt with a number: %v", err)
	}
	if err := b.Answer(operator, second.ID, bridge.Answer{OK: true, Value: json.RawMessage(`"x"`)}); err != nil {
		t.Fatal(err)
	}
	if got, e := resume(t, b, call, resuming(token)); e != nil || got != `["{\"ok\":true}","{\"ok\":true,\"value\":\"x\"}"]` {
		t.Errorf("got %s, %v", got, e)
	}
	if r.Waiting() != 0 || r.Leases() != 0 {
		t.Errorf("%d questions of the page are open, %d pages held", r.Waiting(), r.Leases())
	}
}

// TestNextQuestionIsTold: who resumes is told at once of a question that they do
// not know, however long they would wait for a person.
func TestNextQuestionIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Confirm, bridge.Confirm}})
		defer b.Close()
		q, token := parked(t, b, &call, bridge.InputRequired)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		began := time.Now()
		call.Config = json.RawMessage(resuming(token))
		if next, _ := parked(t, b, &call, bridge.InputRequired); next.ID == q.ID || time.Since(began) != 0 {
			t.Errorf("after %s it asks %v", time.Since(began), next)
		}
		parked(t, b, &call, bridge.InputRequired)
		if waited := time.Since(began); waited != time.Minute {
			t.Errorf("a question that is known is waited for %s", waited)
		}
	})
}

// TestLeavingAQuestion: a caller that leaves while a question is open leaves the
// call where it is; one that leaves while the page runs aborts it.
func TestLeavingAQuestion(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Confirm}, entered: make(chan context.Context), hold: make(chan struct{})}
	b, r, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	waits := call
	waits.Config = json.RawMessage(resuming(token))
	left := func(ctx context.Context) chan *bridge.Error {
		out := make(chan *bridge.Error, 1)
		go func() { out <- serve(ctx, b, &waits).Err }()
		return out
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := left(ctx)
	cancel()
	if e := <-out; e == nil || e.Code != bridge.Cancelled {
		t.Errorf("the caller that left got %v", e)
	}
	if list := bridgetest.Questions(b, operator); len(list) != 1 || r.Leases() != 1 {
		t.Fatalf("the question is gone with its caller: %v", list)
	}
	ctx, cancel = context.WithCancel(t.Context())
	defer cancel()
	out = left(ctx)
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	running := <-p.entered
	cancel()
	if e := <-out; e == nil || e.Code != bridge.Cancelled {
		t.Errorf("the caller that left got %v", e)
	}
	<-running.Done()
	_, e := resume(t, b, call, resuming(token))
	want(t, e, bridge.Cancelled, "", bridge.Unknown)
}

// TestPageTakesItsQuestionBack: the call goes on without an answer.
func TestPageTakesItsQuestionBack(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Interact}, over: make(chan struct{})}
	b, _, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	close(p.over)
	if got, e := resume(t, b, call, resuming(token)); e != nil || got != `["null"]` {
		t.Errorf("got %s, %v", got, e)
	}
	want(t, bridge.AsError(b.Answer(operator, q.ID, bridge.Answer{OK: true})), bridge.Conflict, "", bridge.NotRun)
}

// TestFiveQuestions: the sixth of a call is declined without asking anybody.
func TestFiveQuestions(t *testing.T) {
	p := &pages{}
	for range 7 {
		p.steps = append(p.steps, bridge.Confirm)
	}
	b, _, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	c := call
	c.Config = json.RawMessage(resuming(token))
	for range 4 {
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		q, _ = parked(t, b, &c, bridge.InputRequired)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	got, e := resume(t, b, call, resuming(token))
	if yes, no := `"{\"ok\":true}"`, `"{\"ok\":false}"`; e != nil || got != "["+yes+","+yes+","+yes+","+yes+","+yes+","+no+","+no+"]" {
		t.Errorf("got %s, %v", got, e)
	}
}

// TestFirstAnswerWins: everybody else learns who was first.
func TestFirstAnswerWins(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Confirm}}
	b, _, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	var wait sync.WaitGroup
	var won atomic.Int64
	for i := range 20 {
		wait.Go(func() {
			by := bridge.Caller{Name: fmt.Sprint("person", i), May: []bridge.Right{bridge.MayAnswer}}
			err := b.Answer(by, q.ID, bridge.Answer{OK: i%2 == 0})
			if err == nil {
				won.Add(1)
				return
			}
			if e := bridge.AsError(err); e.Code != bridge.Conflict {
				t.Error(e)
			}
		})
	}
	wait.Wait()
	if _, e := resume(t, b, call, resuming(token)); e != nil || won.Load() != 1 || len(p.answers) != 1 {
		t.Errorf("%d won, the page heard %v, %v", won.Load(), p.answers, e)
	}
	e := bridge.AsError(b.Answer(operator, q.ID, bridge.Answer{OK: true}))
	if who, _ := e.Details["answeredBy"].(string); e.Code != bridge.Conflict || len(who) < 7 || who[:6] != "person" {
		t.Errorf("who came late is told %v", e)
	}
}

// TestPicture: who may answer sees the page that asks, as long as it asks.
func TestPicture(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Interact}}
	b, _, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	if png, err := b.Screenshot(t.Context(), operator, q.ID); err != nil || string(png) != "picture of shop" {
		t.Errorf("got %s, %v", png, err)
	}
	if list := bridgetest.Questions(b, operator); len(list) != 1 || !list[0].Picture {
		t.Errorf("the operator sees %+v", list)
	}
	_, err := b.Screenshot(t.Context(), bridge.Local(), q.ID)
	want(t, bridge.AsError(err), bridge.Forbidden, "", bridge.NotRun)
	_, err = b.Screenshot(t.Context(), bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayAnswer}, Sites: []string{"bank"}}, q.ID)
	want(t, bridge.AsError(err), bridge.WebtoolNotFound, "", bridge.NotRun)
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if _, e := resume(t, b, call, resuming(token)); e != nil {
		t.Fatal(e)
	}
	_, err = b.Screenshot(t.Context(), operator, q.ID)
	want(t, bridge.AsError(err), bridge.WebtoolNotFound, "", bridge.NotRun)
}

// TestNoPictureOfConsent: a call that waits for consent holds no page.
func TestNoPictureOfConsent(t *testing.T) {
	b := open(t, bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", "")), bridge.SiteOptions{})
	defer b.Close()
	call := write(`{}`)
	q, _ := parked(t, b, &call, bridge.ApprovalRequired)
	_, err := b.Screenshot(t.Context(), operator, q.ID)
	want(t, bridge.AsError(err), bridge.WebtoolNotFound, "", bridge.NotRun)
	if list := bridgetest.Questions(b, operator); len(list) != 1 || list[0].Picture {
		t.Errorf("the operator sees %+v", list)
	}
}

// TestWhoMayAnswer (C2): a right to call is none to answer; config.answer needs
// both, and the caller's own call.
func TestWhoMayAnswer(t *testing.T) {
	both := bridge.Caller{Name: "both", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}}
	p := &pages{steps: []bridge.Kind{bridge.Confirm}}
	b, _, call := stopping(t, p)
	defer b.Close()
	q, token := parked(t, b, &call, bridge.InputRequired)
	answer := answering(token, q.ID)
	_, e := resume(t, b, call, answer)
	want(t, e, bridge.Forbidden, "", bridge.NotRun)
	want(t, bridge.AsError(b.Answer(bridge.Local(), q.ID, bridge.Answer{OK: true})), bridge.Forbidden, "", bridge.NotRun)
	blind := operator
	blind.Sites = []string{"bank"}
	want(t, bridge.AsError(b.Answer(blind, q.ID, bridge.Answer{OK: true})), bridge.WebtoolNotFound, "", bridge.NotRun)
	if list := bridgetest.Questions(b, blind); len(list) != 0 {
		t.Errorf("another site's operator sees %v", list)
	}
	foreign := call
	foreign.Caller = both
	_, e = resume(t, b, foreign, answer)
	want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)

	own := call
	own.Caller = both
	q, token = parked(t, b, &own, bridge.InputRequired)
	if got, e := resume(t, b, own, answering(token, q.ID)); e != nil || got != `["{\"ok\":true}"]` {
		t.Errorf("got %s, %v", got, e)
	}
}

// answering is the config of a call that answers its own question.
func answering(token, question string) string {
	return fmt.Sprintf(`{"resume":%q,"answer":{"question":%q,"ok":true},"wait":60000}`, token, question)
}

// TestAnswerNamesItsQuestion (A3): an answer is for the question that its caller was
// told of. When another one is open by then, that one is told, and nobody answered it.
func TestAnswerNamesItsQuestion(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Confirm, bridge.Confirm}}
	b, _, call := stopping(t, p)
	defer b.Close()
	call.Caller = bridge.Caller{Name: "both", May: []bridge.Right{bridge.MayCall, bridge.MayAnswer}}
	first, token := parked(t, b, &call, bridge.InputRequired)
	if err := b.Answer(operator, first.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	again := call
	var second *bridge.Question
	for _, id := range []string{first.ID, "guessed"} {
		_, e := resume(t, b, again, answering(token, id))
		want(t, e, bridge.InputRequired, "", bridge.Unknown)
		second = e.Details["question"].(*bridge.Question)
		if second.ID == first.ID {
			t.Fatalf("the answered question is told again")
		}
	}
	if list := bridgetest.Questions(b, operator); len(list) != 1 || list[0].ID != second.ID {
		t.Fatalf("the operator sees %+v", list)
	}
	if _, e := resume(t, b, again, answering(token, second.ID)); e != nil { // the positive control
		t.Errorf("the answer to its own question: %v", e)
	}
}

// TestClosing ends what waits, in its page too.
func TestClosing(t *testing.T) {
	p := &pages{steps: []bridge.Kind{bridge.Confirm}}
	b, r, call := stopping(t, p)
	run := b.Start(t.Context(), &call)
	if q, s := run.Next(t.Context()); q == nil {
		t.Fatalf("it does not ask: %v", s.Err)
	}
	b.Close()
	_, s := run.Next(t.Context())
	want(t, s.Err, bridge.InternalError, bridge.Draining, bridge.Unknown)
	if r.Leases() != 0 {
		t.Error("a page is still held")
	}
}

// TestResumeWhileItIsWritten: a client that comes again while its outcome is being written gets
// it when that failed, and learns that it was told when not.
func TestResumeWhileItIsWritten(t *testing.T) {
	for _, failed := range []error{nil, io.ErrClosedPipe} {
		synctest.Test(t, func(t *testing.T) {
			b, _, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Confirm}})
			defer b.Close()
			out := serve(t.Context(), b, &call)
			q, token := out.Err.Details["question"].(*bridge.Question), out.Err.Details["resume"].(string)
			if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			call.Config = json.RawMessage(resuming(token))
			out = serve(t.Context(), b, &call)
			again := make(chan *bridge.Error, 1)
			err := out.run.Deliver(func() error {
				go func() {
					_, e := resume(t, b, call, resuming(token))
					again <- e
				}()
				synctest.Wait()
				if len(again) > 0 {
					t.Error("it was answered before the first reply was written")
				}
				return failed
			})
			if !errors.Is(err, failed) {
				t.Errorf("Deliver returns %v", err)
			}
			if e := <-again; failed != nil && e != nil {
				t.Errorf("the outcome is lost: %v", e)
			} else if failed == nil {
				want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)
			}
		})
	}
}

// TestSpendOfAQuestion: the reply that told a caller of a question does not spend the
// token, even when the call ended before that reply was written.
func TestSpendOfAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, _, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Confirm}})
		defer b.Close()
		out := serve(t.Context(), b, &call)
		q, token := out.Err.Details["question"].(*bridge.Question), out.Err.Details["resume"].(string)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // the call ends
		out.told()      // the question's reply was written
		if got, e := resume(t, b, call, resuming(token)); e != nil || got != `["{\"ok\":true}"]` {
			t.Errorf("got %s, %v", got, e)
		}
		_, e := resume(t, b, call, resuming(token))
		want(t, e, bridge.ResumeNotFound, "", bridge.Unknown)
	})
}

// TestARefusalStays: a call that was refused does not run, also when nobody would be
// asked any more by then.
func TestARefusalStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		news := bridgetest.Tool("news", "")
		news.Origin = "https://news.example"
		news.Annotations = []byte(`{"readOnlyHint":true,"untrustedContentHint":true}`)
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), news)
		b := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
		defer b.Close()
		if _, e := do(t, b, "news", `{}`, ""); e != nil {
			t.Fatal(e)
		}
		<-time.After(14 * time.Minute)
		call := bridge.Call{Site: "shop", Tool: "write", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
		_, token := parked(t, b, &call, bridge.ApprovalRequired)
		<-time.After(6 * time.Minute) // nobody answers, and what was read counts no more
		_, e := resume(t, b, call, resuming(token))
		want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
		if n := len(r.Calls()); n != 1 {
			t.Errorf("%d calls reached the page", n)
		}
	})
}
