package bridgetest

import (
	"context"
	"maps"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// Folder is a data folder that processes share, in memory: what they know of each other's sessions.
// It is safe for concurrent use.
type Folder struct {
	mu     sync.Mutex
	epochs int64
	of     map[bridge.SessionName]home
	living map[string]bool
	calls  int
}

type home struct {
	process string
	epoch   int64
}

// Process is one process of a Folder.
type Process struct {
	folder *Folder
	here   string
}

var _ bridge.Homes = (*Process)(nil)

// Process adds a process, whose name has 8 letters.
func (f *Folder) Process(here string) *Process {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of, f.living = map[bridge.SessionName]home{}, map[string]bool{}
	}
	f.living[here] = true
	return &Process{f, here}
}

// Calls counts what processes have asked and told so far.
func (f *Folder) Calls() int { f.mu.Lock(); defer f.mu.Unlock(); return f.calls }

// Open returns how many sessions processes have, those of ended ones included.
func (f *Folder) Open() int { f.mu.Lock(); defer f.mu.Unlock(); return len(f.of) }

// Kill ends the process of that name, which frees nothing itself.
func (f *Folder) Kill(here string) { f.mu.Lock(); defer f.mu.Unlock(); delete(f.living, here) }

// Here implements bridge.Homes.
func (p *Process) Here() string { return p.here }

// Lives implements bridge.Homes.
func (p *Process) Lives(home string) bool {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	return home != p.here && p.folder.living[home]
}

// Open implements bridge.Homes.
func (p *Process) Open(ctx context.Context, name bridge.SessionName) (int64, error) {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	p.folder.calls++
	if p.elsewhere(name) {
		return 0, bridge.ErrElsewhere
	}
	p.folder.epochs++
	p.folder.of[name] = home{p.here, p.folder.epochs}
	return p.folder.epochs, ctx.Err()
}

// Elsewhere implements bridge.Homes.
func (p *Process) Elsewhere(ctx context.Context, name bridge.SessionName) (bool, error) {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	p.folder.calls++
	return p.elsewhere(name), ctx.Err()
}

func (p *Process) elsewhere(name bridge.SessionName) bool {
	is, open := p.folder.of[name]
	return open && is.process != p.here && p.folder.living[is.process]
}

// Close implements bridge.Homes.
func (p *Process) Close(ctx context.Context, epoch int64) error {
	p.folder.mu.Lock()
	defer p.folder.mu.Unlock()
	p.folder.calls++
	maps.DeleteFunc(p.folder.of, func(_ bridge.SessionName, h home) bool { return h.epoch == epoch })
	return ctx.Err()
}
