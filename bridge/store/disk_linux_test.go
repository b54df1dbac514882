package store

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/bridge"
)

// small mounts a file system of its own. Only root can.
func small(t *testing.T, size string) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	ctx, dir := t.Context(), small(t, "700k")
	s := must(Open(ctx, Options{Dir: dir, CheckpointRecords: 10}))(t)
	ballast := filepath.Join(dir, "ballast")
	ok(t, os.WriteFile(ballast, nil, 0o600))
	safe := 0
	fill := must(os.OpenFile(ballast, os.O_WRONLY|os.O_APPEND, 0))(t)
	for _, err := fill.Write(make([]byte, 4096)); err == nil; _, err = fill.Write(make([]byte, 4096)) {
	}
	fill.Close()
	var err error
	for err == nil {
		if _, err = s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}); err == nil {
			safe++
		}
	}
	if !errors.Is(err, ErrFull) || !errors.Is(s.Audit.Healthy(), ErrFull) {
		t.Errorf("after %d intents: %v, health: %v", safe, err, s.Audit.Healthy())
	}
	if got := must(s.Verify(ctx))(t); got.Bad != nil || got.Records != int64(safe) || got.Torn != 0 {
		t.Errorf("%d are safe: %+v", safe, got)
	}
	ok(t, os.Remove(ballast))
	must(s.Audit.Intent(ctx, bridge.AuditRecord{Wait: true}))(t)
	ok(t, s.Flush(ctx))
	if got := must(s.Verify(ctx))(t); got.Bad != nil || got.Records != int64(safe)+2 {
		t.Errorf("nothing is lost: %+v", got)
	}
	ok(t, s.Close())
}

func TestReadOnlyFolder(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	dir := t.TempDir()
	freeze := func(string) error { return os.Chmod(dir, 0o500) }
	if os.Geteuid() == 0 { // whom modes do not stop
		dir = small(t, "2m")
		freeze = func(options string) error {
			return syscall.Mount("tmpfs", dir, "tmpfs", syscall.MS_REMOUNT|syscall.MS_RDONLY, options)
		}
	}
	data := filepath.Join(dir, "data")
	s := must(Open(ctx, Options{Dir: data}))(t)
	ok(t, s.Versions.Append(ctx, "shop", version("1.0.0", "a")))
	ok(t, s.Close())
	if os.Geteuid() != 0 {
		ok(t, os.Chmod(filepath.Join(data, DatabaseFile), 0o400))
	}
	ok(t, freeze("mode=0500"))
	for _, path := range []string{data, filepath.Join(dir, "new")} {
		if _, err := Open(ctx, Options{Dir: path}); !errors.Is(err, ErrReadOnly) {
			t.Errorf("opening %s: %v", path, err)
		}
	}
}
