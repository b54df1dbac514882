package jetstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// inbox begins the subjects of answers: an account of ours lets us subscribe to nothing else.
	inbox = "_INBOX_PT"
	// defaultTimeout limits an operation.
	defaultTimeout = 2 * time.Second
	// pulse sets how often the server must show that it lives. After two that it missed another one is
	// asked, before a lease of the shortest kind ends.
	pulse = 500 * time.Millisecond
	// breath sets how long a write waits for one of the same key that is under way.
	breath = 2 * time.Millisecond
)

// errBusy says that another write of the same key is under way, which can still fail: nothing has
// changed yet, and nothing was written. Newer servers say so where there are copies.
var errBusy = errors.New("another write is under way")

// The headers of a message in a bucket of NATS.
const (
	operation = "KV-Operation"
	deletion  = "DEL"
	purge     = "PURGE"
	ended     = "Nats-Marker-Reason" // the server's own mark, where a bucket has them
)

// Options say where the servers are, and who we are to them.
type Options struct {
	Servers     []string    // such as nats://10.0.0.5:4222, or tls://…; at least one
	Credentials string      // a file with an nkey and a JWT; "" is none
	User        string      // "" is none, or what Servers say
	Password    string      //
	TLS         *tls.Config // nil: the system's authorities, with tls:// and where a server asks for it
	Name        string      // of this node, for the server's list of connections
	Existing    bool        // makes no bucket: who looks at a cluster changes nothing
	Replicas    int         // copies of buckets that are made; 0 is three in a cluster, and one elsewhere
	Timeout     time.Duration
	Log         *slog.Logger // nil is silent
}

// Store is a connection to the servers. Safe for concurrent use. Make one with Open.
type Store struct {
	conn    *nats.Conn
	js      nats.JetStreamContext
	timeout time.Duration
	log     *slog.Logger
	closing context.Context //nolint:containedctx // ends the watches of Close
	close   context.CancelFunc
	copies  int // of the bucket with the fewest
	denied  atomic.Pointer[refusal]

	mu      sync.Mutex
	watches map[*nats.Subscription]context.CancelFunc
}

var _ records.Records = (*Store)(nil)

// Open connects, and makes the buckets that are missing, or says what is wrong with one. Servers
// that began just now, and have no leader yet, are an error: try again.
func Open(ctx context.Context, o Options) (*Store, error) { return open(ctx, o, false) }

func open(ctx context.Context, o Options, trusting bool) (*Store, error) {
	s := &Store{
		timeout: cmp.Or(o.Timeout, defaultTimeout),
		log:     cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		watches: map[*nats.Subscription]context.CancelFunc{},
	}
	s.closing, s.close = context.WithCancel(context.Background())
	conn, err := nats.Connect(strings.Join(o.Servers, ","), s.options(o)...)
	if err != nil {
		return nil, fmt.Errorf("records: connecting to NATS: %w", err)
	}
	s.conn = conn
	if err := s.prepare(ctx, o, trusting); err != nil {
		s.Close()
		return nil, fmt.Errorf("records: %w", err)
	}
	return s, nil
}

func (s *Store) options(o Options) []nats.Option {
	options := []nats.Option{
		nats.Name(strings.TrimSpace("pagetools " + o.Name)),
		nats.CustomInboxPrefix(inbox),
		nats.Timeout(s.timeout),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(100 * time.Millisecond),
		nats.ReconnectBufSize(-1), // what could not be sent must not be sent later
		nats.PingInterval(pulse),
		nats.MaxPingsOutstanding(2),
		nats.ReconnectHandler(s.reconnected),
		nats.DisconnectErrHandler(s.disconnected),
		nats.ErrorHandler(s.failed),
	}
	if o.Credentials != "" {
		options = append(options, nats.UserCredentials(o.Credentials))
	}
	if o.User != "" {
		options = append(options, nats.UserInfo(o.User, o.Password))
	}
	if o.TLS != nil {
		options = append(options, nats.Secure(o.TLS))
	}
	return options
}

