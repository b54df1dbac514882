//go:build unix && !linux

package proctree

import "syscall"

// dieWithUs does nothing: no signal comes with the end of a parent here.
func dieWithUs(*syscall.SysProcAttr) {}
