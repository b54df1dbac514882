package postgres

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lib/pq"

	"github.com/pagetools/pagetools/bridge/records"
)

const (
	// defaultTimeout limits an operation.
	defaultTimeout = 2 * time.Second
	// most limits the connections of a store, besides one that listens.
	most = 8
	// pause sets for how long operations fail at once after one that was not answered. Then one tries.
	pause = time.Second
	// idle sets for how long a connection that nobody uses is kept: what is between may have forgotten it.
	idle = 30 * time.Second
)

// Options say where the database is, and who we are to it.
type Options struct {
	Address  string // such as postgres://pagetools:PASSWORD@db.example/pagetools
	Name     string // of this node, for the server's list of connections
	Existing bool   // makes no table: who looks at a cluster changes nothing
	Timeout  time.Duration
	Log      *slog.Logger // nil is silent
}

// Store is connections to a database. Safe for concurrent use. Make one with Open.
type Store struct {
	to      address
	timeout time.Duration
	log     *slog.Logger
	closing context.Context //nolint:containedctx // ends what is under way at Close
	close   context.CancelFunc
	slots   chan struct{} // one for each statement under way
	warning string
	down    atomic.Int64 // when one may try again, in ns; 0: the server answers

	mu     sync.Mutex
	unused []*session
	turn   chan struct{} // one: who makes the listener
	hears  *listener     // nil: nobody has watched yet, or the connection was lost
}

var _ records.Records = (*Store)(nil)

// Open connects, and makes the tables that are missing. The error is ErrAddress where the address cannot be
// one.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{timeout: cmp.Or(o.Timeout, defaultTimeout), log: cmp.Or(o.Log, slog.New(slog.DiscardHandler)),
		slots: make(chan struct{}, most), turn: make(chan struct{}, 1)}
	var err error
	if s.to, err = parse(o.Address, o.Name, s.timeout); err != nil {
		return nil, err
	}
	s.closing, s.close = context.WithCancel(context.Background())
	if err := s.prepare(ctx, o.Existing); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Close ends all connections and watches.
func (s *Store) Close() {
	s.close()
	s.mu.Lock()
	heard := s.hears
	s.mu.Unlock()
	if heard != nil {
		heard.end()
	}
	s.drop()
}

// Warning says what of the server's settings can lose records, or show the password to others; "" is
// nothing.
func (s *Store) Warning() string { return s.warning }

// tables makes what is missing. Of several nodes that come at once, one does.
const tables = `
BEGIN;
SELECT pg_advisory_xact_lock(7302060415);
CREATE TABLE IF NOT EXISTS pagetools_revision (one boolean PRIMARY KEY DEFAULT true CHECK (one), n bigint NOT NULL);
CREATE TABLE IF NOT EXISTS pagetools_records (key text COLLATE "C" PRIMARY KEY, value bytea NOT NULL,
	revision bigint NOT NULL, changed timestamptz NOT NULL DEFAULT clock_timestamp());
INSERT INTO pagetools_revision (n) VALUES (0) ON CONFLICT DO NOTHING;
COMMIT`

// form looks at what is there.
const form = `SELECT current_setting('fsync'), current_setting('full_page_writes'),
	(SELECT relpersistence::text FROM pg_class WHERE oid = to_regclass('pagetools_records')),
	(SELECT relpersistence::text FROM pg_class WHERE oid = to_regclass('pagetools_revision'))`

var (
	errMissing  = errors.New("records: PostgreSQL: the tables pagetools_records and pagetools_revision are not there")
	errUnlogged = errors.New("records: PostgreSQL: the tables pagetools_records and pagetools_revision must not be UNLOGGED, or a crash of the server loses all")
)

