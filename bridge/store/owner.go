package store

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
)

// owner is this opening of the data folder. It holds the exclusive lock of a
// file of its own, which the kernel gives back however the process ends: whoever
// can share the lock knows that the owner is dead.
type owner struct {
	id   string
	file *os.File
	root *os.Root
}

// newID gives 128 random bits in hex.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails: it ends the program instead
	return hex.EncodeToString(b[:])
}

// newOwner takes the lock before the file gets its name, so that nobody sees a
// living owner without a lock.
func newOwner(root *os.Root) (*owner, error) {
	if err := root.Mkdir(ownersFolder, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making the folder of owners: %w", classify(err))
	}
	o := &owner{id: newID(), root: root}
	draft := o.id + ".draft"
	f, err := openOwn(root, draft, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	o.file = f
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", draft, err), f.Close(), root.Remove(draft))
	}
	if err := root.Rename(draft, path.Join(ownersFolder, o.id)); err != nil {
		return nil, errors.Join(fmt.Errorf("naming %s: %w", draft, classify(err)), f.Close(), root.Remove(draft))
	}
	return o, nil
}

// close removes the owner. Its claims are of a dead owner from now on. One that
// leaves records in its journal stays, as a dead one, for who opens the folder
// next.
func (o *owner) close(leaves bool) error {
	if leaves {
		return o.file.Close()
	}
	return errors.Join(o.root.Remove(path.Join(ownersFolder, o.id)), o.file.Close())
}

// dead reports whether the owner of that id has ended. What cannot be told
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
	return syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB) == nil
}

// corpses lists the owners that died without closing.
func (o *owner) corpses() ([]string, error) {
	entries, err := fs.ReadDir(o.root.FS(), ownersFolder)
	if err != nil {
		return nil, fmt.Errorf("listing the owners: %w", classify(err))
	}
	var dead []string
	for _, e := range entries {
		if !strings.Contains(e.Name(), ".") && o.dead(e.Name()) { // else a journal
			dead = append(dead, e.Name())
		}
	}
	return dead, nil
}

// bury forgets a dead owner, after what it left is settled.
func (o *owner) bury(id string) error {
	if err := o.root.Remove(path.Join(ownersFolder, id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing owner %s: %w", id, classify(err))
	}
	return nil
}
