package cdp

import (
	"sync"

	"github.com/chromedp/cdproto/webmcp"

	"github.com/pagetools/pagetools/session/cdp/wire"
)

// responses joins the ends of calls through the browser's WebMCP to the calls. The browser
// names a call in the reply to the command, and its end in an event: either may be
// read first. It is safe for concurrent use.
type responses struct {
	mu      sync.Mutex
	waiting map[invocation]chan nativeResponse
	// early are responses of which no reply has named the invocation yet. Pages make
	// calls, too, and theirs come here as well, so the oldest are dropped, and all when
	// nobody waits for a reply.
	early   []nativeResponse
	unnamed int
}

// maxEarly bounds early.
const maxEarly = 64

// invocation names a call as the browser does.
type invocation struct {
	target *wire.Session
	id     string
}

// nativeResponse holds the end of a call.
type nativeResponse struct {
	of    invocation
	after int64
	webmcp.EventToolResponded
}

// expect announces a command whose reply will name an invocation.
func (n *responses) expect() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.unnamed++
}

// named returns the channel on which the invocation's response comes, which may be
// there already. With an empty id there is no invocation.
func (n *responses) named(of invocation) <-chan nativeResponse {
	n.mu.Lock()
	defer n.mu.Unlock()
	ch := make(chan nativeResponse, 1)
	n.unnamed--
	n.waiting[of] = ch
	for _, r := range n.early {
		if r.of == of {
			delete(n.waiting, of)
			ch <- r
		}
	}
	if n.unnamed == 0 {
		n.early = nil
	}
	if of.id == "" {
		delete(n.waiting, of)
	}
	return ch
}

// forget gives up a response that nobody waits for any more.
func (n *responses) forget(of invocation) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.waiting, of)
}

// responded takes the response of a call. It never waits.
func (n *responses) responded(r nativeResponse) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if ch, ok := n.waiting[r.of]; ok {
		delete(n.waiting, r.of)
		ch <- r
		return
	}
	if n.unnamed == 0 {
		return // a call that the page made
	}
	if len(n.early) >= maxEarly {
		n.early = n.early[1:]
	}
	n.early = append(n.early, r)
}
