package files_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/pagetools/pagetools/bridge/files"
)

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// only fails when a folder has anything but the files of these names.
func only(t *testing.T, dir string, names ...string) {
	t.Helper()
	all, err := os.ReadDir(dir)
	ok(t, err)
	for i, e := range all {
		if len(all) != len(names) || e.Name() != names[i] {
			t.Errorf("there is %s", e.Name())
		}
	}
}

// TestWrite: a file is there as a whole with its mode, a link is replaced, and a failure leaves
// everything as it was.
func TestWrite(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "theirs")
	path := filepath.Join(dir, "a")
	ok(t, os.WriteFile(elsewhere, []byte("theirs"), 0o600))
	ok(t, os.Symlink(elsewhere, path))
	for _, mode := range []fs.FileMode{0o644, 0o600} {
		ok(t, files.Write(path, []byte("ours"), mode))
		info, err := os.Lstat(path)
		ok(t, err)
		if got, _ := os.ReadFile(path); string(got) != "ours" || info.Mode() != mode {
			t.Errorf("%q with %s", got, info.Mode())
		}
	}
	if got, _ := os.ReadFile(elsewhere); string(got) != "theirs" {
		t.Errorf("behind the link is %q", got)
	}
	only(t, dir, "a")
	ok(t, os.MkdirAll(filepath.Join(dir, "b", "c"), 0o700))
	if err := files.Write(filepath.Join(dir, "b"), nil, 0o600); err == nil {
		t.Error("a folder was replaced")
	}
	if err := files.Write(filepath.Join(dir, "none", "a"), nil, 0o600); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without a folder: %v", err)
	}
	only(t, dir, "a", "b")
}

// TestWhole: of several writers at once none is seen half.
func TestWhole(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a")
	content := func(i int) []byte { return bytes.Repeat([]byte{byte('a' + i)}, 1<<16) }
	ok(t, files.Write(path, content(0), 0o600))
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			for range 20 {
				if err := files.Write(path, content(i), 0o600); err != nil {
					t.Error(err)
				}
				got, err := os.ReadFile(path)
				if err != nil || len(got) != 1<<16 || !bytes.Equal(got, content(int(got[0]-'a'))) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			}
		})
	}
	all.Wait()
	only(t, filepath.Dir(path), "a")
}

// TestSecret: one of several makes it, all get the same, and one that others can read is refused.
func TestSecret(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key")
	got := make([][]byte, 8)
	var all sync.WaitGroup
	for i := range got {
		all.Go(func() { got[i], _ = files.Secret(path, func() []byte { return []byte{'a' + byte(i)} }) })
	}
	all.Wait()
	for _, one := range got {
		if len(one) != 1 || !bytes.Equal(one, got[0]) {
			t.Errorf("they have %q", got)
		}
	}
	info, err := os.Stat(path)
	ok(t, err)
	if info.Mode() != 0o600 {
		t.Errorf("its mode is %s", info.Mode())
	}
	ok(t, os.Chmod(path, 0o640))
	if _, err := files.Secret(path, nil); err == nil {
		t.Error("others can read it")
	}
	only(t, filepath.Dir(path), "key")
}

// TestLock: a lock is held by one, shared by several, and ends with its file.
func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	open := func() *os.File {
		f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
		ok(t, err)
		t.Cleanup(func() { _ = f.Close() })
		return f
	}
	one, two := open(), open()
	ok(t, files.Lock(one))
	if err := files.TryLock(two); !errors.Is(err, files.ErrLocked) {
		t.Errorf("it is locked twice: %v", err)
	}
	ok(t, files.Unlock(one))
	ok(t, files.TryShare(one))
	ok(t, files.TryShare(two))
	if err := files.TryLock(one); !errors.Is(err, files.ErrLocked) {
		t.Errorf("a shared one is locked: %v", err)
	}
	ok(t, one.Close())
	ok(t, files.Unlock(two))
	ok(t, files.TryLock(two))
}
