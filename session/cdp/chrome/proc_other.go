//go:build unix && !linux

package chrome

import (
	"os/exec"
	"syscall"
)

// maxSocketPath is how long the path of a socket may be.
const maxSocketPath = 103

// setProcess makes the browser lead a group of its own. It ends when its pipe
// closes, which happens when we die.
func setProcess(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

// smallSharedMemory is a question for Linux only.
func smallSharedMemory() bool { return false }

// killUsers does nothing here: browsers end when their pipe closes.
func killUsers(string) {}

// usage is not known here.
func usage(_, _ int) uint64 { return 0 }

// endChild does nothing here, where no usage is known.
func endChild(_, _ int) {}

// firstToDie does nothing here: the system has no such order.
func firstToDie(_, _ int) {}