// prepare looks at the server and its buckets.
func (s *Store) prepare(ctx context.Context, o Options, trusting bool) error {
	if most := s.conn.MaxPayload(); most < maxMessage {
		return fmt.Errorf("invalid max_payload %d of the NATS server: must be at least %d", most, maxMessage)
	}
	js, err := s.conn.JetStream(nats.MaxWait(s.timeout))
	if err != nil {
		return err
	}
	s.js = js
	b := &maker{s.conn, s.js, trusting, o.Existing, s.timeout}
	for i, bucket := range buckets {
		copies, err := b.ready(ctx, bucket.name, bucket.age, o.Replicas)
		if err != nil {
			return s.why(err)
		}
		if i == 0 || copies < s.copies {
			s.copies = copies
		}
	}
	return nil
}

// Close ends the connection and all watches.
func (s *Store) Close() {
	s.close()
	s.conn.Close()
}

// Copies returns on how many servers the bucket with the fewest copies is.
func (s *Store) Copies() int { return s.copies }

// URL returns the address of the server that answers, without secrets.
func (s *Store) URL() string { return s.conn.ConnectedUrlRedacted() }

// Redacted returns addresses of servers without the secrets in them.
func Redacted(servers []string) string {
	var all []string
	for _, one := range servers {
		if u, err := url.Parse(one); err == nil {
			all = append(all, u.Redacted())
		}
	}
	return strings.Join(all, ",")
}

// RoundTrip returns how long a server takes for an answer, or that there is no connection.
func (s *Store) RoundTrip() (time.Duration, error) {
	took, err := s.conn.RTT()
	if err != nil {
		return 0, fmt.Errorf("records: %w", err)
	}
	return took, nil
}

// Get implements records.Records.
func (s *Store) Get(ctx context.Context, key string) (records.Record, error) {
	if err := records.CheckKey(key); err != nil {
		return records.Record{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	is, err := s.last(ctx, key)
	if err != nil {
		return records.Record{}, err
	}
	if is == nil || isDeletion(is.Header) {
		return records.Record{}, records.ErrNone
	}
	return records.Record{Key: key, Value: is.Data, Revision: is.Sequence}, nil
}

// last returns the last message of a key, or nil. The leader answers, because the request is not the
// direct one.
func (s *Store) last(ctx context.Context, key string) (*nats.RawStreamMsg, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	is, err := within(ctx, func() (*nats.RawStreamMsg, error) {
		return s.js.GetLastMsg(stream(records.Bucket(key)), subject(key), nats.Context(ctx))
	}, nil)
	switch {
	case errors.Is(err, nats.ErrMsgNotFound):
		return nil, nil //nolint:nilnil // there is none, and no error
	case err != nil:
		return nil, fmt.Errorf("records: reading: %w", s.why(err))
	}
	return is, nil
}

// Create implements records.Records.
func (s *Store) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := records.Check(key, value); err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	after := uint64(0)
	for {
		revision, err := s.settle(ctx, &nats.Msg{Subject: subject(key), Data: value}, after)
		if !errors.Is(err, records.ErrChanged) {
			return revision, err
		}
		// There is a record, or the mark of one that was deleted, after which a new one may come.
		is, err := s.last(ctx, key)
		switch {
		case err != nil:
			return 0, err
		case is == nil:
			after = 0
		case !isDeletion(is.Header):
			return 0, records.ErrExists
		default:
			after = is.Sequence
		}
	}
}

// Update implements records.Records.
func (s *Store) Update(ctx context.Context, key string, value []byte, was uint64) (uint64, error) {
	if err := records.Check(key, value); err != nil {
		return 0, err
	}
	return s.change(ctx, &nats.Msg{Subject: subject(key), Data: value}, was)
}

// Delete implements records.Records.
func (s *Store) Delete(ctx context.Context, key string, was uint64) error {
	if err := records.CheckKey(key); err != nil {
		return err
	}
	_, err := s.change(ctx, &nats.Msg{Subject: subject(key), Header: nats.Header{operation: {deletion}}}, was)
	return err
}

func (s *Store) change(ctx context.Context, m *nats.Msg, was uint64) (uint64, error) {
	if was == 0 { // to the server, a record that is not there
		return 0, cmp.Or(ctx.Err(), records.ErrChanged)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.settle(ctx, m, was)
}

// settle is publish, after other writes of the key that are under way.
func (s *Store) settle(ctx context.Context, m *nats.Msg, after uint64) (uint64, error) {
	for {
		revision, err := s.publish(ctx, m, after)
		if !errors.Is(err, errBusy) {
			return revision, err
		}
		timer := time.NewTimer(breath)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return 0, fmt.Errorf("records: writing: %w: %w", err, ctx.Err())
		}
	}
}

// publish sends a message where the last one of its subject has the sequence, or there is none and it
// is 0: else ErrChanged, or errBusy. It is sent once.
func (s *Store) publish(ctx context.Context, m *nats.Msg, after uint64) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	ack, err := within(ctx, func() (*nats.PubAck, error) {
		return s.js.PublishMsg(m, nats.ExpectLastSequencePerSubject(after), nats.Context(ctx), nats.RetryAttempts(0))
	}, nil)
	var refused *nats.APIError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode == nats.JSErrCodeStreamWrongLastSequence:
		return 0, records.ErrChanged
	case errors.As(err, &refused) && refused.ErrorCode == nats.JSErrCodeStreamWrongLastSequenceConstant:
		return 0, errBusy
	case err != nil:
		return 0, fmt.Errorf("records: writing: %w", s.why(err))
	}
	return ack.Sequence, nil
}

