//go:build wine

package files

import (
	"os"
	"path/filepath"
)

// RemoveIn removes a file of a folder by its path, because wine 8 has no other way. Only what
// scripts/wine.sh builds has this.
func RemoveIn(root *os.Root, name string) error {
	return os.Remove(filepath.Join(root.Name(), name))
}
