// Package racetest keeps tests that only compute out of runs with the race detector, which makes
// them ten times as slow and has nothing to see in them.
package racetest

import (
	"os"
	"testing"
)

// Slow skips a test of one goroutine where make check runs its package without the race detector,
// too.
func Slow(t *testing.T) {
	t.Helper()
	if os.Getenv("RACE_DETECTOR") != "" {
		t.Skip("it runs without the race detector")
	}
}
