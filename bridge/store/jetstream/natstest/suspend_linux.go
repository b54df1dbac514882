package natstest

import (
	"os/exec"
	"syscall"
)

// orphanless makes the server end with the test's process, however that ends.
func orphanless(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }

// Suspend stops the server, as a machine that hangs does: its connections stay.
func (s *Server) Suspend() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		s.t.Fatal(err)
	}
}

// Resume lets it go on.
func (s *Server) Resume() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		s.t.Fatal(err)
	}
}
