package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
	"github.com/pagetools/pagetools/bridge/store/postgres/postgrestest"
	clusterkey "github.com/pagetools/pagetools/transport/cluster/key"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// connect connects to a database until the test ends.
func connect(t testing.TB, address string, more ...func(*Options)) *Store {
	t.Helper()
	o := Options{Address: address, Name: "a"}
	for _, change := range more {
		change(&o)
	}
	s, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// TestConformance: what records.Records says holds with PostgreSQL.
func TestConformance(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	recordstest.Test(t, func(t *testing.T) records.Records {
		return connect(t, server.Address(), func(o *Options) { o.Timeout = 20 * time.Second }) // eight race, on a busy machine
	})
}

// TestVault: what all nodes keep together is kept as bridge.Memory says.
func TestVault(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	open := func(t *testing.T, m bridgetest.MemoryOptions) bridge.Memory {
		t.Helper()
		keys := clusterkey.Keys{Now: clusterkey.New()} // which names everything otherwise
		id := rand.Text()[:8]
		o := vault.Options{Records: connect(t, server.Address()), Name: keys.Namers()[0].Name, Sealer: keys.Sealer(clusterkey.Records), Self: func() string { return id },
			Dead: func(context.Context, string) (bool, error) { return false, nil }, MaxKeys: m.MaxKeys, MaxReplyBytes: m.MaxReplyBytes, MaxVersionBytes: m.MaxVersionBytes}
		return bridge.Memory{Replies: vault.NewReplies(o), Grants: vault.NewGrants(o), KnownTools: vault.NewKnown(o), Versions: vault.NewVersions(o)}
	}
	bridgetest.CheckReplies(t, open)
	bridgetest.CheckGrants(t, open)
	bridgetest.CheckVersions(t, open)
}

// TestServerComesBack: while there is no server an operation fails at once; then records are as they were,
// and watches were closed.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	s := connect(t, server.Address())
	rev, err := s.Create(t.Context(), "s.A", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Watch(t.Context(), "s.")
	if err != nil {
		t.Fatal(err)
	}
	if r := <-changes; r.Key != "s.A" || !(<-changes).IsMark() {
		t.Fatal(r)
	}
	server.Kill()
	closed(t, changes)
	for range 2 {
		if _, err := s.Update(t.Context(), "s.A", []byte("never"), rev); err == nil || errors.Is(err, records.ErrChanged) {
			t.Fatalf("without a server: %v", err)
		}
		if _, err := s.Get(t.Context(), "s.A"); err == nil || errors.Is(err, records.ErrNone) {
			t.Fatalf("without a server: %v", err)
		}
		if _, err := s.Watch(t.Context(), "s."); err == nil {
			t.Fatal("without a server something is watched")
		}
	}
	server.Restart()
	r, err := again(t, s, "s.A")
	if err != nil || string(r.Value) != "one" || r.Revision != rev {
		t.Fatalf("after its return: %+v, %v", r, err)
	}
	if changes, err = s.Watch(t.Context(), "s."); err != nil || (<-changes).Key != "s.A" || !(<-changes).IsMark() {
		t.Fatal(err)
	}
	s.Close()
	closed(t, changes)
	if _, err := s.Get(t.Context(), "s.A"); err == nil || errors.Is(err, records.ErrNone) {
		t.Errorf("after its end: %v", err)
	}
}

// again reads a record as soon as the server is asked again.
func again(t *testing.T, s *Store, key string) (r records.Record, err error) {
	t.Helper()
	for began := time.Now(); time.Since(began) < 20*time.Second; {
		if r, err = s.Get(t.Context(), key); err == nil || !records.Pause(t.Context(), 10*time.Millisecond) {
			break
		}
	}
	return r, err
}

// closed waits until a watch is closed.
func closed(t *testing.T, changes <-chan records.Record) {
	t.Helper()
	timer := time.NewTimer(20 * time.Second)
	defer timer.Stop()
	for {
		select {
		case _, open := <-changes:
			if !open {
				return
			}
		case <-timer.C:
			t.Fatal("a watch in which changes may be missing is not closed")
		}
	}
}

// TestSilence: where the network loses all packets, an operation ends with its time, and so does one whose
// caller goes; a watch is closed. What was sent happens once, or not at all.
func TestSilence(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	gate := server.Gate()
	s := connect(t, gate.Address(), func(o *Options) { o.Timeout = time.Second })
	rev, err := s.Create(t.Context(), "s.A", []byte("one"))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Watch(t.Context(), "s.")
	if err != nil {
		t.Fatal(err)
	}
	mend := gate.Silence()
	if _, err := s.Update(t.Context(), "s.A", []byte("two"), rev); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("in silence: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() {
		_, err := s.Get(ctx, "s.A")
		over <- err
	}()
	cancel()
	if err := <-over; !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that went: %v", err)
	}
	closed(t, changes)
	for began := time.Now(); ; { // while one tries now and then, the others fail at once
		if _, err := s.Get(t.Context(), "s.A"); strings.Contains(err.Error(), errDown.Error()) {
			break
		}
		if time.Since(began) > 20*time.Second {
			t.Fatal("each operation waits for a server that is silent")
		}
	}
	mend()
	direct := connect(t, server.Address())
	r, err := again(t, s, "s.A")
	switch {
	case err != nil || r.Revision != rev && string(r.Value) != "two":
		t.Errorf("%+v, %v", r, err)
	case r.Revision == rev: // it did not arrive; whatever arrives later has this revision
		if _, err = direct.Update(t.Context(), "s.A", []byte("three"), rev); err != nil && !errors.Is(err, records.ErrChanged) {
			t.Error(err)
		}
	}
}

