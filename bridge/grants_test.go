package bridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// once is an operator who lets consent be kept.
var once = bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "write", Level: policy.Once}}}}

// agree answers the question of a call, which then goes on.
func agree(t *testing.T, b *bridge.Bridge, c bridge.Call, a bridge.Answer) *bridge.Error {
	t.Helper()
	q, token := parked(t, b, &c, bridge.ApprovalRequired)
	if err := b.Answer(operator, q.ID, a); err != nil {
		return bridge.AsError(err)
	}
	_, e := resume(t, b, c, resuming(token))
	return e
}

// TestAlways: consent that is kept covers the same caller and definition, with any
// arguments, also after a restart, until it is revoked.
func TestAlways(t *testing.T) {
	dir := t.TempDir()
	s, shut := kept(t, dir)
	tool := bridgetest.Asking("write", "")
	r := bridgetest.NewRouter().Add("shop", tool, bridgetest.Asking("other", ""))
	b := remembering(t, r, s.Memory, once)
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true}); e != nil {
		t.Fatal(e)
	}
	call := write(`{"a":1}`)
	parked(t, b, &call, bridge.ApprovalRequired) // that was for one call
	if list := bridgetest.Questions(b, operator); len(list) != 1 || !list[0].Always {
		t.Errorf("the operator sees %+v", list)
	}
	if e := agree(t, b, call, bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	b.Close()
	shut()

	s, _ = kept(t, dir)
	b = remembering(t, r, s.Memory, once)
	for _, in := range []string{`{"a":1}`, `{"a":1000}`} {
		if _, e := do(t, b, "write", in, ""); e != nil {
			t.Errorf("%s: %v", in, e)
		}
	}
	foreign := write(`{}`)
	foreign.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
	parked(t, b, &foreign, bridge.ApprovalRequired)
	stricter := write(`{}`)
	stricter.Config = json.RawMessage(`{"approval":"ask"}`)
	parked(t, b, &stricter, bridge.ApprovalRequired)
	changed := tool
	changed.Description += " And more."
	r.Declare("shop", changed, bridgetest.Asking("other", ""))
	parked(t, b, &call, bridge.ApprovalRequired)
	r.Declare("shop", tool, bridgetest.Asking("other", ""))
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Errorf("the definition that was agreed to: %v", e)
	}
	all, err := s.Grants.All(t.Context())
	if err != nil || len(all) != 1 || all[0].GivenBy != "person" || all[0].Tool != "write" {
		t.Fatalf("%+v, %v", all, err)
	}
	if ok, err := s.Grants.Revoke(t.Context(), all[0].ID); !ok || err != nil {
		t.Fatal(err)
	}
	parked(t, b, &call, bridge.ApprovalRequired)
}

// TestAlwaysIsKeptAtOnce: who is told that their answer counts can call at once, and is not asked
// again. A store without room holds up nobody.
func TestAlwaysIsKeptAtOnce(t *testing.T) {
	s := inMemory(t)
	b := remembering(t, bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", "")), s.Memory, once)
	for range 20 {
		call := write(`{}`)
		q, token := parked(t, b, &call, bridge.ApprovalRequired)
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
			t.Fatal(err)
		}
		all, err := s.Grants.All(t.Context())
		if err != nil || len(all) != 1 {
			t.Fatalf("it was answered, and kept are %+v, %v", all, err)
		}
		if _, e := resume(t, b, call, resuming(token)); e != nil {
			t.Fatal(e)
		}
		if _, err := s.Grants.Revoke(t.Context(), all[0].ID); err != nil {
			t.Fatal(err)
		}
	}
	failing := s.Memory
	failing.Grants = fullGrants{s.Grants}
	b = remembering(t, bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", "")), failing, once)
	call := write(`{}`)
	q, token := parked(t, b, &call, bridge.ApprovalRequired)
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
		t.Errorf("the answer counts, for the call: %v", err)
	}
	if _, e := resume(t, b, call, resuming(token)); e == nil || e.Outcome != bridge.NotRun {
		t.Errorf("a call whose consent cannot be kept: %v", e)
	}
}

// fullGrants has no room.
type fullGrants struct{ bridge.Grants }

func (fullGrants) Put(context.Context, bridge.Grant) (bridge.Grant, error) {
	return bridge.Grant{}, errors.New("no room")
}

// revoking is a router on which consent is revoked while a call waits for its page.
type revoking struct {
	*bridgetest.Router
	grants bridge.Grants
}

