package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// spyAudit notes what is recorded, and can fail.
type spyAudit struct {
	mu      sync.Mutex
	entries []bridge.AuditRecord
	tickets int64
	err     error
}

func (a *spyAudit) add(r bridge.AuditRecord) error {
	if a.err != nil {
		return a.err
	}
	a.entries = append(a.entries, r)
	return nil
}

func (a *spyAudit) Intent(_ context.Context, r bridge.AuditRecord) (int64, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tickets++
	return a.tickets, a.add(r)
}

func (a *spyAudit) Outcome(_ context.Context, _ int64, r bridge.AuditRecord) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.add(r)
}

func (a *spyAudit) Healthy() error { return nil }

func (a *spyAudit) take() []bridge.AuditRecord {
	a.mu.Lock()
	defer a.mu.Unlock()
	out := a.entries
	a.entries = nil
	return out
}

// parent is a traceparent.
const parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

// TestAudit: an intent before the page sees the call, and one outcome after.
func TestAudit(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
	var before []bridge.AuditRecord
	r.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
		before = audit.take()
		return bridge.Step{Data: inv.Input}
	})
	for _, tool := range []string{"read", "write"} {
		if _, e := run(t, b, &bridge.Call{Site: "shop", Tool: tool, Caller: bridge.Local(), Session: "s", Input: bridgetest.JSON(`{"a":1}`), ID: "c", TraceParent: parent}); e != nil {
			t.Fatal(e)
		}
		after := audit.take()
		if len(before) != 1 || len(after) != 1 {
			t.Fatalf("%s: %d records before and %d after", tool, len(before), len(after))
		}
		in, out := before[0], after[0]
		if in.Wait != (tool == "write") || in.Call != "c" || in.Trace != parent[3:35] || in.Caller != "local" || in.Session != "s" || in.Site != "shop" || in.Tool != tool ||
			in.Origin != "https://site.example" || len(in.Definition) != 64 || len(in.Arguments) != 64 || in.ArgumentBytes != 7 || in.Decision != "auto" || in.Rule == "" || in.Outcome != "" {
			t.Errorf("%s: the intent is %+v", tool, in)
		}
		if out.Call != "c" || out.Outcome != "ok" || out.Code != "" || len(out.Result) != 64 || out.ResultBytes != 7 {
			t.Errorf("%s: the outcome is %+v", tool, out)
		}
	}
	r.Answer("shop", "", bridge.Errorf(bridge.InternalError, bridge.PageCrashed, bridge.Unknown, "It crashed."))
	_, e := do(t, b, "read", `{}`, "")
	want(t, e, bridge.InternalError, bridge.PageCrashed, bridge.Unknown)
	if got := audit.take(); len(got) != 2 || got[1].Outcome != "unknown" || got[1].Code != "INTERNAL_ERROR" || got[1].Reason != "PAGE_CRASHED" {
		t.Errorf("a crash is %+v", got)
	}
	r.Handle("shop", func(context.Context, bridge.Invocation) bridge.Step { panic("no") })
	_, e = do(t, b, "read", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.Unknown)
	if got := audit.take(); len(got) != 2 || got[1].Outcome != "unknown" {
		t.Errorf("a panic is %+v", got)
	}
	if _, e := do(t, b, "read", `[]`, ""); e == nil || len(audit.take()) != 0 {
		t.Error("what never got to a decision is in the audit")
	}
}

// TestAuditOfPersons: who agreed to what, and what was refused.
func TestAuditOfPersons(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Asking("never", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "never", Level: policy.Never}}}})
	call := write(`{}`)
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	if got := audit.take(); len(got) != 0 {
		t.Errorf("a call that waits is in the audit: %+v", got)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if _, e := resume(t, b, call, resuming(token)); e != nil {
		t.Fatal(e)
	}
	got := audit.take()
	if len(got) != 2 || got[0].Approval != q.ID || got[0].Approver != "person" || got[0].Decision != "ask" || got[1].Outcome != "ok" {
		t.Errorf("an approved call is %+v", got)
	}
	q, token = parked(t, b, &call, bridge.ApprovalRequired)
	if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
		t.Fatal(err)
	}
	_, e := resume(t, b, call, resuming(token))
	want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	if got = audit.take(); len(got) != 2 || got[0].Approver != "person" || got[1].Code != "APPROVAL_DENIED" || got[1].Outcome != "not_run" {
		t.Errorf("a refused call is %+v", got)
	}
	_, e = do(t, b, "never", `{}`, "")
	want(t, e, bridge.ApprovalDenied, "", bridge.NotRun)
	if got = audit.take(); len(got) != 2 || got[0].Decision != "never" || got[1].Outcome != "not_run" {
		t.Errorf("a call that the operator forbids is %+v", got)
	}
}

