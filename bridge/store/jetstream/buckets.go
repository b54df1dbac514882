package jetstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pagetools/pagetools/bridge/records"
)

// The buckets.
var short, day, keep = records.Bucket("n.X"), records.Bucket("k.X"), records.Bucket("s.X")

// buckets lists them, with how long they keep a record after its last change; 0 is until it is deleted.
var buckets = []struct {
	name string
	age  time.Duration
}{{short, records.ShortAge}, {day, records.DayAge}, {keep, 0}}

// notReplicated is JetStream's error code for copies that need a cluster.
const notReplicated nats.ErrorCode = 10074

// stream returns the name of the stream behind a bucket.
func stream(bucket string) string { return "KV_" + bucket }

// subject returns the subject of a key's messages.
func subject(key string) string { return "$KV." + records.Bucket(key) + "." + key }

// key returns the key of a subject.
func keyOf(bucket, subject string) string { return subject[len("$KV."+bucket+"."):] }

// form returns a bucket as Open makes it.
func form(bucket string, age time.Duration, replicas int) *nats.StreamConfig {
	return &nats.StreamConfig{
		Name:              stream(bucket),
		Description:       "pagetools: records of a cluster",
		Subjects:          []string{"$KV." + bucket + ".>"},
		MaxMsgsPerSubject: 1,
		Replicas:          replicas,
		MaxAge:            age,
		Storage:           nats.FileStorage,
		Discard:           nats.DiscardNew,
		DenyDelete:        true,
		AllowRollup:       true,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxConsumers:      -1,
		MaxMsgSize:        -1,
	}
}

// maker looks at buckets, and makes them.
type maker struct {
	conn     *nats.Conn
	js       nats.JetStreamContext
	trusting bool          // takes old servers with copies, in a test that shows why we do not
	existing bool          // makes none
	timeout  time.Duration // of an operation, whatever else ctx allows
}

// ready makes a bucket that is missing, or returns why the one that is there does not do. The
// number of its copies is returned.
func (b *maker) ready(ctx context.Context, bucket string, age time.Duration, replicas int) (int, error) {
	asking, cancel := context.WithTimeout(ctx, b.timeout) // servers without a leader answer nothing
	defer cancel()
	info, err := b.js.StreamInfo(stream(bucket), nats.Context(asking))
	if errors.Is(err, nats.ErrStreamNotFound) && !b.existing {
		info, err = b.make(ctx, bucket, age, replicas)
	}
	if err != nil {
		return 0, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	if err := fits(age, info.Config); err != nil {
		return 0, fmt.Errorf("bucket %s: %w", bucket, err)
	}
	if info.Config.Replicas > 1 && !b.copiesAreSafe() {
		return 0, fmt.Errorf("bucket %s: %w", bucket, b.unsafe())
	}
	return info.Config.Replicas, nil
}

// copiesAreSafe reports whether of two writes with one revision one is refused where there are
// copies. In nats-server 2.9 and before, the leader compares with what is written, and not with what
// is under way, so that both can be acknowledged: its issue 4320. One copy was always right.
func (b *maker) copiesAreSafe() bool {
	var major, minor int
	if _, err := fmt.Sscanf(b.conn.ConnectedServerVersion(), "%d.%d", &major, &minor); err != nil {
		return false
	}
	return b.trusting || major > 2 || major == 2 && minor >= 10
}

func (b *maker) unsafe() error {
	return fmt.Errorf("nats-server %s can acknowledge two writes where one must fail, when there are copies: "+
		"use nats-server 2.10 or newer, or buckets with one copy", b.conn.ConnectedServerVersion())
}

// make makes a bucket. Without a number of copies there are three in a cluster, and one elsewhere.
func (b *maker) make(ctx context.Context, bucket string, age time.Duration, replicas int) (*nats.StreamInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, b.timeout)
	defer cancel()
	want := replicas
	if want == 0 {
		want = 3
	}
	if alone := replicas == 0 && b.conn.ConnectedClusterName() == ""; want > 1 && !alone && !b.copiesAreSafe() {
		return nil, b.unsafe()
	}
	info, err := b.js.AddStream(form(bucket, age, want), nats.Context(ctx))
	var refused *nats.APIError
	if replicas == 0 && errors.As(err, &refused) && refused.ErrorCode == notReplicated {
		info, err = b.js.AddStream(form(bucket, age, 1), nats.Context(ctx))
	}
	if errors.Is(err, nats.ErrStreamNameAlreadyInUse) { // another node was faster, with another number of copies
		return b.js.StreamInfo(stream(bucket), nats.Context(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("it is not there, and cannot be made: %w", err)
	}
	return info, nil
}

// fits returns why a bucket that somebody made would lose records.
func fits(age time.Duration, c nats.StreamConfig) error {
	switch {
	case age != 0 && c.MaxAge != 0 && c.MaxAge < age:
		return fmt.Errorf("invalid age %v: must be at least %v, or what must count until then is forgotten too early", c.MaxAge, age)
	case age == 0 && c.MaxAge != 0:
		return fmt.Errorf("invalid age %v: must be none, because it holds what must not be forgotten", c.MaxAge)
	case c.Discard != nats.DiscardNew:
		return errors.New("invalid discard policy \"old\": must be \"new\", or records are lost when it is full")
	case c.Retention != nats.LimitsPolicy:
		return fmt.Errorf("invalid retention %v: must be limits", c.Retention)
	case c.Storage != nats.FileStorage:
		return errors.New("invalid storage \"memory\": must be \"file\", or a restart of the server loses all")
	case c.MaxMsgSize > 0 && c.MaxMsgSize < maxMessage:
		return fmt.Errorf("invalid maximum size of messages %d: must be at least %d, or none", c.MaxMsgSize, maxMessage)
	}
	return nil
}

// maxMessage limits a message: a value, and what the protocol adds to it.
const maxMessage = records.MaxValue + 4<<10
