package vault

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// File keeps one file for all nodes, and locks for those who change it. Safe for concurrent use. Make one
// with NewFile.
type File struct {
	vault

	key string

	mu   sync.Mutex
	last box             // that was read
	held map[string]bool // words of locks
}

// NewFile returns the file of that name.
func NewFile(o Options, name string) *File {
	return &File{vault: vault{o}, key: "l." + o.Name("file", name), held: map[string]bool{}}
}

// NewMarks returns the file in which a node keeps the marks of its audit, under the name of the node.
func NewMarks(o Options, node string) *File {
	return &File{vault: vault{o}, key: marksPrefix + node, held: map[string]bool{}}
}

// marksPrefix begins the keys of such files.
const marksPrefix = "m."

// MarkedNodes returns the names of the nodes that keep marks, sorted.
func MarkedNodes(ctx context.Context, o Options) (names []string, err error) {
	err = patiently(ctx, "listing marks of audits", func(ctx context.Context) error {
		firsts, err := vault{o}.firsts(ctx, marksPrefix)
		names = nil
		for key := range firsts {
			if name := key[len(marksPrefix):]; name == strings.ToLower(name) { // others are no nodes
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return err
	})
	return names, err
}

// Read returns the file and its revision; 0 where there is none.
func (f *File) Read(ctx context.Context) (text []byte, revision uint64, err error) {
	err = patiently(ctx, "reading what all nodes have", func(ctx context.Context) error {
		b, err := f.read(ctx, f.key)
		if err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		f.last, text, revision = b, b.data, b.revision
		return nil
	})
	return text, revision, err
}

// Write replaces the file of that revision. It is false where somebody else did so before, and can be
// false where this one did, and somebody else after it.
func (f *File) Write(ctx context.Context, text []byte, was uint64) (written bool, err error) {
	f.mu.Lock()
	before := f.last
	f.mu.Unlock()
	if before.revision != was {
		before = box{key: f.key, revision: was} // its parts stay
	}
	err = patiently(ctx, "writing what all nodes have", func(ctx context.Context) error {
		_, err := f.write(ctx, before, text)
		if errors.Is(err, records.ErrChanged) {
			return fact{err}
		}
		return err
	})
	if errors.Is(err, records.ErrChanged) {
		return false, nil
	}
	return err == nil, err
}

// lock is the record of a lock, which ends with its holder's life, or with the time of such records.
type lock struct {
	By   string `json:"by"`
	Once string `json:"once"`
}

// lockRest is waited before a lock is tried again.
const lockRest = 50 * time.Millisecond

// Lock waits for a lock of that name until ctx ends, or until the engine has not answered for two seconds.
// It ends with unlock, or when the life of its node has.
func (f *File) Lock(ctx context.Context, name string) (unlock func(), err error) {
	mine := lock{f.o.Self(), rand.Text()}
	key := "t.LOCK-" + f.o.Name("lock", f.key, name) + ".1"
	f.hold(mine.Once, true)
	for answered := time.Now(); ; {
		var revision uint64
		if revision, err = f.tryLock(ctx, key, mine); err == nil {
			return func() { f.unlock(key, mine, revision) }, nil
		}
		if errors.Is(err, errLocked) || errors.Is(err, records.ErrChanged) {
			answered = time.Now()
		}
		if time.Since(answered) > patience || !records.Pause(ctx, lockRest) {
			f.hold(mine.Once, false)
			return nil, unreachable(err)
		}
	}
}

func (f *File) hold(once string, is bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held[once] = is; !is {
		delete(f.held, once)
	}
}

// errLocked says that somebody has the lock.
var errLocked = errors.New("it is locked")

// tryLock makes the record of a lock, once, in the place of one that nobody has any more.
func (f *File) tryLock(ctx context.Context, key string, mine lock) (revision uint64, err error) {
	r, err := f.o.Records.Get(ctx, key)
	if errors.Is(err, records.ErrNone) {
		return records.Put(ctx, f.o.Records, key, mine, 0)
	}
	if err != nil {
		return 0, err
	}
	var is lock
	if err := records.Decode(r.Value, &is); err != nil {
		return 0, err
	}
	if is == mine { // the answer was lost
		return r.Revision, nil
	}
	free := false // as that of no node, of which nobody knows whether it lives
	switch {
	case is.By != "" && is.By == mine.By:
		f.mu.Lock()
		free = !f.held[is.Once] // it could not be removed
		f.mu.Unlock()
	case is.By != "":
		if free, err = f.o.Dead(ctx, is.By); err != nil {
			return 0, err
		}
	}
	if !free {
		return 0, errLocked
	}
	return records.Put(ctx, f.o.Records, key, mine, r.Revision)
}

// unlock removes the record of a lock. Where that fails, this node takes it again, and others when it has
// ended.
func (f *File) unlock(key string, mine lock, revision uint64) {
	defer f.hold(mine.Once, false)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		err := f.o.Records.Delete(ctx, key, revision)
		if err == nil || errors.Is(err, records.ErrChanged) || !records.Pause(ctx, rest) {
			return
		}
	}
}
