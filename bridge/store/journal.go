package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
)

// journal is the audit of this process: one chain, in one file after another.
// A call that waits for its record writes it; a goroutine, keep, writes the others within
// 10 ms, brings the file to the disk, signs the chain and begins new files.
type journal struct {
	archive
	id    string
	o     Options
	began time.Time

	writing failure  // records are not in the file
	signing failure  // records are not on the disk, or not signed
	calls   *failure // the log of calls cannot be written

	wake    chan struct{} // keep has something to do
	flushes chan chan error
	stop    chan struct{}
	stopped chan error

	// mu is held over one write of about a kilobyte into the page cache, against the rule that no
	// lock is held over I/O: it puts records in order.
	mu       sync.Mutex
	part     *part
	end      chain
	held     []*record // that are not written yet
	lost     int64     // records that found no place among these
	tickets  int64
	unsigned int  // records since the newest mark
	unsynced bool // a record that somebody waited for is not on the disk
	wanted   bool // somebody wants a mark now
	closed   bool
}

var _ bridge.Audit = (*journal)(nil)

// part is a file of a chain.
type part struct {
	f      *os.File
	number int
	size   int64
}

// newPart makes a file, which begins with the mark of where the chain stands. It
// is on the disk when this returns: later, a line names it.
func (f archive) newPart(id string, number int, end chain, at time.Time) (*part, error) {
	line, err := f.signer.line(newMark(markBegin, id, number, end, at))
	if err != nil {
		return nil, err
	}
	file, err := openOwn(f.root, partName(id, number), os.O_RDWR|os.O_TRUNC)
	if err != nil {
		return nil, err
	}
	p := &part{f: file, number: number}
	if err = p.write(line); err == nil {
		err = errors.Join(p.sync(), f.syncNames())
	}
	if err != nil {
		return nil, errors.Join(err, f.drop(p, id))
	}
	return p, nil
}

// drop removes a file without records.
func (f archive) drop(p *part, id string) error {
	return errors.Join(p.f.Close(), files.RemoveIn(f.root, partName(id, p.number)))
}

// write adds a line with one write. What a full disk took of it is cut off again,
// or written over.
func (p *part) write(line []byte) error {
	if _, err := p.f.WriteAt(line, p.size); err != nil {
		_ = p.f.Truncate(p.size) // the first error says more
		return fmt.Errorf("writing the audit: %w", classify(err))
	}
	p.size += int64(len(line))
	return nil
}

func (p *part) sync() error {
	if err := p.f.Sync(); err != nil {
		return fmt.Errorf("bringing the audit to the disk: %w", classify(err))
	}
	return nil
}

// openJournal begins a chain, and starts keep, which ends with close.
func openJournal(f archive, id string, calls *failure, o Options) (*journal, error) {
	j := &journal{
		archive: f, id: id, o: o, began: o.Now(), calls: calls,
		writing: failure{what: "the audit",
			log: o.Log}, signing: failure{what: "the checkpoints of the audit", log: o.Log},
		wake: make(chan struct{}, 1), flushes: make(chan chan error),
		stop: make(chan struct{}), stopped: make(chan error, 1),
	}
	var err error
	if j.part, err = f.newPart(id, 1, chain{}, o.Now()); err != nil {
		return nil, err
	}
	go j.keep()
	return j, nil
}

func (j *journal) Intent(_ context.Context, r bridge.AuditRecord) (int64, error) {
	return j.add(kindIntent, 0, r)
}

func (j *journal) Outcome(_ context.Context, ticket int64, r bridge.AuditRecord) error {
	_, err := j.add(kindOutcome, ticket, r)
	return err
}

func (j *journal) Healthy() error {
	return cmp.Or(j.writing.get(), j.signing.get(), j.calls.get())
}

// add writes a record that somebody waits for, and the ones before it; others it
// leaves to keep, which is not on the way of a call. A record that cannot be
// written is held. One that finds no place is counted, and is an error for
// anybody.
func (j *journal) add(kind string, ticket int64, in bridge.AuditRecord) (int64, error) {
	r := newRecord(kind, ticket, j.o.Now(), j.began, in)
	j.mu.Lock()
	if j.closed {
		j.mu.Unlock()
		return 0, ErrClosed
	}
	if kind == kindIntent {
		j.tickets++
		r.Ticket = j.tickets
	}
	var err error
	now := in.Wait || len(j.held) >= j.o.maxPending
	if now {
		if err = j.drain(); err == nil {
			err = j.append(r)
		}
	}
	switch {
	case now && err == nil:
	case len(j.held) >= j.o.maxPending:
		j.lost++
	default:
		j.held = append(j.held, r)
	}
	j.unsynced = j.unsynced || in.Wait
	j.mu.Unlock()
	if now {
		j.writing.set(err)
	}
	notify(j.wake)
	return r.Ticket, err
}

// append writes the next record of the chain. It is called with mu held.
func (j *journal) append(r *record) error {
	line, end, err := j.end.seal(r)
	if err == nil {
		err = j.part.write(line)
	}
	if err != nil {
		return err
	}
	j.end = end
	j.unsigned++
	return nil
}

// drain writes all that is held. It is called with mu held.
func (j *journal) drain() error {
	for len(j.held) > 0 || j.lost > 0 {
		if err := j.first(); err != nil {
			return err
		}
	}
	return nil
}

// first writes one of those that are held, and how many found no place after the
// last one. It is called with mu held.
func (j *journal) first() error {
	if len(j.held) == 0 {
		now := j.o.Now()
		err := j.append(newRecord(kindLost, j.lost, now, j.began, bridge.AuditRecord{}))
		if err == nil {
			j.lost = 0
		}
		return err
	}
	err := j.append(j.held[0])
	if err == nil {
		j.held[0] = nil
		j.held = j.held[1:]
	}
	return err
}

// flush returns when everything that was added before is written, or with the
// error of the attempt.
func (j *journal) flush(ctx context.Context) error { return flush(ctx, j.flushes, j.stop) }

// checkpoint signs where the chain stands, and returns when the list has that mark.
func (j *journal) checkpoint(ctx context.Context) error {
	j.mu.Lock()
	j.wanted = true
	j.mu.Unlock()
	return j.flush(ctx)
}

// close writes what is held, signs the chain and ends keep.
func (j *journal) close() error {
	j.mu.Lock()
	closed := j.closed
	j.closed = true
	j.mu.Unlock()
	if closed {
		return ErrClosed
	}
	close(j.stop)
	return <-j.stopped
}
