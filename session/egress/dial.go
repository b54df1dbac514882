package egress

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"syscall"

	"github.com/pagetools/pagetools/bridge/origin"
)

// judge returns a *Refusal unless the page may connect to an address of a host. Where the address
// is not valid, because only an operator's proxy knows it, the name and the port are judged.
func (g *Grant) judge(host string, to netip.AddrPort) error {
	g.mu.Lock()
	reach := g.reach
	g.mu.Unlock()
	to = netip.AddrPortFrom(to.Addr().Unmap(), to.Port())
	refused := &Refusal{Host: host, To: to, words: g.exit.words}
	known := to.Addr().IsValid()
	switch {
	case known && g.exit.isOurs(to):
		refused.Kind = Bridge
	case known && (reach.Own(host, to) || reach.Allowed(to.Addr())):
		return nil
	case known && public.SafeAddr(to.Addr()) != nil,
		!known && origin.Reserved(host) && !reach.Named(host, to.Port()):
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
	if up := g.exit.upstream; up != nil && address == up.address {
		return g.exit.dialer.DialContext(ctx, network, address)
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
	d := g.exit.dialer
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

// reachFar connects to host:port, through the operator's proxy where there is one.
func (g *Grant) reachFar(ctx context.Context, address string) (net.Conn, error) {
	if host, _, err := net.SplitHostPort(address); err != nil || !g.exit.isFar(host) {
		return g.dial(ctx, "tcp", address)
	}
	conn, err := g.exit.upstream.connect(ctx, &g.exit.dialer, address)
	g.note(ctx, address, err)
	return conn, err
}

// literal judges what needs no connection: with an operator's proxy nothing else can be judged.
func (g *Grant) literal(host, port string) error {
	if !g.exit.isFar(host) {
		return nil // the dialer judges
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	addr, _ := netip.ParseAddr(host) // of a name it is not valid
	if err := g.judge(host, netip.AddrPortFrom(addr, uint16(n))); err != nil {
		g.note(context.Background(), net.JoinHostPort(host, port), err)
		return err
	}
	return nil
}

// note counts, logs and remembers how the opening of a connection went.
func (g *Grant) note(ctx context.Context, address string, err error) {
	switch refused, isRefused := errors.AsType[*Refusal](err); {
	case err == nil:
		g.exit.counts.opened.Add(1)
	case isRefused:
		g.exit.counts.refused[refused.Kind].Add(1)
		tell, log := g.tells(address)
		if log {
			g.exit.log.LogAttrs(ctx, slog.LevelWarn, "egress: refused",
				slog.String("host", address), slog.String("why", refused.Error()))
		}
		if tell {
			g.refused(ctx, refused)
		}
		err = refused
	default:
		g.exit.counts.failed.Add(1)
	}
	g.remember(address, err)
}
