package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/opentools"
)

// documents keeps what was read of the documents of APIs, in a folder.
type documents struct {
	dir     string
	program string // which wrote it: another one reads nothing of it
}

// maxDocuments is how many are kept; the oldest are lost first.
const maxDocuments = 32

// documents are those of the data folder; nil where nothing is kept.
func (p *program) documents() opentools.Cache {
	dir, err := dataFolder(p.conf)
	if err != nil {
		return nil
	}
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	info, err := os.Stat(self)
	if err != nil {
		return nil
	}
	return &documents{filepath.Join(dir, "documents"), fmt.Sprintf("%s %d %d", ownVersion(), info.Size(), info.ModTime().UnixNano())}
}

func (d *documents) path(name string) string {
	sum := sha256.Sum256([]byte(d.program + "\n" + name))
	return filepath.Join(d.dir, hex.EncodeToString(sum[:]))
}

// Load implements opentools.Cache.
func (d *documents) Load(name string) []byte {
	data, err := os.ReadFile(d.path(name))
	if err != nil {
		return nil
	}
	return data
}

// Save implements opentools.Cache.
func (d *documents) Save(name string, data []byte) error {
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return err
	}
	if err := files.Write(d.path(name), data, 0o600); err != nil {
		return err
	}
	all, err := os.ReadDir(d.dir)
	if err != nil || len(all) <= maxDocuments {
		return err
	}
	infos := make([]fs.FileInfo, 0, len(all))
	for _, e := range all {
		if info, err := e.Info(); err == nil { // another process may have removed it
			infos = append(infos, info)
		}
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range infos[min(len(infos), maxDocuments):] {
		_ = os.Remove(filepath.Join(d.dir, info.Name())) // it may be gone
	}
	return nil
}
