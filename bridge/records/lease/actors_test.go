package lease_test

import (
	"context"
	"runtime"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// actor is a goroutine that runs only when it is let, from one gate to the next. One runs at a time,
// so a run depends on nothing but what the schedule draws.
type actor struct {
	resume chan recordstest.Fault // what becomes of the operation that it waits with
	parked chan bool              // false when it has ended
	of     *process
	killed bool
	caller bool // waits for the end of a call
}

// begin makes an actor of a process. It waits before it does anything.
func begin(of *process, do func(a *actor)) *actor {
	a := &actor{resume: make(chan recordstest.Fault), parked: make(chan bool), of: of}
	go func() {
		defer func() { a.parked <- false }()
		<-a.resume
		if !a.killed {
			do(a)
		}
	}()
	return a
}

// gate waits until the schedule lets the actor go on.
func (a *actor) gate() recordstest.Fault {
	a.parked <- true
	fault := <-a.resume
	if a.killed {
		runtime.Goexit()
	}
	return fault
}

// step lets the actor run to its next gate. It reports whether it goes on.
func (a *actor) step(f recordstest.Fault) bool {
	a.resume <- f
	return <-a.parked
}

// kill ends the actor where it is.
func (a *actor) kill() {
	a.killed = true
	a.step(recordstest.None)
}

// gated are the records as actors have them: each waits before an operation, and before its answer.
type gated struct {
	w *world
	p *process
}

var _ records.Records = gated{}

// here returns the records for the actor that runs now.
func (g gated) here() *recordstest.Faulty {
	a := g.w.running
	return &recordstest.Faulty{
		Records: g.w.memory,
		Fault: func(recordstest.Op) recordstest.Fault {
			fault := a.gate()
			if g.p.cut && fault == recordstest.None {
				return recordstest.Fail
			}
			return fault
		},
		After: func(recordstest.Op) { a.gate() },
	}
}

func (g gated) Get(ctx context.Context, key string) (records.Record, error) {
	return g.here().Get(ctx, key)
}

func (g gated) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	return g.here().Create(ctx, key, value)
}

func (g gated) Update(ctx context.Context, key string, value []byte, was uint64) (uint64, error) {
	return g.here().Update(ctx, key, value, was)
}

func (g gated) Delete(ctx context.Context, key string, was uint64) error {
	return g.here().Delete(ctx, key, was)
}

func (g gated) Watch(context.Context, string) (<-chan records.Record, error) {
	panic("the model shows records itself")
}
