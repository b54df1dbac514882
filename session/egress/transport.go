package egress

import (
	"context"
	"crypto/tls"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Transport makes requests of this process as if they were the page's: to what the grant lets it
// reach, by the same dialer. The configuration of TLS may be nil. Its connections are kept, and end
// with End.
func (g *Grant) Transport(config *tls.Config) http.RoundTripper {
	t := &http.Transport{DialContext: g.dial, Proxy: g.exit.upstreamOf, ForceAttemptHTTP2: true,
		MaxIdleConnsPerHost: idleConnections, MaxConnsPerHost: mostConnections, IdleConnTimeout: idleTime,
		TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: headerBytes, TLSClientConfig: config}
	context.AfterFunc(g.life, t.CloseIdleConnections)
	return granted{g, t}
}

// Bounds of the connections that are kept, for each host.
const (
	idleConnections, mostConnections = 16, 64
	idleTime                         = 90 * time.Second
	headerBytes                      = 256 << 10
)

// granted judges what a dialer cannot.
type granted struct {
	*Grant

	to *http.Transport
}

func (g granted) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.literal(origin.HostPort(r.URL)); err != nil {
		return nil, err
	}
	return g.to.RoundTrip(r)
}
