package store

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

const (
	// linger is how long the writer collects records that nobody waits for. With
	// the time of a commit it stays under the 10 ms that are promised.
	linger = 5 * time.Millisecond
	// retryEvery is how often it tries again after a failure.
	retryEvery = 500 * time.Millisecond
	// crowd is how many records end the lingering.
	crowd = 1024
)

// writer writes audit records and the log of calls in groups: one transaction
// for whatever came while the one before was written. Callers put records into
// its queue; one goroutine, run, takes them out and owns everything else.
type writer struct {
	db      *database
	signer  *signer
	owner   string
	journal *journal
	o       Options
	began   time.Time

	health  atomic.Pointer[failure]
	end     atomic.Int64  // number of a record of the chain that is committed
	slow    atomic.Bool   // the journal could not be written the last time
	wake    chan struct{} // the queue is not empty any more
	urgent  chan struct{} // and somebody waits
	stop    chan struct{}
	stopped chan error // what the last write said
	leaves  bool       // records stay in the journal; read after stopped

	mu      sync.Mutex // guards what follows; nothing waits under it
	queue   batch
	room    chan struct{} // closed when records were written
	pending int           // records that are not written: queued, or held by run
	lost    int64         // records that found no place while writing failed
	tickets int64
	closed  bool
}

var _ bridge.Audit = (*writer)(nil)

// batch is what one transaction writes.
type batch struct {
	audit []entry
	calls []bridge.CallRecord
	flush []chan error // each takes one error without blocking
}

func (b *batch) records() int { return len(b.audit) + len(b.calls) }
func (b *batch) empty() bool  { return b.records()+len(b.flush) == 0 }

// failure boxes the error for an atomic pointer.
type failure struct{ err error }

// startWriter starts run, which ends with close.
func startWriter(ctx context.Context, db *database, s *signer, me *owner, o Options) (*writer, error) {
	w := &writer{
		db: db, signer: s, owner: me.id, o: o, began: o.Now(),
		wake: make(chan struct{}, 1), urgent: make(chan struct{}, 1), stop: make(chan struct{}), stopped: make(chan error, 1),
		room: make(chan struct{}),
	}
	unsigned, err := w.catchUp(ctx)
	if err != nil {
		return nil, err
	}
	if w.journal, err = openJournal(me.root, me.id); err != nil {
		return nil, err
	}
	go w.run(unsigned)
	return w, nil
}

// Intent implements bridge.Audit.
func (w *writer) Intent(ctx context.Context, r bridge.AuditRecord) (int64, error) {
	e := entry{kind: kindIntent, record: r}
	if r.Wait && w.Healthy() == nil {
		return w.note(ctx, &e)
	}
	err := w.add(ctx, &e, nil)
	return e.ticket, err
}

// note queues an intent like one that nobody waits for, and puts it into the
// journal, where it survives us until it is committed. When the journal does not
// take it, this waits for the commit.
func (w *writer) note(ctx context.Context, e *entry) (int64, error) {
	after := w.end.Load() // before it can be committed
	e.journal = true
	if err := w.enqueue(ctx, e, nil); err != nil {
		return e.ticket, err
	}
	err := w.journal.append(frame(after, e.row(w.owner, w.began)))
	if !errors.Is(err, errJournalFull) && !errors.Is(err, ErrClosed) {
		w.journalled(err)
	}
	if err == nil {
		return e.ticket, nil
	}
	notify(w.urgent)
	return e.ticket, await(ctx, e.done)
}

// journalled logs when the journal begins to fail, and when it stops.
func (w *writer) journalled(err error) {
	switch {
	case err == nil:
		if w.slow.Load() && w.slow.Swap(false) {
			w.o.Log.Info("the journal of the audit is written again")
		}
	case !w.slow.Swap(true):
		w.o.Log.Warn("the journal of the audit cannot be written: calls wait for the database", slog.Any("error", err))
	}
}

// Outcome implements bridge.Audit.
func (w *writer) Outcome(ctx context.Context, ticket int64, r bridge.AuditRecord) error {
	return w.add(ctx, &entry{kind: kindOutcome, ticket: ticket, record: r}, nil)
}

// Healthy implements bridge.Audit.
func (w *writer) Healthy() error {
	if f := w.health.Load(); f != nil {
		return f.err
	}
	return nil
}

// add queues a record, and waits for it when it asks for that. A waiter that
// gives up leaves its record in the queue.
func (w *writer) add(ctx context.Context, e *entry, c *bridge.CallRecord) error {
	if err := w.enqueue(ctx, e, c); err != nil || e == nil || e.done == nil {
		return err
	}
	return await(ctx, e.done)
}

