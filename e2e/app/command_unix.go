//go:build unix

package app

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the first process of a group, in which its children are.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func endGroup(c *exec.Cmd, byForce bool) {
	signal := syscall.SIGTERM
	if byForce {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-c.Process.Pid, signal) // it may be gone
}
