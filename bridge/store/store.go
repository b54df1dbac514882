package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// Options configures a store. The zero value is usable by Memory; Open needs
// Dir.
type Options struct {
	// Dir is the data folder. Open makes it when it is missing.
	Dir string
	// Log gets the errors that no caller sees. Nil is silent.
	Log *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Busy says how long to wait for another process that writes. Zero means 5 s.
	Busy time.Duration

	// MaxCalls and CallAge bound the log of calls. Zero means 100,000 and 30
	// days.
	MaxCalls int
	CallAge  time.Duration
	// ReplyAge says how long an idempotency key is remembered. Zero means 24 h.
	ReplyAge time.Duration
	// MaxKeys bounds the idempotency keys that one caller has in use. Zero means
	// 10,000.
	MaxKeys int
	// MaxReplyBytes bounds the replies that are kept for repeating, all together.
	// The oldest are lost first: their keys then say ReplyUnknown. Zero means 64
	// MiB.
	MaxReplyBytes int64
	// MaxVersionBytes bounds the documents of all webtools of one site. Zero means 64 MiB.
	MaxVersionBytes int64
	// CheckpointRecords and CheckpointEvery say when the audit is signed: after
	// so many records, or so long after the first unsigned one. Zero means 1,000
	// and 60 s.
	CheckpointRecords int
	CheckpointEvery   time.Duration

	// maxPages limits the database as a full disk would; for tests.
	maxPages int
	// maxPending bounds the records that are not written yet. Zero means 8,192.
	maxPending int
	// maxPart limits how many bytes of audit end a file. Zero means 16 MiB.
	maxPart int64
}

func (o Options) withDefaults() Options {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.Now == nil {
		o.Now = time.Now
	}
	orElse(&o.Busy, 5*time.Second)
	orElse(&o.MaxCalls, 100_000)
	orElse(&o.CallAge, 30*24*time.Hour)
	orElse(&o.ReplyAge, 24*time.Hour)
	orElse(&o.MaxKeys, 10_000)
	orElse(&o.MaxReplyBytes, 64<<20)
	orElse(&o.MaxVersionBytes, 64<<20)
	orElse(&o.CheckpointRecords, 1000)
	orElse(&o.CheckpointEvery, time.Minute)
	orElse(&o.maxPending, 8192)
	orElse(&o.maxPart, 16<<20)
	return o
}

func orElse[T ~int | ~int64](v *T, otherwise T) {
	if *v <= 0 {
		*v = otherwise
	}
}

// The bounds that are not options.
const (
	maxVersions = 256
	maxKnown    = 4096
	maxListed   = 1000 // calls in one page, open intents in one report
	defaultPage = 100
)

// Store is an open data folder, or an open store in memory. It is safe for concurrent use
// until Close.
type Store struct {
	bridge.Memory

	// Clients, Connections and Browsers serve the built-in authorization server.
	Clients     bridge.Clients
	Connections bridge.Connections
	Browsers    bridge.Browsers
	// Logins serves the operators' page.
	Logins bridge.Logins

	marker  *marker // nil without a folder
	verify  func(context.Context, []mark, func(read, of int64)) (Report, error)
	of      func(context.Context, string) ([]Entry, error)
	records func(context.Context, bridge.CallFilter) ([]Entry, error)
	flush   func(context.Context) error
	close   func() error
}

// Open opens the data folder, and makes what is missing in it. Errors match
// ErrLocked, ErrCorrupt, ErrReadOnly, ErrFull, ErrVersion or ErrExposed where
// these are the cause; a damaged or newer database is left as it is.
func Open(ctx context.Context, o Options) (*Store, error) {
	o = o.withDefaults()
	root, err := openFolder(o.Dir, o.Log)
	if err != nil {
		return nil, err
	}
	s, err := openIn(ctx, root, o)
	if err != nil {
		_ = root.Close() // the first error says more
		return nil, fmt.Errorf("opening the store in %s: %w", o.Dir, err)
	}
	return s, nil
}

