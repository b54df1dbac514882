package revoked

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	prefix = "v."
	// rest is waited before the engine is asked again, and patience limits one operation.
	rest     = 500 * time.Millisecond
	patience = 2 * time.Second
)

// Options say where the records are.
type Options struct {
	Records records.Records
	// Names hide digests of credentials: letters and digits, the same on all nodes. The first names what
	// is written; the others, what was written with another key of the cluster.
	Names []func(parts ...string) string
	Log   *slog.Logger // nil is silent
}

// List knows the credentials that were revoked. Safe for concurrent use. Make one with New, and call Run.
type List struct {
	o    Options
	news chan struct{} // 1: another node changed the list

	mu    sync.Mutex
	known map[string]bool // keys
	want  map[string]bool // keys that this node is to make (true) or to remove
	more  chan struct{}   // 1: want has more
}

// New returns the list of the cluster.
func New(o Options) *List {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return &List{o: o, news: make(chan struct{}, 1), known: map[string]bool{}, want: map[string]bool{}, more: make(chan struct{}, 1)}
}

func (l *List) key(name func(parts ...string) string, digest string) string {
	return prefix + name("credential", digest)
}

// Has reports whether the credential of that digest was revoked at any node. It does no I/O.
func (l *List) Has(digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range l.o.Names {
		if l.known[l.key(name, digest)] {
			return true
		}
	}
	return false
}

// News has a value after another node revoked a credential, or gave one again.
func (l *List) News() <-chan struct{} { return l.news }

// Change tells all nodes that credentials were revoked here, and that others, which may have been revoked
// before, are given again. Here both count at once; the engine is told by Run, for as long as it takes.
func (l *List) Change(revoked, given []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, digest := range revoked {
		key := l.key(l.o.Names[0], digest)
		l.known[key], l.want[key] = true, true
	}
	for _, digest := range given {
		for _, name := range l.o.Names {
			if key := l.key(name, digest); l.known[key] {
				delete(l.known, key)
				l.want[key] = false
			}
		}
	}
	if len(l.want) > 0 {
		signal(l.more)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Read reads the list before anybody is served. It tries until ctx ends.
func (l *List) Read(ctx context.Context) error {
	for {
		watching, stop := context.WithCancel(ctx)
		err := l.follow(watching, true)
		stop()
		if err == nil {
			return nil
		}
		if !records.Pause(ctx, rest) {
			return fmt.Errorf("reading what was revoked: %w", err)
		}
	}
}

// Run follows what other nodes revoke, and tells them what this one does, until ctx ends.
func (l *List) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { l.tell(ctx) })
	defer all.Wait()
	for ctx.Err() == nil {
		if err := l.follow(ctx, false); err != nil && ctx.Err() == nil {
			l.o.Log.Debug("cluster: what is revoked cannot be followed", slog.Any("error", err))
		}
		records.Pause(ctx, rest)
	}
}

// errBehind says that a watch ended.
var errBehind = errors.New("the watch ended")

// follow takes over the list, and then its changes, until the watch ends; with once, the list only.
func (l *List) follow(ctx context.Context, once bool) error {
	changes, err := l.o.Records.Watch(ctx, prefix)
	if err != nil {
		return err
	}
	all := map[string]bool{}
	for r := range changes {
		switch {
		case r.IsMark():
			l.replace(all)
			all = nil
			if once {
				return nil
			}
		case all != nil:
			all[r.Key] = !r.Deleted
		default:
			l.see(r)
		}
	}
	return errBehind
}

// replace makes these the list, but for what this node is still to tell.
func (l *List) replace(all map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.Copy(all, l.want)
	maps.DeleteFunc(all, func(_ string, is bool) bool { return !is })
	if !maps.Equal(l.known, all) {
		signal(l.news)
	}
	l.known = all
}

// see takes note of a change.
func (l *List) see(r records.Record) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, ours := l.want[r.Key]; ours {
		return
	}
	if is := !r.Deleted; l.known[r.Key] != is {
		if l.known[r.Key] = is; !is {
			delete(l.known, r.Key)
		}
		signal(l.news)
	}
}

// tell tells the engine what this node wants, until ctx ends.
func (l *List) tell(ctx context.Context) {
	warned := false
	for {
		l.mu.Lock()
		want := maps.Clone(l.want)
		l.mu.Unlock()
		failed := false
		for key, is := range want {
			err := l.set(ctx, key, is)
			if err == nil {
				l.done(key, is)
				continue
			}
			if failed = true; !warned {
				l.o.Log.Warn("cluster: the other nodes do not know yet which credentials were revoked", slog.Any("error", err))
				warned = true
			}
		}
		if failed {
			if !records.Pause(ctx, rest) {
				return
			}
			continue
		}
		warned = false
		select {
		case <-l.more:
		case <-ctx.Done():
			return
		}
	}
}

// done notes that the engine knows.
func (l *List) done(key string, is bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now, there := l.want[key]; there && now == is {
		delete(l.want, key)
	}
}

// form is the record of a revocation: when it was, in ms since 1970, for people.
type form struct {
	At int64 `json:"at"`
}

// set makes a record, or removes it.
func (l *List) set(ctx context.Context, key string, is bool) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if is {
		value, err := records.Encode(form{time.Now().UnixMilli()})
		if err == nil {
			_, err = l.o.Records.Create(ctx, key, value)
		}
		if errors.Is(err, records.ErrExists) {
			err = nil
		}
		return err
	}
	r, err := l.o.Records.Get(ctx, key)
	if err == nil {
		err = l.o.Records.Delete(ctx, key, r.Revision)
	}
	if errors.Is(err, records.ErrNone) {
		err = nil
	}
	return err
}
