//go:build unix

package files

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// MakePrivate makes a folder that only this user and the system can use, and those above it. One
// that is there stays as it is.
func MakePrivate(dir string) error { return os.MkdirAll(dir, 0o700) }

// Writers says why another user can write to a file or a folder, such as "has mode 0777". It
// returns "" where only this one and the system's own can.
func Writers(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Sprintf("has mode %04o", mode), nil
	}
	if uid, known := ownerOf(info); known && isForeign(uid, os.Geteuid()) {
		return fmt.Sprintf("belongs to the user with the number %d, and this one has %d", uid,
			os.Geteuid()), nil
	}
	return "", nil
}

// ownerOf returns the number of the user to whom a file belongs, where the system has such.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(s.Uid), true
}

// isForeign reports whether a folder of owner is somebody else's for me: its owner can
// change what is in it, whatever its mode is. The system's own user can do so anywhere.
func isForeign(owner, me int) bool { return owner != me && owner != 0 }

// Mine reports whether a file or a folder belongs to this user. A link is not followed.
func Mine(path string) bool {
	info, err := os.Lstat(path)
	if err != nil {
		return false
	}
	uid, known := ownerOf(info)
	return known && uid == os.Getuid()
}

// Shared reports whether other users than this one and the system can read or write a file. Who the
// system itself lets read its file by a group, as Kubernetes does with secrets, is none of the others.
func Shared(_ string, info fs.FileInfo) bool {
	owner, known := ownerOf(info)
	return shared(info.Mode().Perm(), known && owner == 0 && os.Getuid() != 0)
}

// shared reports it of a file; ofSystem says that it is root's, and that this process is not.
func shared(perm fs.FileMode, ofSystem bool) bool {
	if ofSystem {
		return perm&0o037 != 0
	}
	return perm&0o077 != 0
}

// ToClose says how a person takes a file away from others.
func ToClose(string) string { return "chmod 600 it" }

// IsFull reports whether something could not be written because there is no room.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// IsReadOnly reports whether something could not be written because nothing can be there.
func IsReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }

// patiently does something that no other program can keep us from.
func patiently(do func() error) error { return do() }
