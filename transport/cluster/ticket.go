package cluster

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/pagetools/pagetools/bridge"
)

// Tickets decide between a home that is about to run the calls of a request and the node that passed the
// request on, and lost the home. Implementations are safe for concurrent use.
type Tickets interface {
	// Begin is asked by the home right before it runs a call of the request. The error is ErrMoved where
	// the other node was first, or where the lease of this one ended: nothing ran, and nothing will.
	// After any other error, it may have run before.
	Begin(ctx context.Context, call string, attempt int) error
	// Pass is called before the request is sent. void is called when the home is known to have ended,
	// and tries until its context ends: true proves that no call of the request ran or will run there.
	Pass(call string, attempt int) (void func(context.Context) (notRun bool, err error))
}

// ErrMoved is the error of Begin for a request that is another node's by now.
var ErrMoved = errors.New("the request is another node's")

// ticket decides for a request that came here from another node.
type ticket struct {
	tickets Tickets
	hop     hop
	nodes   Nodes

	once  sync.Once
	err   error
	moved atomic.Bool // nothing ran, and the node that passed it on looks again
}

// begin decides once for all calls of the request.
func (t *ticket) begin(ctx context.Context) *bridge.Error {
	t.once.Do(func() {
		t.err = t.tickets.Begin(ctx, t.hop.call, t.hop.attempt)
		if t.err == nil && (t.nodes.Self().ID != t.hop.home || !t.nodes.Holds()) {
			t.err = ErrMoved // it was for another life, or for this one before it lost its lease
		}
		t.moved.Store(errors.Is(t.err, ErrMoved))
	})
	switch {
	case t.err == nil:
		return nil
	case t.moved.Load():
		return noQuorum().With(t.err)
	}
	return lost(false).With(t.err)
}

// under serves a request that another node passed on, under its ticket.
// Where it came for its session, that may have moved.
func (c *Cluster) under(h hop, session bool, w http.ResponseWriter, r *http.Request, next http.Handler) {
	t := &ticket{tickets: c.o.Tickets, hop: h, nodes: c.o.Nodes}
	ctx := r.Context()
	if session {
		ctx = bridge.WithMoved(ctx, func() { t.moved.Store(true) })
	}
	if c.o.Tickets != nil {
		ctx = bridge.WithTicket(ctx, t.begin)
	}
	next.ServeHTTP(&movedWriter{ResponseWriter: w, moved: &t.moved, instead: func() {
		clear(w.Header())
		refuse(w, r, "void")
	}}, r.WithContext(ctx))
}

// unlessMoved serves a request of a session here, and reports whether it did: where another node has the
// session by now, nothing was written.
func (p *passing) unlessMoved(r *http.Request) bool {
	var moved atomic.Bool
	before := p.w.Header().Clone()
	w := &movedWriter{ResponseWriter: p.w, moved: &moved, instead: func() {
		clear(p.w.Header())
		maps.Copy(p.w.Header(), before)
	}}
	p.next.ServeHTTP(w, r.WithContext(bridge.WithMoved(r.Context(), func() { moved.Store(true) })))
	return !w.refused
}

// movedWriter drops the reply to a request that is another node's by now.
type movedWriter struct {
	http.ResponseWriter

	moved   *atomic.Bool
	instead func()
	began   bool
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *movedWriter) WriteHeader(status int) {
	if status >= http.StatusOK && !w.began {
		if w.began = true; w.moved.Load() {
			w.refused = true
			w.instead()
			return
		}
	}
	if !w.refused {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Write implements http.ResponseWriter.
func (w *movedWriter) Write(p []byte) (int, error) {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	if w.refused {
		return len(p), nil
	}
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // as it is
}

// FlushError sends what was written, for http.ResponseController. The error says that the connection is
// gone.
func (w *movedWriter) FlushError() error {
	if !w.began {
		w.WriteHeader(http.StatusOK)
	}
	if w.refused {
		return nil
	}
	return http.NewResponseController(w.ResponseWriter).Flush() //nolint:wrapcheck // as it is
}

// Unwrap lets http.ResponseController find what the writer can do.
func (w *movedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
