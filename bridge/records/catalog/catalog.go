package catalog

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// heads and parts begin keys.
	heads, parts = "c.h.", "c.p."
	// rest is waited before the engine is asked again, and patience limits what waits for one answer.
	rest     = 500 * time.Millisecond
	patience = 2 * time.Second
	// tidyEvery sets how often records of sites are looked for that no node serves any more, and tidyAge for
	// how long nobody must have taken one.
	tidyEvery, tidyAge = 10 * time.Minute, time.Hour
)

// Options say who this node is, and where the records are. Functions are safe for concurrent use.
type Options struct {
	Records records.Records
	Sealer  records.Sealer
	// Name hides names: letters and digits, the same on all nodes.
	Name func(parts ...string) string
	// Self returns the life of this node, and Others those of the other nodes that take new work.
	Self   func() string
	Others func() []string
	// Dead reports whether a life has ended for good, or that nobody can know.
	Dead func(ctx context.Context, id string) (bool, error)
	// Lease is the time after which a node that does not renew counts as dead.
	Lease time.Duration
	// MaxContent limits the bytes of what a page shows.
	MaxContent int
	Log        *slog.Logger // nil is silent
}

// Catalogs has the catalogs of all sites. Safe for concurrent use. Make one with New, and call Run.
type Catalogs struct {
	o    Options
	life context.Context //nolint:containedctx // of the sites; it ends with Run
	end  context.CancelFunc
	run  sync.WaitGroup // of the sites

	mu    sync.Mutex
	known bool // the records were read once
	heads map[string]seen
	sites map[string]*Site // by key
	sets  int64            // that this life has made
}

// head is the record of a site.
type head struct {
	// Owner is the life that has the page; "" is nobody, and then Left names who gave it up.
	Owner string `json:"owner"`
	Left  string `json:"left,omitempty"`
	// Epoch counts the owners.
	Epoch int64 `json:"epoch"`
	// Set names the parts of the content, and Parts says how many; there was none yet where it is empty.
	Set   string `json:"set,omitempty"`
	Parts int    `json:"parts,omitempty"`
	At    string `json:"at"`  // by the owner's clock, for people
	Box   []byte `json:"box"` // sealed: about
}

// about has the part that the engine does not see.
type about struct {
	Site   string `json:"site"`
	Digest string `json:"digest,omitempty"` // of the content
	Why    []byte `json:"why,omitempty"`    // the page did not open, in the last attempt
}

// seen is a record of a site, as it was read or written last.
type seen struct {
	head

	revision uint64
	since    time.Time // of the revision
	foreign  bool      // it cannot be read: nobody here takes it
}

