//go:build unix

package files

import (
	"io/fs"
	"testing"
)

// TestForeign: a folder of another user is foreign, one of the system's own is not (C3).
func TestForeign(t *testing.T) {
	t.Parallel()
	for owner, foreign := range map[int]bool{0: false, 1000: false, 1001: true} {
		if isForeign(owner, 1000) != foreign {
			t.Errorf("for user 1000 a folder of %d is foreign: %v", owner, !foreign)
		}
	}
}

// TestShared: a secret may be read by who owns it, and by the group to which root gives one of its own.
func TestShared(t *testing.T) {
	t.Parallel()
	for perm, want := range map[fs.FileMode][2]bool{ // of this user, and of root
		0o600: {false, false}, 0o400: {false, false}, 0o440: {true, false}, 0o640: {true, false},
		0o660: {true, true}, 0o650: {true, true}, 0o604: {true, true}, 0o644: {true, true},
	} {
		for i, ofSystem := range []bool{false, true} {
			if got := shared(perm, ofSystem); got != want[i] {
				t.Errorf("%o, of root %t: shared is %t", perm, ofSystem, got)
			}
		}
	}
}