// enqueue queues a record when there is room.
func (w *writer) enqueue(ctx context.Context, e *entry, c *bridge.CallRecord) error {
	if e != nil {
		e.at = w.o.Now()
		if e.record.Wait {
			e.done = make(chan error, 1)
		}
	}
	for {
		room, err := w.put(e, c)
		if err != nil || room == nil {
			return err
		}
		select {
		case <-room:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// put queues a record, or says what to wait for.
func (w *writer) put(e *entry, c *bridge.CallRecord) (room <-chan struct{}, err error) {
	w.mu.Lock()
	first := w.queue.empty()
	switch {
	case w.closed:
		err = ErrClosed
	case w.pending >= w.o.maxPending:
		if err = w.Healthy(); err != nil {
			w.lost++
		} else {
			room = w.room
		}
	case e != nil:
		if e.kind == kindIntent {
			w.tickets++
			e.ticket = w.tickets
		}
		w.queue.audit = append(w.queue.audit, *e)
		w.pending++
	default:
		w.queue.calls = append(w.queue.calls, *c)
		w.pending++
	}
	hurry := room != nil || e != nil && e.done != nil && !e.journal || w.queue.records() == crowd
	w.mu.Unlock()
	if first {
		notify(w.wake)
	}
	if hurry {
		notify(w.urgent)
	}
	return room, err
}

// notify sets a flag that a channel of one holds.
func notify(flag chan struct{}) {
	select {
	case flag <- struct{}{}:
	default:
	}
}

// flush returns when everything that was queued before is written or failed.
func (w *writer) flush(ctx context.Context) error {
	done := make(chan error, 1)
	w.mu.Lock()
	closed := w.closed
	if !closed {
		w.queue.flush = append(w.queue.flush, done)
	}
	w.mu.Unlock()
	if closed {
		return ErrClosed
	}
	notify(w.urgent)
	return await(ctx, done)
}

// close writes what is queued, signs the chain and ends run. What could not be
// written and is in the journal is left there.
func (w *writer) close() (leaves bool, err error) {
	w.mu.Lock()
	closed := w.closed
	w.closed = true
	w.mu.Unlock()
	if closed {
		return false, ErrClosed
	}
	close(w.stop)
	err = <-w.stopped
	return w.leaves, err
}

// run is the goroutine that writes. It ends when stop is closed.
func (w *writer) run(unsigned int) {
	s := &shift{w: w, unsigned: unsigned, timer: time.NewTimer(retryEvery), pruneIn: 0}
	defer s.timer.Stop()
	if unsigned > 0 {
		s.signAt = time.Now().Add(w.o.CheckpointEvery)
	}
	for {
		stopping := s.wait()
		w.take(&s.held)
		err := s.write(stopping)
		if stopping {
			var closing error
			w.leaves, closing = w.journal.close(s.held.records() == 0)
			w.stopped <- errors.Join(err, closing)
			return
		}
		s.prune()
	}
}

// take moves the queue to what run holds. The journal turns before: see there.
func (w *writer) take(held *batch) {
	w.journal.turn()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.lost > 0 {
		w.queue.audit = append(w.queue.audit, entry{kind: kindLost, ticket: w.lost, at: w.o.Now()})
		w.pending++
		w.lost = 0
	}
	if held.empty() {
		w.queue, *held = batch{audit: held.audit[:0], calls: held.calls[:0], flush: held.flush[:0]}, w.queue
		return
	}
	held.audit = append(held.audit, w.queue.audit...)
	held.calls = append(held.calls, w.queue.calls...)
	held.flush = append(held.flush, w.queue.flush...)
	w.queue = batch{audit: w.queue.audit[:0], calls: w.queue.calls[:0], flush: w.queue.flush[:0]}
}

// report is what Healthy says from now on.
func (w *writer) report(err error) {
	switch {
	case err == nil:
		if w.health.Swap(nil) != nil {
			w.o.Log.Info("the audit is written again")
		}
	case w.health.Swap(&failure{err}) == nil:
		w.o.Log.Error("the audit cannot be written", slog.Any("error", err))
	}
}

// settle tells who waits for a record how the commit went. What failed is held
// for the next attempt.
func (w *writer) settle(held *batch, err error) {
	for i := range held.audit {
		if done := held.audit[i].done; done != nil {
			done <- err
			held.audit[i].done = nil
		}
	}
	if err != nil {
		return
	}
	w.mu.Lock()
	w.pending -= held.records()
	room := w.room
	w.room = make(chan struct{})
	w.mu.Unlock()
	close(room)
	held.audit, held.calls = held.audit[:0], held.calls[:0]
}
