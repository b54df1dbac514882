package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"

	"github.com/pagetools/pagetools/bridge/files"
)

// The files of a data folder.
const (
	// DatabaseFile is there in every data folder that was used.
	DatabaseFile = "pagetools.db"

	keyFile      = "audit.key"
	auditFolder  = "audit"
	listFile     = "audit/checkpoints.json"
	ownersFolder = "owners"
	changesFile  = "ended"
)

// openFolder makes the data folder, or checks the one that is there. Our files
// are reached through the root, so that no link leads out of the folder.
func openFolder(dir string, log *slog.Logger) (*os.Root, error) {
	if dir == "" {
		return nil, errors.New("no data folder is named")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", classify(err))
	}
	info, err := checkFolder(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", classify(err))
	}
	if info.Mode().Perm()&0o077 != 0 {
		tighten(root, dir, log)
	}
	return root, nil
}

// Check reports what is wrong with a data folder that is there, as Open does: ErrExposed
// where another user can write to it. One that is not there is nobody else's.
func Check(dir string) error {
	_, err := checkFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func checkFolder(dir string) (fs.FileInfo, error) {
	info, err := os.Stat(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the data folder: %w", classify(err))
	}
	if info.Mode().Perm()&0o022 != 0 {
		return nil, fmt.Errorf("%w: %s has mode %04o", ErrExposed, dir, info.Mode().Perm())
	}
	if uid, known := ownerOf(info); known && isForeign(uid, os.Geteuid()) {
		return nil, fmt.Errorf("%w: %s belongs to the user with the number %d, and this one has %d",
			ErrExposed, dir, uid, os.Geteuid())
	}
	return info, nil
}

// ownerOf returns the number of the user to whom a file belongs, where the system has such.
func ownerOf(info fs.FileInfo) (uid int, known bool) {
	s, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(s.Uid), true
}

// isForeign reports whether a folder of owner is somebody else's for me: its owner can
// change what is in it, whatever its mode is. The system's own user can do so anywhere.
func isForeign(owner, me int) bool { return owner != me && owner != 0 }

// tighten closes the folder to other users when it is empty or already a data folder.
// Otherwise it leaves it as it is: somebody may have named a home or a root.
func tighten(root *os.Root, dir string, log *slog.Logger) {
	_, err := root.Lstat(DatabaseFile)
	if entries, readErr := os.ReadDir(dir); err != nil && (readErr != nil || len(entries) > 0) {
		log.Warn("others can list the data folder", slog.String("dir", dir))
		return
	}
	if err := root.Chmod(".", 0o700); err != nil {
		log.Warn("others can list the data folder", slog.String("dir", dir), slog.Any("error", err))
	}
}

// openOwn opens a file that only we may read, and makes it when it is missing.
// A link, or anything else that is not a file, is refused.
func openOwn(root *os.Root, name string, flags int) (*os.File, error) {
	if info, err := root.Lstat(name); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: %w", filepath.Join(root.Name(), name), ErrExposed)
	}
	f, err := root.OpenFile(name, flags|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, classify(err))
	}
	info, err := f.Stat()
	if err == nil && info.Mode().Perm()&0o077 != 0 {
		err = f.Chmod(0o600)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("securing %s: %w", name, classify(err))
	}
	return f, nil
}

// readOwn reads a small file of ours. A missing one is fs.ErrNotExist.
func readOwn(root *os.Root, name string) ([]byte, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file: %w", name, ErrExposed)
	}
	b, err := root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, classify(err))
	}
	return b, nil
}

// createOnce makes a file with this content unless it is there. Two processes
// may try: one content wins, whole, and both read it.
func createOnce(root *os.Root, name string, content []byte) ([]byte, error) {
	err := files.CreateIn(root, name, content, 0o600)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("making %s: %w", name, classify(err))
	}
	return readOwn(root, name)
}
