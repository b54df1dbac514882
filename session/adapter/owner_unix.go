//go:build unix

package adapter

import (
	"io/fs"
	"os"
	"syscall"
)

// modesCount says that the bits of a mode tell who may write to a file.
const modesCount = true

// foreignOwner returns the user to whom a file belongs, and whether that is somebody else than this
// user and the system's own.
func foreignOwner(info fs.FileInfo) (owner int, foreign bool) {
	s, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	owner = int(s.Uid)
	return owner, owner != 0 && owner != os.Geteuid()
}
