// Package examples holds the example web apps, and embeds the one that
// "pagetools demo" serves.
package examples

import (
	"embed"
	"io/fs"
)

//go:embed stampdb/index.html stampdb/*.js stampdb/*.css
var files embed.FS

// StampDB returns the files of the Historical Stamp Database, with index.html
// at the root.
func StampDB() fs.FS {
	sub, err := fs.Sub(files, "stampdb")
	if err != nil {
		panic(err) // The pattern above guarantees the folder.
	}
	return sub
}
