package egress

import (
	"context"
	"net/http/httputil"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/policy"
)

// maxRemembered bounds the hosts of which a grant knows that they failed, and of which it told.
const maxRemembered = 64

// Grant is the credential of one page, with what the page may reach. It is safe for
// concurrent use.
type Grant struct {
	// User and Password authenticate the browser to the proxy (Basic, RFC 7617), where passwords are not
	// sealed: see Login.
	User, Password string

	proxy   *Proxy
	exit    *exit
	until   time.Time // when that of another process ends; zero is never
	forward *httputil.ReverseProxy
	refused func(context.Context, *Refusal)
	life    context.Context //nolint:containedctx // of connections, which outlive requests; ends in End
	end     context.CancelFunc
	forget  func() // takes it from the proxy

	mu     sync.Mutex
	reach  policy.Reach
	failed map[string]error // by host:port: why the last connection there failed
	told   map[string]bool  // by host:port: what the document was kept from, as refused was told
	logged map[string]bool  // by host:port: what the page was
}

// End takes the credential back and closes its connections.
func (g *Grant) End() {
	g.forget()
	g.end()
}

// Extend adds what another page may reach, for pages that share a profile and so a credential.
func (g *Grant) Extend(by policy.Reach) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.Origins = union(g.reach.Origins, by.Origins)
	g.reach.Private = union(g.reach.Private, by.Private)
	g.reach.Anywhere = g.reach.Anywhere || by.Anywhere
}

// Anew begins another document of the page: what that is kept from is told again.
func (g *Grant) Anew() {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.told)
}

// tells reports whether a refusal is to be told, and whether it is to be logged, and notes that it
// was: a document may try again and again, and a page may load documents without end.
func (g *Grant) tells(address string) (tell, log bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return first(g.told, address), first(g.logged, address)
}

// first notes an address. It reports whether it is new, among the first ones.
func first(known map[string]bool, address string) bool {
	if known[address] || len(known) >= maxRemembered {
		return false
	}
	known[address] = true
	return true
}

// union returns all of both, in a slice of its own.
func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// Failure returns why the last connection to host:port failed: a *Refusal, or the error of
// the network. It is nil when that one stands, or when there was none.
func (g *Grant) Failure(address string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed[address]
}

// remember keeps how the last connection to host:port went.
func (g *Grant) remember(address string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		delete(g.failed, address)
		return
	}
	if _, known := g.failed[address]; !known && len(g.failed) >= maxRemembered {
		for first := range g.failed {
			delete(g.failed, first)
			break
		}
	}
	g.failed[address] = err
}
