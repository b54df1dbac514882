package webtool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// FirstVersion is the version of a webtool that was never seen before.
const FirstVersion = "1.0.0"

// maxVersions bounds what a page that never stops changing can make us keep of
// one webtool; the oldest go first.
const maxVersions = 256

// History is what one webtool was: content-addressed semantic versions (webtools
// reference, A1). It is safe for concurrent use.
type History struct {
	webtool string
	store   Store // nil: nothing outlives the process
	clock   func() time.Time

	mu        sync.Mutex
	loaded    bool
	byVersion map[string]*Document
	byDigest  map[string]*Document
	order     []*Document // as minted, oldest first
	last      *Document   // what was current when last looked at

	// now is the newest observation, for readers that must not wait.
	now atomic.Pointer[observation]
}

// observation is a webtool in one catalog.
type observation struct {
	catalog  any
	document *Document // nil: the webtool does not exist in this catalog
}

// NewHistory makes the history of a webtool. Without a store nothing outlives the
// process.
func NewHistory(webtool string, store Store, clock func() time.Time) *History {
	return &History{webtool: webtool, store: store, clock: clock}
}

// Version returns the document of a version, or nil.
func (h *History) Version(ctx context.Context, v string) (*Document, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	return h.byVersion[v], nil
}

// Known returns the document of the webtool in a catalog that was observed last, nil
// when it does not exist there; ok is false for another catalog. It waits for nothing.
func (h *History) Known(catalog any) (d *Document, ok bool) {
	if now := h.now.Load(); now != nil && now.catalog == catalog {
		return now.document, true
	}
	return nil, false
}

// Observe returns the document of the webtool in this catalog, and notes it when it is
// new. The catalog is any value that is equal to itself only. build makes the draft;
// nil means that the webtool does not exist there.
func (h *History) Observe(ctx context.Context, catalog any,
	build func() *Document) (*Document, error) {
	if d, ok := h.Known(catalog); ok {
		return d, nil
	}
	d := build()
	h.mu.Lock()
	defer h.mu.Unlock()
	if d != nil {
		var err error
		if d, err = h.mint(ctx, d); err != nil {
			return nil, err
		}
	}
	h.now.Store(&observation{catalog, d})
	return d, nil
}

// Stale returns what was current last, marked as such, or nil.
func (h *History) Stale(ctx context.Context) *Document {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil || h.last == nil {
		return nil
	}
	d := *h.last
	d.Stale = true
	return d.Finish(d.Version)
}

// load reads what the webtool was before. Called with h.mu held.
func (h *History) load(ctx context.Context) error {
	if h.loaded {
		return nil
	}
	var records []Record
	if h.store != nil {
		var err error
		if records, err = h.store.Load(ctx, h.webtool); err != nil {
			return fmt.Errorf("reading the history of %s: %w", h.webtool, err)
		}
	}
	h.byVersion, h.byDigest, h.order, h.last = map[string]*Document{}, map[string]*Document{}, nil, nil
	var seen time.Time
	for _, r := range records {
		d := &Document{}
		if err := json.Unmarshal(r.Document, d); err != nil {
			return fmt.Errorf("reading version %s of %s: %w", r.Version, h.webtool, err)
		}
		d.Version, d.Digest, d.json = r.Version, r.Digest, r.Document
		h.keep(d)
		if h.last == nil || !r.LastSeen.Before(seen) {
			h.last, seen = d, r.LastSeen
		}
	}
	h.loaded = true
	return nil
}

func (h *History) keep(d *Document) {
	h.byVersion[d.Version], h.byDigest[d.Digest] = d, d
	h.order = append(h.order, d)
	if len(h.order) > maxVersions {
		gone := h.order[0]
		h.order = h.order[1:]
		delete(h.byVersion, gone.Version)
		delete(h.byDigest, gone.Digest)
	}
}

// attempts bounds the tries for a number when other processes take it first.
const attempts = 5

