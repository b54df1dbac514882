package bridge_test

import (
	"math"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/policy"
)

// watchCall makes a call wait in its page, and watches it.
func watchCall(t *testing.T, b *bridge.Bridge, call *bridge.Call, as bridge.Caller) (*bridge.Live, *bridge.Question, string) {
	t.Helper()
	q, token := parked(t, b, call, bridge.InputRequired)
	l, err := b.Live(t.Context(), as, q.ID)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.Close)
	return l, q, token
}

var aClick = bridge.Input{Type: bridge.MouseDown, X: 10, Y: 20, Button: "left", Clicks: 1}

func refusedWith(t *testing.T, err error, want bridge.Code) {
	t.Helper()
	if err == nil || bridge.AsError(err).Code != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// watching returns what who watches a call was told last, once nothing moves.
func watching(t *testing.T, l *bridge.Live) func() bridge.RunState {
	t.Helper()
	events := l.Watch(t.Context())
	var last bridge.RunState
	return func() bridge.RunState {
		for {
			synctest.Wait()
			select {
			case ev := <-events:
				last = ev.Runs[0]
			default:
				return last
			}
		}
	}
}

// TestPen: one of those who watch a call holds the pen; only what they do reaches
// the page, while it waits for a person to act in it; and who leaves gives it away.
func TestPen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, r, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Interact, bridge.Confirm}})
		defer b.Close()
		first, q, _ := watchCall(t, b, &call, operator)
		second, err := b.Live(t.Context(), bridge.Caller{Name: "other", May: operator.May}, q.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if f := <-first.Frames(); string(f.JPEG) != "view of shop" {
			t.Errorf("the first frame is %s", f.JPEG)
		}
		refusedWith(t, first.Act(t.Context(), aClick), bridge.Conflict)
		seen := watching(t, second)
		seen()
		if !first.Take() || second.Take() {
			t.Error("the pen is not the first's")
		}
		if !first.Take() {
			t.Error("who holds the pen cannot take it again")
		}
		if s := seen(); s.Pen != "person" || second.Mine() || s.Question == nil || s.Question.ID != q.ID || s.Over {
			t.Errorf("the second sees %+v", s)
		}
		if !first.Mine() {
			t.Error("the first does not know that the pen is its own")
		}
		if err := first.Act(t.Context(), aClick); err != nil {
			t.Error(err)
		}
		refusedWith(t, second.Act(t.Context(), aClick), bridge.Conflict)
		second.Drop()
		if second.Take() {
			t.Error("who does not hold the pen gave it away")
		}
		first.Close()
		if !second.Take() {
			t.Error("who left still holds the pen")
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		refusedWith(t, second.Act(t.Context(), aClick), bridge.Conflict) // a dialog is open
		views := r.Views()
		if len(views) != 2 || len(views[0].Acts()) != 1 || views[0].Acts()[0] != aClick || len(views[1].Acts()) != 0 {
			t.Errorf("the page was worked with %v", views)
		}
		s := seen()
		if s.Question == nil || s.Question.Kind != bridge.Confirm {
			t.Fatalf("the second sees %+v", s)
		}
		if err := b.Answer(operator, s.Question.ID, bridge.Answer{}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if s := seen(); !s.Over || s.Question != nil {
			t.Errorf("at the end the second sees %+v", s)
		}
		for range second.Frames() {
		}
	})
}

// TestWhoMayWatch: who may not answer sees nothing, and neither does who may not
// know of the site; and there is nothing to see of a call that waits for consent.
func TestWhoMayWatch(t *testing.T) {
	b, r, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Interact}})
	defer b.Close()
	_, q, token := watchCall(t, b, &call, operator)
	for want, who := range map[bridge.Code]bridge.Caller{
		bridge.Forbidden:       bridge.Local(),
		bridge.WebtoolNotFound: {Name: "elsewhere", May: operator.May, Sites: []string{"bank"}},
	} {
		_, err := b.Live(t.Context(), who, q.ID)
		refusedWith(t, err, want)
	}
	_, err := b.Live(t.Context(), operator, "none")
	refusedWith(t, err, bridge.WebtoolNotFound)
	if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
		t.Fatal(err)
	}
	if _, e := resume(t, b, call, resuming(token)); e != nil {
		t.Fatal(e)
	}
	_, err = b.Live(t.Context(), operator, q.ID)
	refusedWith(t, err, bridge.WebtoolNotFound)
	asks := open(t, r, bridge.SiteOptions{Approval: policy.Operator{Mode: policy.ModeStrict}})
	defer asks.Close()
	q, _ = parked(t, asks, &call, bridge.ApprovalRequired)
	_, err = asks.Live(t.Context(), operator, q.ID)
	refusedWith(t, err, bridge.WebtoolNotFound)
	if n := len(r.Views()); n != 1 {
		t.Errorf("%d views were opened", n)
	}
}

// TestInputIsChecked: what no mouse and no keyboard does is refused.
func TestInputIsChecked(t *testing.T) {
	b, r, call := stopping(t, &pages{steps: []bridge.Kind{bridge.Interact}})
	defer b.Close()
	l, _, _ := watchCall(t, b, &call, operator)
	l.Take()
	for _, in := range []bridge.Input{
		{}, {Type: "click"}, {Type: bridge.MouseMove, X: 1e9}, {Type: bridge.MouseMove, Y: math.NaN()}, {Type: bridge.Wheel, DY: math.Inf(1)}, {Type: bridge.MouseDown, Button: "back"},
		{Type: bridge.MouseDown, Clicks: 4}, {Type: bridge.MouseDown, Clicks: -1}, {Type: bridge.KeyDown}, {Type: bridge.KeyDown, Key: "a", Modifiers: 16},
		{Type: bridge.Text}, {Type: bridge.Text, Text: strings.Repeat("x", 16<<10+1)}, {Type: bridge.KeyUp, Key: strings.Repeat("x", 33)},
	} {
		refusedWith(t, l.Act(t.Context(), in), bridge.SchemaError)
	}
	for _, in := range []bridge.Input{{Type: bridge.Text, Text: strings.Repeat("x", 16<<10)}, {Type: bridge.KeyUp, Key: "a", Modifiers: 15}, {Type: bridge.Wheel, X: 1, Y: 1, DX: -100}, {Type: bridge.Back}, {Type: bridge.Reload}} {
		if err := l.Act(t.Context(), in); err != nil {
			t.Error(err)
		}
	}
	if n := len(r.Views()[0].Acts()); n != 5 {
		t.Errorf("the page got %d inputs", n)
	}
}

// TestActsAreTheAnswer: when a page ends its question after somebody acted in it,
// it is known who that was, and without it nobody.
func TestActsAreTheAnswer(t *testing.T) {
	for who, acts := range map[string]bool{"person": true, "": false} {
		p := &pages{steps: []bridge.Kind{bridge.Interact}, over: make(chan struct{})}
		b, _, call := stopping(t, p)
		l, q, token := watchCall(t, b, &call, operator)
		if acts {
			l.Take()
			if err := l.Act(t.Context(), aClick); err != nil {
				t.Error(err)
			}
		}
		close(p.over)
		if got, e := resume(t, b, call, resuming(token)); e != nil || got != `["null"]` {
			t.Errorf("got %s, %v", got, e)
		}
		err := b.Answer(operator, q.ID, bridge.Answer{OK: true})
		refusedWith(t, err, bridge.Conflict)
		if got := bridge.AsError(err).Details["answeredBy"]; got != who {
			t.Errorf("it was answered by %q, want %q", got, who)
		}
		l.Close()
		b.Close()
	}
}
