package store

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/pagetools/pagetools/bridge/files"
)

// The files of a data folder.
const (
	// DatabaseFile is there in every data folder that was used.
	DatabaseFile = "pagetools.db"

	keyFile      = "audit.key"
	auditFolder  = "audit"
	listFile     = "audit/checkpoints.json"
	lockFile     = "audit/.lock" // of who changes the list
	ownersFolder = "owners"
	changesFile  = "ended"
)

// openFolder makes the data folder, or checks the one that is there. Our files
// are reached through the root, so that no link leads out of the folder.
func openFolder(dir string, log *slog.Logger) (*os.Root, error) {
	if dir == "" {
		return nil, errors.New("no data folder is named")
	}
	if err := files.MakePrivate(dir); err != nil {
		return nil, fmt.Errorf("making the data folder: %w", classify(err))
	}
	if err := checkFolder(dir); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the data folder: %w", classify(err))
	}
	if isShared(dir) {
		tighten(root, dir, log)
	}
	return root, nil
}

// Check reports what is wrong with a data folder that is there, as Open does: ErrExposed
// where another user can write to it. One that is not there is nobody else's.
func Check(dir string) error {
	err := checkFolder(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func checkFolder(dir string) error {
	why, err := files.Writers(dir)
	if err != nil {
		return fmt.Errorf("reading the data folder: %w", classify(err))
	}
	if why != "" {
		return fmt.Errorf("%w: %s %s", ErrExposed, dir, why)
	}
	return nil
}

// isShared reports whether other users can list a folder.
func isShared(dir string) bool {
	info, err := os.Stat(dir)
	return err == nil && files.Shared(dir, info)
}

// tighten closes the folder to other users when it is empty or already a data folder.
// Otherwise it leaves it as it is: somebody may have named a home or a root.
func tighten(root *os.Root, dir string, log *slog.Logger) {
	_, err := root.Lstat(DatabaseFile)
	if entries, readErr := os.ReadDir(dir); err != nil && (readErr != nil || len(entries) > 0) {
		log.Warn("others can list the data folder", slog.String("dir", dir))
		return
	}
	if err := root.Chmod(".", 0o700); err != nil || isShared(dir) {
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
