package terminal

import "fmt"

// Exit codes of the contract.
const (
	ExitOK          = 0
	ExitFindings    = 1
	ExitUsage       = 2
	ExitAuth        = 3
	ExitUnreachable = 4
	ExitTool        = 5
	ExitConsent     = 6
	ExitInterrupted = 130
)

// ExitError ends the program with a code and one line.
type ExitError struct {
	Code int
	Err  error
}

func (e *ExitError) Error() string { return e.Err.Error() }
func (e *ExitError) Unwrap() error { return e.Err }

// Found is the error of a run that found what fails it.
func Found(format string, args ...any) error {
	return &ExitError{ExitFindings, fmt.Errorf(format, args...)}
}

// Usage is the error of what was typed or configured.
func Usage(format string, args ...any) error {
	return &ExitError{ExitUsage, fmt.Errorf(format, args...)}
}

// Unreachable is the error of a site or a browser that cannot be had.
func Unreachable(format string, args ...any) error {
	return &ExitError{ExitUnreachable, fmt.Errorf(format, args...)}
}

// ShownError ends the program with a code when everything was printed already.
type ShownError struct{ Code int }

func (e *ShownError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }
