package main

import (
	"context"

	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
)

// openMemory opens what outlives the process: in the data folder, or in memory
// when there is none.
func (p *program) openMemory(ctx context.Context) (*store.Store, error) {
	if p.conf.DataDir == config.Off {
		return store.Memory(store.Options{Log: p.log}), nil
	}
	return p.openDataDir(ctx)
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
