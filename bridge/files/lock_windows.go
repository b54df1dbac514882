package files

import (
	"os"

	"golang.org/x/sys/windows"
)

// ErrLocked is the error of a lock that another process, or another opening of the file, has.
var ErrLocked error = windows.ERROR_LOCK_VIOLATION

// Lock waits for the lock of an open file. It is held until Unlock, or until the file is closed.
func Lock(f *os.File) error { return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK) }

// TryLock is Lock that does not wait: it returns ErrLocked.
func TryLock(f *os.File) error {
	return lock(f, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// TryShare is TryLock for a lock that several may share.
func TryShare(f *os.File) error { return lock(f, windows.LOCKFILE_FAIL_IMMEDIATELY) }

// Unlock gives the lock up.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}

func lock(f *os.File, how uint32) error {
	return windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, lockedByte())
}

// lockedByte names the byte at 2^62: nobody else can read what is locked, so that it must lie
// behind the end of the file.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }
