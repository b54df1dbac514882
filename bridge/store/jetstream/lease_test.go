package jetstream

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
)

// member is a node of a test, with a connection of its own.
type member struct {
	*lease.Node

	died   chan string
	reborn chan string
	stop   func()
}

func join(t *testing.T, c *natstest.Cluster, name string) *member {
	t.Helper()
	m := &member{died: make(chan string, 9), reborn: make(chan string, 9)}
	s := connect(t, c, func(o *Options) { o.Timeout = time.Second })
	n, err := lease.Join(t.Context(), lease.Options{
		Records: s, Lease: lease.MinLease, About: func() lease.Facts { return lease.Facts{Node: name} },
		Died: func(id string) { m.died <- id }, Reborn: func(was *lease.Life) { m.reborn <- was.ID },
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Node = n
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { n.Run(ctx) })
	m.stop = func() {
		cancel()
		run.Wait()
	}
	t.Cleanup(m.stop)
	return m
}

// TestLeases: nodes over a server see a death in little more than a lease, and none when one leaves; a server
// that is killed and comes back costs no life.
func TestLeases(t *testing.T) {
	t.Parallel()
	each(t, natstest.Options{}, func(t *testing.T, c *natstest.Cluster) {
		a, b := join(t, c, "a"), join(t, c, "b")
		b.stop()
		began := time.Now()
		hears(t, a.died, b.Life().ID)
		if took := time.Since(began); took < lease.MinLease/2 || took > 3*lease.MinLease {
			t.Errorf("a death is known after %v", took)
		}
		other := join(t, c, "c")
		other.stop()
		if err := other.Leave(t.Context()); err != nil {
			t.Fatal(err)
		}
		hears(t, a.died, other.Life().ID)

		last := join(t, c, "d")
		life := a.Life()
		c.Servers[0].Kill()
		timer := time.NewTimer(lease.MinLease + lease.MinLease/2)
		<-timer.C
		if life.Holds() {
			t.Error("a node believes in its life for longer than a lease without an engine")
		}
		c.Servers[0].Restart()
		for until := time.Now().Add(10 * time.Second); !life.Holds() && time.Now().Before(until); {
			tick := time.NewTimer(10 * time.Millisecond)
			<-tick.C
		}
		select {
		case id := <-a.died:
			t.Errorf("%s is dead, because the engine was gone", id)
		case id := <-last.reborn:
			t.Errorf("%s is dead, because the engine was gone", id)
		case <-life.Over():
			t.Error("a life is over, because the engine was gone")
		default:
		}
		if !life.Holds() || a.State(last.Life().ID) != lease.Alive {
			t.Error("they do not live after the return of the engine")
		}
	})
}

// TestLeaderGone: the server that leads is killed; the nodes live on.
func TestLeaderGone(t *testing.T) {
	t.Parallel()
	if !gatetest.IsNightly() {
		t.Skip("the election of a leader takes seconds: it is of the night")
	}
	c := natstest.Start(t, natstest.Newest(t), natstest.Options{Servers: 3})
	a, b := join(t, c, "a"), join(t, c, "b")
	lives := []*lease.Life{a.Life(), b.Life()}
	for _, server := range c.Servers {
		server.Kill()
		t.Logf("they live on after %v", steady(t, lives))
		server.Restart()
		t.Logf("they live on after %v, with it", steady(t, lives))
	}
	select {
	case id := <-a.died:
		t.Errorf("%s is dead", id)
	case id := <-b.died:
		t.Errorf("%s is dead", id)
	default:
	}
}

// steady waits until all lives have held for two leases, and returns how long that took besides.
func steady(t *testing.T, lives []*lease.Life) time.Duration {
	t.Helper()
	began := time.Now()
	since := began
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for time.Since(since) < 2*lease.MinLease {
		<-ticker.C
		for _, life := range lives {
			if !life.Holds() {
				since = time.Now()
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatal("they do not live")
		}
	}
	return since.Sub(began).Round(10 * time.Millisecond)
}

func hears(t *testing.T, died <-chan string, id string) {
	t.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	select {
	case got := <-died:
		if got != id {
			t.Errorf("%s is dead, not %s", got, id)
		}
	case <-timer.C:
		t.Fatalf("nobody hears that %s is dead", id)
	}
}
