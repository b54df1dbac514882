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
	// checksum of what follows it (4), and the end of the chain before (8).
	frameHead = 20
	// maxFrame is more than any record takes.
	maxFrame = 1 << 17
	// maxJournal bounds what both files hold. Who finds no room waits for the
	// database instead.
	maxJournal = 1 << 20
)

var (
	castagnoli = crc32.MakeTable(crc32.Castagnoli)

	errJournalFull = errors.New("the journal is full")
	errJournalTorn = errors.New("the journal ends in half a record")
)

// journal keeps the intents that somebody waited for until they are in the
// chain. It is two files beside that of the owner. Callers add to one of them;
// the other one is emptied when what it holds is committed. Both survive the
// process, not the power.
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
	name string
	f    *os.File
	size int64
	torn bool // half a record lies after size, and could not be taken away
}

func (f *journalFile) dirty() bool { return f.size > 0 || f.torn }

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
// the journal.
func (j *journal) append(frame []byte) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	file := &j.files[j.active]
	switch {
	case j.closed:
		return ErrClosed
	case file.torn:
		return errJournalTorn
	case j.files[0].size+j.files[1].size+int64(len(frame)) > maxJournal:
		return errJournalFull
	}
	if _, err := file.f.WriteAt(frame, file.size); err != nil {
		// A full disk may have taken the first half.
		file.torn = file.f.Truncate(file.size) != nil
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
	if j.files[j.active].dirty() && !j.files[1-j.active].dirty() {
		j.active = 1 - j.active
	}
}

// settled empties the file that callers do not add to. run calls it when
// everything that it took is committed.
func (j *journal) settled() error {
	j.mu.Lock()
	file := &j.files[1-j.active]
	dirty := file.dirty()
	j.mu.Unlock()
	if !dirty {
		return nil
	}
	// Only run touches this file until it turns to it.
	if err := file.f.Truncate(0); err != nil {
		return fmt.Errorf("emptying %s: %w", file.name, classify(err))
	}
	j.mu.Lock()
	file.size, file.torn = 0, false
	j.mu.Unlock()
	return nil
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
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-frameHead)) //nolint:gosec // bounded by maxText
	binary.LittleEndian.PutUint64(b[12:], uint64(after))           //nolint:gosec // a number of a row
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[12:], castagnoli))
	return b
}

// remains is what journals of a dead owner hold.
type remains struct {
	rows   []*auditRow // in no order
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

// read adds the frames of one file. What is damaged in the middle is named; a
// frame that stops where the file ends was never acknowledged.
func (m *remains) read(name, owner string, b []byte) {
	for at := 0; at < len(b); {
		after, row, size := readFrame(b[at:], owner)
		if row != nil {
			if len(m.rows) == 0 || after < m.after {
				m.after = after
			}
			m.rows = append(m.rows, row)
			at += size
			continue
		}
		next := nextFrame(b, at+1, owner)
		if next == len(b) && torn(b[at:]) {
			return
		}
		m.damage = append(m.damage, fmt.Sprintf("%d bytes at %d of %s cannot be read", next-at, at, name))
		at = next
	}
}

// readFrame reads the frame that b begins with; nil when it is none.
func readFrame(b []byte, owner string) (after int64, r *auditRow, size int) {
	if len(b) < frameHead || string(b[:4]) != frameMark {
		return 0, nil, 0
	}
	length := binary.LittleEndian.Uint32(b[4:])
	if length > maxFrame || int(length) > len(b)-frameHead {
		return 0, nil, 0
	}
	size = frameHead + int(length)
	if crc32.Checksum(b[12:size], castagnoli) != binary.LittleEndian.Uint32(b[8:]) {
		return 0, nil, 0
	}
	r, err := decodeRow(b[frameHead:size])
	if err != nil || r.Kind != kindIntent || r.Owner != owner {
		return 0, nil, 0
	}
	return int64(binary.LittleEndian.Uint64(b[12:])), r, size //nolint:gosec // as it was written
}

// nextFrame finds the next whole frame, or the end.
func nextFrame(b []byte, from int, owner string) int {
	for {
		i := bytes.Index(b[from:], []byte(frameMark))
		if i < 0 {
			return len(b)
		}
		from += i
		if _, r, _ := readFrame(b[from:], owner); r != nil {
			return from
		}
		from++
	}
}

// torn reports whether this is the beginning of a frame, which is what a process
// that is killed within its write leaves, or nothing but zeros, which is what a
// file system may leave when the power fails.
func torn(b []byte) bool {
	if len(bytes.Trim(b, "\x00")) == 0 {
		return true
	}
	if n := min(len(b), len(frameMark)); string(b[:n]) != frameMark[:n] {
		return false
	}
	if len(b) < 8 {
		return true
	}
	length := binary.LittleEndian.Uint32(b[4:])
	return length <= maxFrame && len(b) < frameHead+int(length)
}
