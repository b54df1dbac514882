package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Sweep removes the marks of deletions that are older than age from PT_KEEP, where nothing else ends them,
// and from PT_DAY, where callers can make many in a day. It returns how many. One node does so from time to
// time. It needs the right to publish $JS.API.STREAM.PURGE.KV_PT_KEEP, and of PT_DAY.
func (s *Store) Sweep(ctx context.Context, age time.Duration) (n int, err error) {
	for _, bucket := range swept {
		marks, err := s.marks(ctx, bucket, age)
		if err != nil {
			return n, fmt.Errorf("records: looking for marks of deletions: %w", s.why(err))
		}
		gone, err := s.remove(ctx, bucket, marks)
		if n += gone; err != nil {
			return n, err
		}
	}
	return n, nil
}

// swept are the buckets that Sweep looks at.
var swept = []string{keep, day}

// remove removes marks, and returns how many are gone.
func (s *Store) remove(ctx context.Context, bucket string, marks []mark) (int, error) {
	for i, m := range marks {
		// Up to the mark: whoever made the key anew in the meantime keeps the record.
		err := s.js.PurgeStream(stream(bucket), &nats.StreamPurgeRequest{Subject: m.subject, Sequence: m.sequence + 1}, nats.Context(ctx))
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

// marks returns the marks of deletions in a bucket that are older than age.
func (s *Store) marks(ctx context.Context, bucket string, age time.Duration) ([]mark, error) {
	sub, err := s.js.SubscribeSync("$KV."+bucket+".>", nats.BindStream(stream(bucket)), nats.OrderedConsumer(),
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