// TestAuditThatCannotBeWritten (D2): what may change something does not run; what
// only reads does. When the process ends, the error says so.
func TestAuditThatCannotBeWritten(t *testing.T) {
	audit := &spyAudit{err: errors.New("the disk is full")}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""), bridgetest.Asking("write", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}})
	_, e := do(t, b, "write", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Internal, bridge.NotRun)
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Error(e)
	}
	if n := len(r.Calls()); n != 1 {
		t.Errorf("%d calls ran", n)
	}
	audit.err = bridge.ErrStoreClosed
	_, e = do(t, b, "write", `{}`, "")
	want(t, e, bridge.InternalError, bridge.Draining, bridge.NotRun)
	audit.err = nil // the positive control
	if _, e := do(t, b, "write", `{}`, ""); e != nil || len(r.Calls()) != 2 {
		t.Errorf("with an audit: %v", e)
	}
}

// TestSecretsHaveNoDigest (D3): a short secret could be found by trying.
func TestSecretsHaveNoDigest(t *testing.T) {
	for _, mark := range []string{`"format":"password"`, `"writeOnly" : true`, `"form\u0061t":"p\u0061ssword"`} {
		audit := &spyAudit{}
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("login", `{"type":"object","properties":{"pin":{"type":"string",`+mark+`}}}`))
		b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{})
		if _, e := do(t, b, "login", `{"pin":"1234"}`, ""); e != nil {
			t.Fatal(e)
		}
		if got := audit.take(); len(got) != 2 || got[0].Arguments != "" {
			t.Errorf("%s: %+v", mark, got)
		}
	}
}

// TestAuditOfPages (A14): what config changed about the page, without its secrets, and the
// credential of the caller.
func TestAuditOfPages(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{AllowConfig: []string{"path", "profile", "bearer"}})
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	call.Caller.Credential = "c1"
	digests := map[string]bool{}
	for config, page := range map[string]string{
		`{}`: "", `{"path":"/a","profile":"work"}`: `{"path":"/a","profile":"work"}`, `{"bearer":"s3cret"}`: `{"bearer":true}`,
	} {
		call.Config = json.RawMessage(config)
		if _, e := run(t, b, &call); e != nil {
			t.Fatal(e)
		}
		in := audit.take()[0]
		if in.Page != page || in.Credential != "c1" || (in.PageDigest == "") != (page == "") || digests[in.PageDigest] {
			t.Errorf("with %s the record is %+v", config, in)
		}
		digests[in.PageDigest] = true
	}
}

// TestAuditOfRefusals (A14): who was refused is recorded, and a flood of it is not.
func TestAuditOfRefusals(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{})
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Caller{Name: "watcher", May: []bridge.Right{bridge.MayAnswer}}, Input: bridgetest.JSON(`{}`)}
	for range 1000 {
		if _, e := run(t, b, &call); e == nil || e.Code != bridge.Forbidden {
			t.Fatal(e)
		}
	}
	got := audit.take()
	if len(got) != 2*60 {
		t.Fatalf("%d records of 1,000 refusals", len(got))
	}
	if in, out := got[0], got[1]; in.Caller != "watcher" || in.Site != "shop" || in.Tool != "read" || out.Code != "FORBIDDEN" || out.Outcome != "not_run" {
		t.Errorf("a refusal is %+v and %+v", in, out)
	}
	call.Caller.Name = "another"
	if _, e := run(t, b, &call); e == nil || len(audit.take()) != 2 {
		t.Error("the flood of one caller hides the refusal of another")
	}
	call.Caller.Name, call.Config = "third", json.RawMessage(`{"wait":1}`) // it does not choose what is recorded
	want(t, serve(t.Context(), b, &call).Err, bridge.Forbidden, "", bridge.NotRun)
	if got = audit.take(); len(got) != 2 || got[0].Caller != "third" || got[1].Code != "FORBIDDEN" {
		t.Errorf("a refusal of a call with a config is %+v", got)
	}
}

