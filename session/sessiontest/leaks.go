package sessiontest

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"
)

// Run runs the tests for TestMain, then stop, and fails when goroutines of ours
// or of the engine are left. It returns the exit code.
func Run(m *testing.M, stderr io.Writer, stop func() error) int {
	code := m.Run()
	if stop != nil {
		if err := stop(); err != nil {
			fmt.Fprintln(stderr, "after the tests:", err)
			code = max(code, 1)
		}
	}
	if left := waitForGoroutines(); left != "" && code == 0 {
		fmt.Fprintf(stderr, "goroutines are left:\n\n%s\n", left)
		code = 1
	}
	return code
}

// waitForGoroutines returns the stacks of what still runs a while after the last
// test, or "".
func waitForGoroutines() string {
	deadline := time.Now().Add(8 * time.Second)
	for {
		left := leftGoroutines()
		if left == "" || time.Now().After(deadline) {
			return left
		}
		<-time.After(20 * time.Millisecond)
	}
}

func leftGoroutines() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var left []string
	for i, stack := range bytes.Split(buf, []byte("\n\n")) {
		if s := string(stack); i > 0 && !expected(s) {
			left = append(left, s)
		}
	}
	return strings.Join(left, "\n\n")
}

// expected reports whether the goroutine is the test runner's, the runtime's, or
// the clock of regular expressions, which runs on for a second.
func expected(stack string) bool {
	for _, part := range []string{"testing.(*M).", "testing.Main", "os/signal.",
		"runtime.ensureSigM", "regexp2", "runtime.ReadTrace", "testing.runFuzz"} {
		if strings.Contains(stack, part) {
			return true
		}
	}
	return false
}
