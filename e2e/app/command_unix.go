//go:build unix

package app

import (
	"os/exec"
	"syscall"
)

// ownGroup makes a command the first process of a group, in which its children are.
func ownGroup(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// endGroup ends the processes of the group.
func endGroup(c *exec.Cmd, byForce bool) {
	signal := syscall.SIGTERM
	if byForce {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-c.Process.Pid, signal) // it may be gone
}
