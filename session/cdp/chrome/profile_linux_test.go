package chrome

import (
	"strings"
	"syscall"
	"testing"
)

// TestRoomForProfiles: no browser starts whose profile has no room, and the message says where.
func TestRoomForProfiles(t *testing.T) {
	t.Parallel()
	dir := folders(t)
	mount := func(flags uintptr, size string) error {
		return syscall.Mount("tmpfs", dir, "tmpfs", flags, "size="+size+",mode=0700")
	}
	if err := mount(0, "16m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	_, ours := (&Options{ProfileDir: dir}).newProfile()
	_, theirs := (&Options{UserDataDir: dir}).keepProfile(Shell)
	for _, err := range []error{ours, theirs} {
		if err == nil || !strings.Contains(err.Error(), dir+" has 16 MB free, and the profile of a browser needs 64: make room") {
			t.Errorf("without room: %v", err)
		}
	}
	if err := mount(syscall.MS_REMOUNT, "80m"); err != nil {
		t.Fatal(err)
	}
	p, err := (&Options{ProfileDir: dir}).newProfile()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.remove(); err != nil {
		t.Error(err)
	}
}
