package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// database is the file, by two pools: one connection that writes, which is also
// the queue of writers in this process, and some that read without waiting for
// it, which the write-ahead log makes possible.
type database struct {
	w, r *sql.DB
	now  func() time.Time
}

const readers = 4

// idleTime sets how long a connection stays that nobody uses: it keeps pages of the file, and as
// much memory as the largest document took.
const idleTime = 20 * time.Second

// openDatabase opens the file, which exists and may be empty, and makes the tables.
func openDatabase(ctx context.Context, root *os.Root, o Options) (*database, error) {
	path, err := filepath.Abs(filepath.Join(root.Name(), DatabaseFile))
	if err != nil {
		return nil, fmt.Errorf("naming the database: %w", err)
	}
	d := &database{now: o.Now}
	if d.w, err = sql.Open("sqlite", dsn(path, o.Busy, "_txlock", "immediate")); err != nil {
		return nil, fmt.Errorf("opening the database: %w", classify(err))
	}
	d.w.SetMaxOpenConns(1)
	d.w.SetConnMaxIdleTime(idleTime)
	if err = createSchema(ctx, d.w); err == nil {
		err = d.prepare(ctx, o)
	}
	if err != nil {
		return nil, errors.Join(err, d.close())
	}
	if d.r, err = sql.Open("sqlite", dsn(path, o.Busy, "_pragma", "query_only(1)")); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the database: %w", classify(err)), d.close())
	}
	d.r.SetMaxOpenConns(readers)
	d.r.SetMaxIdleConns(readers)
	d.r.SetConnMaxIdleTime(idleTime)
	return d, nil
}

// openMemory makes a database that ends with its one connection, which reads, too.
func openMemory(ctx context.Context, o Options) (*database, error) {
	db, err := sql.Open("sqlite", dsn(":memory:", o.Busy, "_txlock", "immediate"))
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", classify(err))
	}
	db.SetMaxOpenConns(1)
	d := &database{w: db, r: db, now: o.Now}
	if err := createSchema(ctx, db); err != nil {
		return nil, errors.Join(err, d.close())
	}
	return d, nil
}

// dsn holds the settings of every connection. synchronous=NORMAL writes commits to
// the log and does not wait for the disk; durable writes raise it for their own
// transaction.
func dsn(path string, busy time.Duration, key, value string) string {
	q := url.Values{}
	q.Add("_pragma", "busy_timeout("+strconv.FormatInt(busy.Milliseconds(), 10)+")")
	q.Add("_pragma", "synchronous(NORMAL)")
	q.Add("_pragma", "trusted_schema(0)")
	q.Add("_pragma", "cell_size_check(1)")
	q.Add("_pragma", "cache_size(-1000)")            // KiB of each connection
	q.Add("_pragma", "journal_size_limit(67108864)") // else the log keeps the size of the largest burst
	q.Add(key, value)
	return (&url.URL{Scheme: "file", OmitHost: true, Path: path, RawQuery: q.Encode()}).String()
}

// prepare turns the write-ahead log on. The mode stays with the file.
func (d *database) prepare(ctx context.Context, o Options) error {
	mode, err := d.useLog(ctx, o.Busy)
	if err != nil {
		return fmt.Errorf("turning the write-ahead log on: %w", err)
	}
	if mode != "wal" {
		return fmt.Errorf("the database keeps the journal mode %q: %w", mode, ErrReadOnly)
	}
	if o.maxPages > 0 {
		if _, err := d.w.ExecContext(ctx,
			fmt.Sprintf("PRAGMA max_page_count = %d", o.maxPages)); err != nil {
			return fmt.Errorf("limiting the database: %w", classify(err))
		}
	}
	return nil
}

// useLog waits for other processes that open a new file at the same moment: for this
// pragma SQLite does not.
func (d *database) useLog(ctx context.Context, patience time.Duration) (mode string, err error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err = classify(d.w.QueryRowContext(ctx, "PRAGMA journal_mode = WAL").Scan(&mode))
		if !errors.Is(err, ErrLocked) {
			return mode, err
		}
		select {
		case <-again.C:
		case <-bounded.Done():
			return mode, err
		}
	}
}

// close closes both pools; the last process to close folds the log into the
// database.
func (d *database) close() error {
	var errs []error
	if d.r != nil && d.r != d.w {
		errs = append(errs, d.r.Close())
	}
	return errors.Join(append(errs, d.w.Close())...)
}

// durability says what a commit waits for.
type durability string

const (
	relaxed durability = "NORMAL" // in the log: survives the process
	durable durability = "FULL"   // on the disk: survives the power
)

// remove runs statements about an ID in one durable transaction, and reports whether the first of them
// removed something.
func (d *database) remove(ctx context.Context, id, first string, more ...string) (gone bool, err error) {
	err = d.write(ctx, durable, func(ctx context.Context, tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, first, id)
		if err != nil {
			return err
		}
		n, err := res.RowsAffected()
		for _, statement := range more {
			if err == nil {
				_, err = tx.ExecContext(ctx, statement, id)
			}
		}
		gone = n > 0
		return err
	})
	return gone && err == nil, err
}

// write runs f in a transaction that excludes every other writer, in this
// process and others. ctx ends only the wait for our own writers: once begun, a
// transaction is committed or rolled back, within Options.Busy.
func (d *database) write(ctx context.Context, how durability,
	f func(context.Context, *sql.Tx) error) error {
	conn, err := d.w.Conn(ctx)
	if err != nil {
		return classify(closed(err))
	}
	// The connection goes back to its pool. It fails only when it is there already.
	defer func() { _ = conn.Close() }()
	ctx = context.WithoutCancel(ctx)
	if how == durable {
		if _, err := conn.ExecContext(ctx, "PRAGMA synchronous = FULL"); err != nil {
			return classify(err)
		}
		// It cannot fail: it sets a field of the connection.
		defer func() { _, _ = conn.ExecContext(ctx, "PRAGMA synchronous = NORMAL") }()
	}
	tx, err := conn.BeginTx(ctx, nil)
	if err != nil {
		return classify(err)
	}
	if err := f(ctx, tx); err != nil {
		_ = tx.Rollback() // the first error says more
		return classify(err)
	}
	return classify(tx.Commit())
}

// failed adds the typed errors to what a query of ctx said. When ctx has ended, that is one of
// them: the driver may only say that it was interrupted.
func failed(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	err = classify(closed(err))
	if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
		return fmt.Errorf("%w: %w", ended, err)
	}
	return err
}

// closed names the error of a pool that was closed.
func closed(err error) error {
	if err != nil && err.Error() == "sql: database is closed" {
		return ErrClosed
	}
	return err
}

// each runs a query and passes every row to scan.
func each(ctx context.Context, q interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}, scan func(*sql.Rows) error, query string, args ...any) error {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return failed(ctx, err)
	}
	defer func() { _ = rows.Close() }() // what it could say, Err says
	for rows.Next() {
		if err := scan(rows); err != nil {
			return failed(ctx, err)
		}
	}
	return failed(ctx, rows.Err())
}

// toNano and fromNano keep times as UTC nanoseconds; the zero time is 0.
func toNano(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNano(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}
