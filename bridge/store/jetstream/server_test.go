package jetstream

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
)

// each runs a test against each server, alone.
func each(t *testing.T, o natstest.Options, test func(*testing.T, *natstest.Cluster)) {
	t.Helper()
	for _, program := range natstest.Programs(t) {
		t.Run(program.Version, func(t *testing.T) {
			t.Parallel()
			test(t, natstest.Start(t, program, o))
		})
	}
}

// rights writes permissions as the server's configuration has them.
func rights(sweep bool) string {
	publish, subscribe := Rights(sweep)
	return fmt.Sprintf(`{publish: ["%s"], subscribe: ["%s"]}`, strings.Join(publish, `", "`), strings.Join(subscribe, `", "`))
}

// TestRights: a node needs no more than Rights, and can do nothing else with them.
func TestRights(t *testing.T) {
	t.Parallel()
	users := `{user: admin, password: a}, {user: node, password: n, permissions: ` + rights(false) + `}, {user: sweeper, password: s, permissions: ` + rights(true) + `}`
	each(t, natstest.Options{Users: users}, func(t *testing.T, c *natstest.Cluster) {
		as := func(name string) func(*Options) {
			return func(o *Options) { o.User, o.Password, o.Timeout = name, name[:1], 300*time.Millisecond }
		}
		if _, err := Open(t.Context(), Options{Servers: c.URLs(), User: "node", Password: "n", Timeout: 300 * time.Millisecond}); err == nil ||
			!strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "STREAM.CREATE") {
			t.Fatalf("without buckets, and the right to make them: %v", err)
		}
		if _, err := Open(t.Context(), Options{Servers: c.URLs(), User: "node", Password: "wrong"}); err == nil || strings.Contains(err.Error(), "wrong") {
			t.Fatalf("with a wrong password: %v", err)
		}
		connect(t, c, func(o *Options) { o.User, o.Password = "admin", "a" })
		recordstest.Test(t, func(t *testing.T) records.Records {
			return connect(t, c, func(o *Options) { o.User, o.Password = "node", "n" })
		})
		node := connect(t, c, as("node"))
		if _, err := node.Sweep(t.Context(), 0); err != nil { // there is nothing to remove
			t.Fatal(err)
		}
		rev, err := node.Create(t.Context(), "s.SWEPT", nil)
		if err != nil || node.Delete(t.Context(), "s.SWEPT", rev) != nil {
			t.Fatal(err)
		}
		if _, err := node.Sweep(t.Context(), 0); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Fatalf("a node that may not sweeps: %v", err)
		}
		if n, err := connect(t, c, as("sweeper")).Sweep(t.Context(), 0); err != nil || n < 1 {
			t.Fatalf("a node that may does not sweep: %d, %v", n, err)
		}
		refusals(t, node.conn)
	})
}

