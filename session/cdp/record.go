package cdp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/pagetools/pagetools/session"
	"github.com/pagetools/pagetools/shim"
)

var _ session.Recorder = (*tab)(nil)

// Record returns what the document at the top noted.
func (t *tab) Record(ctx context.Context) (*session.Record, error) {
	record, err := t.record(ctx)
	if err != nil {
		return nil, t.unread(ctx, err, "The page did not tell in time what it did.",
			"What the page did with its tools cannot be read.")
	}
	return record, nil
}

func (t *tab) record(ctx context.Context) (*session.Record, error) {
	if t.notes == "" {
		return nil, errors.New("the tab does not record")
	}
	text, _, err := t.shown.top.Load().evaluate(ctx, shim.Recorded(t.notes))
	if err != nil {
		return nil, err
	}
	var r session.Record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return nil, fmt.Errorf("what the page noted: %w", err)
	}
	return &r, nil
}
