package bridge_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// put makes these the sites of a bridge, whose router changes by swap.
func put(t *testing.T, b *bridge.Bridge, of map[string]bridge.SiteOptions, swap func()) {
	t.Helper()
	set, err := b.PrepareSites(of)
	if err != nil {
		t.Fatal(err)
	}
	set(swap)
}

// some lets the tool "ask" run.
var some = bridge.SiteOptions{Approval: policy.Operator{Tools: []policy.Rule{{Pattern: "ask", Level: policy.Auto}}}}

// TestRemovedSite: a site that was removed is one that never was. Calls that wait for a person there
// end as what they are: not run before consent, unknown in the page. What calls came to is still
// their callers'. Calls of other sites go on.
func TestRemovedSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""), bridgetest.Tool("ask", "")).
			Add("other", bridgetest.Asking("write", ""))
		r.Handle("shop", (&pages{steps: []bridge.Kind{bridge.Confirm}}).invoke)
		b := open(t, r, some)
		defer b.Close()
		consent := write(`{}`)
		dialog, ended, stays := consent, consent, consent
		dialog.Tool, ended.Tool, ended.Session, stays.Site = "ask", "ask", "done", "other"
		q, token := parked(t, b, &consent, bridge.ApprovalRequired)
		asks, inPage := parked(t, b, &dialog, bridge.InputRequired)
		said, done := parked(t, b, &ended, bridge.InputRequired)
		stayed, going := parked(t, b, &stays, bridge.ApprovalRequired)
		if err := b.Answer(operator, said.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()

		put(t, b, map[string]bridge.SiteOptions{"other": {}}, func() { r.Remove("shop") })
		synctest.Wait()
		_, e := do(t, b, "write", "{}", "")
		want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
		for _, id := range []string{q.ID, asks.ID} {
			want(t, bridge.AsError(b.Answer(operator, id, bridge.Answer{OK: true})), bridge.Conflict, "", bridge.NotRun)
		}
		_, e = resume(t, b, consent, resuming(token))
		want(t, e, bridge.InternalError, bridge.Draining, bridge.NotRun)
		_, e = resume(t, b, dialog, resuming(inPage))
		want(t, e, bridge.InternalError, bridge.Draining, bridge.Unknown)
		if got, e := resume(t, b, ended, resuming(done)); e != nil || got == "" {
			t.Errorf("the call that had ended: %s, %v", got, e)
		}
		_, e = resume(t, b, ended, resuming(done)) // it was told
		want(t, e, bridge.WebtoolNotFound, "", bridge.Unknown)
		foreign := dialog
		foreign.Caller.Name = "somebody"
		_, e = resume(t, b, foreign, resuming(going))
		want(t, e, bridge.WebtoolNotFound, "", bridge.Unknown)
		_, e = resume(t, b, dialog, resuming("no token"))
		want(t, e, bridge.WebtoolNotFound, "", bridge.NotRun)
		if r.Leases() != 0 {
			t.Errorf("%d pages are held", r.Leases())
		}
		if err := b.Answer(operator, stayed.ID, bridge.Answer{OK: true}); err != nil { // the positive control
			t.Error(err)
		}
		if _, e := resume(t, b, stays, resuming(going)); e != nil {
			t.Errorf("the call of another site: %v", e)
		}
		if all := b.Sites(bridge.Local()); len(all) != 1 || all[0].Name != "other" {
			t.Errorf("the sites are %v", all)
		}
	})
}