// refusals tries what a node has no business with.
func refusals(t *testing.T, conn *nats.Conn) {
	t.Helper()
	ask := func(subject, body string) error {
		_, err := conn.Request(subject, []byte(body), 200*time.Millisecond)
		return err
	}
	if err := ask("$JS.API.STREAM.INFO.KV_PT_KEEP", ""); err != nil {
		t.Fatalf("what a node may do: %v", err)
	}
	for subject, body := range map[string]string{
		"$KV.OTHER.a":                                 "x",
		"$JS.API.STREAM.CREATE.KV_OTHER":              `{"name":"KV_OTHER","subjects":["$KV.OTHER.>"]}`,
		"$JS.API.STREAM.DELETE.KV_PT_KEEP":            "",
		"$JS.API.STREAM.PURGE.KV_PT_KEEP":             "",
		"$JS.API.STREAM.UPDATE.KV_PT_KEEP":            `{"name":"KV_PT_KEEP","subjects":["$KV.PT_KEEP.>"]}`,
		"$JS.API.STREAM.MSG.DELETE.KV_PT_KEEP":        `{"seq":1}`,
		"$JS.API.STREAM.INFO.KV_OTHER":                "",
		"$JS.API.STREAM.NAMES":                        "",
		"$JS.API.DIRECT.GET.KV_PT_KEEP.$KV.PT_KEEP.a": "",
		"anything": "x",
	} {
		if err := ask(subject, body); err == nil || !errors.Is(err, nats.ErrTimeout) && !errors.Is(err, nats.ErrPermissionViolation) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	for _, subject := range []string{">", "$KV.PT_KEEP.>", "_INBOX.>"} {
		sub, err := conn.SubscribeSync(subject)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		if _, err := sub.NextMsg(200 * time.Millisecond); !errors.Is(err, nats.ErrPermissionViolation) && !errors.Is(err, nats.ErrTimeout) {
			t.Errorf("subscribing to %s: %v", subject, err)
		}
	}
}

// TestServerComesBack: while there is no server an operation fails at once and is not sent later; then
// records are as they were, and watches were closed.
func TestServerComesBack(t *testing.T) {
	t.Parallel()
	each(t, natstest.Options{}, func(t *testing.T, c *natstest.Cluster) {
		s := connect(t, c)
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
		c.Servers[0].Kill()
		for began := time.Now(); ; {
			_, err := s.Update(t.Context(), "s.A", []byte("never"), rev)
			if err == nil || errors.Is(err, records.ErrChanged) {
				t.Fatalf("without a server: %v", err)
			}
			if errors.Is(err, nats.ErrReconnectBufExceeded) {
				break
			}
			if time.Since(began) > 10*time.Second {
				t.Fatalf("it takes this long to know that there is no server: %v", err)
			}
		}
		if _, err := s.Get(t.Context(), "s.A"); err == nil || errors.Is(err, records.ErrNone) {
			t.Fatalf("without a server: %v", err)
		}
		if _, err := s.RoundTrip(); err == nil {
			t.Error("a server that is gone answers")
		}
		c.Servers[0].Restart()
		closed(t, changes)
		r, err := s.Get(t.Context(), "s.A")
		if err != nil || string(r.Value) != "one" || r.Revision != rev {
			t.Fatalf("after its return: %+v, %v", r, err)
		}
		if took, err := s.RoundTrip(); err != nil || took <= 0 {
			t.Errorf("%v, %v", took, err)
		}
		if changes, err = s.Watch(t.Context(), "s."); err != nil || (<-changes).Key != "s.A" || !(<-changes).IsMark() {
			t.Fatal(err)
		}
		s.Close()
		closed(t, changes)
	})
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

// TestServerHangs: an operation does not wait for longer than it may, and another server is asked.
func TestServerHangs(t *testing.T) {
	t.Parallel()
	if !gatetest.IsNightly() {
		t.Skip("the election of a leader takes seconds: it is of the night")
	}
	c := natstest.Start(t, natstest.Newest(t), natstest.Options{Servers: 3})
	s := connect(t, c, func(o *Options) { o.Timeout = time.Second })
	rev, err := s.Create(t.Context(), "n.A", nil)
	if err != nil {
		t.Fatal(err)
	}
	var mine *natstest.Server
	for _, server := range c.Servers {
		if server.URL == s.conn.ConnectedUrl() {
			mine = server
		}
	}
	mine.Suspend()
	t.Cleanup(mine.Resume) // before it is killed
	began := time.Now()
	for {
		r, err := s.Get(t.Context(), "n.A")
		if err == nil && r.Revision == rev {
			break
		}
		if err == nil || errors.Is(err, records.ErrNone) || time.Since(began) > 20*time.Second {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if _, err := s.Update(t.Context(), "n.A", []byte("two"), rev); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	t.Logf("records are there again after %v", time.Since(began).Round(10*time.Millisecond))
}

// TestServerIsSilent: an operation ends with its context also while a server is connected to that says nothing.
func TestServerIsSilent(t *testing.T) {
	t.Parallel()
	each(t, natstest.Options{}, func(t *testing.T, c *natstest.Cluster) {
		lost := make(chan struct{})
		s := connect(t, c, func(o *Options) {
			o.Timeout = time.Minute // to connect, too
		})
		once := sync.OnceFunc(func() { close(lost) })
		s.conn.SetDisconnectErrHandler(func(*nats.Conn, error) { once() })
		rev, err := s.Create(t.Context(), "n.A", nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Servers[0].Suspend()
		t.Cleanup(c.Servers[0].Resume) // before it is killed
		<-lost
		for name, do := range map[string]func(context.Context) error{
			"get":    func(ctx context.Context) error { _, err := s.Get(ctx, "n.A"); return err },
			"create": func(ctx context.Context) error { _, err := s.Create(ctx, "n.B", nil); return err },
			"update": func(ctx context.Context) error { _, err := s.Update(ctx, "n.A", nil, rev); return err },
			"watch":  func(ctx context.Context) error { _, err := s.Watch(ctx, "n."); return err },
		} {
			ended := make(chan error, 1)
			go func() {
				for { // until it connects anew
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					err := do(ctx)
					cancel()
					if err == nil || errors.Is(err, context.DeadlineExceeded) {
						ended <- err
						return
					}
				}
			}()
			select {
			case err := <-ended:
				if err == nil {
					t.Errorf("%s: a server that is stopped answers", name)
				}
			case <-time.After(20 * time.Second):
				t.Fatalf("%s goes on after the end of its context", name)
			}
		}
	})
}

// jetStream is an operator's connection to the first server.
func jetStream(t *testing.T, c *natstest.Cluster) nats.JetStreamContext {
	t.Helper()
	conn, err := nats.Connect(c.Servers[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	js, err := conn.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	return js
}

// TestBuckets: a bucket that would lose records is refused, with what is wrong.
func TestBuckets(t *testing.T) {
	t.Parallel()
	c := natstest.Start(t, natstest.Newest(t), natstest.Options{})
	js := jetStream(t, c)
	if _, err := Open(t.Context(), Options{Servers: c.URLs(), Existing: true}); !errors.Is(err, nats.ErrStreamNotFound) {
		t.Errorf("who only looks, without buckets: %v", err)
	}
	ages := map[string]time.Duration{}
	for _, bucket := range buckets {
		ages[bucket.name] = bucket.age
		if _, err := js.StreamInfo(stream(bucket.name)); !errors.Is(err, nats.ErrStreamNotFound) {
			t.Errorf("who only looks made a bucket: %v", err)
		}
	}
	for _, row := range []struct {
		bucket, want string
		change       func(*nats.StreamConfig)
	}{
		{short, "at least 20m0s", func(c *nats.StreamConfig) { c.MaxAge = 10 * time.Minute }},
		{short, "", func(c *nats.StreamConfig) { c.MaxAge = time.Hour }},
		{short, "", func(c *nats.StreamConfig) { c.MaxAge = 0 }},
		{day, "at least 24h0m0s", func(c *nats.StreamConfig) { c.MaxAge = 23 * time.Hour }},
		{day, "", func(c *nats.StreamConfig) { c.MaxAge = 25 * time.Hour }},
		{keep, "must be none", func(c *nats.StreamConfig) { c.MaxAge = 24 * time.Hour }},
		{keep, "discard", func(c *nats.StreamConfig) { c.Discard = nats.DiscardOld }},
		{keep, "storage", func(c *nats.StreamConfig) { c.Storage = nats.MemoryStorage }},
		{keep, "retention", func(c *nats.StreamConfig) { c.Retention = nats.InterestPolicy }},
		{short, "maximum size", func(c *nats.StreamConfig) { c.MaxMsgSize = 1000 }},
		{short, "", func(c *nats.StreamConfig) { c.MaxMsgSize = 100_000 }},
	} {
		// Each has a server of its own: one removes what it stored of a bucket late, and until then fails to
		// remove another of that name.
		c := natstest.Start(t, natstest.Newest(t), natstest.Options{})
		js := jetStream(t, c)
		config := form(row.bucket, ages[row.bucket], 1)
		row.change(config)
		if _, err := js.AddStream(config); err != nil {
			t.Fatal(err)
		}
		s, err := Open(t.Context(), Options{Servers: c.URLs()})
		switch {
		case row.want == "" && err != nil, row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || !strings.Contains(err.Error(), row.bucket)):
			t.Errorf("%q: %v", row.want, err)
		case err == nil:
			s.Close()
		}
	}
	// The operator's own command makes one that does.
	kv, err := js.CreateKeyValue(&nats.KeyValueConfig{Bucket: keep})
	if err != nil {
		t.Fatal(err)
	}
	s := connect(t, c)
	if _, err := s.Create(t.Context(), "s.A", []byte("ours")); err != nil {
		t.Fatal(err)
	}
	if entry, err := kv.Get("s.A"); err != nil || string(entry.Value()) != "ours" {
		t.Errorf("the operator reads %v, %v", entry, err)
	}
	if err := kv.Delete("s.A"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "s.A"); !errors.Is(err, records.ErrNone) {
		t.Error(err)
	}
	if err := kv.Purge("s.A"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create(t.Context(), "s.A", []byte("again")); err != nil {
		t.Error(err)
	}
}

// TestSweep: marks of deletions go, and records that came after them stay.
func TestSweep(t *testing.T) {
	t.Parallel()
	each(t, natstest.Options{}, func(t *testing.T, c *natstest.Cluster) {
		s := connect(t, c)
		for kind, bucket := range map[string]string{"s": keep, "k": day} {
			sweeps(t, s, kind, bucket)
		}
	})
}

func sweeps(t *testing.T, s *Store, kind, bucket string) {
	t.Helper()
	for i := range 20 {
		rev, err := s.Create(t.Context(), fmt.Sprintf("%s.%d", kind, i), []byte("x"))
		if err != nil {
			t.Fatal(err)
		}
		if i < 10 {
			if err := s.Delete(t.Context(), fmt.Sprintf("%s.%d", kind, i), rev); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := s.Create(t.Context(), kind+".3", []byte("anew")); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Sweep(t.Context(), time.Hour); err != nil || n != 0 {
		t.Errorf("%d marks of today are older than an hour, %v", n, err)
	}
	if n, err := s.Sweep(t.Context(), 0); err != nil || n != 9 {
		t.Errorf("%d of 9 marks went, %v", n, err)
	}
	info, err := s.js.StreamInfo(stream(bucket))
	if err != nil || info.State.Msgs != 11 {
		t.Errorf("%d messages are left of 11 records, %v", info.State.Msgs, err)
	}
	for i, want := range map[int]error{3: nil, 4: records.ErrNone, 12: nil} {
		if _, err := s.Get(t.Context(), fmt.Sprintf("%s.%d", kind, i)); !errors.Is(err, want) {
			t.Errorf("%s.%d: %v", kind, i, err)
		}
	}
	// A mark that the sweep has seen, after which the key is made anew before it goes.
	r, err := s.Get(t.Context(), kind+".12")
	if err != nil || s.Delete(t.Context(), kind+".12", r.Revision) != nil {
		t.Fatal(err)
	}
	marks, err := s.marks(t.Context(), bucket, 0)
	if err != nil || len(marks) != 1 {
		t.Fatalf("%v, %v", marks, err)
	}
	if _, err := s.Create(t.Context(), kind+".12", []byte("anew")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.remove(t.Context(), bucket, marks); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Get(t.Context(), kind+".12"); err != nil || string(r.Value) != "anew" {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := s.Create(t.Context(), kind+".4", []byte("anew")); err != nil {
		t.Error(err)
	}
}
