package taint

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
)

const (
	// maxOrigins bounds the origins that are kept apart for one caller.
	maxOrigins = 256
	// maxReadings bounds the callers whose records are remembered, twice.
	maxReadings = 2000
	// patience limits how long a taint may take to be written: its result waits for it.
	patience = 2 * time.Second
	// rest sets how long to wait after a lost answer, at first.
	rest = 20 * time.Millisecond
)

// Options say where the records are.
type Options struct {
	Records records.Records
	// Names hide names of callers and origins: letters and digits, the same on all nodes. The first
	// names what is written; the others, what was written with another key of the cluster.
	Names []func(parts ...string) string
	// Lease sets for how long what was read stands where the engine does not answer; 0 is not at all.
	Lease time.Duration
	// Clocks measure that; nil: the machine's.
	Clocks func() lease.Instant
	// Now returns the time; nil: the machine's.
	Now func() time.Time
}

// Taints keeps what callers have read. Safe for concurrent use. Make one with New.
type Taints struct {
	o Options

	mu       sync.Mutex
	now, old map[string]reading // by caller, of this time and of the one before
}

// reading holds what a caller's record said, and when.
type reading struct {
	at  lease.Instant
	all map[string]int64
}

var _ bridge.Taints = (*Taints)(nil)

// New returns the taints of the cluster.
func New(o Options) *Taints {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Clocks == nil {
		o.Clocks = lease.Clocks
	}
	return &Taints{o: o}
}

// form is the record of a caller: until when it counts as one that has read content of each origin, in
// seconds since 1970.
type form struct {
	Until map[string]int64 `json:"until"`
}

// hide returns the key of a caller, and the name of an origin.
func (t *Taints) hide(name func(parts ...string) string, caller, origin string) (key, hidden string) {
	return "x." + name("caller", caller), name("origin", origin)
}

// Taint implements bridge.Taints. It returns when every node knows, or after two seconds with an error:
// then the result that the caller would read must be withheld.
func (t *Taints) Taint(ctx context.Context, caller, origin string, until time.Time) error {
	if most := t.o.Now().Add(records.ShortAge); until.After(most) {
		return fmt.Errorf("invalid end of a taint %v: must be before %v, when the engine forgets it", until, most)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for wait := rest; ; wait *= 2 {
		if done, err := t.merge(ctx, caller, origin, until); done {
			return nil
		} else if err != nil && !records.Pause(ctx, wait) {
			return fmt.Errorf("keeping what a caller read: %w", err)
		}
	}
}

// merge adds a taint to the caller's record, once. It reports whether it is there. Without it and
// without an error, somebody else changed the record.
func (t *Taints) merge(ctx context.Context, caller, origin string, until time.Time) (done bool, err error) {
	key, hidden := t.hide(t.o.Names[0], caller, origin)
	all, revision, err := t.read(ctx, key)
	if err != nil {
		return false, err
	}
	now := t.o.Now().Unix()
	for by, at := range all {
		if at <= now {
			delete(all, by)
		}
	}
	end := until.Add(time.Second - 1).Unix() // not earlier
	if _, there := all[hidden]; !there && len(all) >= maxOrigins {
		_, hidden = t.hide(t.o.Names[0], caller, "")
	}
	if all[hidden] >= end {
		return true, nil
	}
	all[hidden] = end
	t.forget(key)
	if _, err = records.Put(ctx, t.o.Records, key, form{all}, revision); errors.Is(err, records.ErrChanged) {
		return false, nil
	}
	return err == nil, err
}

// read returns what a caller's record says; revision 0 and nothing where there is none.
func (t *Taints) read(ctx context.Context, key string) (all map[string]int64, revision uint64, err error) {
	r, err := t.o.Records.Get(ctx, key)
	if errors.Is(err, records.ErrNone) {
		return map[string]int64{}, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	is := form{Until: map[string]int64{}}
	if err := records.Decode(r.Value, &is); err != nil {
		return nil, 0, err
	}
	if is.Until == nil {
		is.Until = map[string]int64{}
	}
	return is.Until, r.Revision, nil
}

// Tainted implements bridge.Taints. It asks the engine each time, because an agent's next call is faster
// than any news. Where the engine does not answer, what it said less than a lease ago stands.
func (t *Taints) Tainted(ctx context.Context, caller, but string, now time.Time) (bool, error) {
	for _, name := range t.o.Names {
		key, hidden := t.hide(name, caller, but)
		asked := t.o.Clocks()
		all, _, err := t.read(ctx, key)
		if err == nil {
			t.remember(key, reading{asked, all})
		} else if was, ok := t.lately(key); ok && !errors.Is(err, records.ErrNewer) {
			all = was.all
		} else {
			return false, fmt.Errorf("looking for what a caller read: %w", err)
		}
		for by, at := range all {
			if by != hidden && at > now.Unix() {
				return true, nil
			}
		}
	}
	return false, nil
}

// remember keeps a reading for a lease.
func (t *Taints) remember(key string, r reading) {
	if t.o.Lease == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.now == nil || len(t.now) >= maxReadings {
		t.now, t.old = map[string]reading{}, t.now
	}
	t.now[key] = r
}

// lately returns what a record said less than a lease ago.
func (t *Taints) lately(key string) (r reading, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r, ok = t.now[key]; !ok {
		r, ok = t.old[key]
	}
	return r, ok && t.o.Clocks().Within(t.o.Lease, r.at)
}

// forget forgets what a record said, because it is about to say more.
func (t *Taints) forget(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.now, key)
	delete(t.old, key)
}
