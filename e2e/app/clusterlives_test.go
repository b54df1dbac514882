package app

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestLives: a life has ended when nobody has its lock, however its process ended, and not before.
func TestLives(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ended := func(why string, want ...string) {
		t.Helper()
		if got, err := endedLives(dir); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q, %v; want %q", why, got, err, want)
		}
	}
	ended("no folder")
	hold := func(id string) *heldLife {
		h, err := holdLife(dir, id)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	killed, left, silent, lives := hold("KILLEDAA"), hold("LEFTAAAA"), hold("SILENTAA"), hold("LIVESAAA")
	ended("all live")
	for _, name := range []string{"NOTLIFE1", "DRAFTAAA.draft", "other"} {
		if err := os.WriteFile(filepath.Join(dir, livesFolder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	_ = killed.file.Close() // as the kernel does
	left.end(true)
	silent.end(false)
	ended("two have ended without the others' knowledge", "KILLEDAA", "SILENTAA")
	forgetLives(dir, []string{"KILLEDAA", "SILENTAA", "MISSINGA"})
	ended("forgotten")
	lives.end(true)
	if none, err := holdLife("", "X"); none != nil || err != nil {
		t.Errorf("without a data folder: %v, %v", none, err)
	} else {
		none.end(true)
	}
	if got, err := endedLives(""); got != nil || err != nil {
		t.Errorf("without a data folder: %v, %v", got, err)
	}
}
