package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Write writes a file as a whole: who reads it sees the old content or the new one, also after a
// failure of power. A link of that name is replaced, and not followed.
func Write(path string, content []byte, mode fs.FileMode) error {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err == nil {
		err = errors.Join(WriteIn(root, filepath.Base(path), content, mode), root.Close())
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// WriteIn is Write within a folder that nothing leads out of.
func WriteIn(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	return place(root, name, content, mode, root.Rename)
}

// CreateIn writes a file as a whole, unless there is one of that name: then the error matches
// [fs.ErrExist]. Of several processes that create it at once one succeeds.
func CreateIn(root *os.Root, name string, content []byte, mode fs.FileMode) error {
	return place(root, name, content, mode, root.Link)
}

// place writes a draft, brings it to the disk, and gives it its name.
func place(root *os.Root, name string, content []byte, mode fs.FileMode,
	put func(draft, name string) error) error {
	draft := name + "." + rand.Text()[:12] + ".draft"
	f, err := root.OpenFile(draft, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err == nil {
		err = patiently(func() error { return put(draft, name) })
	}
	if e := RemoveIn(root, draft); !errors.Is(e, fs.ErrNotExist) {
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	return SyncIn(root, filepath.Dir(name))
}

// SyncIn brings the names of the files in a folder to the disk. Windows does so with the files, and
// has no way to ask for it.
func SyncIn(root *os.Root, name string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	folder, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Secret reads a file that only its user can read, or makes it of what make returns. Of
// several processes that make it at once, one does, and all get what that wrote.
func Secret(path string, make func() []byte) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fmt.Errorf("reading %s: %w", path, err)
	case Shared(path, info):
		return nil, fmt.Errorf("others can read %s: %s, or remove it", path, ToClose(path))
	default:
		return os.ReadFile(path)
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	err = errors.Join(CreateIn(root, filepath.Base(path), make(), 0o600), root.Close())
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("writing %s: %w", path, err)
	}
	return os.ReadFile(path) // another one may have been first
}
