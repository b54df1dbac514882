package bridge_test

import (
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// TestVisible: what a person cannot see is not kept, whatever Unicode calls it or will call it.
func TestVisible(t *testing.T) {
	t.Parallel()
	for _, hidden := range []rune{0, 0x1b, 0x7f, 0x9b, 0xad, 0x34f, 0x115f, 0x180e, 0x200b, 0x202e, 0x2065, 0x2066, 0x3164, 0xfeff, 0xffa0, 0xfff0, 0xfffd, 0xe0000, 0xe0001, 0xe000b, 0xe0041, 0xe0100, 0xe0fff} {
		if got, n := bridge.Visible("a" + string(hidden) + "b"); got != "ab" || n != 1 {
			t.Errorf("U+%04X: %q, %d", hidden, got, n)
		}
	}
	const seen = "a\u2028b\n\tc\u2764\ufe0f\U0001f600 é \u05d0"
	if got, n := bridge.Visible(seen); got != seen || n != 0 {
		t.Errorf("%q became %q", seen, got)
	}
}
