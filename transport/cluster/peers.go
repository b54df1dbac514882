package cluster

import (
	"context"
	"io"
	"net/http"
)

// Peers returns the operators' APIs of the other nodes, by their names.
func (c *Cluster) Peers() map[string]http.RoundTripper {
	all := map[string]http.RoundTripper{}
	for _, n := range c.o.Nodes.Others() {
		all[n.Name] = operatorsAt{c, n}
	}
	return all
}

// operatorsAt is the operators' API of a node.
type operatorsAt struct {
	c *Cluster
	n Node
}

// RoundTrip sends a request to the node. It, and its reply, end when the node is known to have ended.
func (p operatorsAt) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, stop := p.c.untilLost(r.Context(), p.n)
	out := r.Clone(ctx)
	out.URL.Scheme, out.URL.Host = "https", p.n.Name+"."+domain
	out.Header.Set(HopHeader, hop{entry: p.c.o.Nodes.Self().ID, home: p.n.ID, operators: true}.String())
	resp, err := p.c.wayTo(p.n).RoundTrip(out)
	if err != nil {
		stop()
		p.c.unreachable(p.n, err)
		return nil, err
	}
	resp.Body = bodyUntil(ctx, resp.Body, stop)
	return resp, nil
}

// bodyUntil calls stop when the body of a reply is closed. A connection that the body is, of a
// WebSocket, is closed when ctx ends.
func bodyUntil(ctx context.Context, body io.ReadCloser, stop func()) io.ReadCloser {
	if both, ok := body.(io.ReadWriteCloser); ok {
		context.AfterFunc(ctx, func() { _ = both.Close() })
		return upgraded{both, stop}
	}
	return ending{body, stop}
}

type ending struct {
	io.ReadCloser

	stop func()
}

// Close closes the body.
func (b ending) Close() error {
	defer b.stop()
	return b.ReadCloser.Close()
}

type upgraded struct {
	io.ReadWriteCloser

	stop func()
}

// Close closes the connection.
func (b upgraded) Close() error {
	defer b.stop()
	return b.ReadWriteCloser.Close()
}
