//go:build !unix

package app

import "os/exec"

func ownGroup(*exec.Cmd) {}

// endGroup ends the command: there are no groups of processes here.
func endGroup(c *exec.Cmd, _ bool) { _ = c.Process.Kill() }
