//go:build unix

package files

import "testing"

// TestForeign: a folder of another user is foreign, one of the system's own is not (C3).
func TestForeign(t *testing.T) {
	t.Parallel()
	for owner, foreign := range map[int]bool{0: false, 1000: false, 1001: true} {
		if isForeign(owner, 1000) != foreign {
			t.Errorf("for user 1000 a folder of %d is foreign: %v", owner, !foreign)
		}
	}
}
