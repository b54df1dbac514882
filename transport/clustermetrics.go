package transport

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// ClusterLoad says how a node of a cluster is now. What ends in Total only grows.
type ClusterLoad struct {
	// Nodes counts those that live, by state: alive, draining.
	Nodes map[string]int
	// LeaseAge is the time since this node renewed its lease; 0 where it has none.
	LeaseAge time.Duration
	// LeasesLostTotal counts the lives of this node that others declared dead, DeathsDeclaredTotal those of
	// others that this one did, and RateBatchesTotal the batches of calls that it took from rates.
	LeasesLostTotal, DeathsDeclaredTotal, RateBatchesTotal int64
	// TakeoversTotal counts the pages of sessions that it took over, by result: attached, expired, fresh.
	TakeoversTotal map[string]int64
}

// recordBuckets are seconds: from one server on this machine to one that does not answer.
var recordBuckets = []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5}

// AddCluster adds the metrics of a node. load is called for each scrape, and must not block. meter has
// counted its requests so far. observe
// takes each operation on records: get, create, update, delete or watch.
func (m *Metrics) AddCluster(load func() ClusterLoad, meter *ClusterMeter) (observe func(op string, took time.Duration, failed bool)) {
	took := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "pagetools_cluster_records_seconds", Buckets: recordBuckets,
		Help: "How long operations on records took, by op (get, create, update, delete, watch)."}, []string{"op"})
	failures := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "pagetools_cluster_records_errors_total",
		Help: "Operations on records that the engine did not answer, by op."}, []string{"op"})
	for _, op := range []string{"get", "create", "update", "delete", "watch"} {
		failures.WithLabelValues(op)
		took.WithLabelValues(op)
	}
	m.registry.MustRegister(append(meter.collectors(), took, failures)...)
	for _, state := range []string{"alive", "draining"} {
		m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pagetools_cluster_nodes",
			Help: "Nodes of the cluster that live, as this one sees them, by state (alive, draining).", ConstLabels: prometheus.Labels{"state": state}},
			func() float64 { return float64(load().Nodes[state]) }))
	}
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "pagetools_cluster_lease_age_seconds",
		Help: "Time since this node renewed its lease."}, func() float64 { return load().LeaseAge.Seconds() }))
	counter := func(name, help string, labels prometheus.Labels, of func(ClusterLoad) int64) {
		m.registry.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help, ConstLabels: labels},
			func() float64 { return float64(of(load())) }))
	}
	counter("pagetools_cluster_leases_lost_total", "Lives of this node that others declared dead.", nil,
		func(l ClusterLoad) int64 { return l.LeasesLostTotal })
	counter("pagetools_cluster_deaths_declared_total", "Nodes that this one declared dead.", nil,
		func(l ClusterLoad) int64 { return l.DeathsDeclaredTotal })
	for _, result := range []string{"attached", "expired", "fresh"} {
		counter("pagetools_cluster_takeovers_total", "Pages of sessions that another node had and this one took over, by result (attached: the page goes on; "+
			"expired: it was lost; fresh: the session had none of the site).",
			prometheus.Labels{"result": result}, func(l ClusterLoad) int64 { return l.TakeoversTotal[result] })
	}
	counter("pagetools_cluster_rate_batches_total", "Batches of calls that this node took from rates.", nil,
		func(l ClusterLoad) int64 { return l.RateBatchesTotal })
	return func(op string, d time.Duration, failed bool) {
		took.WithLabelValues(op).Observe(d.Seconds())
		if failed {
			failures.WithLabelValues(op).Inc()
		}
	}
}
