package cluster_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/transport/cluster"
)

const aKey = "a-key-of-tests"

// keyed sends a call with a key.
func (n *node) keyed(body string) reply {
	n.t.Helper()
	return n.send("POST", "/webtools/shop", body, "Idempotency-Key", aKey)
}

// starts sends a call with a key whose reply nobody waits for: its node is killed.
func (n *node) starts(t *testing.T, body string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		r := request(t, n.url, agentToken, "POST", "/webtools/shop", body, "Idempotency-Key", aKey)
		if resp, err := client.Do(r.WithContext(ctx)); err == nil {
			_ = resp.Body.Close()
		}
	}()
	t.Cleanup(func() { stop(); <-done })
}

// TestKeys: a key is one call at all nodes: its reply is repeated by each, and while it runs, its node is
// asked. When that has ended, a call that had not begun is made anew, and one that had never is.
func TestKeys(t *testing.T) {
	const reads, other = `{"action":"read","request":{"key":1}}`, `{"action":"read","request":{"key":2}}`
	const asks, waits = `{"action":"write","request":{"key":1}}`, `{"action":"read","request":{"waits":1}}`
	person := bridge.Caller{Name: "person", May: []bridge.Right{bridge.MayAnswer}}
	world := func(t *testing.T, change func(*cluster.Options)) (m *members, a, b *node) {
		m = newMembers(t)
		m.records = records.NewMemory()
		return m, m.start("a", change), m.start("b", change)
	}
	t.Run("it is over", func(t *testing.T) {
		_, a, b := world(t, nil)
		first := a.keyed(reads).wants(t, "the first", 200, fmt.Sprintf(on, "a"))
		if again := b.keyed(reads); again.body != first.body || again.status != first.status {
			t.Errorf("again, at the other node: %d %s", again.status, again.body)
		}
		b.keyed(other).wants(t, "another call", 422, `"CONFLICT"`, `"not_run"`)
		b.send("POST", "/webtools/shop", reads, "Idempotency-Key", "another").wants(t, "another key", 200, fmt.Sprintf(on, "b"))
		if b.ran.Load() != 1 || a.hops.Load()+b.hops.Load() != 0 {
			t.Errorf("%d ran, %d hops", b.ran.Load(), a.hops.Load()+b.hops.Load())
		}
	})
	t.Run("it waits for a person", func(t *testing.T) {
		_, a, b := world(t, nil)
		asked := a.keyed(asks).wants(t, "the first", 403, `"APPROVAL_REQUIRED"`)
		at := []string{"error", "details", "question", "id"}
		for _, n := range []*node{a, b} {
			if got := n.keyed(asks).wants(t, "again", 403).at(t, at...); got != asked.at(t, at...) {
				t.Errorf("again, the question is %s", got)
			}
		}
		b.keyed(reads).wants(t, "another call", 422, `"CONFLICT"`)
		if a.hops.Load() != 2 || b.hops.Load() != 0 {
			t.Errorf("%d and %d hops", a.hops.Load(), b.hops.Load())
		}
		if err := a.bridge.Answer(person, asked.at(t, at...), bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		b.send("POST", "/webtools/shop", `{"action":"write","request":{"key":1},"config":{"resume":"`+asked.at(t, "error", "details", "resume")+`","wait":30000}}`).
			wants(t, "its outcome", 200, fmt.Sprintf(on, "a"))
		b.keyed(asks).wants(t, "its outcome, again", 200, fmt.Sprintf(on, "a"))
		if a.ran.Load() != 1 || b.ran.Load() != 0 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("it runs", func(t *testing.T) {
		m, a, b := world(t, nil)
		a.starts(t, waits)
		<-a.waits
		b.keyed(waits).wants(t, "again", 409, `"CONFLICT"`, `"not_run"`)
		if a.hops.Load() != 1 {
			t.Errorf("%d hops", a.hops.Load())
		}
		m.Kill(a.ID)
		for range 2 {
			b.keyed(waits).wants(t, "its node has ended", 502, `"NODE_LOST"`, `"unknown"`)
		}
		if b.ran.Load() != 0 {
			t.Error("it ran again")
		}
	})
	t.Run("its node ends before it runs", func(t *testing.T) {
		m, a, b := world(t, nil)
		first := a.keyed(asks).wants(t, "the first", 403)
		m.Kill(a.ID)
		again := b.keyed(asks).wants(t, "again", 403, `"APPROVAL_REQUIRED"`)
		if err := a.bridge.Answer(person, first.at(t, "error", "details", "question", "id"), bridge.Answer{OK: true}); err != nil {
			t.Fatal(err) // it was only taken for dead
		}
		sendTo(t, a.alone, agentToken, "POST", "/webtools/shop", `{"action":"write","request":{"key":1},"config":{"resume":"`+first.at(t, "error", "details", "resume")+`","wait":30000}}`).
			wants(t, "the first", 503, `"NO_QUORUM"`, `"not_run"`)
		if err := b.bridge.Answer(person, again.at(t, "error", "details", "question", "id"), bridge.Answer{OK: true}); err != nil {
			t.Fatal(err)
		}
		b.send("POST", "/webtools/shop", `{"action":"write","request":{"key":1},"config":{"resume":"`+again.at(t, "error", "details", "resume")+`","wait":30000}}`).
			wants(t, "its outcome", 200, fmt.Sprintf(on, "b"))
		if a.ran.Load() != 0 || b.ran.Load() != 1 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("in a session", func(t *testing.T) {
		m, a, b := world(t, nil)
		m.put("s", b, 1)
		a.keyed(inSession).wants(t, "the first", 200, fmt.Sprintf(on, "b"))
		a.keyed(inSession).wants(t, "again", 200, fmt.Sprintf(on, "b"))
		m.put("s", a, 2)
		b.keyed(inSession).wants(t, "after the session moved", 200, fmt.Sprintf(on, "b"))
		if b.ran.Load() != 1 || a.ran.Load() != 0 {
			t.Errorf("%d and %d ran", a.ran.Load(), b.ran.Load())
		}
	})
	t.Run("nobody asks its node", func(t *testing.T) {
		_, a, b := world(t, func(o *cluster.Options) { o.Keys = nil })
		a.keyed(asks).wants(t, "the first", 403, `"APPROVAL_REQUIRED"`)
		b.keyed(asks).wants(t, "again", 409, `"CONFLICT"`)
		if a.hops.Load() != 0 {
			t.Errorf("%d hops", a.hops.Load())
		}
	})
	t.Run("without the engine", func(t *testing.T) {
		m := newMembers(t)
		m.records = &recordstest.Faulty{Records: records.NewMemory(), Fault: func(recordstest.Op) recordstest.Fault { return recordstest.Fail }}
		a := m.start("a", nil)
		r := a.keyed(reads).wants(t, "a key", http.StatusServiceUnavailable, `"NO_QUORUM"`, `"not_run"`)
		if r.header.Get("Retry-After") != "2" {
			t.Errorf("Retry-After is %q", r.header.Get("Retry-After"))
		}
		a.send("POST", "/webtools/shop", reads).wants(t, "without one", 200, fmt.Sprintf(on, "a"))
	})
}
