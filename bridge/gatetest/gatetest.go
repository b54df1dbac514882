// Package gatetest says which tests run in which gate: in make test, without the race detector, in
// .ci/run alone, or at night.
package gatetest

import (
	"cmp"
	"os"
	"testing"
)

// NoRace skips a test of one goroutine where its package runs without the race detector, too: with
// it a test that only computes takes ten times as long, and it has nothing to see there.
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

// Runs reports whether row i of a table runs: by day one of n does.
func Runs(i, n int) bool { return IsNightly() || i%n == 0 }

// Landing skips a test that make test leaves to make landing, which .ci/run calls. A script does
// the same with "[!nightly] skip" as its first command.
func Landing(t *testing.T) {
	t.Helper()
	if !IsNightly() {
		t.Skip("make landing runs it")
	}
}

// Nightly skips a test that takes too long for each change, and says why. make nightly runs it.
func Nightly(t *testing.T, why string) {
	t.Helper()
	if !IsNightly() {
		t.Skipf("make nightly runs it: %s", why)
	}
}

// Browser returns the path of the browser that tests start: the headless shell where there is one,
// which is quicker, and the whole browser otherwise.
func Browser() string {
	return cmp.Or(os.Getenv("PAGETOOLS_HEADLESS_SHELL"), os.Getenv("PAGETOOLS_EXECUTABLE_PATH"))
}

// TakeBrowser makes Browser the one that commands find. TestMain calls it first.
func TakeBrowser() {
	if err := os.Setenv("PAGETOOLS_EXECUTABLE_PATH", Browser()); err != nil {
		panic(err)
	}
}
