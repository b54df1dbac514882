package directory

import (
	"context"
	"errors"
	"maps"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

// idle is a session that no node has, as Tidy saw it.
type idle struct {
	revision uint64
	since    time.Time
	boxed    bool // its pages may be there
}

// Tidy removes the records of sessions that no node has, because they expired or their homes are dead, and
// that have been so for an age in the eyes of this directory. Before, when they have been so for the
// idle time, it has their pages closed: they expire. One node of a cluster calls it from time to
// time, and not twice at once.
func (d *Directory) Tidy(ctx context.Context, idleTime, age time.Duration) (removed int, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all, err := d.o.Records.Watch(ctx, keyOf(""))
	if err != nil {
		return 0, err
	}
	seen := map[string]idle{}
	for r := range all {
		if r.IsMark() {
			d.idle = seen
			d.abandon(ctx, idleTime)
			return d.removeIdle(ctx, age)
		}
		var is form
		if r.Deleted || records.Decode(r.Value, &is) != nil {
			continue
		}
		if dead, err := d.isIdle(ctx, is); err != nil || !dead {
			continue // it is looked at again
		}
		key := strings.TrimPrefix(r.Key, keyOf(""))
		if was := d.idle[key]; was.revision == r.Revision {
			seen[key] = was
		} else {
			seen[key] = idle{r.Revision, time.Now(), is.State == stateOpen && len(is.Box) > 0}
		}
	}
	return 0, errNotListed
}

// Boxes returns the boxes of all sessions. It fails where one of them cannot be read.
func (d *Directory) Boxes(ctx context.Context) (boxes [][]byte, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all, err := d.o.Records.Watch(ctx, keyOf(""))
	if err != nil {
		return nil, err
	}
	for r := range all {
		if r.IsMark() {
			return boxes, nil
		}
		if r.Deleted {
			continue
		}
		e, err := d.read(r)
		if err != nil {
			return nil, err
		}
		boxes = append(boxes, e.Box)
	}
	return nil, errNotListed
}

var errNotListed = errors.New("the engine did not list the sessions to the end")

// isIdle reports whether no node has a session.
func (d *Directory) isIdle(ctx context.Context, is form) (bool, error) {
	if is.State != stateOpen || is.Home == "" {
		return true, nil
	}
	return d.o.Dead(ctx, is.Home)
}

// abandon closes the pages of sessions that have been idle for that long.
func (d *Directory) abandon(ctx context.Context, age time.Duration) {
	for key, is := range d.idle {
		if !is.boxed || d.o.Dispose == nil || time.Since(is.since) < age {
			continue
		}
		e, err := d.Find(ctx, key)
		if err != nil || e.revision != is.revision {
			continue // it is looked at again
		}
		if _, err := d.Expire(ctx, e); err == nil { // so that nobody goes on with them
			d.o.Dispose(ctx, e.Box)
		}
	}
}

// removeIdle removes those that have been idle for that long.
func (d *Directory) removeIdle(ctx context.Context, age time.Duration) (removed int, err error) {
	for key, is := range maps.Clone(d.idle) {
		if time.Since(is.since) < age {
			continue
		}
		switch gone := d.o.Records.Delete(ctx, keyOf(key), is.revision); {
		case gone == nil:
			removed++
		case !errors.Is(gone, records.ErrChanged):
			err = gone
			continue
		}
		d.cache.forget(key)
		delete(d.idle, key)
	}
	return removed, err
}
