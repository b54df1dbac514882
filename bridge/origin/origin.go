package origin

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// names maps names of hosts as browsers do: IDNA 2008 without the rules that only registries have.
var names = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.Transitional(false),
	idna.StrictDomainName(false), idna.CheckHyphens(false))

// ports are the default ports of schemes.
var ports = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443"}

// Of returns the origin of an address as browsers write it, such as "https://shop.example" or
// "http://[::1]:8080", or "" when it has none, as "about:blank" and "null" have none. A dot at the
// end of a name counts, as it does in browsers.
func Of(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return OfURL(u)
}

// OfURL returns the origin of a URL as Of does.
func OfURL(u *url.URL) string {
	host, port := HostPort(u)
	scheme := strings.ToLower(u.Scheme)
	if scheme == "" || host == "" || port == "" && u.Port() != "" {
		return ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if port == ports[scheme] {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}

// Same reports whether two addresses have the same origin. Addresses without one have none in
// common.
func Same(a, b string) bool {
	one := Of(a)
	return one != "" && one == Of(b)
}

// SameURL reports whether two URLs have the same origin as Same does.
func SameURL(a, b *url.URL) bool {
	one := OfURL(a)
	return one != "" && one == OfURL(b)
}

// Parse reads an origin as a person writes it, such as "https://Shop.Example:443/", and reports
// whether it is one of http or https, with nothing besides.
func Parse(text string) (origin string, ok bool) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.User != nil ||
		u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return "", false
	}
	origin = OfURL(u)
	return origin, origin != ""
}

// HostPort returns the host of a URL, an IPv6 address without brackets, and its port: the default
// one of its scheme when it names none, and "" when that is unknown or the port is out of range.
func HostPort(u *url.URL) (host, port string) {
	port = ports[strings.ToLower(u.Scheme)]
	if u.Port() != "" {
		port = ""
		if n, err := strconv.ParseUint(u.Port(), 10, 16); err == nil {
			port = strconv.FormatUint(n, 10)
		}
	}
	return Host(u.Hostname()), port
}

// Host returns a name or an address of a host in the one form by which hosts are compared: in
// lower case, punycode where it is international, an IPv6 address without brackets.
func Host(host string) string {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.String()
	}
	if ascii, err := names.ToASCII(host); err == nil {
		return ascii
	}
	return strings.ToLower(host)
}

// Loopback reports whether a host is this machine whatever a resolver says: a loopback address,
// localhost, or a name below it (RFC 6761, 6.3).
func Loopback(host string) bool {
	host = strings.TrimSuffix(Host(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
