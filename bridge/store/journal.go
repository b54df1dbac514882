package store

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"sync"
)

const (
	// frameMark begins a frame, so that what follows a damaged one is found.
	frameMark = "PTJ1"
	// frameHead is the bytes before the record: mark, length of the record (4),
	// checksum of what follows it (4), round of the file (4), and the end of the
	// chain before (8).
	frameHead = 24
	// maxFrame is more than any record takes.
	maxFrame = 1 << 17
	// maxJournal bounds what both files hold. Who finds no room waits for the
	// database instead.
	maxJournal = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

var errJournalFull = errors.New("the journal is full")

// journal keeps the intents that somebody waited for until they are in the
// chain. It is two files beside that of the owner. Callers add to one of them;
// the other one begins its next round when what it holds is committed. It is
// written over then, not emptied, which would cost more than the writes. Both
// survive the process, not the power.
//
// A record goes into the queue of the writer before it goes into a file. So
// whatever is in a file when run turns to the other one is in the queue that run
// takes after that, or committed.
type journal struct {
	root *os.Root

	// mu is held over one write of about a kilobyte into the page cache, against
	// the rule that no lock is held over I/O: in any other way a record could lie
	// behind half of another one.
	mu     sync.Mutex
	files  [2]journalFile
	active int // which one callers add to; run changes it
	closed bool
}

type journalFile struct {
	name  string
	f     *os.File
	size  int64 // of this round; what lies behind it is of earlier ones
	round uint32
}

// journalNames gives the files of an owner. A name with a dot is no owner's.
func journalNames(owner string) [2]string {
	return [2]string{path.Join(ownersFolder, owner+".journal.0"), path.Join(ownersFolder, owner+".journal.1")}
}

// openJournal makes the files of a new owner.
func openJournal(root *os.Root, owner string) (*journal, error) {
	j := &journal{root: root}
	for i, name := range journalNames(owner) {
		f, err := openOwn(root, name, os.O_RDWR)
		if err != nil {
			_, closeErr := j.close(true)
			return nil, errors.Join(err, closeErr)
		}
		j.files[i] = journalFile{name: name, f: f}
	}
	return j, nil
}

// append adds a frame with one write. An error means that the record is not in
// the journal: the next one is written over what a full disk took of it.
func (j *journal) append(frame []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	file := &j.files[j.active]
	switch {
	case j.closed:
		return ErrClosed
	case j.files[0].size+j.files[1].size+int64(len(frame)) > maxJournal:
		return errJournalFull
	}
	sealFrame(frame, file.round)
	if _, err := file.f.WriteAt(frame, file.size); err != nil {
		return fmt.Errorf("writing %s: %w", file.name, classify(err))
	}
	file.size += int64(len(frame))
	return nil
}

// turn lets callers add to the other file, when that one is empty. run calls it
// before it takes the queue.
func (j *journal) turn() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.files[j.active].size > 0 && j.files[1-j.active].size == 0 {
		j.active = 1 - j.active
	}
}

// settled forgets what the file holds that callers do not add to. run calls it
// when everything that it took is committed.
func (j *journal) settled() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if file := &j.files[1-j.active]; file.size > 0 {
		file.size = 0
		file.round++
	}
}

// close ends the journal: its files go when everything is committed. Else what
// they hold is left for who opens the folder next.
func (j *journal) close(committed bool) (left bool, err error) {
	j.mu.Lock()
	j.closed = true
	j.mu.Unlock()
	var errs []error
	for i := range j.files {
		file := &j.files[i]
		if file.f == nil {
			continue
		}
		errs = append(errs, file.f.Close())
		left = left || file.size > 0
	}
	if left = left && !committed; left {
		return true, errors.Join(errs...)
	}
	for i := range j.files {
		if j.files[i].f != nil {
			errs = append(errs, j.root.Remove(j.files[i].name))
		}
	}
	return false, errors.Join(errs...)
}

