package bridge

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

const (
	// taintFor sets how long a caller counts as one that has read untrusted content.
	// It is the idle time of a session.
	taintFor = 15 * time.Minute
	// taintStep limits how much of it may be gone before another read is noted in the store.
	taintStep = time.Minute
	// maxTaints bounds the origins that are kept apart for one caller. Beyond it
	// the caller is tainted everywhere.
	maxTaints = 64
	// maxTainted bounds the callers whose reads are known apart. Beyond it, without a store that
	// knows, those that read longest ago are forgotten, and every caller whose reads are not known
	// counts as tainted for as long as they would have.
	maxTainted = 10_000
)

// anyOrigin stands for more origins than are kept apart.
const anyOrigin = ""

// taints holds what callers have read: results that a page calls untrusted, and
// those of documents that are not the site's own (security reference, 4, item 7). Without a store
// they are of this process.
type taints struct {
	store Taints
	// shared says that the store is a cluster's: what it does not know is told to nobody.
	shared bool
	log    *slog.Logger

	mu       sync.Mutex
	byCaller map[string]map[string]taint // by origin
	swept    time.Time
	unknown  time.Time // until when callers whose reads are not known are tainted
}

// taint says until when it lasts, and until when it does in the store.
type taint struct{ until, kept time.Time }

// taints reports whether the result of the call is content that its caller is tainted by.
func (r *passage) taints() bool { return r.tool.hints.Untrusted == policy.Yes || !r.tool.topLevel }

// read notes what the call, which is about to run, reads. A cluster knows when the result is there.
func (t *taints) read(ctx context.Context, r *Run, now time.Time) {
	if !r.pass.taints() {
		return
	}
	if t.shared {
		t.note(r.pass.call.Caller.Name, r.pass.tool.origin, now)
	} else if err := t.keep(ctx, r, now); err != nil {
		t.log.ErrorContext(ctx, "taints: what a caller read counts in this process only", slog.Any("error", err))
	}
}

// keep notes what the call reads, here and in the store.
func (t *taints) keep(ctx context.Context, r *Run, now time.Time) error {
	caller := r.pass.call.Caller.Name
	origin, until, keep := t.note(caller, r.pass.tool.origin, now)
	if t.store == nil || !keep {
		return nil
	}
	if err := t.store.Taint(context.WithoutCancel(ctx), caller, origin, until); err != nil {
		return err
	}
	t.kept(caller, origin, until)
	return nil
}

// tell returns the step that a tainting call of a cluster ended with, after every node knows of the
// taint; until then, nobody gets anything of the page. Where that cannot be, its result is withheld:
// consent must not depend on which node is asked.
func (t *taints) tell(ctx context.Context, r *Run, s Step, now func() time.Time) Step {
	if !t.shared || !r.pass.taints() || s.Err != nil && s.Err.Outcome == NotRun {
		return s
	}
	for {
		err := t.keep(ctx, r, now())
		if err == nil {
			return s
		}
		t.log.WarnContext(ctx, "taints: a result is withheld, because the other nodes cannot be told who read it", slog.Any("error", err))
		if s.Pause == nil {
			r.pass.bridge.files.refuse(r.pass.call.Caller.Name, s.Files)
			return Errorf(InternalError, NoQuorum, Unknown, "The tool may have run, and its result is withheld: it is content that the site does not "+
				"vouch for, and the engine of the cluster, which keeps who has read such content, does not answer.").With(err).Step()
		}
		s = s.Pause.Continue(ctx, nil) // nobody can be shown the question
	}
}

// progress returns what takes how far the result of a call has come. What a tainting call of a cluster
// says waits until every node knows of the taint, and the last of it is told then.
func (t *taints) progress(ctx context.Context, r *Run, now func() time.Time) func(Progress) {
	if !t.shared || !r.pass.taints() {
		return r.progressed
	}
	var mu sync.Mutex
	var waits *Progress // the last that waits
	begun, known := false, false
	keep := func() {
		err := t.keep(ctx, r, now())
		mu.Lock()
		defer mu.Unlock()
		if begun, known = false, err == nil; known {
			r.progressed(*waits)
		}
	}
	return func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		switch waits = &p; {
		case known:
			r.progressed(p)
		case !begun:
			begun = true
			r.pass.bridge.background.Go(keep)
		}
	}
}

// note keeps a taint, and reports whether the store does not know of it, or not long enough.
func (t *taints) note(caller, origin string, now time.Time) (as string, until time.Time, keep bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byCaller == nil {
		t.byCaller = map[string]map[string]taint{}
	}
	origins := t.byCaller[caller]
	if origins == nil {
		t.sweep(now)
		t.makeRoom()
		origins = map[string]taint{}
		if now.Before(t.unknown) {
			origins[anyOrigin] = taint{until: t.unknown}
		}
		t.byCaller[caller] = origins
	}
	if _, there := origins[origin]; !there && len(origins) >= maxTaints {
		origin = anyOrigin
	}
	is := origins[origin]
	is.until = now.Add(taintFor)
	origins[origin] = is
	return origin, is.until, is.until.Sub(is.kept) > taintStep
}

// sweep forgets the callers that have read nothing of late: issuers can name any number of callers.
// Called with mu held.
func (t *taints) sweep(now time.Time) {
	if now.Sub(t.swept) < taintStep {
		return
	}
	t.swept = now
	for caller, origins := range t.byCaller {
		maps.DeleteFunc(origins, func(_ string, is taint) bool { return now.After(is.until) })
		if len(origins) == 0 {
			delete(t.byCaller, caller)
		}
	}
}

// makeRoom forgets the callers that read longest ago where there are too many: a tenth at once, or
// each newcomer would cost a look at all. Called with mu held.
func (t *taints) makeRoom() {
	if len(t.byCaller) < maxTainted {
		return
	}
	last := make(map[string]time.Time, len(t.byCaller))
	for caller, origins := range t.byCaller {
		for _, is := range origins {
			if is.until.After(last[caller]) {
				last[caller] = is.until
			}
		}
	}
	oldest := slices.SortedFunc(maps.Keys(t.byCaller), func(a, b string) int { return last[a].Compare(last[b]) })
	for _, caller := range oldest[:maxTainted/10] {
		delete(t.byCaller, caller)
		if t.store == nil && last[caller].After(t.unknown) {
			t.unknown = last[caller]
		}
	}
}

// kept notes that the store knows of a taint.
func (t *taints) kept(caller, origin string, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if is, there := t.byCaller[caller][origin]; there && until.After(is.kept) {
		is.kept = until
		t.byCaller[caller][origin] = is
	}
}

// of reports whether the caller has read content of an origin other than this one, through this
// process.
func (t *taints) of(caller, origin string, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	origins, known := t.byCaller[caller]
	tainted := !known && now.Before(t.unknown)
	for by, is := range origins {
		if now.After(is.until) {
			delete(origins, by)
			continue
		}
		tainted = tainted || by != origin
	}
	return tainted
}

// elsewhere is of for every process of the data folder, and every node of a cluster. What cannot be read counts.
func (t *taints) elsewhere(ctx context.Context, caller, origin string, now time.Time) bool {
	if t.store == nil {
		return false
	}
	tainted, err := t.store.Tainted(ctx, caller, origin, now)
	if err != nil {
		t.log.WarnContext(ctx, "taints: they cannot be read", slog.Any("error", err))
	}
	return tainted || err != nil
}
