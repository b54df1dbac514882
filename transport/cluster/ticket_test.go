package cluster_test

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/clustertest"
)

// TestTickets: a call whose home ended before it began goes on elsewhere; one that began does not, and
// one that its entry gave up does not begin any more.
func TestTickets(t *testing.T) {
	const asks = `{"action":"write","sessionId":"s","request":{},"config":{"wait":30000}}`
	world := func(t *testing.T) (m *members, tickets *clustertest.Tickets, a, b *node) {
		m, tickets = newMembers(t), &clustertest.Tickets{}
		with := func(o *cluster.Options) { o.Tickets = tickets }
		a, b = m.start("a", with), m.start("b", with)
		m.put("s", b, 1)
		return m, tickets, a, b
	}
	send := func(n *node, body string, header ...string) chan reply {
		end := make(chan reply, 1)
		go func() {
			defer close(end) // also where the reply does not come
			end <- n.send("POST", "/webtools/shop", body, header...)
		}()
		return end
	}
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	asked := func(t *testing.T, n *node, end chan reply) bridge.OpenQuestion {
		t.Helper()
		first := make(chan bridge.OpenQuestion, 1)
		go func() { // ends with the node
			for _, q := range bridgetest.Await(n.bridge, person, func(all []bridge.OpenQuestion) bool { return len(all) > 0 }) {
				first <- q
			}
		}()
		select {
		case q := <-first:
			return q
		case r := <-end:
			t.Fatalf("it ended before it asked: %d %s", r.status, r.body)
			panic("unreachable")
		}
	}
	t.Run("it waits for consent", func(t *testing.T) {
		m, tickets, a, b := world(t)
		end := send(a, asks)
		asked(t, b, end)
		if tickets.Len() != 0 {
			t.Fatal("it has a ticket before it is about to run")
		}
		m.Kill(b.ID)
		b.stop()
		q := asked(t, a, end) // it goes on here
		if err := a.bridge.Answer(person, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		(<-end).wants(t, "a call that did not run", 200, fmt.Sprintf(on, "a"))
		if a.ran.Load() != 1 || b.ran.Load() != 0 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("it is taken for dead, and is not", func(t *testing.T) {
		m, _, a, b := world(t)
		end := send(a, asks)
		late := asked(t, b, end)
		m.Kill(b.ID)
		q := asked(t, a, end)
		_ = b.bridge.Answer(person, late.ID, bridge.Answer{OK: true}) // it may have been aborted by now
		if err := a.bridge.Answer(person, q.ID, bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		(<-end).wants(t, "a call that did not run", 200, fmt.Sprintf(on, "a"))
		if a.ran.Load() != 1 || b.ran.Load() != 0 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	for what, body := range map[string]string{
		"it runs":          `{"action":"read","sessionId":"s","request":{"waits":1}}`,
		"one of a key":     `{"action":"write","sessionId":"s","request":{"key":1},"config":{"wait":30000}}`,
		"one that is long": `{"action":"write","sessionId":"s","request":{"long":1},"config":{"wait":30000}}`,
	} {
		t.Run(what, func(t *testing.T) {
			m, tickets, a, b := world(t)
			header := map[string][]string{"one of a key": {"Idempotency-Key", "k-12345678"}, "one that is long": {"Prefer", "respond-async"}}[what]
			end := send(a, body, header...)
			switch what {
			case "it runs":
				<-b.waits
			case "one that is long":
				asked(t, b, nil)
			default:
				asked(t, b, end)
			}
			if tickets.Len() != 1 {
				t.Fatalf("%d tickets", tickets.Len())
			}
			if what == "one that is long" {
				(<-end).wants(t, "its address", 202)
				return
			}
			m.Kill(b.ID)
			(<-end).wants(t, "a call that may have run", 502, `"NODE_LOST"`, `"unknown"`)
			if a.ran.Load() != 0 {
				t.Error("it ran again")
			}
		})
	}
	t.Run("it is void", func(t *testing.T) {
		for _, body := range []string{inSession, `{"action":"read","sessionId":"s","request":{"key":1}}`} {
			_, tickets, a, b := world(t)
			tickets.Refuse(2)
			a.send("POST", "/webtools/shop", body, "Idempotency-Key", "a-key-of-tests").wants(t, "the third try", 200, fmt.Sprintf(on, "b"))
			if b.hops.Load() != 3 || b.ran.Load() != 1 || a.ran.Load() != 0 {
				t.Errorf("%d tries, %d and %d ran", b.hops.Load(), a.ran.Load(), b.ran.Load())
			}
		}
		_, tickets, a, b := world(t)
		tickets.Refuse(1)
		a.send("POST", "/webtools/shop", inSession).wants(t, "the second try", 200, fmt.Sprintf(on, "b"))
		if b.hops.Load() != 2 || b.ran.Load() != 1 {
			t.Errorf("%d tries, %d ran", b.hops.Load(), b.ran.Load())
		}
	})
	t.Run("its home is out of reach", func(t *testing.T) {
		for body, outcome := range map[string]string{asks: `"not_run"`, `{"action":"read","sessionId":"s","request":{"waits":1}}`: `"unknown"`} {
			m, tickets := newMembers(t), &clustertest.Tickets{}
			with := func(o *cluster.Options) { o.Tickets, o.Patience = tickets, 500*time.Millisecond }
			a, b := m.start("a", with), m.start("b", with)
			m.put("s", b, 1)
			end := send(a, body)
			if body == asks {
				asked(t, b, end)
			} else {
				<-b.waits
			}
			b.stop()
			(<-end).wants(t, body, 503, `"NO_QUORUM"`, outcome)
		}
	})
	t.Run("the way to its home goes silent", func(t *testing.T) {
		m, tickets := newMembers(t), &clustertest.Tickets{}
		with := func(o *cluster.Options) { o.Tickets, o.Patience = tickets, 300*time.Millisecond }
		a, b := m.start("a", with), m.start("b", with)
		m.put("s", b, 1)
		runs := send(a, `{"action":"read","sessionId":"s","request":{"waits":1}}`)
		<-b.waits
		for b.peers.accepted.Load() < 12 { // it is asked for longer than requests look for a home
			select {
			case r := <-runs:
				t.Fatalf("its home is there, and it ends: %d %s", r.status, r.body)
			case <-time.After(time.Millisecond):
			}
		}
		close(b.peers.begun)
		next := send(a, inSession)
		(<-runs).wants(t, "a call that runs", 503, `"NO_QUORUM"`, `"unknown"`)
		(<-next).wants(t, "a call that did not arrive", 503, `"NO_QUORUM"`, `"not_run"`)
		if a.ran.Load() != 0 || b.ran.Load() != 1 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("its home lost its lease", func(t *testing.T) {
		for _, body := range []string{inSession, `{"action":"read","request":{}}`, `{"action":"read","request":{"key":1}}`} {
			m, tickets := newMembers(t), &clustertest.Tickets{}
			var owner atomic.Value // of calls without a session
			with := func(o *cluster.Options) {
				o.Tickets, o.Owner = tickets, func(string) (string, bool) { return owner.Load().(string), true }
			}
			a, b := m.start("a", with), m.start("b", with)
			m.put("s", b, 1)
			owner.Store(b.ID)
			tickets.OnBegin(func() { // the ticket is there, and nothing has run
				m.Cut(b.ID, true)
				m.put("s", a, 2)
				owner.Store(a.ID)
			})
			a.send("POST", "/webtools/shop", body, "Idempotency-Key", "a-key-of-tests").wants(t, body, 200, fmt.Sprintf(on, "a"))
			if tickets.Len() != 1 || b.ran.Load() != 0 || a.ran.Load() != 1 {
				t.Errorf("%s: %d tickets, %d and %d ran", body, tickets.Len(), a.ran.Load(), b.ran.Load())
			}
		}
	})
	t.Run("nobody knows", func(t *testing.T) {
		m, tickets, a, b := world(t)
		end := send(a, asks)
		asked(t, b, end)
		tickets.Fail(errors.New("the engine is away"))
		m.Kill(b.ID)
		(<-end).wants(t, "a call", 502, `"NODE_LOST"`, `"unknown"`)
		if a.ran.Load() != 0 {
			t.Error("it ran")
		}
	})
	t.Run("alone", func(t *testing.T) {
		_, tickets, a, _ := world(t)
		a.send("POST", "/webtools/shop", `{"action":"read","request":{}}`).wants(t, "a call", 200, fmt.Sprintf(on, "a"))
		if tickets.Len() != 0 {
			t.Error("a call at home has a ticket")
		}
	})
}
