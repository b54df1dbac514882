package bridge_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/policy"
)

// recorder notes what it is told of calls that ask for it.
type recorder struct {
	all     []string
	secrets []string
	leases  func() int
}

func (r *recorder) Record(_ context.Context, c *bridge.RecordedCall) bridge.Recording {
	r.all = append(r.all, "call "+c.ID)
	if !c.Record {
		return nil
	}
	r.secrets = c.Conceal()
	return r
}

func (r *recorder) Asked(q *bridge.Question) func(*bridge.Answer) {
	r.all = append(r.all, "asked "+q.Detail)
	return func(a *bridge.Answer) {
		if a.OK {
			r.all = append(r.all, "yes")
		}
	}
}

func (r *recorder) Progressed(p bridge.Progress) { r.all = append(r.all, "part "+p.Told().Message) }

func (r *recorder) End() {
	said := "end"
	if r.leases() == 0 {
		said = "end without a page"
	}
	r.all = append(r.all, said)
}

// TestRecorder: a recording follows a call in its page, its questions and progress included, until before
// the page is given back; it knows what nobody may read. A call that nobody records has none.
func TestRecorder(t *testing.T) {
	t.Parallel()
	const declared = `{"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"q":{"type":"string"}}}`
	router := bridgetest.NewRouter().Add("shop", bridgetest.Tool("buy", declared))
	router.Handle("shop", func(_ context.Context, inv bridge.Invocation) bridge.Step {
		inv.Progress(bridge.Progress{Parts: 1, Last: []byte(`"half"`)})
		return bridgetest.Asks(bridge.Question{Kind: bridge.Confirm, Title: "Sure?", Detail: "Sure?"}, bridgetest.Then(`"done"`))
	})
	r := &recorder{leases: router.Leases}
	b, err := bridge.New(router, bridge.Options{Recorder: r, Sites: map[string]bridge.SiteOptions{
		"shop": {Approval: policy.Operator{Mode: policy.ModeAuto}, AllowConfig: []string{"cookies", "headers", "locale"}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	operator := bridge.Caller{Name: "ada", May: []bridge.Right{bridge.MayAnswer}}
	call := func(id string, record bool) {
		t.Helper()
		run := b.Start(t.Context(), &bridge.Call{Site: "shop", Tool: "buy", ID: id, Caller: bridge.Local(), Record: record, Input: bridgetest.JSON(`{"pin":"hunter-two","q":"tea"}`),
			Config: []byte(`{"cookies":[{"name":"sid","value":"cookie-value","path":"/all"}],"headers":{"X-Key":"header-value"},"locale":"de-DE"}`)})
		q, s := run.Next(t.Context())
		if q == nil {
			t.Fatalf("it ended with %v", s.Err)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		if _, s := run.Next(t.Context()); s.Err != nil {
			t.Fatal(s.Err)
		}
	}
	call("plain", false)
	call("recorded", true)
	if got := strings.Join(r.all, ", "); got != "call plain, call recorded, part half, asked Sure?, yes, end" {
		t.Errorf("it was told %s", got)
	}
	if slices.Sort(r.secrets); !slices.Equal(r.secrets, []string{"cookie-value", "header-value", "hunter-two"}) {
		t.Errorf("the secrets are %q", r.secrets)
	}
}
