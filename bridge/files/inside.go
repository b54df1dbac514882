package files

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrOutside is the error of a path that leads out of its folder.
var ErrOutside = errors.New("it leads out of the folder")

// Inside reports, as an error, a path that is not in a folder, links included. The path need not be
// there.
func Inside(folder, path string) error {
	here, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	there, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(here, there)
	if err != nil || !filepath.IsLocal(name) {
		return ErrOutside
	}
	root, err := os.OpenRoot(here)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for ; ; name = filepath.Dir(name) { // what is not there yet is made in the folder above it
		switch _, err := root.Stat(name); {
		case err == nil:
			return nil
		case !errors.Is(err, fs.ErrNotExist) || name == ".":
			return ErrOutside
		}
	}
}
