//go:build unix

package proctree

import (
	"os/exec"
	"syscall"
)

// Tree is a process and its children. Its methods are safe for concurrent use after Start.
type Tree struct{ cmd *exec.Cmd }

// New makes a command that was not started the first process of a tree. With withUs the kernel ends
// it when the thread ends that starts it, where the kernel can do so.
func New(cmd *exec.Cmd, withUs bool) *Tree {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if withUs {
		dieWithUs(cmd.SysProcAttr)
	}
	return &Tree{cmd}
}

// Start starts the command.
func (t *Tree) Start() error { return t.cmd.Start() }

// Terminate asks all processes to end.
func (t *Tree) Terminate() { t.signal(syscall.SIGTERM) }

// Kill ends all processes, also those that the first one left behind.
func (t *Tree) Kill() { t.signal(syscall.SIGKILL) }

func (t *Tree) signal(s syscall.Signal) {
	if t.cmd.Process != nil {
		_ = syscall.Kill(-t.cmd.Process.Pid, s) // they may be gone
	}
}