// New returns the catalogs of the cluster.
func New(o Options) *Catalogs {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	c := &Catalogs{o: o, heads: map[string]seen{}, sites: map[string]*Site{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// keyOf returns the word that stands for a site in keys. The same name with another target is another
// site: what a page may do depends on its origin.
func (c *Catalogs) keyOf(name, target string) string { return c.o.Name("catalog", name, target) }

// Run follows the records until ctx ends, and then ends what Follow began.
func (c *Catalogs) Run(ctx context.Context) {
	defer c.run.Wait()
	defer c.end()
	tidy := time.NewTicker(tidyEvery)
	defer tidy.Stop()
	for ctx.Err() == nil {
		if err := c.follow(ctx, tidy.C); err != nil && ctx.Err() == nil {
			c.o.Log.Debug("cluster: the owners of sites cannot be followed", slog.Any("error", err))
		}
		records.Pause(ctx, rest)
	}
}

// errBehind says that a watch ended.
var errBehind = errors.New("the watch ended")

// follow takes over the records, and then their changes, until the watch ends.
func (c *Catalogs) follow(ctx context.Context, tidy <-chan time.Time) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes, err := c.o.Records.Watch(ctx, heads)
	if err != nil {
		return err
	}
	there := map[string]bool{} // nil after the first part
	for {
		select {
		case r, open := <-changes:
			switch {
			case !open:
				return errBehind
			case r.IsMark():
				c.all(there)
				there = nil
			default:
				if there != nil {
					there[r.Key] = true
				}
				c.see(r)
			}
		case <-tidy:
			c.tidy(ctx)
		}
	}
}

// see takes note of a record.
func (c *Catalogs) see(r records.Record) {
	key := strings.TrimPrefix(r.Key, heads)
	now := seen{revision: r.Revision, since: time.Now()}
	if !r.Deleted {
		if err := records.Decode(r.Value, &now.head); err != nil {
			now.foreign = true
			c.o.Log.Warn("cluster: the record of a site cannot be read", slog.Any("error", err))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch was := c.heads[key]; {
	case r.Revision <= was.revision:
		return
	case r.Deleted:
		delete(c.heads, key)
	default:
		c.heads[key] = now
	}
	if s := c.sites[key]; s != nil {
		s.kick()
	}
}

// all forgets the records that are not there. A watch can be behind: a site without a record is read again
// before it is taken.
func (c *Catalogs) all(there map[string]bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.heads, func(key string, _ seen) bool { return !there[heads+key] })
	c.known = true
	for _, s := range c.sites {
		s.kick()
	}
}

// Kick has each site look again: nodes came or went.
func (c *Catalogs) Kick() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.sites {
		s.kick()
	}
}

// find returns the record of a site; known is false until the records were read once.
func (c *Catalogs) find(key string) (is seen, known bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.heads[key], c.known
}

// Owner returns the life that has the page of a site that this node follows; "" is nobody. It does no
// I/O.
func (c *Catalogs) Owner(name string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, s := range c.sites {
		if s.name == name {
			return c.heads[key].Owner
		}
	}
	return ""
}

// tidy removes the records of sites that no node serves any more.
func (c *Catalogs) tidy(ctx context.Context) {
	c.mu.Lock()
	old := map[string]seen{}
	for key, is := range c.heads {
		if c.sites[key] == nil && !is.foreign && time.Since(is.since) >= tidyAge {
			old[key] = is
		}
	}
	c.mu.Unlock()
	for key, is := range old {
		if is.Owner != "" {
			if dead, err := c.dead(ctx, is.Owner); err != nil || !dead {
				continue
			}
		}
		err := c.o.Records.Delete(ctx, heads+key, is.revision)
		if err == nil {
			err = c.sweep(ctx, key, "")
		}
		if err != nil {
			c.o.Log.Debug("cluster: the list of a site that no node serves stays", slog.Any("error", err))
		}
	}
}

func (c *Catalogs) dead(ctx context.Context, id string) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return c.o.Dead(ctx, id)
}

// sweep removes the parts of a site that are not of this set.
func (c *Catalogs) sweep(ctx context.Context, key, set string) error {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	all, err := c.o.Records.Watch(ctx, parts+key+".")
	if err != nil {
		return err
	}
	var old []records.Record
	for r := range all {
		if r.IsMark() {
			stop()
			break
		}
		if !r.Deleted && !strings.HasPrefix(r.Key, partKey(key, set, "")) {
			old = append(old, records.Record{Key: r.Key, Revision: r.Revision})
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	for _, r := range old {
		if gone := c.o.Records.Delete(ctx, r.Key, r.Revision); gone != nil && !errors.Is(gone, records.ErrChanged) {
			err = gone
		}
	}
	return err
}

// partKey returns the key of a part.
func partKey(key, set, number string) string { return parts + key + "." + set + "." + number }

// rank returns how many other nodes come before this one to take a site, which left gave up.
func (c *Catalogs) rank(key, left string) int {
	self := c.o.Self()
	all := append(c.o.Others(), self)
	order := func(id string) string {
		if id == left {
			return "" // last
		}
		return c.o.Name("owner", id, key)
	}
	slices.SortFunc(all, func(a, b string) int { return strings.Compare(order(b), order(a)) })
	return slices.Index(all, self)
}

// Owned is a site and the life that has its page.
type Owned struct{ Site, Owner string }

// Survey lists the sites of a cluster, from outside of it. A name that the sealer does not open is the
// word that stands for it in keys.
func Survey(ctx context.Context, r records.Records, sealer records.Sealer) (list []Owned, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	all, err := r.Watch(ctx, heads)
	if err != nil {
		return nil, err
	}
	for one := range all {
		if one.IsMark() {
			slices.SortFunc(list, func(a, b Owned) int { return strings.Compare(a.Site, b.Site) })
			return list, nil
		}
		var is head
		if one.Deleted || records.Decode(one.Value, &is) != nil {
			continue
		}
		o := Owned{strings.TrimPrefix(one.Key, heads), is.Owner}
		if a, err := open(sealer, one.Key, is); err == nil {
			o.Site = a.Site
		}
		list = append(list, o)
	}
	return nil, cmp.Or(context.Cause(ctx), errBehind)
}
