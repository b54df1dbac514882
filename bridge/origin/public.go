package origin

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// privateNames are endings of names that networks give to their own machines, and reserved those
// that standards keep out of the public DNS (RFC 6761 and those that follow it).
var (
	privateNames = []string{"internal", "intranet", "lan", "home", "corp", "private"}
	reserved     = []string{"test", "invalid", "local", "home.arpa", "onion", "alt"}
)

func endsIn(host string, names []string) bool {
	host = strings.TrimSuffix(Host(host), ".")
	return slices.ContainsFunc(names, func(name string) bool {
		return host == name || strings.HasSuffix(host, "."+name)
	})
}

// Reserved reports whether a host is a name that the public DNS does not have: of this machine, one
// that a standard reserves, or one that only a network gives to its own machines, such as "router"
// or "metadata.google.internal".
func Reserved(host string) bool {
	if endsIn(host, reserved) || endsIn(host, privateNames) || Loopback(host) {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err != nil && !strings.Contains(strings.Trim(Host(host), "."), ".")
}

// notPublic are the ranges of addresses that are neither private by netip's word nor public.
var notPublic = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"),
	netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("64:ff9b::/96"),
	netip.MustParsePrefix("64:ff9b:1::/48"), netip.MustParsePrefix("2001::/32"),
	netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("fec0::/10"),
}

// Public reports whether the host of an address is a public one, or a name that is not one of a
// private network. A name may still lead to a private address. Browsers read numbers in more forms
// than netip: a name that ends in a number is an address, and not public.
func Public(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := strings.TrimSuffix(u.Hostname(), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap()
		in := func(p netip.Prefix) bool { return p.Contains(ip) }
		return ip.Zone() == "" && ip.IsGlobalUnicast() && !ip.IsPrivate() &&
			!slices.ContainsFunc(notPublic, in)
	}
	host = strings.TrimSuffix(Host(host), ".")
	last := host[strings.LastIndex(host, ".")+1:]
	ascii := !strings.ContainsFunc(host, func(r rune) bool { return r > 0x7e || r <= ' ' })
	return ascii && last != "" && last != host && (last[0] < '0' || last[0] > '9') &&
		!Reserved(host)
}
