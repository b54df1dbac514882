package lease_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

const (
	span   = lease.DefaultLease // L
	belief = span / 5 * 4
	tick   = 10 * time.Millisecond
)

// machine has the clocks of a node, and what its network does.
type machine struct {
	mu      sync.Mutex
	skew    lease.Instant
	fault   recordstest.Fault
	only    string        // the operation that has the fault; "" is all
	frozen  chan struct{} // not nil: nothing goes on until it is closed
	ops     map[string]int
	reborn  []string
	joined  []string
	died    []string
	records records.Records
}

func (m *machine) clocks() lease.Instant {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := time.Duration(time.Now().UnixNano())
	return lease.Instant{Mono: now + m.skew.Mono, Boot: now + m.skew.Boot, Wall: now + m.skew.Wall}
}

func (m *machine) jump(by lease.Instant) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.skew.Mono += by.Mono
	m.skew.Boot += by.Boot
	m.skew.Wall += by.Wall
}

// fails makes operations fail so from now on.
func (m *machine) fails(f recordstest.Fault, only string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fault, m.only = f, only
}

// freeze stops all that the process does, until thaw.
func (m *machine) freeze() (thaw func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	frozen := make(chan struct{})
	m.frozen = frozen
	return func() {
		m.mu.Lock()
		m.frozen = nil
		m.mu.Unlock()
		close(frozen)
	}
}

func (m *machine) happens(op recordstest.Op) recordstest.Fault {
	m.mu.Lock()
	frozen := m.frozen
	m.mu.Unlock()
	if frozen != nil {
		<-frozen
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ops[op.Name]++
	if m.only != "" && m.only != op.Name {
		return recordstest.None
	}
	return m.fault
}

// count returns how many operations there were since it was called last.
func (m *machine) count() map[string]int {
	m.mu.Lock()
	defer m.mu.Unlock()
	ops := m.ops
	m.ops = map[string]int{}
	return ops
}

func (m *machine) told() (reborn, joined, died []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.reborn), slices.Clone(m.joined), slices.Clone(m.died)
}

func newMachine(r records.Records) *machine {
	m := &machine{ops: map[string]int{}}
	m.records = &recordstest.Faulty{Records: r, Fault: m.happens}
	return m
}

// join lets a machine join, and runs it until the test ends or stop is called.
func (m *machine) join(t *testing.T, name string, change ...func(*lease.Options)) (n *lease.Node, stop func()) {
	t.Helper()
	o := lease.Options{
		Records: m.records, Clocks: m.clocks, About: func() lease.Facts { return lease.Facts{Node: name, Address: "https://" + name} },
		Reborn: func(was *lease.Life) { m.tell(&m.reborn, was.ID) },
		Joined: func(other lease.Member) { m.tell(&m.joined, other.ID) },
		Died:   func(id string) { m.tell(&m.died, id) },
	}
	for _, c := range change {
		c(&o)
	}
	n, err := lease.Join(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { n.Run(ctx) })
	stop = func() {
		cancel()
		run.Wait()
	}
	t.Cleanup(stop)
	return n, stop
}

func (m *machine) tell(list *[]string, id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*list = append(*list, id)
}

// pass lets time pass in the bubble.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// until lets time pass until something is so, and returns how long that took.
func until(t *testing.T, what string, most time.Duration, is func() bool) time.Duration {
	t.Helper()
	for took := time.Duration(0); took <= most; took += tick {
		if is() {
			return took
		}
		pass(tick)
	}
	t.Fatalf("%s: not within %v", what, most)
	return 0
}