func (r revoking) Acquire(ctx context.Context, ref bridge.Ref) (bridge.Source, error) {
	all, err := r.grants.All(ctx)
	for _, g := range all {
		if _, e := r.grants.Revoke(ctx, g.ID); e != nil {
			err = e
		}
	}
	if err != nil {
		return nil, err
	}
	return r.Router.Acquire(ctx, ref)
}

// TestRevokedWhileItWaits: consent that stood when a call came, and is revoked before it has
// its page, does not let it run. A yes to that call does.
func TestRevokedWhileItWaits(t *testing.T) {
	s := inMemory(t)
	inner := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	b := remembering(t, inner, s.Memory, once)
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	b = remembering(t, revoking{inner, s.Grants}, s.Memory, once)
	if _, e := do(t, b, "write", `{}`, ""); e == nil || e.Code != bridge.ApprovalDenied || e.Outcome != bridge.NotRun {
		t.Errorf("a call whose consent was revoked while it waited: %v", e)
	}
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Errorf("a call that a person agreed to: %v", e)
	}
}

// TestAlwaysOnlyWhereAllowed (C7): elsewhere such an answer is refused, and the
// question stays open.
func TestAlwaysOnlyWhereAllowed(t *testing.T) {
	destroys := bridgetest.Asking("write", "")
	destroys.Annotations = json.RawMessage(`{"destructiveHint":true}`)
	for name, test := range map[string]struct {
		tool bridge.Declaration
		o    bridge.SiteOptions
	}{
		"ask":         {bridgetest.Asking("write", ""), bridge.SiteOptions{}},
		"destructive": {destroys, once},
	} {
		t.Run(name, func(t *testing.T) {
			s := inMemory(t)
			r := bridgetest.NewRouter().Add("shop", test.tool)
			b := remembering(t, r, s.Memory, test.o)
			call := write(`{}`)
			q, token := parked(t, b, &call, bridge.ApprovalRequired)
			err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true})
			want(t, bridge.AsError(err), bridge.SchemaError, "", bridge.NotRun)
			if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			if _, e := resume(t, b, call, resuming(token)); e != nil {
				t.Fatal(e)
			}
			if all, _ := s.Grants.All(t.Context()); len(all) != 0 {
				t.Errorf("kept: %+v", all)
			}
			parked(t, b, &call, bridge.ApprovalRequired)
		})
	}
}

