package chrome

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/pagetools/pagetools/bridge/files"
)

// ErrProfileInUse means that another browser has the operator's profile.
var ErrProfileInUse = errors.New("the profile is in use")

// lockName is the file in the operator's profile that a browser of ours has locked.
const lockName = "pagetools.lock"

// kindName is the file in the operator's profile that says which kind of browser wrote it.
const kindName = "pagetools.browser"

// kept is the operator's profile while a browser of ours has it. Chromium's own lock does
// not do: a headless shell neither makes nor heeds it.
type kept struct{ lock *os.File }

// keepProfile takes the operator's profile for a browser of the kind, and makes it when it
// is not there.
func (o *Options) keepProfile(kind Kind) (*kept, error) {
	dir := o.UserDataDir
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the profile of %s: %w", o.Words.Of("UserDataDir"), err)
	}
	if err := o.room(dir); err != nil {
		return nil, err
	}
	f, err := openKept(dir)
	if err != nil {
		return nil, fmt.Errorf("locking the profile of %s: %w", o.Words.Of("UserDataDir"), err)
	}
	k := &kept{lock: f}
	if err := k.take(o, kind); err != nil {
		k.release()
		return nil, err
	}
	return k, nil
}

// openKept opens the lock of the operator's profile, and makes it when it is not there.
func openKept(dir string) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	f, err := root.OpenFile(lockName, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !isNamed(root, f, lockName) {
		return nil, errors.Join(fmt.Errorf("%s is a link: remove it", filepath.Join(dir, lockName)), f.Close())
	}
	return f, nil
}

// take locks the profile, and looks at who else has it and who wrote it.
func (k *kept) take(o *Options, kind Kind) error {
	dir := o.UserDataDir
	err := files.TryLock(k.lock)
	switch {
	case errors.Is(err, files.ErrLocked):
		return fmt.Errorf("%w: pagetools%s has %s; stop that one, or name another folder with %s",
			ErrProfileInUse, k.holder(), dir, o.Words.Of("UserDataDir"))
	case err != nil:
		return fmt.Errorf("locking the profile of %s: %w", o.Words.Of("UserDataDir"), err)
	}
	if who := openElsewhere(dir); who != "" {
		return fmt.Errorf("%w: a browser%s has %s open; close it, or name another folder with %s",
			ErrProfileInUse, who, dir, o.Words.Of("UserDataDir"))
	}
	wrote := writtenBy(dir)
	if err := o.fits(kind); err != nil {
		return err // it was written since the browser was looked for
	}
	if wrote == "" || !marked(dir) {
		if err := os.WriteFile(filepath.Join(dir, kindName), []byte(kind+"\n"), 0o600); err != nil {
			return fmt.Errorf("marking the profile of %s: %w", o.Words.Of("UserDataDir"), err)
		}
	}
	if err := k.lock.Truncate(0); err == nil { // for people: the lock counts, and not the text
		_, _ = fmt.Fprintf(k.lock, "%d\n", os.Getpid())
	}
	return nil
}

// holder names the process that has the lock, as far as that said so.
func (k *kept) holder() string {
	text, _ := io.ReadAll(io.LimitReader(k.lock, 20))
	if pid := strings.TrimSpace(string(text)); pid != "" {
		return " (process " + pid + ")"
	}
	return ""
}

// release gives the profile up. Its end is not enough: a process that is being started has the
// file, too, until it runs.
func (k *kept) release() {
	if k != nil {
		_ = files.Unlock(k.lock)
		_ = k.lock.Close()
	}
}

// writtenBy returns the kind of browser that wrote a profile, or "" when none did. Without
// our mark it is told by a file that only whole browsers write.
func writtenBy(dir string) Kind {
	if dir == "" {
		return ""
	}
	text, _ := os.ReadFile(filepath.Join(dir, kindName))
	if kind := Kind(strings.TrimSpace(string(text))); kind == Shell || kind == Chromium {
		return kind
	}
	if _, err := os.Stat(filepath.Join(dir, stateName)); err == nil {
		return Chromium
	}
	return ""
}

func marked(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, kindName))
	return err == nil
}