func TestRenewals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := records.NewMemory()
		m := newMachine(r)
		n, _ := m.join(t, "a")
		life := n.Life()
		if !regexp.MustCompile(`^[A-Z2-7]{8}$`).MatchString(life.ID) {
			t.Errorf("an incarnation is %q", life.ID)
		}
		synctest.Wait()
		m.count()
		for range 1000 {
			if pass(tick); !life.Holds() || n.Life() != life {
				t.Fatal("a node that renews does not live")
			}
		}
		if ops := m.count(); ops["update"] != 10 || len(ops) != 1 { // 10 s, a renewal a second
			t.Errorf("in 10 s it does %v", ops)
		}
		is, err := r.Get(t.Context(), "n."+life.ID)
		if err != nil || !strings.HasPrefix(string(is.Value), `{"v":1,"node":"a","addr":"https://a"`) || !strings.Contains(string(is.Value), `"n":11`) {
			t.Errorf("%s, %v", is.Value, err)
		}
		n.Renew()
		pass(tick)
		if ops := m.count(); ops["update"] != 1 {
			t.Errorf("a renewal that was asked for: %v", ops)
		}
	})
}

func TestLeaseLimits(t *testing.T) {
	t.Parallel()
	for _, d := range []time.Duration{-1, time.Second, time.Hour} {
		if _, err := lease.Join(t.Context(), lease.Options{Records: records.NewMemory(), Lease: d}); err == nil || !strings.Contains(err.Error(), "from 2s to 1m0s") {
			t.Errorf("a lease of %v: %v", d, err)
		}
	}
}

// TestEngineGone: a node that cannot renew believes for 0.8 leases from before the last renewal was
// sent, and goes on when nobody has declared it dead.
func TestEngineGone(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]recordstest.Fault{"refused": recordstest.Fail, "silent": recordstest.Hang} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(records.NewMemory())
				n, _ := m.join(t, "a")
				life := n.Life()
				pass(span) // a renewal was sent now
				m.fails(fault, "")
				pass(belief - tick)
				if !life.Holds() {
					t.Error("it believes for less than 0.8 leases")
				}
				if pass(tick); life.Holds() {
					t.Error("it believes for more than 0.8 leases")
				}
				pass(10 * span)
				m.fails(recordstest.None, "")
				took := until(t, "it lives again", span, life.Holds)
				if took > span/4 {
					t.Errorf("it lives again after %v", took)
				}
				if reborn, _, _ := m.told(); n.Life() != life || len(reborn) > 0 {
					t.Error("it is another life, though nobody declared it dead")
				}
			})
		})
	}
}

// TestWhile: what is asked while the life holds ends with it, and not before.
func TestWhile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(records.NewMemory())
		n, stop := m.join(t, "a")
		life := n.Life()
		ctx, cancel := life.While(t.Context())
		defer cancel()
		short, end := life.While(t.Context())
		if pass(10 * span); ctx.Err() != nil {
			t.Errorf("it ends though renewals go on: %v", context.Cause(ctx))
		}
		if end(); short.Err() == nil || errors.Is(context.Cause(short), lease.ErrLapsed) {
			t.Errorf("whoever asked is done: %v", context.Cause(short))
		}
		m.fails(recordstest.Hang, "")
		if pass(belief - span/4 - tick); ctx.Err() != nil {
			t.Errorf("it ends before the belief: %v", context.Cause(ctx))
		}
		if pass(span/4 + 2*tick); life.Holds() || !errors.Is(context.Cause(ctx), lease.ErrLapsed) {
			t.Errorf("it goes on after the belief: %v", context.Cause(ctx))
		}
		if late, cancel := life.While(t.Context()); !errors.Is(context.Cause(late), lease.ErrLapsed) {
			t.Errorf("it begins without belief: %v", context.Cause(late))
			cancel()
		}
		m.fails(recordstest.None, "")
		until(t, "it lives again", span, life.Holds)
		ctx, cancel = life.While(t.Context())
		defer cancel()
		stop()
		if err := n.Leave(t.Context()); err != nil {
			t.Error(err)
		}
		if pass(belief); !errors.Is(context.Cause(ctx), lease.ErrLapsed) {
			t.Errorf("it goes on after the end of the life: %v", context.Cause(ctx))
		}
	})
}

