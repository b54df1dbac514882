package webtool

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/schema"
)

// FirstVersion is the version of a webtool that was never seen before.
const FirstVersion = "1.0.0"

// maxVersions bounds what a page that never stops changing can make us know of
// one webtool; the oldest go first.
const maxVersions = 256

// Latest is the version of a document that is not kept.
const Latest = "latest"

// History holds the past of one webtool: content-addressed semantic versions (webtools
// reference, A1). Of documents it holds the newest; others are in the store, or, without
// one, as many as its account has room for. It is safe for concurrent use.
type History struct {
	webtool string
	Options

	mu        sync.Mutex
	loaded    bool
	byVersion map[string]*entry
	byDigest  map[string]*entry
	order     []*entry // as minted, oldest first
	last      *entry   // what was current when last looked at

	// now is the newest observation, for readers that must not wait.
	now atomic.Pointer[observation]
	// wild is true while versions are asked for that are not due.
	wild atomic.Bool
}

// entry is a version. Its document is nil where it is only in the store.
type entry struct {
	version, digest string
	document        *Document
	bytes           int64 // of the document, in the account
}

// observation is a webtool in one catalog.
type observation struct {
	catalog  any
	document *Document // nil: the webtool does not exist in this catalog
}

// Account counts bytes that are held; see policy.Account.
type Account interface {
	Take(n int64) bool
	Give(n int64)
	Close()
}

// Options configures a history. The zero value remembers in this process, without a
// bound in bytes.
type Options struct {
	// Store keeps it; nil means that nothing outlives the process.
	Store Store
	// Clock is the time; nil means time.Now.
	Clock func() time.Time
	// Account counts the documents that are held where there is no store; nil bounds
	// nothing.
	Account Account
	// Mint reports whether one more version may be made now: each is written to a disk.
	// While none may, what is new is described as Latest. Nil means always.
	Mint func(now time.Time) bool
}

// noAccount bounds nothing.
type noAccount struct{}

func (noAccount) Take(int64) bool { return true }
func (noAccount) Give(int64)      {}
func (noAccount) Close()          {}

// NewHistory makes the history of a webtool.
func NewHistory(webtool string, o Options) *History {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	if o.Account == nil {
		o.Account = noAccount{}
	}
	if o.Mint == nil {
		o.Mint = func(time.Time) bool { return true }
	}
	return &History{webtool: webtool, Options: o}
}

// Wild reports whether the webtool changes so often that not every change is a version.
func (h *History) Wild() bool { return h.wild.Load() }

// Version returns the document of a version, or nil.
func (h *History) Version(ctx context.Context, v string) (*Document, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	if _, number := readNumber(v); number && h.byVersion[v] == nil && h.Store != nil { // perhaps of another process
		h.loaded = false
		if err := h.load(ctx); err != nil {
			h.loaded = true // as it was
			return nil, err
		}
	}
	return h.document(ctx, h.byVersion[v])
}

// document returns the document of an entry, which may be nil or pruned. Called with h.mu
// held.
func (h *History) document(ctx context.Context, e *entry) (*Document, error) {
	if e == nil || e.document != nil || h.Store == nil {
		if e == nil {
			return nil, nil
		}
		return e.document, nil
	}
	text, err := h.Store.Document(ctx, h.webtool, e.version)
	if err != nil || text == nil {
		return nil, err
	}
	d := &Document{}
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("reading version %s of %s: %w", e.version, h.webtool, err)
	}
	d.Version, d.Digest, d.json = e.version, e.digest, text
	return d, nil
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
		if err := h.mint(ctx, d); err != nil {
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
	if err := h.load(ctx); err != nil {
		return nil
	}
	last, err := h.document(ctx, h.last)
	if err != nil || last == nil {
		return nil
	}
	d := *last
	d.Stale = true
	return d.Finish(d.Version)
}

// load reads which versions there were before. Called with h.mu held.
func (h *History) load(ctx context.Context) error {
	if h.loaded {
		return nil
	}
	var records []Record
	if h.Store != nil {
		var err error
		if records, err = h.Store.Load(ctx, h.webtool); err != nil {
			return fmt.Errorf("reading the history of %s: %w", h.webtool, err)
		}
	}
	h.byVersion, h.byDigest, h.order, h.last = map[string]*entry{}, map[string]*entry{}, nil, nil
	var seen time.Time
	for _, r := range records {
		if _, ok := readNumber(r.Version); !ok {
			continue // nothing of ours wrote it: no number can follow it
		}
		e := &entry{version: r.Version, digest: r.Digest}
		h.keep(e)
		if h.last == nil || !r.LastSeen.Before(seen) {
			h.last, seen = e, r.LastSeen
		}
	}
	h.loaded = true
	return nil
}

