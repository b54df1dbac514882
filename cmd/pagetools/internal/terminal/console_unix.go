//go:build unix

package terminal

import (
	"os"
	"syscall"
)

// OpenInput opens the terminal of this process to read what a person types, whatever the standard
// streams are.
func OpenInput() (*os.File, error) { return os.Open("/dev/tty") }

// OpenOutput opens the terminal of this process to write to the person.
func OpenOutput() (*os.File, error) { return os.OpenFile("/dev/tty", os.O_WRONLY, 0) }

// showsColors reports whether a terminal shows colors.
func showsColors(*os.File) bool { return true }

// isClosed reports whether nobody reads any more what is written.
func isClosed(err error) bool { return err == syscall.EPIPE } //nolint:errorlint // as os.File returns it