// TestUnseenTools: on a site with standing consent, a tool that is new, or has a new
// name, is asked about until a person has seen it.
func TestUnseenTools(t *testing.T) {
	s := inMemory(t)
	writes, reads, newcomer := bridgetest.Asking("write", ""), bridgetest.Tool("read", ""), bridgetest.Tool("newcomer", "")
	r := bridgetest.NewRouter().Add("shop", writes, reads)
	now := time.Now()
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": once}, Memory: s.Memory, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	r.Declare("shop", writes, reads, newcomer)
	if _, e := do(t, b, "newcomer", `{}`, ""); e != nil {
		t.Fatalf("the positive control: without consent that stands nothing is held back: %v", e)
	}
	r.Declare("shop", writes, reads)
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	r.Declare("shop", writes, reads, newcomer)
	for _, tool := range []string{"read", "write"} {
		if _, e := do(t, b, tool, `{}`, ""); e != nil {
			t.Errorf("%s was seen: %v", tool, e)
		}
	}
	call := bridge.Call{Site: "shop", Tool: "newcomer", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	if e := agree(t, b, call, bridge.Answer{}); e == nil {
		t.Error("it ran though a person said no")
	}
	parked(t, b, &call, bridge.ApprovalRequired)
	if e := agree(t, b, call, bridge.Answer{OK: true}); e != nil {
		t.Fatal(e)
	}
	if _, e := do(t, b, "newcomer", `{}`, ""); e != nil {
		t.Errorf("it was seen: %v", e)
	}
	all, _ := s.Grants.All(t.Context())
	if _, err := s.Grants.Revoke(t.Context(), all[0].ID); err != nil {
		t.Fatal(err)
	}
	r.Declare("shop", writes, reads, bridgetest.Tool("later", ""))
	now = now.Add(2 * time.Second)
	if _, e := do(t, b, "later", `{}`, ""); e != nil {
		t.Errorf("no consent stands any more: %v", e)
	}
}

// brokenGrants cannot be read.
type brokenGrants struct {
	bridge.Grants
	err error
}

func (g *brokenGrants) All(ctx context.Context) ([]bridge.Grant, error) {
	if g.err != nil {
		return nil, g.err
	}
	return g.Grants.All(ctx)
}

// TestGrantsThatCannotBeRead: as long as nothing was read a person is asked; then
// what was read last counts.
func TestGrantsThatCannotBeRead(t *testing.T) {
	m := inMemory(t).Memory
	broken := &brokenGrants{Grants: m.Grants, err: errors.New("no")}
	m.Grants = broken
	now := time.Now()
	b, err := bridge.New(bridgetest.NewRouter().Add("shop", bridgetest.Tool("read", "")), bridge.Options{Memory: m, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	call := bridge.Call{Site: "shop", Tool: "read", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	parked(t, b, &call, bridge.ApprovalRequired)
	broken.err = nil
	now = now.Add(2 * time.Second)
	if _, e := run(t, b, &call); e != nil {
		t.Errorf("it can be read: %v", e)
	}
	broken.err = errors.New("no")
	now = now.Add(2 * time.Second)
	if _, e := run(t, b, &call); e != nil {
		t.Errorf("it could be read: %v", e)
	}
}

// TestTaint: who has read what strangers wrote is asked before they change something
// elsewhere.
func TestTaint(t *testing.T) {
	untrusted := bridgetest.Tool("inbox", "")
	untrusted.Annotations = json.RawMessage(`{"readOnlyHint":true,"untrustedContentHint":true}`)
	send := bridgetest.Asking("send", "")
	untrusted.Origin, send.Origin = "https://mail.example", "https://mail.example"
	r := bridgetest.NewRouter().Add("mail", untrusted, send).Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
	now := time.Now()
	auto := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeAuto}}
	b, err := bridge.New(r, bridge.Options{Sites: map[string]bridge.SiteOptions{"shop": auto, "mail": auto}, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Fatalf("the positive control: %v", e)
	}
	mail := func(tool string, c bridge.Caller) *bridge.Error {
		_, e := run(t, b, &bridge.Call{Site: "mail", Tool: tool, Caller: c, Input: bridgetest.JSON(`{}`)})
		return e
	}
	if e := mail("inbox", bridge.Local()); e != nil {
		t.Fatal(e)
	}
	if e := mail("send", bridge.Local()); e != nil {
		t.Errorf("on the same origin: %v", e)
	}
	if _, e := do(t, b, "read", `{}`, ""); e != nil {
		t.Errorf("reading elsewhere: %v", e)
	}
	call := write(`{}`)
	parked(t, b, &call, bridge.ApprovalRequired)
	other := call
	other.Caller = bridge.Caller{Name: "other", May: []bridge.Right{bridge.MayCall}}
	if _, e := run(t, b, &other); e != nil {
		t.Errorf("another caller read nothing: %v", e)
	}
	now = now.Add(16 * time.Minute)
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Errorf("a while later: %v", e)
	}
}

// TestAlwaysBinds (A6, A13): consent that stands covers the page as it was configured, and
// the credential that it was given to.
func TestAlwaysBinds(t *testing.T) {
	s := inMemory(t)
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
	o := once
	o.AllowConfig = []string{"path", "headers", "cookies", "profile"}
	b := remembering(t, r, s.Memory, o)
	with := func(config, credential string) bridge.Call {
		c := write(`{}`)
		c.Config, c.Caller.Credential = json.RawMessage(config), credential
		return c
	}
	agreed := with(`{"path":"/a","headers":{"X-Env":"one"}}`, "first")
	q, token := parked(t, b, &agreed, bridge.ApprovalRequired)
	if want := `{"headers":["X-Env"],"path":"/a"}`; q.Page == nil || string(q.Page.Config) != want {
		t.Errorf("the person was shown %+v, want %s", q.Page, want)
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true, Always: true}); err != nil {
		t.Fatal(err)
	}
	agreed.Config = nil
	again := agreed
	again.Config = json.RawMessage(`{"path":"/a","headers":{"X-Env":"one"},"resume":"` + token + `"}`)
	if _, e := run(t, b, &again); e != nil {
		t.Fatal(e)
	}
	for config, credential := range map[string]string{
		`{"path":"/a","headers":{"X-Env":"one"}}`:                "first",
		`{"headers":{"X-Env":"one"},"path":"/a","timeout":1000}`: "first",
	} {
		c := with(config, credential)
		if _, e := run(t, b, &c); e != nil {
			t.Errorf("%s: %v", config, e)
		}
	}
	for _, c := range []bridge.Call{
		with(`{}`, "first"), with(`{"path":"/b","headers":{"X-Env":"one"}}`, "first"), with(`{"path":"/a","headers":{"X-Env":"two"}}`, "first"),
		with(`{"path":"/a","headers":{"X-Env":"one"},"cookies":[{"name":"sid","value":"v"}]}`, "first"),
		with(`{"path":"/a","headers":{"X-Env":"one"},"profile":"p"}`, "first"),
		with(`{"path":"/a","headers":{"X-Env":"one"}}`, "second"), with(`{"path":"/a","headers":{"X-Env":"one"}}`, ""),
	} {
		parked(t, b, &c, bridge.ApprovalRequired)
	}
}

// TestShown (A6, A14): what a person is shown of a call that needs consent, and no secret.
func TestShown(t *testing.T) {
	tool := bridgetest.Asking("write", "")
	tool.Annotations = json.RawMessage(`{"destructiveHint":true,"readOnlyHint":true,"title":"\u202e"}`)
	framed := bridgetest.Asking("framed", "")
	framed.Document, framed.Frame, framed.Origin, framed.Own = "d2", "ads", "https://ads.example", false
	r := bridgetest.NewRouter().Add("shop", tool, framed)
	b := open(t, r, bridge.SiteOptions{AllowConfig: bridge.PageKeys()})
	defer b.Close()
	call := write(`{}`)
	call.Config = json.RawMessage(`{"path":"/a?b=1","headers":{"X-B":"s3cret","X-A":"s3cret"},"cookies":[{"name":"sid","value":"s3cret"}],"localStorage":{"k":"s3cret"},
		"basicAuth":{"user":"carl","password":"s3cret"},"bearer":"s3cret","locale":"de-DE","profile":"work"}`)
	q, _ := parked(t, b, &call, bridge.ApprovalRequired)
	const config = `{"basicAuth":{"user":"carl"},"bearer":true,"cookies":["sid"],"headers":["X-A","X-B"],"localStorage":["k"],"locale":"de-DE","path":"/a?b=1","profile":"work"}`
	if q.Page == nil || string(q.Page.Config) != config || q.Page.URL != "" || strings.Join(q.Hints, " ") != "destructiveHint readOnlyHint" || q.Frame != "" || q.Session != "" {
		t.Errorf("the question is %+v with %+v", q, q.Page)
	}
	r.DeclareIn("shop", "s", tool, framed)
	call = write(`{}`)
	call.Tool, call.Session = "framed", "s"
	q, _ = parked(t, b, &call, bridge.ApprovalRequired)
	if q.Page == nil || q.Page.URL != "https://shop.example/s" || q.Page.Title != "A page" || q.Frame != "ads" || q.Session != "s" || q.Origin != "https://ads.example" {
		t.Errorf("the question is %+v with %+v", q, q.Page)
	}
	call = write(`{}`)
	if q, _ = parked(t, b, &call, bridge.ApprovalRequired); q.Page != nil {
		t.Errorf("of a new page as the site has it there is something to say: %+v", q.Page)
	}
}

// TestRevokedWhileItsToolIsLate: a source that waited for the tool learns that the consent
// which stood, or the credential, was revoked meanwhile.
func TestRevokedWhileItsToolIsLate(t *testing.T) {
	s := inMemory(t)
	r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("read", ""))
	b := remembering(t, r, s.Memory, once)
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	revoked := make(chan struct{})
	var before, after *bridge.Error
	revoke := func() {}
	r.Handle("shop", func(ctx context.Context, inv bridge.Invocation) bridge.Step {
		before = inv.Still(ctx)
		revoke()
		if after = inv.Still(ctx); after != nil {
			return after.Step()
		}
		return bridge.Step{Data: inv.Input}
	})
	revoke = func() {
		all, err := s.Grants.All(t.Context())
		for _, g := range all {
			_, err = s.Grants.Revoke(t.Context(), g.ID)
		}
		if len(all) != 1 || err != nil {
			t.Errorf("there are the grants %v, %v", all, err)
		}
	}
	_, e := do(t, b, "write", `{}`, "")
	if want(t, e, bridge.ApprovalDenied, "", bridge.NotRun); before != nil {
		t.Errorf("before the grant was revoked: %v", before)
	}
	revoke = func() { close(revoked) }
	call := bridge.Call{Site: "shop", Tool: "read", Input: bridgetest.JSON(`{}`), Caller: bridge.Caller{Name: "agent", May: []bridge.Right{bridge.MayCall}, Revoked: revoked}}
	_, _ = run(t, b, &call)
	if before != nil || after == nil || after.Code != bridge.Forbidden {
		t.Errorf("of a credential it learns %v, and then %v", before, after)
	}
}
