package transport

import (
	"cmp"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/text"
)

// host is a Host header taken apart. The name is in lower case, an IPv6 address
// without brackets. The port is empty when none was given.
type host struct{ name, port string }

var hostForm = regexp.MustCompile(`^(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?$`)

// parseHost refuses everything that is not plainly name, name:port or the same
// with an IPv6 address in brackets.
func parseHost(s string) (host, bool) {
	if len(s) > 255 || !hostForm.MatchString(s) {
		return host{}, false
	}
	name, port, err := net.SplitHostPort(s)
	if err != nil { // there is no port
		name = strings.Trim(s, "[]")
	} else if !validPort(port) {
		return host{}, false
	}
	return host{name: strings.ToLower(name), port: port}, true
}

// or80 fills the port that a client of plain HTTP leaves out.
func (h host) or80() host {
	h.port = cmp.Or(h.port, "80")
	return h
}

// hostRule says which Host values are ours. It stops DNS rebinding: a page of
// another name that resolves to our address still sends its own name.
type hostRule struct {
	any   bool            // the listener is not on loopback: its names are not known
	exact map[host]bool   // with port
	names map[string]bool // with any port
}

func newHostRule(o Options) hostRule {
	rule := hostRule{exact: map[host]bool{}, names: map[string]bool{}}
	bound, port, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil: // nothing is ours
	case isLoopback(o.Listen):
		for _, name := range []string{"127.0.0.1", "localhost", "::1", strings.ToLower(bound)} {
			rule.exact[host{name, port}] = true
		}
	default:
		rule.any = true
	}
	if h, ok := publicHost(o.PublicURL); ok {
		rule.exact[h.or80()] = true
		if h.port == "" { // proxies may write the port of their own scheme, too
			rule.exact[host{h.name, "443"}] = true
		}
	}
	for _, s := range o.Hosts {
		h, ok := parseHost(s)
		switch {
		case !ok:
		case h.port == "":
			rule.names[h.name] = true
		default:
			rule.exact[h] = true
		}
	}
	return rule
}

func (rule hostRule) allows(h host) bool {
	return rule.any || rule.names[h.name] || rule.exact[h.or80()]
}

// publicHost returns the host of a public URL: an origin of https, or of http on this machine. It
// has no port when that is the scheme's own.
func publicHost(public string) (h host, ok bool) {
	u, err := url.Parse(public)
	if err != nil || origin.OfURL(u) != public {
		return host{}, false
	}
	if h, ok = parseHost(u.Host); !ok || u.Scheme != "https" && (u.Scheme != "http" || !origin.Loopback(h.name)) {
		return host{}, false
	}
	return h, true
}

// IsLocal reports whether a request came straight from this machine, under an address of it. What
// came through a proxy or a tunnel did not, wherever that runs.
func IsLocal(r *http.Request) bool {
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Real-Ip", "Via"} {
		if r.Header.Get(name) != "" {
			return false
		}
	}
	h, ok := parseHost(r.Host)
	return ok && origin.Loopback(h.name) && isLoopback(r.RemoteAddr)
}

// checkHost refuses requests that were not meant for us. The absolute form of
// the request target is for proxies; in it the target hides what Host says, so
// a disagreement could not be seen.
func (g *guard) checkHost(w http.ResponseWriter, r *http.Request, _ *info) (answered bool) {
	h, ok := parseHost(r.Host)
	if !ok || !strings.HasPrefix(r.RequestURI, "/") {
		g.deny(w, r, "host", bridge.Errorf(bridge.SchemaError, "", bridge.NotRun,
			"The request needs one Host, such as 127.0.0.1:7300, and a path that begins with /."))
		return true
	}
	if !g.hosts.allows(h) {
		g.deny(w, r, "host", bridge.Errorf(bridge.Forbidden, "", bridge.NotRun,
			g.o.Words.Of("The Host %q is not served here."), text.Brief(r.Host, maxShown)))
		return true
	}
	return false
}