// keep notes a version. Without a store, the oldest are given up for it.
func (h *History) keep(e *entry) {
	h.byVersion[e.version], h.byDigest[e.digest] = e, e
	h.order = append(h.order, e)
	for h.Store == nil && e.document != nil && e.bytes == 0 && len(h.order) > 1 {
		if n := int64(len(e.document.JSON())); h.Account.Take(n) {
			e.bytes = n
			break
		}
		h.forget()
	}
	if len(h.order) > maxVersions {
		h.forget()
	}
}

// forget gives up the oldest version.
func (h *History) forget() {
	gone := h.order[0]
	h.order = h.order[1:]
	h.Account.Give(gone.bytes)
	if h.byVersion[gone.version] == gone {
		delete(h.byVersion, gone.version)
	}
	if h.byDigest[gone.digest] == gone {
		delete(h.byDigest, gone.digest)
	}
}

// Forget drops what is held of another catalog than this one, when the store has it.
func (h *History) Forget(catalog any) {
	now := h.now.Load()
	if h.Store == nil || now == nil || now.catalog == catalog || !h.mu.TryLock() {
		return // who holds the lock looks at a catalog just now
	}
	defer h.mu.Unlock()
	if h.last != nil {
		h.last.document = nil
	}
	h.now.CompareAndSwap(now, nil)
}

// Close gives back what the history holds.
func (h *History) Close() { h.Account.Close() }

// setLast makes a version the current one. With a store, only its document is held.
func (h *History) setLast(e *entry, d *Document) {
	if h.Store != nil && h.last != nil {
		h.last.document = nil
	}
	h.last, e.document = e, d
}

// attempts bounds the tries for a number when other processes take it first.
const attempts = 5

// mint sets the number of a draft: the old one when the digest was seen before,
// else the next one that the difference calls for, or Latest when none is due. It is kept
// before anybody sees it. Called with h.mu held.
func (h *History) mint(ctx context.Context, d *Document) error {
	asked := false // for a new number
	for range attempts {
		if err := h.load(ctx); err != nil {
			return err
		}
		if known := h.byDigest[d.Digest]; known != nil {
			if h.Store != nil && h.last != known {
				if err := h.Store.Seen(ctx, h.webtool, known.version, h.Clock()); err != nil {
					return fmt.Errorf("noting version %s of %s: %w", known.version, h.webtool, err)
				}
			}
			h.setLast(known, d.Finish(known.version))
			return nil
		}
		if !asked && !h.Mint(h.Clock()) {
			h.wild.Store(true)
			d.Finish(Latest)
			return nil
		}
		asked = true
		last, err := h.document(ctx, h.last)
		if err != nil {
			return err
		}
		version := FirstVersion
		switch {
		case last != nil:
			version = h.free(h.last.version, compareDocuments(last, d))
		case h.last != nil: // it was pruned
			version = h.free(h.last.version, schema.Major)
		}
		d.Finish(version)
		if h.Store == nil {
			break
		}
		err = h.Store.Append(ctx, h.webtool,
			Record{Version: version, Digest: d.Digest, Document: d.JSON(), LastSeen: h.Clock()})
		if err == nil {
			break
		}
		if !errors.Is(err, ErrConflict) {
			return fmt.Errorf("keeping a version of %s: %w", h.webtool, err)
		}
		h.loaded = false // another process was first
		if d.Version = ""; h.last != nil {
			h.last = nil
		}
	}
	if !h.loaded {
		return fmt.Errorf("keeping a version of %s: %w", h.webtool, ErrConflict)
	}
	h.wild.Store(false)
	e := &entry{version: d.Version, digest: d.Digest, document: d}
	h.keep(e)
	h.setLast(e, d)
	return nil
}

// readNumber reads a version as free writes it. Others are not ok, and neither are numbers
// that have no room for what follows.
func readNumber(version string) (n [3]int, ok bool) {
	_, err := fmt.Sscanf(version, "%d.%d.%d", &n[0], &n[1], &n[2])
	return n, err == nil && version == fmt.Sprintf("%d.%d.%d", n[0], n[1], n[2]) &&
		min(n[0], n[1], n[2]) >= 0 && max(n[0], n[1], n[2]) < math.MaxInt32
}

// free bumps a version until the number was never used.
func (h *History) free(from string, change schema.Change) string {
	n, _ := readNumber(from)
	major, minor, patch := n[0], n[1], n[2]
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
	if !bytes.Equal(canonical(old.DefaultConfig), canonical(now.DefaultConfig)) {
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
	PinOutdated               // the tool differs from the pinned one
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
	case !then.Adapter.same(live.Adapter), then.Origin != live.Origin, then.Description != live.Description, then.Title != live.Title,
		!schema.Accepts(then.RequestSchema, live.RequestSchema):
		return nil, PinOutdated, nil
	}
	if pinned, err = schema.Compile(then.RequestSchema, l); err != nil {
		// It was admitted once, under limits that may have been wider.
		return nil, PinUncheckable, nil //nolint:nilerr // a schema that is refused is not an error of the store
	}
	return pinned, PinFits, nil
}
