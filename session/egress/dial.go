package egress

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/pagetools/pagetools/bridge/origin"
)

// dialTime bounds the opening of a connection.
const dialTime = 20 * time.Second

// A Kind says why a connection is refused.
type Kind string

// Why connections are refused.
const (
	Private Kind = "private" // the address is not public
	Port    Kind = "port"    // neither 80, 443 nor the site's own
	Bridge  Kind = "bridge"  // it is a listener of pagetools itself
)

// Kinds are all of them.
func Kinds() []Kind { return []Kind{Private, Port, Bridge} }

// Refusal is the error of a connection that a page may not have.
type Refusal struct {
	Kind Kind
	Host string         // as the page wrote it
	To   netip.AddrPort // what that is; without an address where the port decides
}

// Error says what is refused, and how the operator allows it.
func (r *Refusal) Error() string {
	where := r.Host
	if to := r.To.Addr(); to.IsValid() && to.String() != r.Host {
		where += " (" + to.String() + ")"
	}
	switch r.Kind {
	case Bridge:
		return fmt.Sprintf("pagetools lets no page reach pagetools itself, at %s port %d", where, r.To.Port())
	case Port:
		return fmt.Sprintf("pages reach ports 80, 443 and their site's own, and not port %d of %s: allow it with "+
			"--allow-origin http://%s, or its network with --allow-private",
			r.To.Port(), where, net.JoinHostPort(r.Host, strconv.Itoa(int(r.To.Port()))))
	default:
		to := r.To.Addr().Unmap()
		return fmt.Sprintf("%s is not a public address, and pages reach only those: allow it with --allow-private %s/%d",
			where, to, to.BitLen())
	}
}

// Forbidden says the same, for who does not know this package.
func (r *Refusal) Forbidden() string { return r.Error() }

// public judges addresses by IANA's registries of special ones. Azure's platform has a
// public one.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
	ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))

// judge returns a *Refusal unless the page may connect to an address of a host. Of an address
// that is not valid, which only an operator's proxy knows, the port is judged.
func (g *Grant) judge(host string, to netip.AddrPort) error {
	g.mu.Lock()
	reach := g.reach
	g.mu.Unlock()
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	refused := &Refusal{Host: host, To: to}
	known := to.Addr().IsValid()
	switch {
	case known && g.proxy.isOurs(to):
		refused.Kind = Bridge
	case known && (reach.Own(host, to) || reach.Allowed(to.Addr())):
		return nil
	case known && public.SafeAddr(to.Addr()) != nil:
		refused.Kind = Private
	case !reach.Port(host, to.Port()):
		refused.Kind = Port
	default:
		return nil
	}
	return refused
}

// dial connects to host:port for the page, or to the operator's proxy, which is the
// operator's choice and not judged.
func (g *Grant) dial(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	if up := g.proxy.upstream; up != nil && address == up.address {
		return g.proxy.dialer.DialContext(ctx, network, address)
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	asked := address
	// Not every resolver knows the names of this machine.
	if _, e := netip.ParseAddr(host); e != nil && origin.Loopback(host) {
		address = net.JoinHostPort("localhost", port)
	}
	d := g.proxy.dialer
	d.Control = func(_, resolved string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(resolved)
		if err != nil {
			return err
		}
		return g.judge(host, to)
	}
	conn, err := d.DialContext(ctx, network, address)
	if err != nil {
		g.note(ctx, asked, err)
		return nil, err
	}
	g.note(ctx, asked, nil)
	return conn, nil
}

// note counts, logs and remembers how the opening of a connection went.
func (g *Grant) note(ctx context.Context, address string, err error) {
	known := g.Failure(address) != nil
	switch refused, isRefused := errors.AsType[*Refusal](err); {
	case err == nil:
		g.proxy.counts.opened.Add(1)
	case isRefused:
		g.proxy.counts.refused[refused.Kind].Add(1)
		if !known { // a page may try again and again
			g.proxy.log.LogAttrs(ctx, slog.LevelWarn, "egress: refused",
				slog.String("host", address), slog.String("why", refused.Error()))
			g.refused(ctx, refused)
		}
		err = refused
	default:
		g.proxy.counts.failed.Add(1)
	}
	g.remember(address, err)
}

// isOurs reports whether an address is one of pagetools' own listeners.
func (p *Proxy) isOurs(to netip.AddrPort) bool {
	p.mu.Lock()
	ours := p.ours[to.Port()]
	p.mu.Unlock()
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
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.String() == to.Addr().String() {
			return true
		}
	}
	return false
}
