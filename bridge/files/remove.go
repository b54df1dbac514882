//go:build !wine

package files

import "os"

// RemoveIn removes a file of a folder, which may be open.
func RemoveIn(root *os.Root, name string) error { return root.Remove(name) }
