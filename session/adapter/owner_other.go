//go:build !unix

package adapter

import "io/fs"

// modesCount says that the bits of a mode tell who may write to a file: here Go makes them up.
const modesCount = false

func foreignOwner(fs.FileInfo) (owner int, foreign bool) { return 0, false }
