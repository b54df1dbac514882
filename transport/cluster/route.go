package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptrace"
	"net/http/httputil"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// Route serves requests of agents: here, where this node is their home or where any node is, and else
// it passes them on to their home. It stands behind the guards of the public listener.
func (c *Cluster) Route(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{HopHeader, operatorHeader, loginHeader} {
			delete(r.Header, name) // they count between nodes only
		}
		c.route(w, r, next)
	})
}

func (c *Cluster) route(w http.ResponseWriter, r *http.Request, next http.Handler) {
	started := time.Now()
	body, read := bodyOf(r)
	wanted, ok := wantOf(r, body)
	if !ok || !read {
		next.ServeHTTP(w, r)
		return
	}
	p := passing{c: c, w: w, r: r, next: next, want: wanted, body: body, caller: transport.CallerOf(r.Context()).Name,
		until: started.Add(c.o.Patience)}
	p.serve()
}

// bodyOf reads the body of a request where it may name the home. It is false for one that cannot be read: a
// face says so.
func bodyOf(r *http.Request) (body []byte, ok bool) {
	if !readsBody(r) {
		return nil, true
	}
	return read(r)
}

// read reads the body of a request, and puts it back.
func read(r *http.Request) (body []byte, ok bool) {
	if r.Body == nil {
		return nil, true
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), failing{err}))
		return nil, false
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, true
}

// failing is a body that cannot be read.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// place says where a request is served.
type place struct {
	node  Node // zero: here
	epoch int64
	key   string // of the directory; "" where it was not asked
	why   string
}

// find returns the home of a request of a caller. The error says that nobody can know now.
func (c *Cluster) find(ctx context.Context, w *want, caller string) (p place, err error) {
	self := c.o.Nodes.Self().ID
	if id := w.node(); id != "" {
		n, known := c.o.Nodes.Find(id)
		if !known || id == self || n.IsDead() {
			return p, nil // the face says what became of it
		}
		return place{node: n, why: "name"}, nil
	}
	if n, here := c.claimant(ctx, w, caller); here || n.ID != "" {
		return place{node: n, why: "key"}, nil
	}
	session := w.sessionUnder(c.o.Owner)
	if session != "" && caller != "" && c.o.Directory != nil {
		p.key = c.o.Namer.Name(caller, session)
		id, epoch, err := c.o.Directory.Home(ctx, p.key)
		switch n, known := c.o.Nodes.Find(id); {
		case errors.Is(err, ErrNone):
			return c.begins(p), nil
		case err != nil:
			return p, fmt.Errorf("looking for the home of a session: %w", err)
		case id == self && !c.o.Nodes.Holds():
			return p, errors.New("this node cannot renew its lease")
		case id == self:
			p.epoch = epoch
			return p, nil
		case !known, n.IsDead(): // whoever opens the session takes it over
			p.epoch = epoch
			return c.begins(p), nil
		default:
			return place{node: n, epoch: epoch, key: p.key, why: "session"}, nil
		}
	}
	if w.calls && w.session == "" && w.site != "" && c.o.Owner != nil {
		return c.findShared(w.site, self)
	}
	if w.calls {
		p = c.begins(p)
	}
	return p, nil
}

// claimant returns the living node that has a claim on the key of a request, or whether it is this one: it
// knows the end of the call also where the engine does not.
func (c *Cluster) claimant(ctx context.Context, w *want, caller string) (n Node, here bool) {
	if w.key == "" || caller == "" || c.o.Keys == nil {
		return n, false
	}
	id, err := c.o.Keys(ctx, caller, w.key)
	if err != nil || id == "" {
		return n, false
	}
	if id == c.o.Nodes.Self().ID {
		return n, true
	}
	if n, known := c.o.Nodes.Find(id); known && !n.IsDead() {
		return n, false
	}
	return Node{}, false
}

// begins returns where something begins: here, unless this node is about to end.
func (c *Cluster) begins(p place) place {
	if c.o.Place != nil {
		if n, ok := c.o.Place(); ok {
			p.node, p.why = n, "place"
		}
	}
	return p
}

// findShared returns the node that has the page of a site, where calls without a session share one.
func (c *Cluster) findShared(site, self string) (p place, err error) {
	id, shared := c.o.Owner(site)
	switch n, known := c.o.Nodes.Find(id); {
	case !shared:
		return c.begins(p), nil
	case id == self && c.o.Nodes.Holds():
		return p, nil
	case !known || n.IsDead() || id == self:
		return p, errors.New("no node has the page that all calls of the site share")
	default:
		return place{node: n, why: "shared"}, nil
	}
}

