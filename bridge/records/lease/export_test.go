package lease

import (
	"context"

	"github.com/pagetools/pagetools/bridge/records"
)

// The steps of Run, one at a time, for the model.

// RenewStep renews the lease as Run does.
func (n *Node) RenewStep(ctx context.Context) {
	for again, tries := true, 0; again && tries < maxTries; tries++ {
		again = n.renew(ctx)
	}
}

// SeeStep takes note of a record.
func (n *Node) SeeStep(r records.Record) { n.see(r) }

// JudgeStep declares those dead who are.
func (n *Node) JudgeStep(ctx context.Context) { n.judge(ctx) }
