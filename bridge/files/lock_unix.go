//go:build unix

package files

import (
	"errors"
	"os"
	"syscall"
)

// ErrLocked is the error of a lock that another process, or another opening of the file, has.
var ErrLocked error = syscall.EWOULDBLOCK

// Lock waits for the lock of an open file. It is held until Unlock, or until the file is closed in
// every process that has it.
func Lock(f *os.File) error { return flock(f, syscall.LOCK_EX) }

// TryLock is Lock that does not wait: it returns ErrLocked.
func TryLock(f *os.File) error { return flock(f, syscall.LOCK_EX|syscall.LOCK_NB) }

// TryShare is TryLock for a lock that several may share.
func TryShare(f *os.File) error { return flock(f, syscall.LOCK_SH|syscall.LOCK_NB) }

// Unlock gives the lock up, for every process that has the file.
func Unlock(f *os.File) error { return flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		err := syscall.Flock(int(f.Fd()), how)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
