package mcp

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	mcpgo "github.com/mark3labs/mcp-go/mcp"

	"github.com/pagetools/pagetools/bridge"
)

// A client that asked for it hears at once that a call runs, every second in the first
// ten, and less often then. What ends within atOnce needs no progress.
const (
	atOnce        = 100 * time.Millisecond
	progressOften = time.Second
	progressEvery = 5 * time.Second
	oftenUntil    = 10 * time.Second
)

// nextProgress returns when progress follows on what was told after a time.
func nextProgress(after time.Duration) time.Duration {
	switch {
	case after < atOnce:
		return atOnce
	case after < progressOften:
		return progressOften
	case after < oftenUntil:
		return after + progressOften
	}
	return after + progressEvery
}

// running holds the call of a request. It is safe for concurrent use.
type running struct {
	run   atomic.Pointer[bridge.Run] // nil before it began
	comes bridge.Changes
}

func (r *running) began(run *bridge.Run) {
	r.run.Store(run)
	r.comes.Signal()
}

// progress is as that of a Run.
func (r *running) progress() (p *bridge.Progress, more <-chan struct{}) {
	more = r.comes.Next()
	if run := r.run.Load(); run != nil {
		return run.Progress()
	}
	return nil, more
}

// reporter tells a client how far a call has come.
type reporter struct {
	x     *exchange
	parts int                    // that the client knows of
	at    float64                // what it was told last; it must grow
	page  *float64               // the largest number that the page gave; nil is none
	began bool                   // something was told
	told  [maxProgress]time.Time // when, in a ring
	next  int                    // in the ring
}

// maxProgress bounds what is told within progressOften. The newest part counts.
const maxProgress = 10

// step separates reports between which nothing was counted.
const step = 0.001

// tell sends progress. at is nil where nothing is counted.
func (r *reporter) tell(at, total *float64, message string) {
	grown := math.Max(math.Round((r.at+step)/step)/(1/step), math.Nextafter(r.at, math.Inf(1)))
	if at != nil && (*at > r.at || !r.began) {
		grown = *at
	}
	r.at, r.began = grown, true
	r.told[r.next], r.next = time.Now(), (r.next+1)%maxProgress
	params := map[string]any{"progressToken": r.x.message.meta.progress, "progress": r.at}
	if message != "" {
		params["message"] = message
	}
	if total != nil {
		params["total"] = *total
	}
	r.x.notify(string(mcpgo.MethodNotificationProgress), params)
}

// part tells the newest part, in the words of the page.
func (r *reporter) part(p *bridge.Progress) {
	said := p.Told()
	at, count := said.At, float64(p.Parts)
	switch {
	case at != nil && (r.page == nil || *at > *r.page):
		r.page = at
	case at != nil || r.page == nil:
		at = &count
	}
	if at == &count && said.Total != nil && count > *said.Total {
		at = nil
	}
	r.parts = p.Parts
	r.tell(at, said.Total, said.Message)
}

// rest returns how long no part may be told: maxProgress times in a second is enough, and the last
// of them is for the part with which the call ends.
func (r *reporter) rest() time.Duration {
	return max(0, progressOften-time.Since(r.told[(r.next+1)%maxProgress]))
}

// still says that the call runs, unless the client heard from it just now.
func (r *reporter) still() {
	last := r.told[(r.next+maxProgress-1)%maxProgress]
	switch {
	case r.parts == 0:
		r.tell(nil, nil, "The tool still runs.")
	case time.Since(last) >= progressOften:
		r.tell(nil, nil, fmt.Sprintf("The tool still runs. Parts of its result so far: %d.", r.parts))
	}
}

// follow tells of the call until done is closed, and then of the last part.
func (r *reporter) follow(ctx context.Context, now *running, done <-chan struct{}) {
	began, due := time.Now(), nextProgress(0)
	timer := time.NewTimer(due)
	defer timer.Stop()
	for {
		p, more := now.progress()
		var free <-chan time.Time
		if p != nil && p.Parts > r.parts {
			if rest := r.rest(); rest > 0 {
				free = time.After(rest)
			} else {
				r.part(p)
			}
		}
		select {
		case <-timer.C:
			r.still()
			due = nextProgress(due)
			timer.Reset(due - time.Since(began))
		case <-more:
		case <-free:
		case <-done:
			if p, _ := now.progress(); p != nil && p.Parts > r.parts && ctx.Err() == nil {
				r.part(p)
			}
			return
		case <-ctx.Done():
			return
		}
	}
}

// progress tells the client that the call goes on, when it asked for that, until end is
// called.
func (x *exchange) progress(ctx context.Context, now *running) (end func()) {
	if x.message.meta.progress == nil {
		return func() {}
	}
	done := make(chan struct{})
	var told sync.WaitGroup
	told.Go(func() { (&reporter{x: x}).follow(ctx, now, done) })
	return func() {
		close(done)
		told.Wait()
	}
}

// breath is the least time between progress and the reply: some clients lose what
// comes in one piece with it.
const breath = 50 * time.Millisecond

// pause waits until the reply may follow what was told last.
func (x *exchange) pause(ctx context.Context) {
	if !x.noted.IsZero() {
		rest(ctx, breath-time.Since(x.noted))
	}
}