// leaver is a person who ends the program in the place of an answer.
type leaver func()

func (l leaver) Ask(ctx context.Context, _ bridge.Question) (bridge.Answer, error) {
	l()
	return bridge.Answer{}, context.Cause(ctx)
}

// TestCallsThatEndWaitingAreRecorded (D2): a call that ends while a person is asked whether it
// may run is in the record of calls and, where its caller lost the right to make it, in the
// audit.
func TestCallsThatEndWaitingAreRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		audit := &spyAudit{}
		var last bridge.CallRecord
		log := logged(func(c bridge.CallRecord) { last = c })
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
		b := remembering(t, r, bridge.Memory{Audit: audit, Calls: log}, bridge.SiteOptions{})
		ended := func(how string, code bridge.Code, records int) {
			t.Helper()
			synctest.Wait()
			if last.Tool != "write" || last.Code != string(code) || last.Outcome != "not_run" {
				t.Errorf("%s: it is logged as %+v", how, last)
			}
			if got := audit.take(); len(got) != records || records > 0 && got[1].Code != string(code) {
				t.Errorf("%s: the audit has %+v", how, got)
			}
			last = bridge.CallRecord{}
		}
		caller, takeBack := credential("agent")
		call := write(`{}`)
		call.Caller = caller
		parked(t, b, &call, bridge.ApprovalRequired)
		takeBack()
		b.Revoke()
		ended("revoked", bridge.Forbidden, 2)
		call = write(`{}`)
		ctx, giveUp := context.WithCancel(t.Context())
		call.Asker = leaver(giveUp)
		if _, err := b.Do(ctx, &call); err == nil {
			t.Error("it ran")
		}
		ended("given up", bridge.Cancelled, 0)
		call = write(`{}`)
		parked(t, b, &call, bridge.ApprovalRequired)
		b.StopAsking()
		ended("pagetools stopped", bridge.InternalError, 0)
	})
}

// TestAuditOfOpenedPages: opening a page is recorded like a call, allowed or not. Without a record
// nothing is opened.
func TestAuditOfOpenedPages(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", ""))
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{AllowConfig: []string{"path"}})
	in := &bridge.Call{Site: "shop", Tool: "open", Session: "s", Caller: bridge.Local(), Config: json.RawMessage(`{"path":"/cart"}`), ID: "c", TraceParent: parent}
	if _, err := b.Open(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	got := audit.take()
	if len(got) != 2 || !got[0].Wait || got[0].Call != "c" || got[0].Trace != parent[3:35] || got[0].Caller != "local" || got[0].Session != "s" || got[0].Site != "shop" ||
		got[0].Tool != "open" || got[0].Page != `{"path":"/cart"}` || len(got[0].PageDigest) != 64 || got[1].Outcome != "ok" {
		t.Errorf("the records are %+v", got)
	}
	r.FailAcquire("shop", bridge.Errorf(bridge.InternalError, bridge.Unreachable, bridge.NotRun, "Nobody listens there."))
	_, err := b.Open(t.Context(), in)
	want(t, bridge.AsError(err), bridge.InternalError, bridge.Unreachable, bridge.NotRun)
	if got := audit.take(); len(got) != 2 || got[1].Outcome != "not_run" || got[1].Reason != "UNREACHABLE" {
		t.Errorf("of a site that is down the records are %+v", got)
	}
	stranger := *in
	stranger.Caller = bridge.Caller{Name: "reader"}
	_, err = b.Open(t.Context(), &stranger)
	want(t, bridge.AsError(err), bridge.Forbidden, "", bridge.NotRun)
	if got := audit.take(); len(got) != 2 || got[0].Caller != "reader" || got[1].Code != "FORBIDDEN" {
		t.Errorf("of a caller that may not the records are %+v", got)
	}
	r.FailAcquire("shop", nil)
	opened := len(r.Calls())
	audit.err = errors.New("the disk is full")
	if _, err := b.Open(t.Context(), in); err == nil || len(r.Calls()) != opened {
		t.Errorf("without a record: %v", err)
	}
}
