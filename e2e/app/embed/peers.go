package embed

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/transport/cluster"
)

// defaultPort serves nodes. Engines listen for each other at the next one.
const defaultPort = 7303

// Peer is the node of an engine, and where others reach the engine.
type Peer struct {
	Node string
	Host string // an address of IP, or a name
	Port int    // for nodes; the next one is for other engines
}

// hostName is the form of names in the DNS.
var hostName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$`)

// ParsePeers reads NODE=HOST or NODE=HOST:PORT, with commas between. There must be an odd number:
// with one of two gone, the other has no majority.
func ParsePeers(list string) ([]Peer, error) {
	var all []Peer
	for _, one := range strings.Split(list, ",") {
		p, err := parsePeer(strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(q Peer) bool { return q.Node == p.Node || q.Host == p.Host && q.Port == p.Port }) {
			return nil, fmt.Errorf("%q is there twice: each node has a name and an engine of its own", text.Line(one))
		}
		all = append(all, p)
	}
	if len(all)%2 == 0 {
		return nil, fmt.Errorf("there are %d nodes with an engine, and there must be an odd number, such as 3: more than half of the engines must run", len(all))
	}
	return all, nil
}

func parsePeer(one string) (p Peer, err error) {
	node, host, ok := strings.Cut(one, "=")
	p = Peer{Node: node, Host: host, Port: defaultPort}
	if h, port, err := net.SplitHostPort(host); err == nil {
		if p.Port, err = strconv.Atoi(port); err != nil || p.Port < 1 || p.Port > 65534 {
			return p, fmt.Errorf("%q has no port from 1 to 65534", text.Line(one))
		}
		p.Host = h
	}
	ip := net.ParseIP(p.Host)
	switch {
	case !ok || !cluster.ValidName(node):
		return p, fmt.Errorf("%q does not say the name of a node and where its engine is, as in a=10.0.0.11", text.Line(one))
	case ip != nil && ip.IsUnspecified():
		return p, fmt.Errorf("%q is every address of a machine, and not one under which the others reach it", text.Line(one))
	case ip == nil && !hostName.MatchString(p.Host):
		return p, fmt.Errorf("%q is no host: must be a name or an address, as in a=10.0.0.11", text.Line(one))
	}
	return p, nil
}

// Servers returns where nodes reach the engines.
func Servers(peers []Peer) (urls []string) {
	for _, p := range peers {
		urls = append(urls, "tls://"+p.at(p.Port))
	}
	return urls
}

func (p Peer) at(port int) string { return net.JoinHostPort(p.Host, strconv.Itoa(port)) }
