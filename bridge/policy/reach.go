package policy

import (
	"net/netip"
	"net/url"
	"slices"
	"strconv"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Reach says what the pages of a site may reach in the network. The zero value has no
// origin and no private network: public addresses on ports 80 and 443 remain.
type Reach struct {
	// Origins lists the origins that the operator named, such as "https://shop.example": the site's
	// own, and the additional ones. Pages show only these at the top.
	Origins []string
	// Anywhere lets pages show every origin: a person who logs in goes where the login leads.
	Anywhere bool
	// Private are networks that the operator allowed, on every port.
	Private []netip.Prefix
}

// Navigates reports whether an address may be shown at the top of a page: one of an origin
// that was named. Origins are compared as browsers do, so that neither a name that only
// looks alike nor another port or scheme passes.
func (r *Reach) Navigates(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	return r.Anywhere || slices.ContainsFunc(r.Origins, func(named string) bool {
		return origin.Same(named, address)
	})
}

// Port reports whether connections to a port of a host are for the pages at all: ports 80
// and 443 are, and the host and port of an origin that was named. An address of a private
// network that was allowed has every port; see Own and Allowed.
func (r *Reach) Port(host string, port uint16) bool {
	return port == 80 || port == 443 || r.Named(host, port)
}

// Own reports whether the operator named an address by naming an origin: the origin has the address
// itself, or a loopback name, and this very port. Any other name may be resolved to any address by
// whoever owns it, so that naming it names no address.
func (r *Reach) Own(host string, to netip.AddrPort) bool {
	if !r.Named(host, to.Port()) {
		return false
	}
	if literal, err := netip.ParseAddr(origin.Host(host)); err == nil {
		return literal.Unmap() == to.Addr().Unmap()
	}
	return origin.Loopback(host) && to.Addr().Unmap().IsLoopback()
}

// Allowed reports whether an address is in a private network that the operator allowed.
func (r *Reach) Allowed(to netip.Addr) bool {
	return slices.ContainsFunc(r.Private, func(p netip.Prefix) bool { return p.Contains(to.Unmap()) })
}

// Named reports whether an origin with the host and port was named.
func (r *Reach) Named(host string, port uint16) bool {
	host, wanted := origin.Host(host), strconv.Itoa(int(port))
	return slices.ContainsFunc(r.Origins, func(named string) bool {
		u, err := url.Parse(named)
		if err != nil {
			return false
		}
		h, p := origin.HostPort(u)
		return h == host && p == wanted
	})
}
