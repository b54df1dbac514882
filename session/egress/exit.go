package egress

import (
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// exit is the way into the network that all grants share.
type exit struct {
	dialer   net.Dialer
	upstream *upstream
	log      *slog.Logger
	words    text.Words
	counts   counts

	mu   sync.Mutex
	ours map[uint16]bool // ports of pagetools' own listeners
}

type counts struct {
	opened, failed, unknown atomic.Int64
	refused                 map[Kind]*atomic.Int64 // never changed
}

func (x *exit) keep(address string, ours bool) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		x.mu.Lock()
		x.ours[uint16(n)] = ours
		x.mu.Unlock()
	}
}

// isOurs reports whether an address is one of pagetools' own listeners.
func (x *exit) isOurs(to netip.AddrPort) bool {
	x.mu.Lock()
	ours := x.ours[to.Port()]
	x.mu.Unlock()
	if !ours {
		return false
	}
	if to.Addr().IsLoopback() || to.Addr().IsUnspecified() {
		return true
	}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return true
	}
	return slices.ContainsFunc(all, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.String() == to.Addr().String()
	})
}

// upstreamOf is http.Transport's Proxy.
func (x *exit) upstreamOf(r *http.Request) (*url.URL, error) {
	if !x.isFar(r.URL.Hostname()) {
		return nil, nil
	}
	return x.upstream.url, nil
}

// isFar reports whether the operator's proxy reaches a host. A name of this machine is not for it:
// it would take the name for its own machine.
func (x *exit) isFar(host string) bool {
	_, err := netip.ParseAddr(host)
	return x.upstream != nil && (err == nil || !origin.Loopback(host))
}