// TestChangedSite: consent that is given after a site was changed counts for what the site is then:
// its new rules hold, and the tools of another origin are none that a person saw.
func TestChangedSite(t *testing.T) {
	elsewhere := bridgetest.Asking("write", "")
	elsewhere.Origin = "https://evil.example"
	never := bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeNever}}
	for name, x := range map[string]struct {
		o       bridge.SiteOptions
		write   bridge.Declaration
		code    bridge.Code // "" for a result
		reason  bridge.Reason
		renewed bool
	}{
		"it is as before":     {bridge.SiteOptions{}, bridgetest.Asking("write", ""), "", "", false},
		"nothing of note":     {bridge.SiteOptions{StrictOutput: true}, bridgetest.Asking("write", ""), "", "", true},
		"it may not any more": {never, bridgetest.Asking("write", ""), bridge.ApprovalDenied, "", true},
		"another origin":      {bridge.SiteOptions{}, elsewhere, bridge.VersionMismatch, bridge.ToolChanged, true},
	} {
		t.Run(name, func(t *testing.T) {
			r := bridgetest.NewRouter().Add("shop", bridgetest.Asking("write", ""))
			b := open(t, r, bridge.SiteOptions{})
			defer b.Close()
			call := write(`{}`)
			q, token := parked(t, b, &call, bridge.ApprovalRequired)
			put(t, b, map[string]bridge.SiteOptions{"shop": x.o}, func() {
				if x.renewed {
					r.Renew("shop", x.write)
				}
			})
			if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
				t.Fatal(err)
			}
			_, e := resume(t, b, call, resuming(token))
			if x.code != "" {
				want(t, e, x.code, x.reason, bridge.NotRun)
			} else if e != nil {
				t.Error(e)
			}
			ran := r.Calls()
			if (len(ran) == 1) != (x.code == "") {
				t.Errorf("ran: %+v", ran)
			}
			if len(ran) == 1 && (ran[0].Ref.Generation != 0) != x.renewed { // else it might get a page of another site
				t.Errorf("its page is of generation %d", ran[0].Ref.Generation)
			}
		})
	}
}

// TestConsentOfAnotherSite: consent that was kept for a site does not count for another one under
// its name, and counts again for the one that it was given for.
func TestConsentOfAnotherSite(t *testing.T) {
	s := inMemory(t)
	tool := bridgetest.Asking("write", "")
	elsewhere := tool
	elsewhere.Origin = "https://evil.example"
	r := bridgetest.NewRouter().Add("shop", tool)
	b := remembering(t, r, s.Memory, once)
	if e := agree(t, b, write(`{}`), bridge.Answer{OK: true, Always: true}); e != nil {
		t.Fatal(e)
	}
	call := write(`{}`)
	put(t, b, map[string]bridge.SiteOptions{"shop": once}, func() { r.Renew("shop", elsewhere) })
	parked(t, b, &call, bridge.ApprovalRequired)
	put(t, b, map[string]bridge.SiteOptions{"shop": once}, func() { r.Renew("shop", tool) })
	if _, e := do(t, b, "write", `{}`, ""); e != nil {
		t.Errorf("the site that consent was given for: %v", e)
	}
}

// TestSitesAreTold: who watches lists learns of sites that come, go and change, and of no other; a
// file that would not do at a start changes nothing; versions go on under the name of a site.
func TestSitesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tool := bridgetest.Tool("look", "")
		r := bridgetest.NewRouter().Add("shop", tool).Add("stays", tool).Add("goes", tool)
		b := open(t, r, bridge.SiteOptions{})
		defer b.Close()
		version := func() string {
			t.Helper()
			d, err := b.Webtool(t.Context(), bridge.Ref{Site: "shop", Caller: bridge.Local()}, "", "")
			if err != nil {
				t.Fatal(err)
			}
			return d.Version
		}
		was := version()
		events := b.Watch(t.Context(), bridge.Interest{Caller: bridge.Local(), Tools: true})
		<-events // the snapshot
		wrong := bridge.SiteOptions{Params: map[string]json.RawMessage{"units": json.RawMessage(`{"type":"nothing"}`)}}
		if _, err := b.PrepareSites(map[string]bridge.SiteOptions{"shop": wrong}); err == nil {
			t.Error("a default that is no schema is taken")
		}
		if got := version(); got != was {
			t.Errorf("the version is %s", got)
		}
		put(t, b, map[string]bridge.SiteOptions{"shop": {}, "stays": {}, "comes": {}}, func() {
			r.Renew("shop", tool, bridgetest.Tool("more", ""))
			r.Remove("goes")
			r.Add("comes", tool)
		})
		synctest.Wait()
		told := map[string]bool{}
		for len(events) > 0 || len(told) < 3 {
			ev := <-events
			told[ev.Site] = true
		}
		if !told["shop"] || !told["goes"] || !told["comes"] || told["stays"] {
			t.Errorf("told are %v", told)
		}
		if got := version(); got == was || got == "" {
			t.Errorf("other tools have the version %s", got)
		}
	})
}
