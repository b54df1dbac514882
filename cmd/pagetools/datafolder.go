package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/files"
)

// openMemory opens what outlives the process: in the data folder, or in memory
// when there is none.
func (p *program) openMemory(ctx context.Context) (*store.Store, error) {
	if p.conf.DataDir == config.Off {
		return store.Memory(store.Options{Log: p.log}), nil
	}
	return p.openDataDir(ctx)
}

// openRecords opens a data folder that is there.
func (p *program) openRecords(ctx context.Context) (*store.Store, error) {
	dir, err := p.conf.DataFolder()
	if err != nil {
		return nil, usage("%w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, store.DatabaseFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, usage("%s is not a data directory: no pagetools has kept records there; "+
			"--data-dir names another", dir)
	}
	return p.openDataDir(ctx)
}

// openDataDir opens the data folder, and makes it when it is missing.
func (p *program) openDataDir(ctx context.Context) (*store.Store, error) {
	dir, err := p.conf.DataFolder()
	if err != nil {
		return nil, usage("%w", err)
	}
	s, err := store.Open(ctx, store.Options{Dir: dir, Log: p.log})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, usage("%w. Mend it, or name another folder with --data-dir; "+
			"--data-dir off keeps nothing", err)
	}
	return s, nil
}

// kept reads a secret of the data directory, or makes it: all processes have the same. It
// is nil where nothing is kept.
func kept(c *config.Config, name string, make func() []byte) ([]byte, error) {
	dir, err := dataFolder(c)
	if errors.Is(err, config.ErrNoDataDir) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	return files.Secret(filepath.Join(dir, name), make)
}

// dataFolder returns the data folder, which may not be there yet. One that another user can
// write to is an error: neither secrets nor sockets in it prove anything.
func dataFolder(c *config.Config) (string, error) {
	dir, err := c.DataFolder()
	if err != nil {
		return "", err
	}
	return dir, store.Check(dir)
}
