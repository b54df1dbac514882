package store

import (
	"errors"
	"time"
)

type keeper struct {
	*journal
	signAt   time.Time // when to sign the records that are not; zero when all are
	unlisted []listing
}

// listing is a mark that is in its file and not in the list.
type listing struct {
	part *part
	mark mark
}

// keep is the goroutine that does what callers must not wait for. It ends when
// stop is closed.
func (j *journal) keep() {
	k := &keeper{journal: j}
	timer := time.NewTimer(retryEvery)
	defer timer.Stop()
	for {
		done, stopping := await(j.stop, j.flushes, j.wake, timer)
		err := k.round(stopping)
		if done != nil {
			done <- err
		}
		switch {
		case stopping:
			j.stopped <- err
			return
		case err != nil:
			timer.Reset(retryEvery)
		case !k.signAt.IsZero():
			timer.Reset(time.Until(k.signAt))
		default:
			timer.Stop() // nothing is open: an idle store wakes nobody
		}
	}
}

// round writes the records that are held, syncs the file, and signs when it is time.
func (k *keeper) round(stopping bool) error {
	failed := k.write()
	k.mu.Lock()
	p, unsynced := k.part, k.unsynced
	k.unsynced = false
	kind := k.due(stopping)
	empty := k.end.seq == 0
	k.mu.Unlock()
	k.writing.set(failed)
	if stopping && empty && failed == nil {
		return k.drop(p, k.id)
	}
	var err error
	if unsynced {
		err = p.sync()
	}
	if err == nil && failed == nil && kind != "" {
		err = k.sign(kind)
	}
	if err == nil {
		err = k.publish()
	}
	if err != nil && unsynced {
		k.mu.Lock()
		k.unsynced = true
		k.mu.Unlock()
	}
	k.signing.set(err)
	if stopping {
		err = errors.Join(err, k.part.f.Close())
	}
	return errors.Join(failed, err)
}

// write writes what is held. It lets callers in after each record.
func (k *keeper) write() error {
	for {
		k.mu.Lock()
		done := len(k.held) == 0 && k.lost == 0
		var err error
		if !done {
			err = k.first()
		}
		k.mu.Unlock()
		if done || err != nil {
			return err
		}
	}
}

// due returns the kind of the mark that it is time for, if it is. It is called
// with mu held.
func (k *keeper) due(stopping bool) string {
	if k.unsigned > 0 && k.signAt.IsZero() {
		k.signAt = time.Now().Add(k.o.CheckpointEvery)
	}
	wanted := k.wanted
	k.wanted = false
	switch {
	case stopping:
		return markEnd
	case k.part.size >= k.o.maxPart:
		return markNext
	case k.unsigned >= k.o.CheckpointRecords, k.unsigned > 0 && (wanted || !time.Now().Before(k.signAt)):
		return markCheckpoint
	}
	return ""
}

// sign adds a mark to the file. After the last one of a full file, the next file
// begins where that one ended. Callers wait meanwhile: nobody writes in between.
func (k *keeper) sign(kind string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.o.Now()
	m := newMark(kind, k.id, k.part.number, k.end, now)
	line, err := k.signer.line(m)
	if err != nil {
		return err
	}
	next := k.part
	if kind == markNext {
		if next, err = k.newPart(k.id, k.part.number+1, k.end, now); err != nil {
			return err
		}
	}
	if err := k.part.write(line); err != nil {
		if next != k.part {
			err = errors.Join(err, k.drop(next, k.id))
		}
		return err
	}
	if n := len(k.unlisted); n > 0 && k.unlisted[n-1].part == k.part {
		k.unlisted = k.unlisted[:n-1] // the newer mark says all that it said
	}
	k.unlisted = append(k.unlisted, listing{k.part, m})
	k.part, k.unsigned, k.signAt = next, 0, time.Time{}
	return nil
}

// publish adds marks to the list. The list must never promise more than what a
// power failure leaves, so the files are on the disk before.
func (k *keeper) publish() error {
	if len(k.unlisted) == 0 {
		return nil
	}
	marks := make([]mark, len(k.unlisted))
	for i, l := range k.unlisted {
		if err := l.part.sync(); err != nil {
			return err
		}
		marks[i] = l.mark
	}
	if err := k.enlist(marks...); err != nil {
		return err
	}
	for _, l := range k.unlisted {
		if l.mark.Mark == markNext {
			_ = l.part.f.Close() // it is on the disk
		}
	}
	k.unlisted = nil
	return nil
}
