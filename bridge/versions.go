package bridge

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

const firstVersion = "1.0.0"

// maxVersions bounds what a page that never stops changing can make us keep of
// one webtool; the oldest go first.
const maxVersions = 256

// history is what one webtool was: content-addressed semantic versions
// (webtools reference, A1).
type history struct {
	webtool string
	store   Versions // nil: nothing outlives the process
	clock   func() time.Time

	mu        sync.Mutex
	loaded    bool
	byVersion map[string]*Document
	byDigest  map[string]*Document
	order     []*Document // as minted, oldest first
	last      *Document   // what was current when last looked at

	// now is the newest observation, for readers that must not wait.
	now atomic.Pointer[snapshot]
}

type snapshot struct {
	catalog  *Catalog
	document *Document // nil: the webtool does not exist in this catalog
}

// version finds a document by its version, or nil.
func (h *history) version(ctx context.Context, v string) (*Document, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil {
		return nil, err
	}
	return h.byVersion[v], nil
}

// observe gives the document of the webtool in this catalog, and notes it when
// it is new. build makes the draft; nil means that the webtool does not exist
// there.
func (h *history) observe(ctx context.Context, c *Catalog, build func() *Document) (*Document, error) {
	if s := h.now.Load(); s != nil && s.catalog == c {
		return s.document, nil
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
	h.now.Store(&snapshot{catalog: c, document: d})
	return d, nil
}

// stale gives what was current last, marked as such, or nil.
func (h *history) stale(ctx context.Context) *Document {
	h.mu.Lock()
	defer h.mu.Unlock()
	if err := h.load(ctx); err != nil || h.last == nil {
		return nil
	}
	d := *h.last
	d.Stale = true
	return d.finish(d.Version)
}

// load reads what the webtool was before. Called with h.mu held.
func (h *history) load(ctx context.Context) error {
	if h.loaded {
		return nil
	}
	var records []VersionRecord
	if h.store != nil {
		var err error
		if records, err = h.store.Load(ctx, h.webtool); err != nil {
			return notKept("The history of this webtool cannot be read now.", err)
		}
	}
	h.byVersion, h.byDigest, h.order, h.last = map[string]*Document{}, map[string]*Document{}, nil, nil
	var seen time.Time
	for _, r := range records {
		d := &Document{}
		if err := json.Unmarshal(r.Document, d); err != nil {
			return notKept("The history of this webtool cannot be read now.", fmt.Errorf("version %s: %w", r.Version, err))
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

// notKept is the error of what cannot be remembered: a number that might be given
// twice is not given at all.
func notKept(message string, err error) *Error {
	return Errorf(InternalError, Internal, NotRun, "%s", message).With(err)
}

func (h *history) keep(d *Document) {
	h.byVersion[d.Version], h.byDigest[d.Digest] = d, d
	h.order = append(h.order, d)
	if len(h.order) > maxVersions {
		gone := h.order[0]
		h.order = h.order[1:]
		delete(h.byVersion, gone.Version)
		delete(h.byDigest, gone.Digest)
	}
}

// attempts bounds how often a number is lost to another process.
const attempts = 5

// mint gives a draft its number: the old one when the digest was seen before,
// else the next one that the difference calls for. It is kept before anybody
// sees it. Called with h.mu held.
func (h *history) mint(ctx context.Context, d *Document) (*Document, error) {
	var err error
	for range attempts {
		if err := h.load(ctx); err != nil {
			return nil, err
		}
		if known := h.byDigest[d.Digest]; known != nil {
			if h.store != nil && h.last != known {
				if err := h.store.Seen(ctx, h.webtool, known.Version, h.clock()); err != nil {
					return nil, notKept("This version cannot be noted now.", err)
				}
			}
			h.last = known
			return known, nil
		}
		version := firstVersion
		if h.last != nil {
			version = h.free(h.last.Version, compareDocuments(h.last, d))
		}
		d.finish(version)
		if h.store == nil {
			break
		}
		now := h.clock()
		err = h.store.Append(ctx, h.webtool, VersionRecord{Version: version, Digest: d.Digest, Document: d.json, LastSeen: now})
		if !errors.Is(err, ErrVersionConflict) {
			break
		}
		h.loaded = false // another process was first
	}
	if err != nil {
		return nil, notKept("This version cannot be kept now.", err)
	}
	h.keep(d)
	h.last = d
	return d, nil
}

// free bumps a version until the number was never used.
func (h *history) free(from string, change schema.Change) string {
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
		if b == nil {
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
	if canonicalDigest(old.DefaultConfig) != canonicalDigest(now.DefaultConfig) {
		change = schema.Major
	}
	return change
}

// checkPin decides whether a call that pinned a version may run the tool
// (webtools reference, A3). It gives the schema to validate with instead of the
// tool's own, or nil.
func (s *siteState) checkPin(ctx context.Context, r *Run) (pinned *schema.Schema, err error) {
	action := ""
	if r.call.Single {
		action = r.tool.Name()
	}
	d, err := s.history(action).version(ctx, r.call.Version)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no version %s of this webtool.", printable(r.call.Version)).Detail("version", printable(r.call.Version))
	}
	then := d.Action(r.tool.Name())
	if then == nil {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "Version %s has no action %q.", d.Version, r.tool.Name()).Detail("reason", "action")
	}
	live := newAction(r.tool)
	if canonicalDigest(then) == canonicalDigest(live) {
		return nil, nil
	}
	if then.Description != live.Description || then.Title != live.Title || !schema.Accepts(then.RequestSchema, live.RequestSchema) {
		return nil, Errorf(VersionMismatch, "", NotRun,
			"Version %s of %q is no longer what would run. Read the current version, and pin that.", d.Version, r.tool.Name())
	}
	// It was admitted once, under limits that may have been wider.
	pinned, err = schema.Compile(then.RequestSchema, s.schemaLimits)
	if err != nil {
		return nil, Errorf(VersionMismatch, "", NotRun, "Version %s can no longer be checked.", d.Version).With(err)
	}
	return pinned, nil
}