// mint sets the number of a draft: the old one when the digest was seen before,
// else the next one that the difference calls for. It is kept before anybody
// sees it. Called with h.mu held.
func (h *History) mint(ctx context.Context, d *Document) (*Document, error) {
	var err error
	for range attempts {
		if err := h.load(ctx); err != nil {
			return nil, err
		}
		if known := h.byDigest[d.Digest]; known != nil {
			if h.store != nil && h.last != known {
				if err := h.store.Seen(ctx, h.webtool, known.Version, h.clock()); err != nil {
					return nil, fmt.Errorf("noting version %s of %s: %w", known.Version, h.webtool,
						err)
				}
			}
			h.last = known
			return known, nil
		}
		version := FirstVersion
		if h.last != nil {
			version = h.free(h.last.Version, compareDocuments(h.last, d))
		}
		d.Finish(version)
		if h.store == nil {
			break
		}
		now := h.clock()
		err = h.store.Append(ctx, h.webtool,
			Record{Version: version, Digest: d.Digest, Document: d.json, LastSeen: now})
		if !errors.Is(err, ErrConflict) {
			break
		}
		h.loaded = false // another process was first
	}
	if err != nil {
		return nil, fmt.Errorf("keeping a version of %s: %w", h.webtool, err)
	}
	h.keep(d)
	h.last = d
	return d, nil
}

// free bumps a version until the number was never used.
func (h *History) free(from string, change schema.Change) string {
	var major, minor, patch int
	if _, err := fmt.Sscanf(from, "%d.%d.%d", &major, &minor, &patch); err != nil {
		panic("our own version cannot be read: " + from)
	}
	for {
		switch change {
		case schema.Major:
			major, minor, patch = major+1, 0, 0
		case schema.Minor:
			minor, patch = minor+1, 0
		default:
			patch++
		}
		v := fmt.Sprintf("%d.%d.%d", major, minor, patch)
		if h.byVersion[v] == nil {
			return v
		}
	}
}

// compareDocuments is the table of A1. Unknown differences are major.
func compareDocuments(old, now *Document) schema.Change {
	change := schema.Patch // the digests differ
	for i := range old.Actions {
		a := &old.Actions[i]
		b := now.Action(a.Name)
		if b == nil || a.Origin != b.Origin {
			return schema.Major
		}
		change = max(change,
			schema.Compare(a.RequestSchema, b.RequestSchema, schema.Request),
			schema.Compare(a.ResponseSchema, b.ResponseSchema, schema.Response))
	}
	for i := range now.Actions {
		if old.Action(now.Actions[i].Name) == nil {
			change = max(change, schema.Minor)
		}
	}
	change = max(change, schema.Compare(old.ConfigSchema, now.ConfigSchema, schema.Request))
	if digest(old.DefaultConfig) != digest(now.DefaultConfig) {
		change = schema.Major
	}
	return change
}

// PinProblem says why a pinned version does not let an action run.
type PinProblem int

// The problems of pins.
const (
	PinFits        PinProblem = iota
	PinUnknown                // there is no such version
	PinWithout                // it has no such action
	PinOutdated               // what would run is not what was pinned
	PinUncheckable            // its schema is not one that is taken today
)

// Pin decides whether a call that pinned a version may run an action as it is now
// (webtools reference, A3). pinned is the schema to validate with besides the action's
// own, or nil where both are the same. The error is one of the store.
func (h *History) Pin(ctx context.Context, version string, live Action,
	l schema.Limits) (pinned *schema.Schema, p PinProblem, err error) {
	d, err := h.Version(ctx, version)
	if err != nil {
		return nil, 0, err
	}
	if d == nil {
		return nil, PinUnknown, nil
	}
	then := d.Action(live.Name)
	switch {
	case then == nil:
		return nil, PinWithout, nil
	case then.Digest() == live.Digest():
		return nil, PinFits, nil
	case then.Origin != live.Origin, then.Description != live.Description, then.Title != live.Title,
		!schema.Accepts(then.RequestSchema, live.RequestSchema):
		return nil, PinOutdated, nil
	}
	if pinned, err = schema.Compile(then.RequestSchema, l); err != nil {
		// It was admitted once, under limits that may have been wider.
		return nil, PinUncheckable, nil //nolint:nilerr // a schema that is refused is not an error of the store
	}
	return pinned, PinFits, nil
}
