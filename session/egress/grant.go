package egress

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"slices"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
)

// maxRemembered bounds the hosts of which a grant knows that they failed.
const maxRemembered = 64

// Grant is the credential of one page, with what the page may reach. It is safe for
// concurrent use.
type Grant struct {
	// User and Password are what the browser shows to the proxy (Basic, RFC 7617).
	User, Password string

	proxy   *Proxy
	forward *httputil.ReverseProxy
	refused func(context.Context, *Refusal)
	life    context.Context //nolint:containedctx // of connections, which outlive requests; ends in End
	end     context.CancelFunc

	mu     sync.Mutex
	reach  policy.Reach
	failed map[string]error // by host:port: why the last connection there failed
}

// Admit makes a credential for a page. End takes it back. refused is told of connections that
// the page may not have, once for each host and port; nil tells nobody.
func (p *Proxy) Admit(reach policy.Reach, refused func(context.Context, *Refusal)) *Grant {
	if refused == nil {
		refused = func(context.Context, *Refusal) {}
	}
	g := &Grant{User: rand.Text(), Password: rand.Text(), proxy: p, reach: reach, refused: refused,
		failed: map[string]error{}}
	g.life, g.end = context.WithCancel(context.Background())
	g.forward = &httputil.ReverseProxy{
		Rewrite: verbatim,
		// A connection serves one request. With connections that are kept, net/http can pass
		// the cancellation of a request on to the next one of its connection.
		Transport: &http.Transport{DialContext: g.dial, DisableCompression: true, DisableKeepAlives: true,
			Proxy: p.upstreamOf},
		FlushInterval: -1,
		ErrorHandler:  g.answerError,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	p.mu.Lock()
	p.grants[g.User] = g
	p.mu.Unlock()
	return g
}

// End takes the credential back and closes its connections.
func (g *Grant) End() {
	g.proxy.mu.Lock()
	delete(g.proxy.grants, g.User)
	g.proxy.mu.Unlock()
	g.end()
}

// Extend adds what another page may reach, for pages that share a profile and so a credential.
func (g *Grant) Extend(by policy.Reach) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.reach.Origins = union(g.reach.Origins, by.Origins)
	g.reach.Private = union(g.reach.Private, by.Private)
	g.reach.Anywhere = g.reach.Anywhere || by.Anywhere
}

// union returns all of both, in a slice of its own.
func union[T comparable](a, b []T) []T {
	all := slices.Clone(a)
	for _, x := range b {
		if !slices.Contains(all, x) {
			all = append(all, x)
		}
	}
	return all
}

// Failure returns why the last connection to host:port failed: a *Refusal, or the error of
// the network. It is nil when that one stands, or when there was none.
func (g *Grant) Failure(address string) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failed[address]
}

// remember keeps how the last connection to host:port went.
func (g *Grant) remember(address string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err == nil {
		delete(g.failed, address)
		return
	}
	if _, known := g.failed[address]; !known && len(g.failed) >= maxRemembered {
		for first := range g.failed {
			delete(g.failed, first)
			break
		}
	}
	g.failed[address] = err
}

// admitted returns the grant of a request, nil without a valid credential.
func (p *Proxy) admitted(r *http.Request) *Grant {
	// net/http reads Basic of Authorization only.
	shown := http.Request{Header: http.Header{"Authorization": r.Header["Proxy-Authorization"]}}
	user, password, _ := shown.BasicAuth()
	p.mu.Lock()
	g := p.grants[user]
	p.mu.Unlock()
	if g == nil || subtle.ConstantTimeCompare([]byte(g.Password), []byte(password)) == 0 {
		return nil
	}
	return g
}

// Transport makes requests of this process as if they were the page's: to what the grant lets it
// reach, by the same dialer. The configuration of TLS may be nil. Its connections are kept, and end
// with End.
func (g *Grant) Transport(config *tls.Config) http.RoundTripper {
	t := &http.Transport{DialContext: g.dial, Proxy: g.proxy.upstreamOf, ForceAttemptHTTP2: true,
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

// RoundTrip implements http.RoundTripper.
func (g granted) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := g.literal(origin.HostPort(r.URL)); err != nil {
		return nil, err
	}
	return g.to.RoundTrip(r)
}
