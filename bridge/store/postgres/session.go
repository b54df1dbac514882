package postgres

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"github.com/lib/pq"
)

// session is one connection. It is used by one statement at a time, and by none after an error.
type session struct {
	conn driver.Conn
	net  net.Conn
	used time.Time
}

// dialer keeps the connection that it makes, so that it can be closed while something waits for it.
type dialer struct {
	net.Dialer

	mu   sync.Mutex
	conn net.Conn
	over bool
}

// DialContext implements pq.DialerContext.
func (d *dialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := d.Dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.conn = c; d.over {
		_ = c.Close()
	}
	return c, nil
}

// DialTimeout implements pq.Dialer.
func (d *dialer) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return d.DialContext(ctx, network, address)
}

// end closes the connection, also one that comes later.
func (d *dialer) end() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.over = true; d.conn != nil {
		_ = d.conn.Close()
	}
}

// connect makes a session before ctx ends.
func (a *address) connect(ctx context.Context) (*session, error) {
	connector, err := pq.NewConnectorConfig(a.config.Clone())
	if err != nil {
		return nil, err
	}
	d := &dialer{}
	connector.Dialer(d)
	stop := context.AfterFunc(ctx, d.end)
	conn, err := connector.Connect(ctx)
	if !stop() && err == nil {
		_ = conn.Close()
		err = ctx.Err()
	}
	if err != nil {
		return nil, err
	}
	return &session{conn: conn, net: d.conn, used: time.Now()}, nil
}

// ask sends a statement, once, and returns all rows. When ctx ends the connection is closed, and the
// statement may have happened.
func (s *session) ask(ctx context.Context, statement string, args ...driver.Value) (all [][]driver.Value, err error) {
	stop := context.AfterFunc(ctx, func() { _ = s.net.Close() })
	defer stop()
	named := make([]driver.NamedValue, len(args))
	for i, value := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: value}
	}
	// Its own handling of a context has the server cancel the statement, and waits for that.
	rows, err := s.conn.(driver.QueryerContext).QueryContext(context.Background(), statement, named)
	if err != nil {
		return nil, err
	}
	for {
		row := make([]driver.Value, len(rows.Columns()))
		if err := rows.Next(row); errors.Is(err, io.EOF) {
			return all, rows.Close() // which reads what further statements say
		} else if err != nil {
			_ = rows.Close()
			return nil, err
		}
		all = append(all, row)
	}
}

// fault is an error with nothing of an address in it.
type fault struct {
	text string
	err  error // of a context only
}

func (f *fault) Error() string { return "records: PostgreSQL: " + f.text }
func (f *fault) Unwrap() error { return f.err }

// clean returns an error without the address: those of the driver and of the network have users, databases
// and hosts in them.
func clean(ctx context.Context, doing string, err error) error {
	f := &fault{text: doing + ": " + why(err)}
	if f.err = ctx.Err(); f.err != nil {
		f.text = doing + ": " + f.err.Error()
	}
	return f
}

// why says what an error is, in words that have no part of an address.
func why(err error) string {
	if errors.Is(err, errDown) {
		return err.Error()
	}
	if refused := pq.As(err); refused != nil {
		return fmt.Sprintf("the server says %s (%s)", cmp.Or(refused.Code.Name(), "error"), refused.Code)
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "its host is not found"
	}
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return "it does not answer in time"
	}
	if no, ok := errors.AsType[syscall.Errno](err); ok {
		return no.Error()
	}
	_, unverified := errors.AsType[*tls.CertificateVerificationError](err)
	if unverified || errors.Is(err, pq.ErrSSLNotSupported) {
		return "it has no certificate that does; see sslmode and sslrootcert of its address"
	}
	return "the connection was lost"
}
