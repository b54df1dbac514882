//go:build unix

package chrome

import (
	"io/fs"
	"os"
	"os/exec"
	"syscall"
)

const noFollow = syscall.O_NOFOLLOW

// freeSpace returns how many bytes this user may write where the folder is; 0 when it is not there.
func freeSpace(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // elsewhere the types are others
}

func mine(e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// killTree ends what is left of the browser's process group.
func killTree(cmd *exec.Cmd) {
	if cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
}
