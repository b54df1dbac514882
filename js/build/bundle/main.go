// Command bundle writes js/dist. It is run by go generate ./js, in the js folder.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/pagetools/pagetools/js/build"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	if err := os.RemoveAll("dist"); err != nil {
		return fmt.Errorf("what was there before: %w", err)
	}
	for _, b := range build.Bundles {
		files, err := build.Make(".", b)
		if err != nil {
			return err //nolint:wrapcheck // it names the bundle
		}
		for path, text := range files {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // everybody may read what is committed
				return fmt.Errorf("the folder of %s: %w", path, err)
			}
			if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // as above
				return fmt.Errorf("writing: %w", err)
			}
		}
	}
	return nil
}
