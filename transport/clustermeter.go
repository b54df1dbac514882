package transport

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ClusterMeter counts what becomes of requests in a cluster, from before there are metrics. A nil one counts
// nothing. It is safe for concurrent use.
type ClusterMeter struct {
	routed, moved, tickets, unknown *prometheus.CounterVec
	hops                            prometheus.Histogram
}

// NewClusterMeter makes one that has counted nothing.
func NewClusterMeter() *ClusterMeter {
	vec := func(name, help, label string, values ...string) *prometheus.CounterVec {
		v := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pagetools_cluster_" + name, Help: help}, []string{label})
		for _, value := range values {
			v.WithLabelValues(value)
		}
		return v
	}
	return &ClusterMeter{
		routed: vec("routed_total", "Requests that this node passed on to another one, by why (name, key, session, shared, place).", "why",
			"name", "key", "session", "shared", "place"),
		moved: vec("moved_total", "Requests of other nodes that this one did not take, by why (lease, moved, epoch, void).", "why",
			"lease", "moved", "epoch", "void"),
		tickets: vec("tickets_total", "Tickets of calls that this node made, by what (begun, void).", "what", "begun", "void"),
		unknown: vec("unknown_total", "Requests with calls of which this node does not know whether they ran, by why (dead, silent, ticket).", "why",
			"dead", "silent", "ticket"),
		hops: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "pagetools_cluster_route_seconds", Buckets: recordBuckets,
			Help: "How long requests that were passed on took until their reply began, without the time of the other node."}),
	}
}

func (m *ClusterMeter) collectors() []prometheus.Collector {
	return []prometheus.Collector{m.routed, m.moved, m.tickets, m.unknown, m.hops}
}

// Routed counts a request that is passed on, and why: name, key, session, shared or place.
func (m *ClusterMeter) Routed(why string) {
	if m != nil {
		m.routed.WithLabelValues(why).Inc()
	}
}

// Hop takes how long it took until a reply began, without the time of the other node.
func (m *ClusterMeter) Hop(took time.Duration) {
	if m != nil {
		m.hops.Observe(max(0, took).Seconds())
	}
}

// Moved counts a request of another node that this one does not take, and why: lease, moved, epoch or void.
func (m *ClusterMeter) Moved(why string) {
	if m != nil {
		m.moved.WithLabelValues(why).Inc()
	}
}

// Ticket counts a ticket that this node made: begun or void.
func (m *ClusterMeter) Ticket(what string) {
	if m != nil {
		m.tickets.WithLabelValues(what).Inc()
	}
}

// Unknown counts a request with calls of which nobody knows whether they ran: their node is dead or silent,
// or the answer about their ticket was lost.
func (m *ClusterMeter) Unknown(why string) {
	if m != nil {
		m.unknown.WithLabelValues(why).Inc()
	}
}
