package postgres

import (
	"testing"

	"github.com/lib/pq"
)

// TestBehind: a watch that is too slow ends, and others go on until the connection is lost.
func TestBehind(t *testing.T) {
	t.Parallel()
	ended := map[string]bool{}
	watch := func(name, prefix string, room int) *watching {
		return &watching{prefix: prefix, heard: make(chan string, room), end: func() { ended[name] = true }}
	}
	slow, quick, other := watch("slow", "s.", 1), watch("quick", "s.", 2), watch("other", "n.", 0)
	l := &listener{watches: map[*watching]struct{}{}}
	for _, w := range []*watching{slow, quick, other} {
		if !l.add(w) {
			t.Fatal("a watch cannot be added")
		}
	}
	said := make(chan *pq.Notification)
	over := make(chan struct{})
	go func() {
		defer close(over)
		l.hear(said)
	}()
	for _, change := range []string{"s.A 1", "s.A 2"} {
		said <- &pq.Notification{Extra: change}
	}
	said <- &pq.Notification{Extra: "x.A 3"} // the one before is through
	if !ended["slow"] || ended["quick"] || ended["other"] {
		t.Errorf("%v have ended", ended)
	}
	close(said)
	<-over
	if !ended["quick"] || !ended["other"] || l.add(slow) {
		t.Errorf("%v have ended with the connection", ended)
	}
}