// TestLostAnswers: a renewal whose answer was lost does not move the belief, and the next goes on from
// its revision.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(records.NewMemory())
		m.fails(recordstest.Lose, "create") // already the first
		ctx, cancel := context.WithTimeout(t.Context(), span)
		defer cancel()
		n, err := lease.Join(ctx, lease.Options{Records: m.records, Clocks: m.clocks})
		if err != nil {
			t.Fatal(err)
		}
		life := n.Life()
		run, stop := context.WithCancel(t.Context())
		defer stop()
		go n.Run(run)
		pass(tick)
		if !life.Holds() {
			t.Fatal("it does not live after a renewal")
		}
		for _, fault := range []recordstest.Fault{recordstest.Lose, recordstest.Drown} {
			m.fails(fault, "update")
			pass(belief - tick - span/4)
			if !life.Holds() {
				t.Error("it stops believing too early")
			}
			if pass(span/4 + 2*tick); life.Holds() {
				t.Error("a renewal whose answer was lost counts")
			}
			pass(2 * span)
			m.fails(recordstest.None, "")
			if took := until(t, "it lives again", span, life.Holds); took > span/4 || n.Life() != life {
				t.Errorf("it lives again after %v", took)
			}
		}
	})
}

// TestClocks: any of the three clocks ends the belief, and none that goes back lengthens it.
func TestClocks(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		jump lease.Instant
		ends bool
	}{
		"suspended":                   {lease.Instant{Boot: time.Hour, Wall: time.Hour}, true},
		"boot clock":                  {lease.Instant{Boot: belief}, true},
		"wall clock":                  {lease.Instant{Wall: belief}, true},
		"monotonic clock":             {lease.Instant{Mono: belief}, true},
		"wall clock, far":             {lease.Instant{Wall: 24 * time.Hour}, true},
		"wall clock back":             {lease.Instant{Wall: -24 * time.Hour}, false},
		"suspended, wall clock back":  {lease.Instant{Boot: belief, Wall: -time.Hour}, true},
		"suspended, no boot clock":    {lease.Instant{Wall: belief}, true},
		"less than the belief":        {lease.Instant{Boot: belief - span/4 - tick, Wall: belief - span/4 - tick}, false},
		"all the belief, to the tick": {lease.Instant{Boot: belief - span/8, Wall: 0}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := newMachine(records.NewMemory())
				n, _ := m.join(t, "a")
				life := n.Life()
				pass(span + span/8) // the last renewal was sent half a step ago
				m.jump(row.jump)
				if life.Holds() == row.ends {
					t.Errorf("it believes: %v", life.Holds())
				}
				if took := until(t, "it lives again", span, life.Holds); took > span/4 || n.Life() != life {
					t.Errorf("it lives again after %v", took)
				}
			})
		})
	}
	t.Run("back does not lengthen", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			m := newMachine(records.NewMemory())
			n, _ := m.join(t, "a")
			pass(span)
			m.fails(recordstest.Fail, "")
			m.jump(lease.Instant{Wall: -time.Hour})
			if pass(belief); n.Life().Holds() {
				t.Error("a wall clock that was set back keeps it alive")
			}
		})
	})
}

// TestRealClocks: the clocks of this machine go forward together.
func TestRealClocks(t *testing.T) {
	t.Parallel()
	a := lease.Clocks()
	timer := time.NewTimer(20 * time.Millisecond)
	<-timer.C
	b := lease.Clocks()
	for name, d := range map[string]time.Duration{"monotonic": b.Mono - a.Mono, "boot": b.Boot - a.Boot, "wall": b.Wall - a.Wall} {
		if d < 15*time.Millisecond || d > time.Minute {
			t.Errorf("the %s clock advanced by %v in 20 ms", name, d)
		}
	}
	if a.Boot == 0 {
		t.Error("there is no clock of the boot")
	}
}

// TestJoinWithoutEngine: joining goes on until it may not, and says why it did not succeed.
func TestJoinWithoutEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := newMachine(records.NewMemory())
		m.fails(recordstest.Fail, "")
		ctx, cancel := context.WithTimeout(t.Context(), 10*span)
		defer cancel()
		if _, err := lease.Join(ctx, lease.Options{Records: m.records}); !errors.Is(err, recordstest.ErrFault) {
			t.Error(err)
		}
		if ops := m.count(); ops["create"] < 30 || ops["create"] > 45 {
			t.Errorf("in 10 leases it tried %v", ops)
		}
	})
}
