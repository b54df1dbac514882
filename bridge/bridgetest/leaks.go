package bridgetest

import (
	"bytes"
	"fmt"
	"io"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// Main runs the tests of a package, and fails when goroutines of ours, or of
// servers and clients that a test forgot, are left.
func Main(m *testing.M, stderr io.Writer) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	var left string
	for range 300 {
		if left = leftovers(); left == "" {
			return 0
		}
		<-tick.C
	}
	fmt.Fprintf(stderr, "goroutines are left after the tests:\n%s\n", left)
	return 1
}

func leftovers() string {
	var buf bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&buf, 2); err != nil {
		return err.Error()
	}
	var left []string
	for stack := range strings.SplitSeq(buf.String(), "\n\n") {
		ours := strings.Contains(stack, "pagetools/") || strings.Contains(stack, "net/http.")
		if ours && !strings.Contains(stack, "bridgetest.leftovers") {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
