package app

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/transport"
)

// measured passes operations on to Records, and says how long they take.
type measured struct {
	records.Records

	observe atomic.Pointer[func(op string, took time.Duration, failed bool)] // nil until the app is there
}

// note notes an operation that has ended. What an engine answers, such as that there is no record, is no
// failure.
func (m *measured) note(op string, began time.Time, err error) {
	observe := m.observe.Load()
	if observe == nil {
		return
	}
	failed := err != nil
	for _, fact := range []error{records.ErrNone, records.ErrExists, records.ErrChanged, records.ErrInvalid} {
		failed = failed && !errors.Is(err, fact)
	}
	(*observe)(op, time.Since(began), failed)
}

// Get implements records.Records.
func (m *measured) Get(ctx context.Context, key string) (r records.Record, err error) {
	defer func(began time.Time) { m.note("get", began, err) }(time.Now())
	return m.Records.Get(ctx, key)
}

// Create implements records.Records.
func (m *measured) Create(ctx context.Context, key string, value []byte) (revision uint64, err error) {
	defer func(began time.Time) { m.note("create", began, err) }(time.Now())
	return m.Records.Create(ctx, key, value)
}

// Update implements records.Records.
func (m *measured) Update(ctx context.Context, key string, value []byte, was uint64) (revision uint64, err error) {
	defer func(began time.Time) { m.note("update", began, err) }(time.Now())
	return m.Records.Update(ctx, key, value, was)
}

// Delete implements records.Records.
func (m *measured) Delete(ctx context.Context, key string, was uint64) (err error) {
	defer func(began time.Time) { m.note("delete", began, err) }(time.Now())
	return m.Records.Delete(ctx, key, was)
}

// Watch implements records.Records.
func (m *measured) Watch(ctx context.Context, prefix string) (all <-chan records.Record, err error) {
	defer func(began time.Time) { m.note("watch", began, err) }(time.Now())
	return m.Records.Watch(ctx, prefix)
}

// measure adds the metrics of this node to those of the app.
func (c *Cluster) measure(m *transport.Metrics) {
	observe := m.AddCluster(func() transport.ClusterLoad {
		l := transport.ClusterLoad{Nodes: map[string]int{}, LeaseAge: c.node.Life().Age(), LeasesLostTotal: c.lost.Load(), DeathsDeclaredTotal: c.node.Declared(),
			TakeoversTotal:   map[string]int64{"attached": c.took.attached.Load(), "expired": c.took.expired.Load(), "fresh": c.took.fresh.Load()},
			RateBatchesTotal: c.batches.Load()}
		own := stateAlive
		if a := c.app.Load(); a != nil && a.draining.Load() {
			own = stateDraining
		}
		l.Nodes[own]++
		for _, other := range c.node.Members() {
			if other.Drain {
				l.Nodes[stateDraining]++
			} else {
				l.Nodes[stateAlive]++
			}
		}
		return l
	}, c.meter)
	c.records.observe.Store(&observe)
	c.vault.observe.Store(&observe)
}