// prepare looks at the server and its tables, and makes these.
func (s *Store) prepare(ctx context.Context, existing bool) error {
	for made := existing; ; made = true {
		rows, err := s.ask(ctx, "looking at the tables", form)
		if err != nil {
			return err
		}
		is := rows[0]
		switch {
		case (is[2] == nil || is[3] == nil) && made:
			return errMissing
		case is[2] == nil || is[3] == nil:
			if _, err := s.ask(ctx, "making the tables", tables); err != nil {
				return err
			}
			continue
		case is[2] != "p" || is[3] != "p":
			return errUnlogged
		}
		var warnings []string
		if is[0] != "on" || is[1] != "on" {
			warnings = append(warnings, "kept results, consent and versions may be lost in a power failure: fsync or full_page_writes of the PostgreSQL server is off")
		}
		if s.to.unverified {
			warnings = append(warnings, "nobody looks whether the PostgreSQL server is the one that was meant: sslmode=verify-full in its address does")
		}
		s.warning = strings.Join(warnings, "; ")
		return nil
	}
}

// Get implements records.Records.
func (s *Store) Get(ctx context.Context, key string) (records.Record, error) {
	if err := records.CheckKey(key); err != nil {
		return records.Record{}, err
	}
	rows, err := s.ask(ctx, "reading", `SELECT value, revision FROM pagetools_records WHERE key = $1`, key)
	if err != nil {
		return records.Record{}, err
	}
	if len(rows) == 0 {
		return records.Record{}, records.ErrNone
	}
	return record(key, rows[0][0], rows[0][1])
}

// record reads the columns of a record.
func record(key, value, revision driver.Value) (r records.Record, err error) {
	var ok [3]bool
	r.Key, ok[0] = key.(string)
	r.Value, ok[1] = value.([]byte)
	n, is := revision.(int64)
	r.Revision, ok[2] = uint64(n), is && n > 0
	if ok != [3]bool{true, true, true} {
		return records.Record{}, errForm
	}
	return r, nil
}

// errForm says that the tables have other columns than Open makes.
var errForm = errors.New("records: PostgreSQL: the tables pagetools_records and pagetools_revision have another form")

// Each change locks the row of the revision first, so that all are one after the other. It answers with one
// row: the revision, or nothing where the record is not as it must be.
const (
	next   = `WITH c AS (UPDATE pagetools_revision SET n = n + 1 RETURNING n), w AS (`
	tells  = ` RETURNING true AS done) SELECT c.n, w.done, CASE WHEN w.done THEN pg_notify('pagetools_records', $1::text || ' ' || c.n`
	whole  = `) END FROM c LEFT JOIN w ON true`
	create = next + `INSERT INTO pagetools_records (key, value, revision) SELECT $1::text, $2::bytea, n FROM c ON CONFLICT (key) DO NOTHING` + tells + whole
	update = next + `UPDATE pagetools_records r SET value = $2::bytea, revision = c.n, changed = clock_timestamp() FROM c
		WHERE r.key = $1::text AND r.revision = $3::bigint` + tells + whole
	remove = next + `DELETE FROM pagetools_records r USING c WHERE r.key = $1::text AND r.revision = $2::bigint` + tells + ` || ' -'` + whole
)

// change makes a change, or returns refused.
func (s *Store) change(ctx context.Context, refused error, statement string, args ...driver.Value) (uint64, error) {
	rows, err := s.ask(ctx, "writing", statement, args...)
	if err != nil {
		return 0, err
	}
	if len(rows) != 1 {
		return 0, errForm // the row of the revision is missing
	}
	n, ok := rows[0][0].(int64)
	switch {
	case !ok || n < 1:
		return 0, errForm
	case rows[0][1] != true:
		return 0, refused
	}
	return uint64(n), nil
}

// Create implements records.Records.
func (s *Store) Create(ctx context.Context, key string, value []byte) (uint64, error) {
	if err := records.Check(key, value); err != nil {
		return 0, err
	}
	return s.change(ctx, records.ErrExists, create, key, append([]byte{}, value...))
}

// Update implements records.Records.
func (s *Store) Update(ctx context.Context, key string, value []byte, was uint64) (uint64, error) {
	if err := records.Check(key, value); err != nil {
		return 0, err
	}
	return s.change(ctx, records.ErrChanged, update, key, append([]byte{}, value...), int64(was))
}

