package egress

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/bridge/policy"
	"github.com/pagetools/pagetools/bridge/text"
)

// Home is an address that the proxy answers itself, with 204 and to a valid credential only:
// a browser that opens it has shown its credential, and still shows what it showed before.
const Home = "http://pagetools.invalid/"

// Options configures a proxy. The zero value resolves names as this machine does.
type Options struct {
	// Resolver resolves names; nil uses this machine's.
	Resolver *net.Resolver
	// Upstream is the operator's own proxy, which then resolves names: ports and addresses
	// that pages write are judged here, and what names resolve to by that proxy. It is
	// http, https, socks5 or socks5h; nil means none.
	Upstream *url.URL
	// Words words a [Refusal] for whoever may allow what it refuses.
	Words text.Words
	Log   *slog.Logger // nil is silent
}

// Proxy is the forward proxy. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   *http.Server
	exit     exit

	mu     sync.Mutex
	grants map[string]*Grant // by user
}

// Counts are connections since the start.
type Counts struct {
	Opened, Failed int64
	Unknown        int64 // requests without a valid credential
	Refused        map[Kind]int64
}

// Start listens on a loopback port of its own. The caller must Close the proxy.
func Start(ctx context.Context, o Options) (*Proxy, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	up, err := newUpstream(o.Upstream)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("starting the proxy of the pages: %w", err)
	}
	p := &Proxy{
		listener: l, grants: map[string]*Grant{},
		exit: exit{
			upstream: up, log: o.Log, words: o.Words, ours: map[uint16]bool{},
			dialer: net.Dialer{Timeout: dialTime, Resolver: o.Resolver},
			counts: counts{refused: map[Kind]*atomic.Int64{}},
		},
	}
	for _, k := range []Kind{Private, Port, Bridge} {
		p.exit.counts.refused[k] = &atomic.Int64{}
	}
	p.Keep(l.Addr().String())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// Address is host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Keep keeps pages from a listener of pagetools itself, whatever they may reach. Forget ends that,
// when the listener is closed: its port may be somebody else's then.
func (p *Proxy) Keep(address string) { p.exit.keep(address, true) }

// Forget ends what Keep began.
func (p *Proxy) Forget(address string) { p.exit.keep(address, false) }

// Counts returns what happened so far.
func (p *Proxy) Counts() Counts {
	c := Counts{Opened: p.exit.counts.opened.Load(), Failed: p.exit.counts.failed.Load(), Unknown: p.exit.counts.unknown.Load(),
		Refused: map[Kind]int64{}}
	for k, n := range p.exit.counts.refused {
		c.Refused[k] = n.Load()
	}
	return c
}

// Close ends the proxy and its connections.
func (p *Proxy) Close() error {
	err := p.server.Close()
	p.mu.Lock()
	all := p.grants
	p.grants = map[string]*Grant{}
	p.mu.Unlock()
	for _, g := range all {
		g.end()
	}
	return err
}

// ServeHTTP implements http.Handler.
func (p *Proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g := p.admitted(r)
	if g == nil {
		p.exit.counts.unknown.Add(1)
		w.Header().Set("Proxy-Authenticate", `Basic realm="pagetools"`)
		say(w, http.StatusProxyAuthRequired, "This is the proxy of pagetools' own pages.")
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		g.tunnel(w, r)
	case r.URL.Scheme != "http" || r.URL.Host == "":
		say(w, http.StatusBadRequest, "This is a forward proxy: the address must be absolute.")
	case r.URL.Host == "pagetools.invalid":
		w.WriteHeader(http.StatusNoContent)
	default:
		if err := g.literal(origin.HostPort(r.URL)); err != nil {
			g.answerError(w, r, err)
			return
		}
		// What the site left out the browser decides, and not net/http.
		w.Header()["Content-Type"], w.Header()["Date"] = nil, nil
		g.forward.ServeHTTP(w, r)
	}
}

// Admit makes a credential for a page. End takes it back. refused is told of connections that
// the page may not have, once for each host and port of a document; nil tells nobody.
func (p *Proxy) Admit(reach policy.Reach, refused func(context.Context, *Refusal)) *Grant {
	if refused == nil {
		refused = func(context.Context, *Refusal) {}
	}
	g := &Grant{User: rand.Text(), Password: rand.Text(), exit: &p.exit, reach: reach, refused: refused,
		failed: map[string]error{}, told: map[string]bool{}, logged: map[string]bool{}}
	g.forget = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.grants, g.User)
	}
	g.life, g.end = context.WithCancel(context.Background())
	g.forward = &httputil.ReverseProxy{
		Rewrite: verbatim,
		// A connection serves one request. With connections that are kept, net/http can pass
		// the cancellation of a request on to the next one of its connection.
		Transport: &http.Transport{DialContext: g.dial, DisableCompression: true, DisableKeepAlives: true,
			Proxy: p.exit.upstreamOf},
		FlushInterval: -1,
		ErrorHandler:  g.answerError,
		ErrorLog:      slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	p.mu.Lock()
	p.grants[g.User] = g
	p.mu.Unlock()
	return g
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