// TestSentOnce: a change whose answer was lost has happened, once, and is told as neither done nor refused.
func TestSentOnce(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	gate := server.Gate()
	s, direct := connect(t, gate.Address()), connect(t, server.Address())
	before, err := s.Create(t.Context(), "s.A", []byte("one")) // so that there is a connection
	if err != nil {
		t.Fatal(err)
	}
	mend := gate.LoseAnswers()
	_, err = s.Create(t.Context(), "s.B", []byte("two"))
	if err == nil || errors.Is(err, records.ErrExists) {
		t.Errorf("without an answer: %v", err)
	}
	mend()
	if _, err := again(t, s, "s.A"); err != nil {
		t.Fatal(err)
	}
	r, err := direct.Get(t.Context(), "s.B")
	if err != nil || string(r.Value) != "two" || r.Revision != before+1 {
		t.Errorf("%+v after revision %d, %v", r, before, err)
	}
	if next, err := s.Update(t.Context(), "s.B", nil, r.Revision); err != nil || next != r.Revision+1 {
		t.Errorf("it was sent again: revision %d after %d, %v", next, r.Revision, err)
	}
}

// TestOneChangeOnce: of changes that are over when they are told, the last is passed on, once; what a watch
// had read is not.
func TestOneChangeOnce(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	s := connect(t, server.Address())
	var revisions [4]uint64
	var err error
	for i := range revisions {
		if i == 0 {
			revisions[0], err = s.Create(t.Context(), "s.A", nil)
		} else {
			revisions[i], err = s.Update(t.Context(), "s.A", nil, revisions[i-1])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	w := &watching{heard: make(chan string, 9)}
	for _, said := range []string{fmt.Sprint("s.A ", revisions[1]), fmt.Sprint("s.A ", revisions[2]), fmt.Sprint("s.A ", revisions[3]),
		"s.B 98", "s.B 99 -", "not a change"} {
		w.heard <- said
	}
	pumped := func(since uint64) (all []string) {
		out := make(chan records.Record)
		go func() {
			defer close(out)
			s.pump(t.Context(), w, since, out)
		}()
		for r := range out {
			all = append(all, fmt.Sprint(r.Key, " ", r.Revision, " ", r.Deleted))
		}
		return all
	}
	if all := pumped(revisions[1]); !slices.Equal(all, []string{fmt.Sprint("s.A ", revisions[3], " false"), "s.B 99 true"}) {
		t.Errorf("%q", all)
	}
	w.heard <- fmt.Sprint("s.A ", revisions[3])
	w.heard <- "not a change"
	if all := pumped(revisions[3]); len(all) != 0 {
		t.Errorf("what was read is told again: %q", all)
	}
}

// TestSecretAddress: no error has any of the address, whatever is wrong.
func TestSecretAddress(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	good := server.Address()
	port := good[strings.LastIndex(good, ":")+1 : strings.Index(good, "/postgres?")]
	connect(t, good) // the control
	for name, row := range map[string]struct{ address, want string }{
		"password":    {strings.Replace(good, postgrestest.Password, "another-secret", 1), "invalid_password"},
		"user":        {strings.Replace(good, "pagetools:", "user-secret:", 1), "invalid_password"},
		"database":    {strings.Replace(good, "/postgres?", "/db-secret?", 1), "invalid_catalog_name"},
		"port":        {strings.Replace(good, ":"+port, ":1", 1), "connection refused"},
		"host":        {strings.Replace(good, "127.0.0.1", "host-secret.invalid", 1), "its host is not found"},
		"TLS":         {strings.Replace(good, "sslmode=disable", "sslmode=verify-full", 1), "sslmode"},
		"form":        {strings.Replace(good, ":"+port, ":port-secret", 1), ErrAddress.Error()},
		"mode":        {strings.Replace(good, "disable", "mode-secret", 1), ErrAddress.Error()},
		"parameter":   {good + "&parameter=secret", "undefined_object"},
		"other":       {strings.Replace(good, "postgres:", "mysql:", 1), ErrAddress.Error()},
		"certificate": {strings.Replace(good, "disable", "verify-full&sslrootcert=/root-secret", 1), ""},
	} {
		_, err := Open(t.Context(), Options{Address: row.address})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, secret := range []string{"secret", postgrestest.Password, "pagetools:", "127.0.0.1", port} {
			if row.want != ErrAddress.Error() && strings.Contains(err.Error(), secret) {
				t.Errorf("%s: %v has %q", name, err, secret)
			}
		}
	}
}

// TestSettings: each connection has writes on the disk before they are acknowledged, whatever the address
// and the database say; what the server loses is said.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	server.Query(`ALTER DATABASE postgres SET synchronous_commit = off`)
	server.Query(`ALTER DATABASE postgres SET default_transaction_isolation = serializable`)
	s := connect(t, server.Address()+"&synchronous_commit=off&options=-csynchronous_commit%3Doff")
	for name, want := range map[string]string{"synchronous_commit": "on", "transaction_isolation": "read committed", "jit": "off", "application_name": "pagetools a"} {
		rows, err := s.ask(t.Context(), "asking", "SELECT current_setting('"+name+"')")
		if err != nil || rows[0][0] != want {
			t.Errorf("%s is %v, %v", name, rows, err)
		}
	}
	if s.Warning() != "" {
		t.Errorf("a server of this machine: %s", s.Warning())
	}
	server.Query(`ALTER SYSTEM SET fsync = off`)
	server.Query(`SELECT pg_reload_conf()`)
	for {
		if rows, err := s.ask(t.Context(), "asking", "SELECT current_setting('fsync')"); err != nil || rows[0][0] == "off" {
			break
		}
	}
	if w := connect(t, server.Address()).Warning(); !strings.Contains(w, "fsync") {
		t.Errorf("without fsync: %q", w)
	}
	for address, unverified := range map[string]bool{
		"postgres://u:p@db.example/x": false, "postgres://u:p@db.example/x?sslmode=verify-ca": false, "postgres://u:p@db.example/x?sslmode=require": true,
		"postgres://u:p@db.example,db2.example/x?sslmode=disable": true, "postgres:///x?host=/run/postgresql": false, "postgres:///x?host=db.example&sslmode=prefer": true,
	} {
		if is, err := parse(address, "a", time.Second); err != nil || is.unverified != unverified {
			t.Errorf("%s: unverified is %v, %v", address, is.unverified, err)
		}
	}
}

// TestTables: who only looks makes nothing; tables that would lose records are refused; a role that may only
// read and write them is enough.
func TestTables(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t)
	existing := func() error {
		s, err := Open(t.Context(), Options{Address: server.Address(), Existing: true})
		if err == nil {
			s.Close()
		}
		return err
	}
	if err := existing(); !errors.Is(err, errMissing) {
		t.Errorf("who only looks, without tables: %v", err)
	}
	all := make(chan error, 4)
	for range cap(all) { // nodes that come at once
		go func() {
			s, err := Open(t.Context(), Options{Address: server.Address()})
			if err == nil {
				s.Close()
			}
			all <- err
		}()
	}
	for range cap(all) {
		if err := <-all; err != nil {
			t.Error(err)
		}
	}
	if err := existing(); err != nil {
		t.Errorf("who only looks: %v", err)
	}
	server.Query(`CREATE ROLE node LOGIN PASSWORD 'n'; GRANT SELECT, INSERT, UPDATE, DELETE ON pagetools_records TO node; GRANT SELECT, UPDATE ON pagetools_revision TO node`)
	node := connect(t, strings.Replace(server.Address(), "pagetools:"+postgrestest.Password, "node:n", 1))
	if err := records.Probe(t.Context(), node); err != nil {
		t.Errorf("a role with the least rights: %v", err)
	}
	server.Query(`REVOKE INSERT ON pagetools_records FROM node`)
	if err := records.Probe(t.Context(), node); err == nil || !strings.Contains(err.Error(), "insufficient_privilege") {
		t.Errorf("without a right: %v", err)
	}
	server.Query(`DELETE FROM pagetools_revision`)
	if _, err := connect(t, server.Address()).Create(t.Context(), "s.A", nil); !errors.Is(err, errForm) {
		t.Errorf("without the row of the revision: %v", err)
	}
	server.Query(`ALTER TABLE pagetools_records SET UNLOGGED`)
	if err := existing(); !errors.Is(err, errUnlogged) {
		t.Errorf("a table that a crash empties: %v", err)
	}
}