// passing is a request on its way to its home.
type passing struct {
	c      *Cluster
	w      http.ResponseWriter
	r      *http.Request
	next   http.Handler
	want   want
	body   []byte
	caller string
	until  time.Time // no other home is tried then
	tries  int
	ticket func(context.Context) (notRun bool, err error) // of the last try; nil: none
}

// Why a home did not reply.
var (
	errMoved = errors.New("the node is not the home any more")
	errSent  = errors.New("the node took the request, and did not reply")
)

// firstWait is waited before a home is asked again, twice as long each time, and at most mostWait.
const firstWait, mostWait = 20 * time.Millisecond, 500 * time.Millisecond

// serve tries until a node has replied, or the time is up.
func (p *passing) serve() {
	defer p.c.counted(&p.want)()
	for wait := firstWait; ; wait = min(2*wait, mostWait) {
		at, err := p.c.find(p.r.Context(), &p.want, p.caller)
		alone := err != nil && !p.c.o.Nodes.Holds() // it cannot ask, and will not soon
		switch {
		case err != nil:
		case at.node.ID == "":
			if p.here(at) {
				return
			}
			err = errMoved
		default:
			if err = p.send(at); err == nil {
				return
			}
		}
		dead := at.node.IsDead()
		switch {
		case p.r.Context().Err() != nil:
			transport.Abandon(p.r, bridge.GaveUp(bridge.Unknown).With(context.Cause(p.r.Context())))
		case errors.Is(err, errSent) && (p.want.calls || p.want.resumes):
			if dead = p.awaitDeath(at.node); !p.void() {
				p.ends(p.unknown(dead).With(err))
				return
			}
		case errors.Is(err, errMoved) && at.key != "":
			p.c.o.Directory.Forget(at.key)
		}
		if alone || !dead && !p.pause(wait) {
			p.ends(p.gaveUp().With(err))
			return
		}
	}
}

// pause waits before the next try. It is false when the time is up.
func (p *passing) pause(d time.Duration) bool {
	if time.Now().Add(d).After(p.until) {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-p.r.Context().Done():
	}
	return true
}

// awaitDeath waits until it is known that a node has ended. It is false when the time is up, or when
// the caller has left.
func (p *passing) awaitDeath(n Node) bool {
	timer := time.NewTimer(time.Until(p.until))
	defer timer.Stop()
	select {
	case <-n.Dead:
		return true
	case <-timer.C:
	case <-p.r.Context().Done():
	}
	return false
}

// voidTime bounds how long a ticket is tried when the time of its request is up.
const voidTime = 2 * time.Second

// void reports whether it is proved that the request, which a node took that is lost, ran no call, and never
// will.
func (p *passing) void() bool {
	if p.ticket == nil {
		return false
	}
	ctx, cancel := context.WithTimeout(p.r.Context(), max(time.Until(p.until), voidTime))
	defer cancel()
	notRun, err := p.ticket(ctx)
	if err != nil {
		p.c.log.WarnContext(ctx, "cluster: nobody knows whether a call ran", slog.Any("error", err))
	}
	if notRun {
		p.c.o.Meter.Ticket("void")
	}
	return notRun
}

// gaveUp is the error of a request that no home took. What it was to go on with may have run.
func (p *passing) gaveUp() *bridge.Error {
	if p.want.resumes {
		return p.unknown(false)
	}
	return noQuorum()
}

// unknown returns the error of a request of which nobody knows what became at a node.
func (p *passing) unknown(dead bool) *bridge.Error {
	if dead {
		p.c.o.Meter.Unknown("dead")
	} else {
		p.c.o.Meter.Unknown("silent")
	}
	return lost(dead)
}

// isRead reads a body that names no home, so that it may be sent again. It is false for one that cannot be
// read.
func (p *passing) isRead() (ok bool) {
	if p.body == nil {
		p.body, ok = read(p.r)
		return ok
	}
	return true
}

// whole returns the request with its body as it came.
func (p *passing) whole() *http.Request {
	if p.body != nil {
		p.r.Body = io.NopCloser(bytes.NewReader(p.body))
	}
	return p.r
}

