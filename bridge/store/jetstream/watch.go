package jetstream

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// heartbeat sets how often the server shows that a watch lives on. After two that it missed, the
	// watch is made anew, from where it was.
	heartbeat = time.Second
	// farewell limits how long it may take to end a watch at the server, which ends it without that too.
	farewell = time.Second
)

// Watch implements records.Records.
func (s *Store) Watch(ctx context.Context, prefix string) (<-chan records.Record, error) {
	if err := records.CheckPrefix(prefix); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(ctx)
	began, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	// The subscription keeps no context: the library makes it anew where the server has lost it.
	sub, err := watchSubscription(began, s.js, prefix)
	if err != nil {
		end()
		return nil, fmt.Errorf("records: watching: %w", s.why(err))
	}
	left, err := sub.InitialConsumerPending()
	if err != nil {
		end()
		s.unsubscribe(sub)
		return nil, fmt.Errorf("records: watching: %w", err)
	}
	s.mu.Lock()
	s.watches[sub] = end
	s.mu.Unlock()
	out := make(chan records.Record)
	stop := context.AfterFunc(s.closing, end)
	w := &watching{bucket: records.Bucket(prefix), left: left, told: map[string]bool{}, out: out}
	go func() {
		defer stop()
		s.pump(ctx, end, sub, w)
	}()
	return out, nil
}

// watchSubscription subscribes within the time of the context. A subscription that comes later is
// ended.
func watchSubscription(ctx context.Context, js nats.JetStreamContext, prefix string) (*nats.Subscription, error) {
	return within(ctx, func() (*nats.Subscription, error) {
		return js.SubscribeSync("$KV."+records.Bucket(prefix)+"."+prefix+">", nats.BindStream(stream(records.Bucket(prefix))),
			nats.OrderedConsumer(), nats.DeliverLastPerSubject(), nats.IdleHeartbeat(heartbeat))
	}, func(sub *nats.Subscription) { _ = sub.Unsubscribe() }) // nobody waits for it
}

// pump passes a watch on until it ends.
func (s *Store) pump(ctx context.Context, end context.CancelFunc, sub *nats.Subscription, w *watching) {
	defer close(w.out)
	defer s.forget(sub)
	defer end()
	if w.left == 0 && !w.send(ctx, records.Record{}) {
		return
	}
	for {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return
		}
		if !w.take(ctx, m) {
			return
		}
	}
}

func (s *Store) forget(sub *nats.Subscription) {
	s.mu.Lock()
	delete(s.watches, sub)
	s.mu.Unlock()
	s.unsubscribe(sub)
}

// unsubscribe ends a subscription, at the server, too, if that answers soon.
func (s *Store) unsubscribe(sub *nats.Subscription) {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_, _ = within(ctx, func() (struct{}, error) { return struct{}{}, sub.Unsubscribe() }, nil) // it can be gone with its connection
}

// watching is the state of a watch.
type watching struct {
	bucket string
	left   uint64          // records that come before the mark
	told   map[string]bool // keys that came before the mark; nil after it
	last   uint64
	out    chan<- records.Record
}

// take passes a message on, and the mark after the last that was there. It reports whether the watch
// goes on.
func (w *watching) take(ctx context.Context, m *nats.Msg) bool {
	about, err := m.Metadata()
	if err != nil || about.Sequence.Stream <= w.last { // another bucket of the same name
		return false
	}
	w.last = about.Sequence.Stream
	r := records.Record{Key: keyOf(w.bucket, m.Subject), Value: m.Data, Revision: about.Sequence.Stream}
	if isDeletion(m.Header) {
		r.Value, r.Deleted = nil, true
	}
	// The server's own marks are of records whose time is over.
	tell := m.Header.Get(ended) == "" && (!r.Deleted || w.told == nil || w.told[r.Key])
	if tell && !w.send(ctx, r) {
		return false
	}
	if w.told == nil {
		return true
	}
	w.told[r.Key] = !r.Deleted
	if w.left--; w.left > 0 && about.NumPending > 0 {
		return true
	}
	return w.send(ctx, records.Record{})
}

func (w *watching) send(ctx context.Context, r records.Record) bool {
	if r.IsMark() {
		w.told = nil
	}
	select {
	case w.out <- r:
		return true
	case <-ctx.Done():
		return false
	}
}
