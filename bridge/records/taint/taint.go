package taint

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// maxOrigins bounds the origins that are kept apart for one caller.
	maxOrigins = 256
	// patience limits how long a taint may take to be written: its result waits for it.
	patience = 2 * time.Second
	// rest sets how long to wait after a lost answer, at first.
	rest = 20 * time.Millisecond
)

// Options say where the records are.
type Options struct {
	Records records.Records
	// Name hides names of callers and origins: letters and digits, the same on all nodes.
	Name func(parts ...string) string
	// Now returns the time; nil: the machine's.
	Now func() time.Time
}

// Taints keeps what callers have read. Safe for concurrent use. Make one with New.
type Taints struct{ o Options }

var _ bridge.Taints = (*Taints)(nil)

// New returns the taints of the cluster.
func New(o Options) *Taints {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Taints{o}
}

// form is the record of a caller: until when it counts as one that has read content of each origin, in
// seconds since 1970.
type form struct {
	Until map[string]int64 `json:"until"`
}

func (t *Taints) keyOf(caller string) string { return "x." + t.o.Name("caller", caller) }

func (t *Taints) origin(origin string) string { return t.o.Name("origin", origin) }

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
	key := t.keyOf(caller)
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
	origin = t.origin(origin)
	if _, there := all[origin]; !there && len(all) >= maxOrigins {
		origin = t.origin("")
	}
	if all[origin] >= end {
		return true, nil
	}
	all[origin] = end
	value, err := records.Encode(form{all})
	if err != nil {
		return false, err
	}
	if revision == 0 {
		_, err = t.o.Records.Create(ctx, key, value)
	} else {
		_, err = t.o.Records.Update(ctx, key, value, revision)
	}
	if errors.Is(err, records.ErrExists) || errors.Is(err, records.ErrChanged) {
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
// than any news.
func (t *Taints) Tainted(ctx context.Context, caller, but string, now time.Time) (bool, error) {
	all, _, err := t.read(ctx, t.keyOf(caller))
	if err != nil {
		return false, fmt.Errorf("looking for what a caller read: %w", err)
	}
	but = t.origin(but)
	for by, at := range all {
		if by != but && at > now.Unix() {
			return true, nil
		}
	}
	return false, nil
}
