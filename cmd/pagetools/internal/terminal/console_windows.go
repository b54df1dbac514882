package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// OpenInput opens the console of this process to read what a person types, whatever the standard
// streams are.
func OpenInput() (*os.File, error) { return os.OpenFile("CONIN$", os.O_RDWR, 0) }

// OpenOutput opens the console of this process to write to the person.
func OpenOutput() (*os.File, error) { return os.OpenFile("CONOUT$", os.O_RDWR, 0) }

// showsColors makes a console show colors, and reports whether it does.
func showsColors(f *os.File) bool {
	var mode uint32
	console := windows.Handle(f.Fd())
	return windows.GetConsoleMode(console, &mode) == nil &&
		windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}

// isClosed reports whether nobody reads any more what is written.
func isClosed(err error) bool {
	return err == windows.ERROR_NO_DATA || err == windows.ERROR_BROKEN_PIPE //nolint:errorlint // as os.File returns it
}
