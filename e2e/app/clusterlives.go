package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/records/lease"
)

// livesFolder has a file for each life of a node that has the data folder, under its id. The kernel
// lets go of its lock however the process ends, so who can take that knows that the life has ended.
const livesFolder = "lives"

// lifeFile is the form of its names.
var lifeFile = regexp.MustCompile(`^[A-Z2-7]{8}$`)

// join begins a life of a node, and tells the others which ones before it have ended.
func (c *Cluster) join(ctx context.Context, dir string, o lease.Options) (err error) {
	if o.Earlier, err = endedLives(dir); err != nil {
		return err
	}
	if c.node, err = lease.Join(ctx, o); err != nil {
		return err
	}
	if c.life, err = holdLife(dir, c.node.Life().ID); err != nil {
		return err
	}
	forgetLives(dir, o.Earlier)
	return nil
}

// endedLives returns the lives that had a data folder and have ended. Without one there is none.
func endedLives(dir string) (ids []string, err error) {
	if dir == "" {
		return nil, nil
	}
	all, err := os.ReadDir(filepath.Join(dir, livesFolder))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the lives of this node: %w", err)
	}
	for _, e := range all {
		if !lifeFile.MatchString(e.Name()) {
			continue
		}
		f, err := os.Open(filepath.Join(dir, livesFolder, e.Name()))
		if err != nil {
			continue // another one that starts has removed it
		}
		if files.TryShare(f) == nil {
			ids = append(ids, e.Name())
		}
		_ = f.Close()
	}
	return ids, nil
}

// forgetLives removes the files of lives of which all nodes know that they have ended.
func forgetLives(dir string, ids []string) {
	for _, id := range ids {
		_ = os.Remove(filepath.Join(dir, livesFolder, id)) // it may be gone
	}
}

// heldLife has the file of a life. A nil one is of a node without a data folder.
type heldLife struct {
	file *os.File
	path string
}

// holdLife keeps the file of a life until the process ends. It gets its name when it is locked.
func holdLife(dir, id string) (*heldLife, error) {
	if dir == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	folder := filepath.Join(dir, livesFolder)
	if err := files.MakePrivate(folder); err != nil {
		return nil, fmt.Errorf("making a folder for the lives of this node: %w", err)
	}
	draft := filepath.Join(folder, id+".draft")
	f, err := os.OpenFile(draft, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("noting a life of this node: %w", err)
	}
	path := filepath.Join(folder, id)
	if err = files.TryLock(f); err == nil {
		err = os.Rename(draft, path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("noting a life of this node: %w", err), f.Close(), os.Remove(draft))
	}
	return &heldLife{f, path}, nil
}

// end lets go of a life. One that others know to have ended is forgotten.
func (h *heldLife) end(known bool) {
	if h == nil {
		return
	}
	_ = h.file.Close()
	if known {
		_ = os.Remove(h.path)
	}
}