// TestSweep: records go when their time is over, and not before; those of no time stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	server := postgrestest.Start(t, postgrestest.Quick...)
	s := connect(t, server.Address())
	for _, key := range []string{"t.A", "t.B", "x.A", "k.A", "k.B", "s.A"} {
		if _, err := s.Create(t.Context(), key, nil); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := s.Sweep(t.Context()); n != 0 || err != nil {
		t.Fatalf("%d of now are old, %v", n, err)
	}
	server.Query(`UPDATE pagetools_records SET changed = now() - interval '21 minutes' WHERE key IN ('t.A', 'x.A', 'k.A', 's.A')`)
	server.Query(`UPDATE pagetools_records SET changed = now() - interval '25 hours' WHERE key IN ('k.B', 's.A')`)
	server.Query(`INSERT INTO pagetools_records SELECT 't.' || n, '', n, now() - interval '1 hour' FROM generate_series(1, 1200) n`)
	if n, err := s.Sweep(t.Context()); n != 1203 || err != nil {
		t.Fatalf("%d of 1203 went, %v", n, err)
	}
	if left := server.Query(`SELECT string_agg(key, ' ') FROM (SELECT key FROM pagetools_records ORDER BY key) r`); left != "k.A s.A t.B" {
		t.Errorf("%s are left", left)
	}
}
