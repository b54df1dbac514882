package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/lease"
	"github.com/pagetools/pagetools/bridge/records/ticket"
	"github.com/pagetools/pagetools/transport/cluster"
)

// tickets makes tickets in the records.
type tickets struct {
	records records.Records
	node    *lease.Node
}

// Begin implements cluster.Tickets.
func (t tickets) Begin(ctx context.Context, call string, attempt int) error {
	err := ticket.Begin(ctx, t.records, t.node.Life(), ticket.Call{ID: call, Attempt: attempt})
	if errors.Is(err, ticket.ErrVoid) || errors.Is(err, ticket.ErrLapsed) {
		return fmt.Errorf("%w: %w", cluster.ErrMoved, err)
	}
	return err
}

// Pass implements cluster.Tickets.
func (t tickets) Pass(call string, attempt int) func(context.Context) (bool, error) {
	by, sent := t.node.Life().ID, lease.Clocks()
	return func(ctx context.Context) (bool, error) {
		return ticket.Void(ctx, t.records, by, ticket.Call{ID: call, Attempt: attempt}, sent, lease.Clocks)
	}
}
