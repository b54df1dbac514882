package bridge_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
)

// oneSession is the session "s" of the local caller on the shop, as long as it is there.
type oneSession struct {
	view    *bridgetest.View
	gone    bool
	changed func()
}

func (o *oneSession) All() []bridge.SessionState {
	if o.gone {
		return nil
	}
	return []bridge.SessionState{{ID: "one", Caller: "local", Site: "shop", Session: "s"}}
}

func (o *oneSession) ViewOne(context.Context, string) (bridge.View, error) { return o.view, nil }

func (*oneSession) PictureOne(context.Context, string) ([]byte, error) { return []byte("png"), nil }

func (o *oneSession) CloseOne(string, bool) (int, bool) { return 0, !o.gone }

func (o *oneSession) NotifyOf(changed func()) { o.changed = changed }

// TestLiveSession: who looks at a session sees its page whatever runs there, and acts in it only with the pen of the call that waits
// for a person in this session; the view ends with the session.
func TestLiveSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := bridgetest.NewRouter().Add("shop", bridgetest.Tool("ask", ""))
		r.Handle("shop", (&pages{steps: []bridge.Kind{bridge.Interact}}).invoke)
		sessions := &oneSession{view: bridgetest.NewView()}
		b, err := bridge.New(r, bridge.Options{Sessions: sessions})
		if err != nil {
			t.Fatal(err)
		}
		defer b.Close()
		for _, by := range []bridge.Caller{{Name: "viewer", May: []bridge.Right{bridge.MayView}}, {Name: "other", May: operator.May, Sites: []string{"bank"}}} {
			if _, err := bridge.ViewSession(t.Context(), b, by, "one"); err == nil {
				t.Errorf("%s looks", by.Name)
			}
			if _, err := bridge.PictureOfSession(t.Context(), b, by, "one"); err == nil {
				t.Errorf("%s has a picture", by.Name)
			}
		}
		l, err := bridge.ViewSession(t.Context(), b, operator, "one")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		events, last := l.Watch(t.Context()), bridge.RunState{}
		seen := func() bridge.RunState {
			for {
				synctest.Wait()
				select {
				case ev, more := <-events:
					if !more {
						return last
					}
					last = ev.Runs[0]
				default:
					return last
				}
			}
		}
		if s := seen(); s.Question != nil || s.Over || l.Take() {
			t.Errorf("where nothing waits: %+v", s)
		}
		refusedWith(t, l.Act(t.Context(), aClick), bridge.Conflict)
		other := bridge.Call{Site: "shop", Tool: "ask", Caller: bridge.Local(), Input: bridgetest.JSON(`{}`), Session: "another"}
		parked(t, b, &other, bridge.InputRequired)
		if s := seen(); s.Question != nil || l.Take() {
			t.Errorf("a call of another session waits: %+v", s)
		}
		call := other
		call.Session = "s"
		q, _ := parked(t, b, &call, bridge.InputRequired)
		if s := seen(); s.Question == nil || s.Question.ID != q.ID || s.Pen != "" || l.Mine() {
			t.Errorf("a call waits: %+v", s)
		}
		refusedWith(t, l.Act(t.Context(), aClick), bridge.Conflict) // to look does not give the pen
		if !l.Take() || !l.Mine() || seen().Pen != "person" {
			t.Error("the pen is not its own")
		}
		second, err := b.Live(t.Context(), operator, q.ID)
		if err != nil {
			t.Fatal(err)
		}
		defer second.Close()
		if second.Take() {
			t.Error("two hold the pen")
		}
		if err := l.Act(t.Context(), aClick); err != nil || len(sessions.view.Acts()) != 1 {
			t.Errorf("it did %v, %v", sessions.view.Acts(), err)
		}
		if err := b.Answer(operator, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		if s := seen(); s.Question != nil || s.Over || l.Mine() {
			t.Errorf("after the answer: %+v", s)
		}
		refusedWith(t, l.Act(t.Context(), aClick), bridge.Conflict)
		sessions.gone = true
		sessions.changed()
		if s := seen(); !s.Over {
			t.Errorf("after its end: %+v", s)
		}
	})
}