// here serves the request in this node, and reports whether it did. A call of a session that is another
// node's by now is not served.
func (p *passing) here(at place) bool {
	if at.key != "" && p.want.calls && !p.want.resumes && p.isRead() {
		return p.unlessMoved(p.whole())
	}
	p.next.ServeHTTP(p.w, p.whole())
	return true
}

// ends has a call of the request end with an error, in the words of its face. What is no call is refused.
func (p *passing) ends(e *bridge.Error) {
	if p.want.calls {
		p.next.ServeHTTP(p.w, p.whole().WithContext(bridge.WithEnd(p.r.Context(), e)))
		return
	}
	transport.WriteError(p.w, p.r, e)
}

// sendOnce hides from net/http that a request has a key: one without a body would be sent again when its
// connection ends. Names of headers mean the same in small letters.
func sendOnce(h http.Header) {
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := h[name]; ok {
			delete(h, name)
			h[strings.ToLower(name)] = values
		}
	}
}

// send passes the request on, and the reply back. The error says that there was none: errMoved, which
// proves that nothing ran, errSent, or that of a connection that could not be made.
func (p *passing) send(at place) (err error) {
	p.tries++
	h := hop{entry: p.c.o.Nodes.Self().ID, home: at.node.ID, epoch: at.epoch, call: transport.RequestID(p.r.Context()),
		attempt: p.tries, left: max(0, time.Until(p.until))}
	if !p.isRead() {
		p.next.ServeHTTP(p.w, p.r)
		return nil
	}
	p.c.log.DebugContext(p.r.Context(), "cluster: routed", slog.String("call", h.call), slog.String("home", at.node.ID),
		slog.String("node", at.node.Name), slog.String("why", at.why), slog.Int("attempt", h.attempt))
	p.c.o.Meter.Routed(at.why)
	sent := time.Now()
	if p.c.o.Tickets != nil && p.want.calls && !p.want.resumes {
		p.ticket = p.c.o.Tickets.Pass(h.call, h.attempt)
	}
	ctx, stop := p.c.untilLost(p.r.Context(), at.node)
	defer stop()
	var connected atomic.Bool // from then on, the node may have got it
	out := p.r.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}))
	if len(p.body) > 0 {
		out.ContentLength, out.TransferEncoding = int64(len(p.body)), nil
	}
	proxy := &httputil.ReverseProxy{Transport: p.c.wayTo(at.node), BufferPool: copies{}, // what comes in parts is flushed at once
		Rewrite: func(x *httputil.ProxyRequest) {
			x.Out.URL.Scheme, x.Out.URL.Host, x.Out.URL.RawQuery = "https", at.node.Name+"."+domain, x.In.URL.RawQuery
			x.Out.Host = x.In.Host
			x.Out.Header.Set(HopHeader, h.String())
			sendOnce(x.Out.Header)
			if len(p.body) > 0 { // in memory, which net/http sends together with the headers
				x.Out.Body = io.NopCloser(bytes.NewReader(p.body))
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			took, ok := tookOf(resp.Header)
			if resp.StatusCode == http.StatusMisdirectedRequest {
				return errMoved
			}
			if ok {
				p.c.o.Meter.Hop(time.Since(sent) - took)
			}
			for _, own := range []string{"Pagetools-Request-Id", "X-Request-Id", "X-Content-Type-Options"} {
				resp.Header.Del(own) // this node has set them
			}
			return nil
		},
		ErrorHandler: func(_ http.ResponseWriter, _ *http.Request, failed error) { err = failed },
		ErrorLog:     slog.NewLogLogger(p.c.log.Handler(), slog.LevelDebug),
	}
	proxy.ServeHTTP(p.w, out)
	switch {
	case err == nil:
		_ = http.NewResponseController(p.w).Flush() // whoever waits for the reply need not wait for what follows
		return nil
	case errors.Is(err, errMoved):
		return err
	case !connected.Load():
		p.c.unreachable(at.node, err)
		return err
	}
	return fmt.Errorf("%w: %w", errSent, err)
}

// copies implements httputil.BufferPool.
type copies struct{}

var copying = sync.Pool{New: func() any { return new([32 << 10]byte) }}

// Get returns a buffer.
func (copies) Get() []byte { return copying.Get().(*[32 << 10]byte)[:] }

// Put takes a buffer back.
func (copies) Put(b []byte) { copying.Put((*[32 << 10]byte)(b)) }
