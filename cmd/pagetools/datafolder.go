package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/store"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
	"github.com/pagetools/pagetools/transport/mcp"
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
		return nil, terminal.Usage("%w", err)
	}
	if _, err := os.Stat(filepath.Join(dir, store.DatabaseFile)); errors.Is(err, fs.ErrNotExist) {
		return nil, terminal.Usage("%s is not a data directory: no pagetools has kept records there; "+
			"--data-dir names another", dir)
	}
	return p.openDataDir(ctx)
}

// openDataDir opens the data folder, and makes it when it is missing.
func (p *program) openDataDir(ctx context.Context) (*store.Store, error) {
	dir, err := p.conf.DataFolder()
	if err != nil {
		return nil, terminal.Usage("%w", err)
	}
	s, err := store.Open(ctx, store.Options{Dir: dir, Log: p.log})
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		if errors.Is(err, store.ErrVersion) {
			return nil, terminal.Usage("%w. Open %s with the pagetools that made it, or name another folder with "+
				"--data-dir", err, dir)
		}
		return nil, terminal.Usage("%w. Mend it, or name another folder with --data-dir; "+
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
	if err := files.MakePrivate(dir); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	return files.Secret(filepath.Join(dir, name), make)
}

// mcpKeyName is the file of the key that seals what MCP clients carry for us.
const mcpKeyName = "mcp.key"

// mcpKey reads the key of the data directory, or makes it. It is nil where nothing
// is kept.
func mcpKey(c *config.Config) ([]byte, error) {
	key, err := kept(c, mcpKeyName, func() []byte {
		key := make([]byte, mcp.KeySize)
		_, _ = rand.Read(key) // it never fails: it ends the program instead
		return key
	})
	if err == nil && key != nil && len(key) != mcp.KeySize {
		return nil, fmt.Errorf("%s is not a key of %d bytes; remove it", mcpKeyName, mcp.KeySize)
	}
	return key, err
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

// Collecting garbage a third as often as usual makes calls faster, and costs little memory
// while the heap is small. Where strangers have filled it, it must not become four times as
// large: garbage is then collected when there are about this many bytes of it.
const (
	mostGarbage    = 32 << 20
	usualGCPercent = 300
	leastGCPercent = 25
	mostFree       = 48 << 20
)

// When strangers who filled the heap are gone, nobody makes garbage that would have it collected:
// a heap of this size is looked at each idleTime.
const (
	largeHeap = 32 << 20
	idleTime  = 15 * time.Second
)

// collectLess does so from now on, unless the environment says how often to collect.
func collectLess() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(usualGCPercent)
		afterCollection(usualGCPercent)
		var last idleness
		go func() { // ends with the process
			for range time.Tick(idleTime) {
				last.look()
			}
		}()
	}
}

// idleness holds what there was at the last look, and own says that it was just collected.
type idleness struct {
	collections, allocated uint64
	own                    bool
}

// look collects garbage, and returns memory to the system, when the heap is large, and nothing
// was collected since it looked last. What it collected itself must have grown.
func (last *idleness) look() {
	read := func() (now idleness, heap uint64) {
		sample := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"},
			{Name: "/gc/heap/allocs:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
		metrics.Read(sample)
		now = idleness{collections: sample[0].Value.Uint64(), allocated: sample[1].Value.Uint64()}
		return now, sample[2].Value.Uint64()
	}
	now, heap := read()
	same := now.collections == last.collections
	grew := !last.own || now.allocated > last.allocated+idleAllocations
	if heap > largeHeap && same && grew {
		debug.FreeOSMemory()
		now, _ = read()
		now.own = true
	} else if same {
		now.own, now.allocated = last.own, last.allocated
	}
	*last = now
}

// idleAllocations are less than what it costs to close a page.
const idleAllocations = 64 << 10

// afterCollection looks at the heap after the next collection, and then again.
func afterCollection(percent int) {
	mark := new(*int) // gone with the next collection
	runtime.AddCleanup(mark, func(before int) {
		now, limit := pace()
		debug.SetMemoryLimit(limit)
		if now != before {
			debug.SetGCPercent(now)
		}
		afterCollection(now)
	}, percent)
}

// pace returns how much garbage there may be beside what lives, and how much memory both may take
// with what was not returned to the system yet: beyond it the runtime returns what is free.
func pace() (percent int, limit int64) {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	live := sample[0].Value.Uint64()
	percent = int(mostGarbage / max(1, live/100))
	return max(leastGCPercent, min(usualGCPercent, percent/10*10)), int64(live) + mostFree
}
