package ticket_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/ticket"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// home is a node that lives, and records that fail as they are told.
type home struct {
	records.Records

	memory *records.Memory
	life   *lease.Life
	mu     sync.Mutex
	fault  recordstest.Fault
	left   int // operations that still have the fault; less than 0 is all
	cut    bool
}

func newHome(t *testing.T, m *records.Memory) *home {
	t.Helper()
	h := &home{memory: m}
	h.Records = &recordstest.Faulty{Records: m, Fault: func(op recordstest.Op) recordstest.Fault {
		h.mu.Lock()
		defer h.mu.Unlock()
		if strings.HasPrefix(op.Key, "n.") {
			return map[bool]recordstest.Fault{true: recordstest.Fail}[h.cut]
		}
		if h.left == 0 {
			return recordstest.None
		}
		h.left--
		return h.fault
	}}
	n, err := lease.Join(t.Context(), lease.Options{Records: h.Records})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	go n.Run(ctx)
	synctest.Wait()
	h.life = n.Life()
	return h
}

func (h *home) fails(f recordstest.Fault, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.fault, h.left = f, times
}

func (h *home) isCut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cut = true
}

var call = ticket.Call{ID: "01JABC-DEF", Attempt: 1}

func void(t *testing.T, r records.Records, c ticket.Call) (bool, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	return ticket.Void(ctx, r, "ENTRYXXX", c, lease.Clocks(), lease.Clocks)
}

func TestWhoIsFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		h := newHome(t, m)
		if err := ticket.Begin(t.Context(), h, h.life, call); err != nil {
			t.Fatal(err)
		}
		is, err := m.Get(t.Context(), "t.01JABC-DEF.1")
		if err != nil || !strings.HasPrefix(string(is.Value), `{"v":1,"what":"begun","by":"`+h.life.ID+`"`) {
			t.Errorf("%s, %v", is.Value, err)
		}
		if notRun, err := void(t, m, call); notRun || err != nil {
			t.Errorf("a call that had begun did not run: %v, %v", notRun, err)
		}
		if err := ticket.Begin(t.Context(), h, h.life, call); !errors.Is(err, ticket.ErrBegun) {
			t.Errorf("a call that came twice: %v", err)
		}
		second := ticket.Call{ID: call.ID, Attempt: 2}
		if notRun, err := void(t, m, second); !notRun || err != nil {
			t.Errorf("%v, %v", notRun, err)
		}
		if err := ticket.Begin(t.Context(), h, h.life, second); !errors.Is(err, ticket.ErrVoid) {
			t.Errorf("a void call begins: %v", err)
		}
		if notRun, err := void(t, m, second); !notRun || err != nil {
			t.Errorf("its own ticket, again: %v, %v", notRun, err)
		}
		if err := ticket.Begin(t.Context(), h, h.life, ticket.Call{ID: "a b", Attempt: 1}); !errors.Is(err, records.ErrInvalid) {
			t.Error(err)
		}
		if notRun, err := void(t, m, ticket.Call{ID: "a.b c"}); notRun || !errors.Is(err, records.ErrInvalid) {
			t.Errorf("%v, %v", notRun, err)
		}
	})
}

// TestLostAnswers: both sides try again, and their own ticket counts as made.
func TestLostAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		h := newHome(t, m)
		h.fails(recordstest.Lose, 3)
		if err := ticket.Begin(t.Context(), h, h.life, call); err != nil {
			t.Fatal(err)
		}
		h.fails(recordstest.Lose, 3)
		if notRun, err := void(t, h, ticket.Call{ID: "B", Attempt: 1}); !notRun || err != nil {
			t.Errorf("%v, %v", notRun, err)
		}
		h.fails(recordstest.Fail, 5)
		if err := ticket.Begin(t.Context(), h, h.life, ticket.Call{ID: "C", Attempt: 1}); err != nil {
			t.Error(err)
		}
		h.fails(recordstest.Fail, -1)
		if notRun, err := void(t, h, ticket.Call{ID: "D", Attempt: 1}); notRun || err == nil {
			t.Errorf("without an engine: %v, %v", notRun, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := ticket.Begin(ctx, h, h.life, ticket.Call{ID: "D", Attempt: 1}); !errors.Is(err, ticket.ErrLapsed) || !errors.Is(err, recordstest.ErrFault) {
			t.Errorf("without an engine: %v", err)
		}
	})
}

// TestLapsed: a life that does not hold begins nothing, however long it has tried.
func TestLapsed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		h := newHome(t, m)
		h.isCut()
		h.fails(recordstest.Fail, -1)
		began := time.Now()
		if err := ticket.Begin(t.Context(), h, h.life, call); !errors.Is(err, ticket.ErrLapsed) || time.Since(began) > lease.DefaultLease {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		h.fails(recordstest.None, 0)
		if err := ticket.Begin(t.Context(), h, h.life, call); !errors.Is(err, ticket.ErrLapsed) {
			t.Errorf("%v", err)
		}
		if _, err := m.Get(t.Context(), "t.01JABC-DEF.1"); !errors.Is(err, records.ErrNone) {
			t.Errorf("it has a ticket: %v", err)
		}
	})
}

// TestTooLate: when the engine may have removed a ticket, that there is none means nothing, also where
// the machine was suspended while it was made.
func TestTooLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		h := newHome(t, m)
		sent := lease.Clocks()
		if err := ticket.Begin(t.Context(), h, h.life, call); err != nil {
			t.Fatal(err)
		}
		m.Expire("t.01JABC-DEF.1") // after 20 minutes
		skew := time.Duration(0)
		late := func() lease.Instant {
			now := lease.Clocks()
			now.Boot += skew
			return now
		}
		skew = 15 * time.Minute
		if notRun, err := ticket.Void(t.Context(), m, "ENTRYXXX", call, sent, late); notRun || err == nil {
			t.Errorf("%v, %v", notRun, err)
		}
		skew = 0
		slow := &recordstest.Faulty{Records: m, After: func(recordstest.Op) { skew = 15 * time.Minute }}
		if notRun, err := ticket.Void(t.Context(), slow, "ENTRYXXX", ticket.Call{ID: "B", Attempt: 1}, sent, late); notRun {
			t.Errorf("%v, %v", notRun, err)
		}
		skew = 14 * time.Minute
		if notRun, err := ticket.Void(t.Context(), m, "ENTRYXXX", ticket.Call{ID: "C", Attempt: 1}, sent, late); !notRun {
			t.Errorf("%v, %v", notRun, err)
		}
	})
}

// TestBothAtOnce: whatever the timing, one of the two decides and both know.
func TestBothAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		h := newHome(t, m)
		for i := range 300 {
			c := ticket.Call{ID: "RACE", Attempt: i + 1}
			var both sync.WaitGroup
			var begun, notRun bool
			both.Go(func() { begun = ticket.Begin(t.Context(), h, h.life, c) == nil })
			both.Go(func() { notRun, _ = ticket.Void(t.Context(), m, "ENTRYXXX", c, lease.Clocks(), lease.Clocks) })
			both.Wait()
			if begun == notRun {
				t.Fatalf("begun %v, not run %v", begun, notRun)
			}
		}
	})
}
