package egress

import (
	"fmt"
	"net"
	"net/netip"
	"strconv"

	"code.dny.dev/ssrf"

	"github.com/pagetools/pagetools/bridge/text"
)

// A Kind says why a connection is refused.
type Kind string

// Why connections are refused.
const (
	Private Kind = "private" // the address is not public
	Port    Kind = "port"    // neither 80, 443 nor the site's own
	Bridge  Kind = "bridge"  // it is a listener of pagetools itself
)

// Refusal is the error of a connection that a page may not have.
type Refusal struct {
	Kind Kind
	Host string         // as the page wrote it
	To   netip.AddrPort // what that is; without an address where the port decides

	words text.Words
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
		return fmt.Sprintf("pages reach ports 80, 443 and their site's own, and not port %d of %s: "+
			r.words.Of("allow the origin http://%s, or its network"),
			r.To.Port(), where, net.JoinHostPort(r.Host, strconv.Itoa(int(r.To.Port()))))
	default:
		to := r.To.Addr().Unmap()
		if !to.IsValid() {
			return fmt.Sprintf("%s is not a public name, and pages reach only those: "+r.words.Of("allow the origin %s"),
				where, "http://"+net.JoinHostPort(r.Host, strconv.Itoa(int(r.To.Port()))))
		}
		return fmt.Sprintf("%s is not a public address, and pages reach only those: "+r.words.Of("allow the network %s/%d"),
			where, to, to.BitLen())
	}
}

// Forbidden says the same, for who does not know this package.
func (r *Refusal) Forbidden() string { return r.Error() }

// public judges addresses by IANA's registries of special ones. Azure's platform has a
// public one.
var public = ssrf.New(ssrf.WithAnyPort(), ssrf.WithAnyNetwork(),
	ssrf.WithDeniedV4Prefixes(netip.MustParsePrefix("168.63.129.16/32")))