// Delete implements records.Records.
func (s *Store) Delete(ctx context.Context, key string, was uint64) error {
	if err := records.CheckKey(key); err != nil {
		return err
	}
	_, err := s.change(ctx, records.ErrChanged, remove, key, int64(was))
	return err
}

// batch limits what one statement of Sweep removes.
const batch = 500

// Sweep removes the records whose time is over, and returns how many. One node does so from time to time.
func (s *Store) Sweep(ctx context.Context) (n int, err error) {
	for _, of := range []struct {
		kinds string
		age   time.Duration
	}{{"nrtx", records.ShortAge}, {"k", records.DayAge}} {
		for _, kind := range of.kinds {
			for gone := batch; gone == batch; n += gone {
				rows, err := s.ask(ctx, "removing what is old", `WITH w AS (DELETE FROM pagetools_records WHERE key IN
					(SELECT key FROM pagetools_records WHERE key >= $1::text AND key < $2::text AND changed < clock_timestamp() - $3::interval LIMIT $4::int)
					AND changed < clock_timestamp() - $3::interval RETURNING 1) SELECT count(*) FROM w`,
					string(kind)+".", string(kind)+"/", of.age.String(), int64(batch))
				if err != nil {
					return n, err
				}
				removed, _ := rows[0][0].(int64)
				gone = int(removed)
			}
		}
	}
	return n, nil
}

// errDown says that the server did not answer a moment ago.
var errDown = errors.New("it did not answer a moment ago")

// isDown reports whether it makes no sense to ask the server now. Of those that ask after the pause, one may.
func (s *Store) isDown() bool {
	until := s.down.Load()
	now := time.Now()
	return until != 0 && (now.UnixNano() < until || !s.down.CompareAndSwap(until, now.Add(s.timeout).UnixNano()))
}

// note notes whether the server answered an operation that began then. Whoever gives up early says nothing.
func (s *Store) note(ctx context.Context, began time.Time, err error) {
	switch {
	case err == nil, pq.As(err) != nil:
		s.down.Store(0)
	case ctx.Err() == nil, time.Since(began) >= s.timeout/2:
		s.down.Store(time.Now().Add(pause).UnixNano())
	}
}

// ask sends a statement, once, within the time of an operation.
func (s *Store) ask(ctx context.Context, doing, statement string, args ...driver.Value) (rows [][]driver.Value, err error) {
	if err := ctx.Err(); err != nil {
		return nil, clean(ctx, doing, err)
	}
	if s.isDown() {
		return nil, clean(ctx, doing, errDown)
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	defer context.AfterFunc(s.closing, cancel)()
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return nil, clean(ctx, doing, ctx.Err())
	}
	defer func() { <-s.slots }()
	defer func(began time.Time) {
		s.note(ctx, began, err)
		if err != nil {
			err = clean(ctx, doing, err)
		}
	}(time.Now())
	on := s.take()
	if on == nil {
		if on, err = s.to.connect(ctx); err != nil {
			return nil, err
		}
	}
	rows, err = on.ask(ctx, statement, args...)
	if err == nil && ctx.Err() == nil {
		s.put(on)
		return rows, nil
	}
	_ = on.conn.Close()
	if err != nil && pq.As(err) == nil && ctx.Err() == nil { // so are the others, then
		s.drop()
	}
	return rows, err
}

// take returns a connection that nobody uses, or nil.
func (s *Store) take() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.unused) > 0 {
		last := s.unused[len(s.unused)-1]
		s.unused = s.unused[:len(s.unused)-1]
		if time.Since(last.used) < idle {
			return last
		}
		_ = last.conn.Close()
	}
	return nil
}

func (s *Store) put(on *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		_ = on.conn.Close()
		return
	}
	on.used = time.Now()
	s.unused = append(s.unused, on)
}

// drop closes the connections that nobody uses.
func (s *Store) drop() {
	s.mu.Lock()
	unused := s.unused
	s.unused = nil
	s.mu.Unlock()
	for _, on := range unused {
		_ = on.conn.Close()
	}
}