// openIn opens everything in its order, and closes it again when a later part
// fails.
func openIn(ctx context.Context, root *os.Root, o Options) (*Store, error) {
	f, err := openOwn(root, DatabaseFile, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	f.Close()
	me, err := newOwner(root)
	if err != nil {
		return nil, err
	}
	db, err := openDatabase(ctx, root, o)
	if err != nil {
		return nil, errors.Join(err, me.close(true))
	}
	audit := archive{root: root}
	if audit.signer, err = openSigner(root); err != nil {
		return nil, errors.Join(err, db.close(), me.close(true))
	}
	dead := &settler{archive: audit, db: db, me: me}
	if err := dead.all(ctx); err != nil {
		return nil, errors.Join(err, db.close(), me.close(true))
	}
	changes, err := openOwn(root, changesFile, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, errors.Join(err, db.close(), me.close(true))
	}
	s, calls := newStore(db, o, sqlReplies{id: me.id, dead: me.dead, settle: dead.settleDead},
		sqlHomes{id: me.id, dead: me.dead, lives: me.lives}, sqlEnded{changes: changes})
	j, err := openJournal(audit, me.id, &calls.writing, o)
	if err != nil {
		return nil, errors.Join(err, calls.close(), changes.Close(), db.close(), me.close(true))
	}
	s.Audit = j
	s.marker = &marker{archive: audit, j: j}
	s.verify = func(ctx context.Context, kept []mark, tell func(read, of int64)) (Report, error) {
		return verify(ctx, audit, me, kept, tell)
	}
	s.of = func(ctx context.Context, call string) ([]Entry, error) { return recordsOf(ctx, audit, call) }
	s.records = func(ctx context.Context, f bridge.CallFilter) ([]Entry, error) {
		return records(ctx, audit, f)
	}
	s.flush = func(ctx context.Context) error { return errors.Join(j.flush(ctx), calls.flush(ctx)) }
	s.close = func() error {
		err := errors.Join(calls.close(), j.close())
		s.marker.close()
		err = errors.Join(err, dead.leave(context.Background()))
		return errors.Join(err, changes.Close(), db.close(), me.close(err == nil), root.Close())
	}
	return s, nil
}

// Memory returns a store that ends with the process: a database in memory, and no
// audit.
func Memory(o Options) *Store {
	o = o.withDefaults()
	db, err := openMemory(context.Background(), o)
	if err != nil {
		panic(fmt.Sprintf("opening a database in memory: %v", err)) // no file and no folder can be the cause
	}
	id, nobody := newID(), func(string) bool { return false }
	s, calls := newStore(db, o, sqlReplies{id: id, dead: nobody},
		sqlHomes{id: id, dead: nobody, lives: nobody}, sqlEnded{})
	s.verify = func(context.Context, []mark, func(read, of int64)) (Report, error) { return Report{}, nil }
	s.of = func(context.Context, string) ([]Entry, error) { return nil, nil }
	s.records = func(context.Context, bridge.CallFilter) ([]Entry, error) { return nil, nil }
	s.flush = calls.flush
	s.close = func() error { return errors.Join(calls.close(), db.close()) }
	return s
}

// newStore returns what both kinds of store have.
func newStore(db *database, o Options, replies sqlReplies, homes sqlHomes, ended sqlEnded) (*Store, *sqlCalls) {
	calls := openCalls(db, o)
	replies.db, replies.o, homes.db, ended.db = db, o, db, db
	return &Store{Memory: bridge.Memory{
		Versions:   &sqlVersions{db: db, o: o},
		Grants:     &sqlGrants{db: db},
		KnownTools: &sqlKnown{db: db},
		Taints:     &sqlTaints{db: db},
		Rates:      &sqlRates{db: db},
		Homes:      &homes,
		Ended:      &ended,
		Replies:    &replies,
		Calls:      calls,
	}, Clients: &sqlClients{db}, Connections: &sqlConnections{db}, Browsers: &sqlBrowsers{db}, Logins: &sqlLogins{db}}, calls
}

// Verify reads the whole audit, and names what is not as it was written. The
// error is about reading; what was found is in the report.
func (s *Store) Verify(ctx context.Context) (Report, error) { return s.VerifyTelling(ctx, nil) }

// VerifyTelling is Verify. tell gets now and then how many records were read, and of how many about; nil
// is nobody.
func (s *Store) VerifyTelling(ctx context.Context, tell func(read, of int64)) (Report, error) {
	r, err := s.verify(ctx, nil, tell)
	if err != nil {
		return Report{}, fmt.Errorf("verifying the audit: %w", err)
	}
	return r, nil
}

// Flush returns when everything that was handed in before is written, or with
// the error of the attempt. What could not be written is tried again later.
func (s *Store) Flush(ctx context.Context) error { return s.flush(ctx) }

// Close writes what is left, signs the audit and closes everything. It is
// called once; an error means that records were lost.
func (s *Store) Close() error {
	if err := s.close(); err != nil {
		return fmt.Errorf("closing the store: %w", err)
	}
	return nil
}
