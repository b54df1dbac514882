package egress

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
)

// Home is an address that the proxy answers itself, with 204 and to a valid credential only:
// a browser that opens it has shown its credential, and still shows what it showed before.
const Home = "http://pagetools.invalid/"

// Options configures a proxy. The zero value resolves names as this machine does.
type Options struct {
	// Resolver resolves names; nil is that of this machine.
	Resolver *net.Resolver
	// Upstream is the operator's own proxy, which then resolves names: ports and addresses
	// that pages write are judged, and what names resolve to is that proxy's to judge. It is
	// http, https, socks5 or socks5h; nil means none.
	Upstream *url.URL
	Log      *slog.Logger // nil is silent
}

// Proxy is the forward proxy. It is safe for concurrent use.
type Proxy struct {
	listener net.Listener
	server   *http.Server
	dialer   net.Dialer
	upstream *upstream
	log      *slog.Logger
	counts   counts

	mu     sync.Mutex
	grants map[string]*Grant // by user
	ours   map[uint16]bool   // ports of pagetools' own listeners
}

type counts struct {
	opened, failed, unknown atomic.Int64
	refused                 map[Kind]*atomic.Int64 // never changed
}

// Counts are connections since the start.
type Counts struct {
	Opened, Failed int64
	Unknown        int64 // requests without a valid credential
	Refused        map[Kind]int64
}

// Start listens on a loopback port of its own. The caller must Close the proxy.
func Start(ctx context.Context, o Options) (*Proxy, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
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
		listener: l, upstream: up, log: o.Log,
		dialer: net.Dialer{Timeout: dialTime, Resolver: o.Resolver},
		grants: map[string]*Grant{}, ours: map[uint16]bool{},
		counts: counts{refused: map[Kind]*atomic.Int64{}},
	}
	for _, k := range Kinds() {
		p.counts.refused[k] = &atomic.Int64{}
	}
	p.Keep(l.Addr().String())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)}
	go p.serve()
	return p, nil
}

func (p *Proxy) serve() { _ = p.server.Serve(p.listener) } // ends with Close

// Address is host:port of the proxy.
func (p *Proxy) Address() string { return p.listener.Addr().String() }

// Keep keeps pages from a listener of pagetools itself, whatever they may reach. Forget ends that,
// when the listener is closed: its port may be somebody else's then.
func (p *Proxy) Keep(address string) { p.keep(address, true) }

// Forget ends what Keep began.
func (p *Proxy) Forget(address string) { p.keep(address, false) }

func (p *Proxy) keep(address string, ours bool) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return
	}
	if n, err := strconv.ParseUint(port, 10, 16); err == nil {
		p.mu.Lock()
		p.ours[uint16(n)] = ours
		p.mu.Unlock()
	}
}

// Counts returns what happened so far.
func (p *Proxy) Counts() Counts {
	c := Counts{Opened: p.counts.opened.Load(), Failed: p.counts.failed.Load(), Unknown: p.counts.unknown.Load(),
		Refused: map[Kind]int64{}}
	for k, n := range p.counts.refused {
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
		p.counts.unknown.Add(1)
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

// verbatim undoes what httputil takes out of a request for servers behind it.
func verbatim(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if all := r.In.Header[name]; all != nil {
			r.Out.Header[name] = all
		}
	}
}

// literal judges what needs no connection: with an operator's proxy it is all that can be.
func (g *Grant) literal(host, port string) error {
	if g.proxy.upstream == nil {
		return nil // the dialer judges
	}
	n, err := strconv.ParseUint(port, 10, 16)
	if err != nil {
		return err
	}
	addr, _ := netip.ParseAddr(host) // of a name it is not valid
	if err := g.judge(host, netip.AddrPortFrom(addr, uint16(n))); err != nil {
		g.note(context.Background(), net.JoinHostPort(host, port), err)
		return err
	}
	return nil
}

// answerError answers a request whose connection failed. What is refused gets a page that says
// so. Else the connection just ends, so that a page's request fails as it would without a proxy,
// unless it may have arrived and changed something: the browser could repeat it.
func (g *Grant) answerError(w http.ResponseWriter, r *http.Request, err error) {
	if refused, ok := errors.AsType[*Refusal](err); ok {
		say(w, http.StatusForbidden, refused.Error()+".")
		return
	}
	op, ok := errors.AsType[*net.OpError](err)
	gone := r.Context().Err() != nil
	if !gone {
		g.remember(net.JoinHostPort(origin.HostPort(r.URL)), err)
	}
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if ok && op.Op == "dial" && r.Method != http.MethodConnect || reads || gone {
		panic(http.ErrAbortHandler)
	}
	say(w, http.StatusBadGateway, "The site did not answer.")
}

// say answers with a sentence.
func say(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text+"\n")
}

// tunnel connects the browser with a host, and knows nothing of what they say.
func (g *Grant) tunnel(w http.ResponseWriter, r *http.Request) {
	host, port, err := net.SplitHostPort(r.Host)
	if err == nil {
		err = g.literal(host, port)
	}
	var far net.Conn
	if err == nil {
		far, err = g.reachFar(r.Context(), r.Host)
	}
	if err != nil {
		g.answerError(w, r, err)
		return
	}
	defer far.Close()
	near, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		say(w, http.StatusInternalServerError, "The connection cannot be taken over.")
		return
	}
	defer near.Close()
	_ = near.SetDeadline(time.Time{})
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	stop := context.AfterFunc(g.life, func() { _ = near.Close(); _ = far.Close() })
	defer stop()
	done := make(chan struct{})
	go func() { // ends with either connection
		defer close(done)
		relay(far, buffered.Reader)
	}()
	relay(near, far)
	<-done
}

// relay copies until the source ends, and tells the sink.
func relay(to net.Conn, from io.Reader) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
		return
	}
	_ = to.Close()
}

// reachFar connects to host:port, through the operator's proxy where there is one.
func (g *Grant) reachFar(ctx context.Context, address string) (net.Conn, error) {
	if g.proxy.upstream == nil {
		return g.dial(ctx, "tcp", address)
	}
	conn, err := g.proxy.upstream.connect(ctx, &g.proxy.dialer, address)
	g.note(ctx, address, err)
	return conn, err
}

// basic is the value of Proxy-Authorization for an address with a user, "" without.
func basic(u *url.URL) string {
	if u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return "Basic " + base64.StdEncoding.EncodeToString([]byte(strings.Join([]string{u.User.Username(), password}, ":")))
}
