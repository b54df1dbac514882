package authserver

import (
	"context"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// maxOnce bounds what counts once in this process. A person makes each.
const maxOnce = 1000

// once keeps what counts once, in this process.
type once struct {
	now func() time.Time

	mu  sync.Mutex
	all map[string]*counted
}

// counted is a value that counts once.
type counted struct {
	value []byte
	until time.Time
	taken bool
}

func newOnce(now func() time.Time) *once { return &once{now: now, all: map[string]*counted{}} }

var _ bridge.Once = (*once)(nil)

// Put implements bridge.Once. Where there are too many, the one goes that ends first.
func (o *once) Put(_ context.Context, name string, value []byte, until time.Time) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first := ""
	for other, is := range o.all {
		if !o.now().Before(is.until) {
			delete(o.all, other)
		} else if was := o.all[first]; was == nil || is.until.Before(was.until) {
			first = other
		}
	}
	if o.all[name] != nil {
		return false, nil
	}
	if len(o.all) >= maxOnce {
		delete(o.all, first)
	}
	o.all[name] = &counted{value: value, until: until}
	return true, nil
}

// Take implements bridge.Once.
func (o *once) Take(_ context.Context, name string) (value []byte, first bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	is := o.all[name]
	if is == nil || !o.now().Before(is.until) {
		return nil, false, nil
	}
	first, is.taken = !is.taken, true
	return is.value, first, nil
}