// frame encodes a record for the journal. after is the number of a record that
// was committed before this one was queued: this one comes later in the chain.
func frame(after int64, r *auditRow) []byte {
	b := r.appendTo(make([]byte, frameHead, frameHead+usualRow))
	copy(b, frameMark)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-frameHead))
	binary.LittleEndian.PutUint64(b[16:], uint64(after))
	return b
}

// sealFrame puts in what is known last.
func sealFrame(b []byte, round uint32) {
	binary.LittleEndian.PutUint32(b[12:], round)
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
}

// remains is what journals of a dead owner hold.
type remains struct {
	rows   []*auditRow // in no order, and some of them in the chain
	after  int64       // all of them come after this record of the chain
	damage []string    // stretches that cannot be read
}

// readRemains reads the journals of a dead owner. Missing ones are empty:
// somebody else settled them.
func readRemains(root *os.Root, owner string) (remains, error) {
	var all remains
	for _, name := range journalNames(owner) {
		content, err := readOwn(root, name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return remains{}, err
		}
		all.read(name, owner, content)
	}
	return all, nil
}

// removeRemains removes the journals of a dead owner.
func removeRemains(root *os.Root, owner string) error {
	for _, name := range journalNames(owner) {
		if err := root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing %s: %w", name, classify(err))
		}
	}
	return nil
}

// read adds the frames of one file. Those of earlier rounds are in the chain, and
// are found there. A stretch that cannot be read is damage when a frame of the
// last round follows: what follows the last one was never acknowledged, or is of
// earlier rounds.
func (m *remains) read(name, owner string, b []byte) {
	type stretch struct{ from, to int }
	var bad, doubtful []stretch
	var last uint32
	first := true
	for at := 0; at < len(b); {
		f, ok := readFrame(b[at:], owner)
		if !ok {
			next := nextFrame(b, at+1, owner)
			doubtful = append(doubtful, stretch{at, next})
			at = next
			continue
		}
		if first && at > 0 && roundOf(b) > f.round {
			doubtful, last = nil, roundOf(b) // half of the first frame of a round
		}
		if len(m.rows) == 0 || f.after < m.after {
			m.after = f.after
		}
		m.rows, first = append(m.rows, f.row), false
		if f.round >= last {
			last, bad, doubtful = f.round, append(bad, doubtful...), nil
		}
		at += f.size
	}
	for _, s := range bad {
		m.damage = append(m.damage, fmt.Sprintf("%d bytes at %d of %s cannot be read", s.to-s.from, s.from, name))
	}
}

// roundOf gives the round that the beginning of a frame names.
func roundOf(b []byte) uint32 {
	if len(b) < frameHead || string(b[:4]) != frameMark {
		return 0
	}
	return binary.LittleEndian.Uint32(b[12:])
}

// whole is a frame that could be read.
type whole struct {
	row   *auditRow
	round uint32
	after int64
	size  int
}

// readFrame reads the frame that b begins with, if it is one.
func readFrame(b []byte, owner string) (whole, bool) {
	if len(b) < frameHead || string(b[:4]) != frameMark {
		return whole{}, false
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if length > maxFrame || int(length) > len(b)-frameHead {
		return whole{}, false
	}
	size := frameHead + int(length)
	if crc32.Checksum(b[12:size], castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		return whole{}, false
	}
	r, err := decodeRow(b[frameHead:size])
	if err != nil || r.Kind != kindIntent || r.Owner != owner {
		return whole{}, false
	}
	after := int64(binary.LittleEndian.Uint64(b[16:]))
	return whole{row: r, round: binary.LittleEndian.Uint32(b[12:]), after: after, size: size}, true
}

// nextFrame finds the next whole frame, or the end.
func nextFrame(b []byte, from int, owner string) int {
	for {
		i := bytes.Index(b[from:], []byte(frameMark))
		if i < 0 {
			return len(b)
		}
		from += i
		if _, ok := readFrame(b[from:], owner); ok {
			return from
		}
		from++
	}
}
