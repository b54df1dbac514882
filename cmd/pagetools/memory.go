package main

import (
	"context"
	"errors"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/store"
)

// dataDirOff is the data folder of a run that leaves nothing behind.
const dataDirOff = "off"

var errNoDataDir = errors.New("--data-dir is off, so nothing is kept")

// openMemory opens what outlives the process: in the data folder, or in memory
// when there is none.
func (p *program) openMemory(ctx context.Context) (*store.Store, error) {
	if p.set.dataDir == dataDirOff {
		return store.Memory(store.Options{Log: p.log}), nil
	}
	return p.openDataDir(ctx)
}

func (p *program) openDataDir(ctx context.Context) (*store.Store, error) {
	dir, err := p.dataDir()
	if err != nil {
		return nil, usage("%w", err)
	}
	s, err := store.Open(ctx, store.Options{Dir: dir, Log: p.log})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, usage("%w. Mend it, or name another folder with --data-dir; --data-dir off keeps nothing", err)
	}
	return s, nil
}

// closeMemory closes it. Records that are lost are said.
func (p *program) closeMemory(s *store.Store) {
	if err := s.Close(); err != nil {
		p.say("warning: not everything could be recorded: %v", err)
	}
}

// remembered gives the parts of a store; none has no parts.
func remembered(s *store.Store) bridge.Memory {
	if s == nil {
		return bridge.Memory{}
	}
	return s.Memory
}
