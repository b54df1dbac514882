package cluster

import (
	"context"
	"net/http"
	"time"

	"github.com/pagetools/pagetools/transport"
)

type hopKey struct{}

// arrived returns the hop of a request that another node has passed on.
func arrived(r *http.Request) (h hop, ok bool) {
	h, ok = r.Context().Value(hopKey{}).(hop)
	return h, ok
}

// Listener serves the listener for other nodes: requests of agents that they pass on, which guards with
// these options check again, and requests to the operators' API, which believes who its operators are.
func (c *Cluster) Listener(agents http.Handler, guards transport.Options, operators http.Handler) http.Handler {
	passed := transport.Passed(c.home(agents), guards, func(r *http.Request) string {
		h, _ := arrived(r)
		return h.call
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, ok := hopOf(r)
		delete(r.Header, HopHeader)
		switch {
		case !ok:
			transport.WriteError(w, r, transport.Malformed("This listener is for other nodes of pagetools."))
		case h.home != c.o.Nodes.Self().ID:
			c.refuse(w, r, "lease")
		case h.operators:
			operators.ServeHTTP(w, r)
		default:
			delete(r.Header, operatorHeader)
			delete(r.Header, loginHeader)
			out := r.WithContext(context.WithValue(r.Context(), hopKey{}, h))
			out.RemoteAddr, out.TLS = "node "+h.entry, nil // whoever called did so elsewhere, by another way
			passed.ServeHTTP(w, out)
		}
	})
}

// home serves requests whose home this node is, and refuses others: they are not passed on again.
func (c *Cluster) home(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, _ := arrived(r)
		w = &tookWriter{ResponseWriter: w, began: time.Now()}
		body, read := bodyOf(r)
		wanted, ok := wantOf(r, body)
		if !ok || !read {
			next.ServeHTTP(w, r)
			return
		}
		defer c.counted(&wanted)()
		at, err := c.find(r.Context(), &wanted, transport.CallerOf(r.Context()).Name)
		switch {
		case err != nil, c.ending.Load() && wanted.calls && !wanted.resumes:
			c.refuse(w, r, "lease")
		case at.node.ID != "":
			c.refuse(w, r, "moved")
		case at.epoch != h.epoch && at.key != "":
			c.refuse(w, r, "epoch")
		case wanted.calls && !wanted.resumes:
			c.under(h, at.key != "", w, r, next)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuse answers that nothing of the request ran here, and nothing will.
func (c *Cluster) refuse(w http.ResponseWriter, r *http.Request, why string) {
	c.o.Meter.Moved(why)
	transport.WriteJSON(w, r, http.StatusMisdirectedRequest, struct {
		V   int    `json:"v"`
		Why string `json:"why"`
	}{1, why})
}
