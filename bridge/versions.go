package bridge

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge/schema"
)

const firstVersion = "1.0.0"

// maxVersions bounds what a page that never stops changing can make us keep of
// one webtool; the oldest go first.
const maxVersions = 256

// history is what one webtool was: content-addressed semantic versions
// (webtools reference, A1), in memory.
type history struct {
	mu        sync.Mutex
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
func (h *history) version(v string) *Document {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.byVersion[v]
}

// observe gives the document of the webtool in this catalog, and notes it when
// it is new. build makes the draft; nil means that the webtool does not exist
// there.
func (h *history) observe(c *Catalog, build func() *Document) *Document {
	if s := h.now.Load(); s != nil && s.catalog == c {
		return s.document
	}
	d := build()
	h.mu.Lock()
	defer h.mu.Unlock()
	if d != nil {
		d = h.mint(d)
	}
	h.now.Store(&snapshot{catalog: c, document: d})
	return d
}

// mint gives a draft its number: the old one when the digest was seen before,
// else the next one that the difference calls for. Called with h.mu held.
func (h *history) mint(d *Document) *Document {
	if h.byVersion == nil {
		h.byVersion, h.byDigest = map[string]*Document{}, map[string]*Document{}
	}
	if known := h.byDigest[d.Digest]; known != nil {
		h.last = known
		return known
	}
	version := firstVersion
	if h.last != nil {
		version = h.free(h.last.Version, compareDocuments(h.last, d))
	}
	d.finish(version)
	h.byVersion[version], h.byDigest[d.Digest], h.last = d, d, d
	h.order = append(h.order, d)
	if len(h.order) > maxVersions {
		gone := h.order[0]
		h.order = h.order[1:]
		delete(h.byVersion, gone.Version)
		delete(h.byDigest, gone.Digest)
	}
	return d
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
func (s *siteState) checkPin(c *call) (pinned *schema.Schema, err error) {
	action := ""
	if c.Single {
		action = c.tool.Name()
	}
	d := s.history(action).version(c.Version)
	if d == nil {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "There is no version %s of this webtool.", printable(c.Version)).Detail("version", printable(c.Version))
	}
	then := d.Action(c.tool.Name())
	if then == nil {
		return nil, Errorf(WebtoolNotFound, "", NotRun, "Version %s has no action %q.", d.Version, c.tool.Name()).Detail("reason", "action")
	}
	live := newAction(c.tool)
	if canonicalDigest(then) == canonicalDigest(live) {
		return nil, nil
	}
	if then.Description != live.Description || then.Title != live.Title || !schema.Accepts(then.RequestSchema, live.RequestSchema) {
		return nil, Errorf(VersionMismatch, "", NotRun,
			"Version %s of %q is no longer what would run. Read the current version, and pin that.", d.Version, c.tool.Name())
	}
	// It was admitted once, under limits that may have been wider.
	pinned, err = schema.Compile(then.RequestSchema, s.schemaLimits)
	if err != nil {
		return nil, Errorf(VersionMismatch, "", NotRun, "Version %s can no longer be checked.", d.Version).With(err)
	}
	return pinned, nil
}
