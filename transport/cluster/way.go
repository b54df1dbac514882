package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// The limits of connections between nodes. A node closes what is idle before the other one does.
const (
	dialTime = 3 * time.Second
	peerIdle = 30 * time.Second
	maxIdle  = 64
)

// way leads to one life of a node.
type way struct {
	http.Transport

	silent sync.Once // says once that it cannot be reached

	mu       sync.Mutex // of what follows, held while the node is asked whether it is there
	asked    time.Time
	answered time.Time
	missed   int // answers, one after the other
}

// wayTo returns the way to a node. Those to nodes that ended are given up.
func (c *Cluster) wayTo(n Node) *way {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.ways[n.ID]; w != nil {
		return w
	}
	for id, w := range c.ways {
		if other, known := c.o.Nodes.Find(id); !known || other.IsDead() {
			w.CloseIdleConnections()
			delete(c.ways, id)
		}
	}
	w := &way{}
	w.Transport = http.Transport{
		DialTLSContext:      func(ctx context.Context, _, _ string) (net.Conn, error) { return c.connect(ctx, n) },
		DisableCompression:  true, // replies are passed on as they are
		MaxIdleConnsPerHost: maxIdle, IdleConnTimeout: peerIdle, DisableKeepAlives: c.ended,
	}
	c.ways[n.ID] = w
	return w
}

// unreachable says in the log that a node cannot be reached, once for each of its lives.
func (c *Cluster) unreachable(n Node, err error) {
	c.wayTo(n).silent.Do(func() {
		c.log.Warn("cluster: a node cannot be reached", slog.String("node", n.Name), slog.String("address", n.Address), slog.Any("error", err))
	})
}

// connect makes a connection to a node.
func (c *Cluster) connect(ctx context.Context, n Node) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	d := &tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: c.o.Identity.Client(n.Name)}
	conn, err := d.DialContext(ctx, "tcp", n.Address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the node %s: %w", n.Name, err)
	}
	return conn, nil
}

// Why a node is waited for no longer.
var (
	errDead   = errors.New("the node has ended")
	errSilent = errors.New("the node is out of reach")
)

// untilLost returns a context that ends when it is known that the node has, when the node is out of reach
// for longer than requests look for one, or with stop. A request whose connection is silent would wait
// for as long as its caller does.
func (c *Cluster) untilLost(parent context.Context, n Node) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	since := time.Now()
	looks := time.AfterFunc(soon, func() {
		asks := time.AfterFunc(c.pulse(), func() { c.ask(ctx, n, since, cancel) })
		defer asks.Stop()
		select {
		case <-n.Dead:
			cancel(errDead)
		case <-ctx.Done(): // with stop, or with the parent
		}
	})
	return ctx, func() {
		looks.Stop()
		cancel(nil)
	}
}

// soon sets after how long a request is looked after: most have their reply before.
const soon = 50 * time.Millisecond

// maxMissed limits the answers that a node misses, one after the other, and still counts as there.
const maxMissed = 3

// pulse returns the time between questions to a node that a request waits for.
func (c *Cluster) pulse() time.Duration { return c.o.Patience / 6 }

// ask asks a node whether it is there, until ctx ends, or the node is out of reach.
func (c *Cluster) ask(ctx context.Context, n Node, since time.Time, cancel context.CancelCauseFunc) {
	ticker := time.NewTicker(c.pulse())
	defer ticker.Stop()
	for ctx.Err() == nil {
		if c.isSilent(ctx, n, since) {
			cancel(errSilent)
			return
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// isSilent reports whether a node has not answered for as long as requests look for one. Requests to one
// node ask it together.
func (c *Cluster) isSilent(ctx context.Context, n Node, since time.Time) bool {
	w := c.wayTo(n)
	w.mu.Lock()
	defer w.mu.Unlock()
	if time.Since(w.asked) >= c.pulse()/2 {
		brief, cancel := context.WithTimeout(ctx, min(dialTime, c.o.Patience))
		conn, err := c.connect(brief, n)
		cancel()
		switch w.asked = time.Now(); {
		case err == nil:
			w.answered, w.missed = w.asked, 0
			_ = conn.Close()
		case ctx.Err() == nil:
			w.missed++
		}
	}
	return w.missed >= maxMissed && time.Since(w.answered) > c.o.Patience && time.Since(since) > c.o.Patience
}
