package bridge

import (
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

const (
	// taintFor is how long a caller counts as one that has read untrusted content.
	// It is the idle time of a session.
	taintFor = 15 * time.Minute
	// maxTaints bounds the origins that are kept apart for one caller. Beyond it
	// the caller is tainted everywhere.
	maxTaints = 64
)

// anyOrigin stands for more origins than are kept apart.
const anyOrigin = ""

// taints holds what callers have read: results that a page calls untrusted, and
// those of documents that are not the site's own (security reference, 4, item 7).
type taints struct {
	mu       sync.Mutex
	byCaller map[string]map[string]time.Time // when a taint by an origin ends
}

// read notes what the call reads.
func (t *taints) read(r *Run, now time.Time) {
	if r.pass.tool.hints.Untrusted != policy.Yes && r.pass.tool.topLevel {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCaller == nil {
		t.byCaller = map[string]map[string]time.Time{}
	}
	origins := t.byCaller[r.pass.call.Caller.Name]
	if origins == nil {
		origins = map[string]time.Time{}
		t.byCaller[r.pass.call.Caller.Name] = origins
	}
	origin := r.pass.tool.origin
	if _, there := origins[origin]; !there && len(origins) >= maxTaints {
		origin = anyOrigin
	}
	origins[origin] = now.Add(taintFor)
}

// of reports whether the caller has read content of an origin other than this one.
func (t *taints) of(caller, origin string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	tainted := false
	for by, until := range t.byCaller[caller] {
		if now.After(until) {
			delete(t.byCaller[caller], by)
			continue
		}
		tainted = tainted || by != origin
	}
	return tainted
}
