package store

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
)

// owner is this opening of the data folder. It holds the exclusive lock of a
// file of its own, which the kernel releases however the process ends: a process that
// can share the lock knows that the owner is dead.
type owner struct {
	id   string
	boot string // the run of the kernel that it began in
	file *os.File
	root *os.Root
}

// newID returns 128 random bits in hex.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}

// thisBoot names the run of the kernel, or matches no run. What was written in this run can be read
// now, however its process ended; after a power failure it may be lost.
func thisBoot() string {
	id, began := boot()
	switch {
	case id != "":
		return id
	case !began.IsZero():
		return beganAt(began)
	}
	return "unknown " + newID()
}

// The system that has no name for its run knows when that began, as far as its clock was not set
// since.
const (
	beganWord = "began "
	beganStep = 10 * time.Second
)

func beganAt(t time.Time) string {
	return beganWord + strconv.FormatInt(t.UnixNano()/int64(beganStep), 10)
}

// sameRun reports whether two names of thisBoot are of one run.
func sameRun(a, b string) bool {
	if a == b {
		return true
	}
	one, fine := strings.CutPrefix(a, beganWord)
	two, too := strings.CutPrefix(b, beganWord)
	m, err := strconv.ParseInt(one, 10, 64)
	n, err2 := strconv.ParseInt(two, 10, 64)
	return fine && too && err == nil && err2 == nil && (m == n+1 || n == m+1)
}

// newOwner takes the lock and writes the run of the kernel into the file before the file
// gets its name, so that no process sees a living owner without them.
func newOwner(root *os.Root) (*owner, error) {
	for _, name := range []string{ownersFolder, auditFolder} {
		if err := root.Mkdir(name, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("making the folder %s: %w", name, classify(err))
		}
		if info, err := root.Lstat(name); err != nil || !info.IsDir() {
			return nil, errors.Join(fmt.Errorf("%s is not a folder: %w", name, ErrExposed), err)
		}
	}
	o := &owner{id: newID(), boot: thisBoot(), root: root}
	draft := o.id + ".draft"
	f, err := openOwn(root, draft, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	o.file = f
	if err = files.TryLock(f); err == nil {
		_, err = f.WriteString(o.boot)
	}
	if err == nil {
		err = root.Rename(draft, path.Join(ownersFolder, o.id))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making %s: %w", draft, classify(err)), f.Close(),
			files.RemoveIn(root, draft))
	}
	return o, nil
}

// close ends the owner. One that leaves something unsettled stays, as a dead one,
// for the process that opens the folder next.
func (o *owner) close(settled bool) error {
	if !settled {
		return o.file.Close()
	}
	return errors.Join(o.remove(o.id), o.file.Close())
}

// dead reports whether the owner of that id has ended. One that cannot be checked
// counts as living: a claim then says "in flight", and nothing runs twice.
func (o *owner) dead(id string) bool {
	if id == o.id {
		return false
	}
	f, err := o.root.Open(path.Join(ownersFolder, path.Base(id)))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer f.Close()
	return files.TryShare(f) == nil
}

// homeOf returns how an owner is called in what it makes: by its first 40 bits.
func homeOf(id string) string {
	b, err := hex.DecodeString(id)
	if err != nil || len(b) < 5 {
		return "" // not one of ours
	}
	return base32.StdEncoding.EncodeToString(b[:5])
}

// lives reports whether another owner that is called so has not ended.
func (o *owner) lives(home string) bool {
	entries, err := fs.ReadDir(o.root.FS(), ownersFolder)
	return err == nil && slices.ContainsFunc(entries, func(e fs.DirEntry) bool {
		return e.Name() != o.id && homeOf(e.Name()) == home && !o.dead(e.Name())
	})
}

// sameBoot reports whether the owner of that id ran since the kernel started. A
// missing one counts as one that did not.
func (o *owner) sameBoot(id string) bool {
	content, err := readOwn(o.root, path.Join(ownersFolder, path.Base(id)))
	return err == nil && sameRun(string(content), o.boot)
}

// living lists the owners that have not ended, and ended those that died without
// closing.
func (o *owner) living() ([]string, error) { return o.list(false) }
func (o *owner) ended() ([]string, error)  { return o.list(true) }

func (o *owner) list(dead bool) ([]string, error) {
	entries, err := fs.ReadDir(o.root.FS(), ownersFolder)
	if err != nil {
		return nil, fmt.Errorf("listing the owners: %w", classify(err))
	}
	var ids []string
	for _, e := range entries {
		if o.dead(e.Name()) == dead {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}

// remove removes an owner, after what it left is settled.
func (o *owner) remove(id string) error {
	if err := files.RemoveIn(o.root, path.Join(ownersFolder, id)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing owner %s: %w", id, classify(err))
	}
	return nil
}
