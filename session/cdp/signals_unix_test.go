//go:build unix

package cdp

import (
	"errors"
	"syscall"
	"testing"
)

const sigKill, sigStop, sigCont = syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGCONT

func signal(t *testing.T, s syscall.Signal, pids ...int) {
	t.Helper()
	for _, pid := range pids {
		if err := syscall.Kill(pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
}

// isIn reports whether a process belongs to a browser: they are in its process group.
func isIn(pid, browser int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == browser
}

func lives(pid int) bool { return syscall.Kill(pid, 0) == nil }
