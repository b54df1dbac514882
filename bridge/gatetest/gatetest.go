// Package gatetest says which tests run in which gate: in make test, without the race detector, or at
// night.
package gatetest

import (
	"flag"
	"os"
	"testing"
)

// NoRace skips a test of one goroutine where its package runs without the race detector, too: with it
// a test that only computes takes ten times as long, and it has nothing to see there.
func NoRace(t *testing.T) {
	t.Helper()
	if os.Getenv("RACE_DETECTOR") != "" {
		t.Skip("it runs without the race detector")
	}
}

// IsNightly reports whether PAGETOOLS_NIGHTLY is set: tests then take all the time that they need.
func IsNightly() bool { return os.Getenv("PAGETOOLS_NIGHTLY") != "" }

// Amount returns the amount of something that a test does by day, or the one at night.
func Amount[T any](day, night T) T {
	if IsNightly() {
		return night
	}
	return day
}

// SkipByDay leaves out the tests that match, as go test -skip does. TestMain calls it first.
func SkipByDay(pattern string) {
	if IsNightly() {
		return
	}
	if err := flag.Set("test.skip", pattern); err != nil {
		panic(err)
	}
}

// Nightly skips a test that takes too long for each change, and says why. make nightly runs it.
func Nightly(t *testing.T, why string) {
	t.Helper()
	if !IsNightly() {
		t.Skipf("make nightly runs it: %s", why)
	}
}
