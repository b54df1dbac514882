//go:build !linux

package natstest

import "os/exec"

func orphanless(*exec.Cmd) {}

// Suspend skips the test: it needs Linux.
func (s *Server) Suspend() { s.t.Skip("servers are suspended on Linux only") }

// Resume does nothing.
func (*Server) Resume() {}
