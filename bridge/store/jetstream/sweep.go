package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Sweep removes the marks of deletions that are older than age from PT_KEEP, where nothing else
// ends them, and returns how many. One node does so from time to time. It needs the right to publish
// $JS.API.STREAM.PURGE.KV_PT_KEEP.
func (s *Store) Sweep(ctx context.Context, age time.Duration) (int, error) {
	marks, err := s.marks(ctx, age)
	if err != nil {
		return 0, fmt.Errorf("records: looking for marks of deletions: %w", s.why(err))
	}
	return s.remove(ctx, marks)
}

// remove removes marks, and returns how many are gone.
func (s *Store) remove(ctx context.Context, marks []mark) (int, error) {
	for i, m := range marks {
		// Up to the mark: whoever made the key anew in the meantime keeps the record.
		err := s.js.PurgeStream(stream(keep), &nats.StreamPurgeRequest{Subject: m.subject, Sequence: m.sequence + 1}, nats.Context(ctx))
		if err != nil {
			return i, fmt.Errorf("records: removing the mark of a deletion: %w", s.why(err))
		}
	}
	return len(marks), nil
}

type mark struct {
	subject  string
	sequence uint64
}

// marks returns the marks of deletions in PT_KEEP that are older than age.
func (s *Store) marks(ctx context.Context, age time.Duration) ([]mark, error) {
	sub, err := s.js.SubscribeSync("$KV."+keep+".>", nats.BindStream(stream(keep)), nats.OrderedConsumer(),
		nats.DeliverLastPerSubject(), nats.HeadersOnly(), nats.Context(ctx))
	if err != nil {
		return nil, err
	}
	defer s.unsubscribe(sub)
	left, err := sub.InitialConsumerPending()
	if err != nil {
		return nil, err
	}
	var marks []mark
	for ; left > 0; left-- {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return nil, err
		}
		about, err := m.Metadata()
		if err != nil {
			return nil, err
		}
		if isDeletion(m.Header) && time.Since(about.Timestamp) >= age {
			marks = append(marks, mark{m.Subject, about.Sequence.Stream})
		}
		if about.NumPending == 0 {
			break
		}
	}
	return marks, nil
}