// within returns what do returns, or the context's error when that ends: the library looks at no context while it
// connects anew. What comes later is given to late, which may be nil.
func within[T any](ctx context.Context, do func() (T, error), late func(T)) (is T, err error) {
	type end struct {
		is  T
		err error
	}
	done := make(chan end, 1)
	go func() {
		is, err := do()
		done <- end{is, err}
	}()
	select {
	case e := <-done:
		return e.is, e.err
	case <-ctx.Done():
		if late != nil {
			go func() {
				if e := <-done; e.err == nil {
					late(e.is)
				}
			}()
		}
		return is, ctx.Err()
	}
}

// isDeletion reports whether a message says that its key has no record.
func isDeletion(h nats.Header) bool {
	return h.Get(operation) == deletion || h.Get(operation) == purge || h.Get(ended) != ""
}

// refusal holds the last thing that the server refused, which it says apart from its answers.
type refusal struct {
	err error
	at  time.Time
}

// why adds to an error what the server refused in the time that the operation took.
func (s *Store) why(err error) error {
	if last := s.denied.Load(); last != nil && time.Since(last.at) < 2*s.timeout {
		return fmt.Errorf("%w (the NATS server refused: %w)", err, last.err)
	}
	return err
}

func (s *Store) disconnected(_ *nats.Conn, err error) {
	if err != nil {
		s.log.Warn("cluster: the connection to NATS is lost", slog.Any("error", err))
	}
}

// reconnected closes all watches: the server can be another one, or the same with less.
func (s *Store) reconnected(c *nats.Conn) {
	s.log.Info("cluster: connected to NATS again", slog.String("server", c.ConnectedUrlRedacted()))
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, end := range s.watches {
		end()
	}
}

// failed hears errors that no operation returns. One about a watch ends it.
func (s *Store) failed(_ *nats.Conn, sub *nats.Subscription, err error) {
	if errors.Is(err, nats.ErrPermissionViolation) {
		s.denied.Store(&refusal{err, time.Now()})
	}
	s.log.Debug("cluster: NATS", slog.Any("error", err))
	s.mu.Lock()
	defer s.mu.Unlock()
	if end := s.watches[sub]; end != nil {
		end()
	}
}
