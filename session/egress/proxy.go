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

// Options configures a proxy. The zero value resolves names as this machine does, and listens on a
// loopback port of its own.
type Options struct {
	// Listen is host:port, where browsers of other machines reach the proxy, and Address what they know it
	// by: "" is the listener's. With an Address alone nothing listens: it belongs to a proxy in another
	// process, with the same keys.
	Listen, Address string
	// Keys seal passwords, so that each proxy with one of them serves the pages of all: the first seals. Each
	// has 16, 24 or 32 bytes. Without one, passwords count here alone.
	Keys [][]byte
	// Yields is true for a process that lives beside one that has the listener: with keys that serves its
	// pages, else it takes another port.
	Yields bool
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
	listener net.Listener // nil: browsers reach another process
	address  string
	server   *http.Server
	exit     exit
	id       string // in passwords
	seals    seals
	life     context.Context //nolint:containedctx // of connections, which outlive requests; ends in Close
	stop     context.CancelFunc

	mu     sync.Mutex
	grants map[string]*Grant // by user
	guests map[string]*Grant // of other processes, by user
}

// Counts are connections since the start.
type Counts struct {
	Opened, Failed int64
	Unknown        int64 // requests without a valid credential
	Refused        map[Kind]int64
}

// Start listens. The caller must Close the proxy.
func Start(ctx context.Context, o Options) (*Proxy, error) {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	up, err := newUpstream(o.Upstream)
	if err != nil {
		return nil, err
	}
	all, err := newSeals(o.Keys)
	if err != nil {
		return nil, fmt.Errorf("starting the proxy of the pages: %w", err)
	}
	l, err := o.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("starting the proxy of the pages: %w", err)
	}
	p := &Proxy{
		listener: l, address: o.Address, grants: map[string]*Grant{}, guests: map[string]*Grant{}, id: rand.Text(), seals: all,
		exit: exit{
			upstream: up, log: o.Log, words: o.Words, ours: map[uint16]bool{},
			dialer: net.Dialer{Timeout: dialTime, Resolver: o.Resolver},
			counts: counts{refused: map[Kind]*atomic.Int64{}},
		},
	}
	for _, k := range []Kind{Private, Port, Bridge} {
		p.exit.counts.refused[k] = &atomic.Int64{}
	}
	p.life, p.stop = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	if l == nil {
		return p, nil
	}
	p.address = cmp.Or(o.Address, l.Addr().String())
	p.Keep(l.Addr().String())
	go func() { _ = p.server.Serve(l) }() // ends with Close
	return p, nil
}

// listen listens where the options say; nil is nowhere.
func (o *Options) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if o.Listen == "" && o.Address != "" {
		return nil, nil //nolint:nilnil // another process does
	}
	l, err := lc.Listen(ctx, "tcp", cmp.Or(o.Listen, "127.0.0.1:0"))
	switch {
	case err == nil || !o.Yields || !origin.IsInUse(err):
		return l, err
	case len(o.Keys) > 0:
		o.Address = cmp.Or(o.Address, o.Listen)
		return nil, nil //nolint:nilnil // whoever listens there has the key
	case o.Address != "":
		return nil, err
	}
	host, _, _ := net.SplitHostPort(o.Listen)
	return lc.Listen(ctx, "tcp", net.JoinHostPort(host, "0"))
}

// Address is host:port of the proxy, as browsers know it.
func (p *Proxy) Address() string { return p.address }

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
	p.stop()
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
	g := p.newGrant(rand.Text(), reach)
	g.Password, g.refused = rand.Text(), refused
	g.forget = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.grants, g.User)
	}
	g.life, g.end = context.WithCancel(p.life)
	p.mu.Lock()
	p.grants[g.User] = g
	p.mu.Unlock()
	return g
}

// newGrant makes a grant that nobody has yet.
func (p *Proxy) newGrant(user string, reach policy.Reach) *Grant {
	g := &Grant{User: user, proxy: p, exit: &p.exit, reach: reach,
		failed: map[string]error{}, told: map[string]bool{}, logged: map[string]bool{}}
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
	switch {
	case p.seals != nil && g == nil:
		return p.guest(user, password)
	case p.seals != nil:
		if x, ok := p.seals.open(user, password); !ok || x.By != p.id {
			return nil
		}
	case g == nil || subtle.ConstantTimeCompare([]byte(g.Password), []byte(password)) == 0:
		return nil
	}
	return g
}
