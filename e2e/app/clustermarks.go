package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/bridge/store"
)

// markEvery sets how often a node keeps the marks of its audit with the others.
const markEvery = time.Minute

// errMarks says that several processes write the marks of one node.
var errMarks = errors.New("keeping the marks of the audit: another process changes them, too")

// markOn keeps the marks of the audit until ctx ends.
func markOn(ctx context.Context, c *Cluster, log *slog.Logger) {
	ticker := time.NewTicker(markEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
		if err := keepMarks(ctx, c); err != nil && ctx.Err() == nil {
			log.Warn("cluster: the marks of the audit are not kept", slog.Any("error", err))
		}
	}
}

// keepMarks keeps with the other nodes where the audit of this one stands, where whoever can write on this machine
// does not reach it. It does nothing before the app is there, and without an audit.
func keepMarks(ctx context.Context, c *Cluster) error {
	a := c.app.Load()
	if a == nil || a.Memory() == nil {
		return nil
	}
	file := vault.NewMarks(c.places, c.nodes.name)
	for range 5 {
		before, revision, err := file.Read(ctx)
		if err != nil {
			return err
		}
		text, err := a.Memory().Marks(ctx, before)
		if err != nil || text == nil || bytes.Equal(text, before) {
			return err
		}
		if written, err := file.Write(ctx, text, revision); written || err != nil {
			return err
		}
	}
	return errMarks
}

// markLast keeps the last marks at the end of the node, whose audit is closed.
func markLast(c *Cluster) error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	return keepMarks(ctx, c)
}

// VerifyAudit verifies the audit of this node against the marks that the nodes keep.
func (c *Cluster) VerifyAudit(ctx context.Context, kept *store.Store) (store.Report, error) {
	marks, _, err := vault.NewMarks(c.places, c.nodes.name).Read(ctx)
	if err != nil {
		return store.Report{}, err
	}
	return kept.VerifyAgainst(ctx, marks)
}

// MarkedNodes returns the names of the nodes that have kept marks, sorted.
func (c *Cluster) MarkedNodes(ctx context.Context) ([]string, error) {
	return vault.MarkedNodes(ctx, c.places)
}
