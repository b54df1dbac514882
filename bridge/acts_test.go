package bridge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// TestAuditOfActs (reach reference, 5.2): the outcome names everybody who answered a question of the
// call or acted in its page, on a card or in a live view, whoever closed the question. An act that
// was refused is none.
func TestAuditOfActs(t *testing.T) {
	acts := func(l *bridge.Live) error { return l.Act(t.Context(), aClick) }
	watches := func(name string, do func(*bridge.Live) error) func(*bridge.Bridge, *bridge.LongCall, string) error {
		return func(b *bridge.Bridge, _ *bridge.LongCall, q string) error {
			l, err := b.Live(t.Context(), bridge.Caller{Name: name, May: operator.May}, q)
			if err != nil {
				return err
			}
			defer l.Close()
			l.Take()
			return do(l)
		}
	}
	onCard := func(_ *bridge.Bridge, c *bridge.LongCall, q string) error {
		l, err := c.LiveOnCard(t.Context(), bridge.Local(), q)
		if err != nil {
			return err
		}
		defer l.Close()
		l.Take()
		return l.ActAll(t.Context(), []bridge.Input{aClick, aClick})
	}
	answersOnCard := func(_ *bridge.Bridge, c *bridge.LongCall, q string) error {
		return c.AnswerOnCard(bridge.Local(), q, bridge.Answer{OK: true})
	}
	for name, x := range map[string]struct {
		does []func(*bridge.Bridge, *bridge.LongCall, string) error
		want string // before who answered last
	}{
		"nobody acts":    {nil, ""},
		"on a card":      {[]func(*bridge.Bridge, *bridge.LongCall, string) error{onCard, onCard}, "local via card, "},
		"in a live view": {[]func(*bridge.Bridge, *bridge.LongCall, string) error{watches("ann", acts)}, "ann, "},
		"both":           {[]func(*bridge.Bridge, *bridge.LongCall, string) error{watches("ann", acts), onCard, watches("ann", acts)}, "ann, local via card, "},
		"a refused act": {[]func(*bridge.Bridge, *bridge.LongCall, string) error{watches("ann", func(l *bridge.Live) error {
			refusedWith(t, l.Act(t.Context(), bridge.Input{Type: "drag"}), bridge.SchemaError)
			l.Drop()
			refusedWith(t, acts(l), bridge.Conflict)
			return nil
		})}, ""},
		"an answer that is not the last": {[]func(*bridge.Bridge, *bridge.LongCall, string) error{answersOnCard}, "local via card, "},
	} {
		audit := &spyAudit{}
		p := &pages{steps: []bridge.Kind{bridge.Interact, bridge.Interact}}
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
		r.Handle("shop", p.invoke)
		b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{})
		call := bridge.Call{Site: "shop", Tool: "ask", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
		q, token := parked(t, b, &call, bridge.InputRequired)
		long, err := b.LongCall(call.Caller, token)
		if err != nil {
			t.Fatal(err)
		}
		for _, do := range x.does {
			if err := do(b, long, q.ID); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for g, changed := long.Glance(); !g.Over; g, changed = long.Glance() {
			if g.Question == nil {
				<-changed
				continue
			}
			if err := b.Answer(operator, g.Question.ID, bridge.Answer{}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		got := audit.take()
		if len(got) != 2 || got[0].Persons != "" || got[1].Persons != x.want+"person" || got[1].Approver != "person" {
			t.Errorf("%s: the audit has %+v", name, got)
		}
	}
}

// TestAuditOfManyActs: however many persons act, a record has as many names as fit, none of them cut.
func TestAuditOfManyActs(t *testing.T) {
	audit := &spyAudit{}
	r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
	r.Handle("shop", (&pages{steps: []bridge.Kind{bridge.Interact}}).invoke)
	b := remembering(t, r, bridge.Memory{Audit: audit}, bridge.SiteOptions{})
	call := bridge.Call{Site: "shop", Tool: "ask", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`)}
	q, token := parked(t, b, &call, bridge.InputRequired)
	for n := range 100 {
		l, err := b.Live(t.Context(), bridge.Caller{Name: fmt.Sprintf("person%03d", n), May: operator.May}, q.ID)
		if err != nil {
			t.Fatal(err)
		}
		if l.Take(); l.Act(t.Context(), aClick) != nil {
			t.Fatal("it does not act")
		}
		l.Close()
	}
	if err := b.Answer(operator, q.ID, bridge.Answer{}); err != nil {
		t.Fatal(err)
	}
	if _, e := resume(t, b, call, resuming(token)); e != nil {
		t.Fatal(e)
	}
	got := audit.take()
	names := strings.Split(got[len(got)-1].Persons, ", ")
	for n, name := range names[:len(names)-1] {
		if name != fmt.Sprintf("person%03d", n) {
			t.Errorf("the name %d is %q", n, name)
		}
	}
	if last := names[len(names)-1]; last != "and others" || len(names) < 40 || len(got[len(got)-1].Persons) > 512 {
		t.Errorf("the record has %d names, the last %q", len(names), last)
	}
}
