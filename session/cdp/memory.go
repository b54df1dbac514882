package cdp

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/storage"
	"github.com/chromedp/cdproto/systeminfo"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/cdp/wire"
)

// What a page may take. Its script engine stops at 1 GiB by itself; buffers and pictures are
// besides.
const (
	maxRenderer = 1536 << 20 // bytes of memory of one renderer
	maxStorage  = 128 << 20  // bytes that one origin stores
	maxStored   = 256 << 20  // bytes that all origins of a page store
	maxOrigins  = 1000       // that are remembered
)

// How often the memory of renderers is looked at. One that has much may soon have too much.
const (
	lookEvery = 500 * time.Millisecond
	lookSoon  = 50 * time.Millisecond
	muchOf    = 4 // from this part of the limit on
)

// rendererType is the browser's word for the processes of pages.
const rendererType = "renderer"

// weigh ends renderers that take more memory than a page may: their pages have crashed, and others
// go on. Of a browser that we did not start nothing is known. It ends with the connection.
func (b *instance) weigh(limit uint64) {
	if b.process == nil {
		return
	}
	next := time.NewTimer(lookEvery)
	defer next.Stop()
	shared := &commons{}
	for {
		select {
		case <-next.C:
		case <-b.life.Done():
			return
		}
		next.Reset(b.weighOnce(limit, shared))
	}
}

// weighOnce returns when to look again.
func (b *instance) weighOnce(limit uint64, shared *commons) time.Duration {
	ctx, cancel := context.WithTimeout(b.life, lookEvery)
	defer cancel()
	all, err := cdp.Call(ctx, b.root, systeminfo.GetProcessInfo, cdp.Empty{})
	if err != nil {
		return lookEvery // ping finds out
	}
	again, ran, others := lookEvery, map[int64]float64{}, uint64(0)
	for _, p := range all.ProcessInfo {
		if p.Type != rendererType {
			others += b.process.Usage(int(p.ID))
			continue
		}
		if _, known := shared.ran[p.ID]; !known {
			b.process.FirstToDie(int(p.ID))
		}
		ran[p.ID] = p.CPUTime
		switch used := b.process.Usage(int(p.ID)); {
		case used > limit:
			b.large(used)
			b.process.GiveUp(int(p.ID))
		case used > limit/muchOf:
			again = lookSoon
		}
	}
	shared.look(others, ran)
	if pid, over := shared.over(limit, time.Now()); over {
		b.large(others)
		b.process.GiveUp(int(pid))
	} else if shared.grows(limit) {
		again = lookSoon
	}
	return again
}

type storageBound = storage.OverrideQuotaForOriginParams

// quota bounds what the origins of a page store in its browser context. Only the owner uses it,
// and, before that begins, who makes the page.
type quota struct {
	off   bool // in the operator's profile, which is theirs
	known map[string]bool
	left  int64
}

// bound returns the commands that bound what an origin stores; none when it is bounded.
func (q *quota) bound(address string) []wire.Command {
	from := origin.Of(address)
	if q.off || from == "" || q.known[from] {
		return nil
	}
	size := float64(min(maxStorage, q.left))
	if len(q.known) >= maxOrigins {
		clear(q.known) // which are bounded again, to nothing
	}
	q.known[from] = true
	q.left -= int64(size)
	return []wire.Command{{Method: storage.CommandOverrideQuotaForOrigin,
		Params: storageBound{Origin: from, QuotaSize: &size}}}
}
