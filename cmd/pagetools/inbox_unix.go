//go:build unix

package main

import "syscall"

// closeToOthers closes a socket to other users before it is there. Systems that cannot do so have
// the folder's mode.
func closeToOthers(_, _ string, c syscall.RawConn) error {
	return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
}
