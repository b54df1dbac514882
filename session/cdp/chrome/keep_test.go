//go:build unix

package chrome

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestKeepProfile (R34): one browser has a profile at a time, whoever started it, and it
// can be had again afterwards, by the kind that wrote it.
func TestKeepProfile(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "new", "profile")
	first, err := (&Options{UserDataDir: dir}).keepProfile(Shell)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&Options{UserDataDir: dir}).keepProfile(Shell)
	if !errors.Is(err, ErrProfileInUse) || !strings.Contains(err.Error(), "process "+strconv.Itoa(os.Getpid())) ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("a second one: %v", err)
	}
	// A process that is being started has the file for a moment.
	child, err := syscall.Dup(int(first.lock.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Close(child) }()
	first.release()
	again, err := (&Options{UserDataDir: dir}).keepProfile(Shell)
	if err != nil {
		t.Fatalf("afterwards: %v", err)
	}
	again.release()
	if _, err := (&Options{UserDataDir: dir}).keepProfile(Chromium); err == nil || !strings.Contains(err.Error(), dir+" was written by a headless shell") {
		t.Errorf("another kind: %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := (&Options{UserDataDir: file}).keepProfile(Shell); err == nil || errors.Is(err, ErrProfileInUse) {
		t.Errorf("a file in the place of the folder: %v", err)
	}
}

// TestOpenElsewhere: the lock of a person's browser counts as long as that answers, or may
// run on another machine.
func TestOpenElsewhere(t *testing.T) {
	t.Parallel()
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(folders(t), "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	with := func(lock string) error {
		dir := t.TempDir()
		for name, target := range map[string]string{"SingletonLock": lock, "SingletonSocket": socket} {
			if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		k, err := (&Options{UserDataDir: dir}).keepProfile(Chromium)
		if err == nil {
			k.release()
		}
		return err
	}
	if err := with(host + "-4711"); !errors.Is(err, ErrProfileInUse) || !strings.Contains(err.Error(), "(process 4711)") {
		t.Errorf("a browser that answers: %v", err)
	}
	if err := with("other-machine-12"); !errors.Is(err, ErrProfileInUse) || !strings.Contains(err.Error(), "other-machine") {
		t.Errorf("one on another machine: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if err := with(host + "-4711"); err != nil { // the control: it ended without order
		t.Errorf("one that is gone: %v", err)
	}
}
