package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

func digestOf(text string) bridge.Digest { return sha256.Sum256([]byte(text)) }

// clientsConform: clients that nobody let in go, by their age and where there are too many; the
// others stay.
func clientsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now})
	client := func(id string) bridge.Client {
		return bridge.Client{ID: id, Name: "Name of " + id, Redirects: []string{"https://" + id + ".example/back", "x:/y"}, At: now.now()}
	}
	known := func(id string) bool {
		t.Helper()
		_, found, err := s.Clients.Client(ctx, id)
		ok(t, err)
		return found
	}
	a := client("a")
	ok(t, s.Clients.Register(ctx, a))
	if got, found, err := s.Clients.Client(ctx, "a"); err != nil || !found || fmt.Sprint(got) != fmt.Sprint(a) {
		t.Errorf("the client is %v, %v, %v; want %v", got, found, err, a)
	}
	ok(t, s.Clients.Register(ctx, client("used")))
	ok(t, s.Connections.Open(ctx, bridge.Connection{ID: "c", Person: "me", Client: "used", Since: now.now(), Until: now.now().Add(time.Hour)}))
	now.advance(bridge.UnusedClient)
	if known("a") || !known("used") {
		t.Errorf("after a day, the unused one is known %v, the used one %v", known("a"), known("used"))
	}
	ok(t, s.Clients.Register(ctx, client("first")))
	ok(t, s.Clients.Register(ctx, client("second")))
	fill(t, s, now.now(), bridge.MaxClients-3, "0", "x:/")
	ok(t, s.Clients.Register(ctx, client("last")))
	if known("first") || !known("second") || !known("last") || !known("used") {
		t.Error("it is not the oldest unused one that went")
	}
}

// fill keeps clients 1 to n, let in at that time.
func fill(t *testing.T, s *Store, at time.Time, n int, letIn, redirect string) {
	t.Helper()
	ok(t, s.Clients.(*sqlClients).db.write(t.Context(), relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO clients (id, name, redirects, registered_at, let_in_at) SELECT i, '', ?3, ?2, `+letIn+` FROM n`, n, toNano(at), redirect)
		return err
	}))
}

// connectionsConform: a secret finds its connection until it is over, a refresh token renews once,
// and what is disconnected is gone.
func connectionsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now}).Connections
	c := bridge.Connection{ID: "ABCD2345", Person: "me", Client: "https://claude.ai/x", ClientName: "Claude", Redirect: "https://claude.ai/back",
		Resource: "https://tools.example/mcp", Since: now.now(), Used: now.now(), Until: now.now().Add(24 * time.Hour)}
	secret := func(text string, kind bridge.SecretKind, life time.Duration) bridge.Secret {
		return bridge.Secret{Digest: digestOf(text), Kind: kind, Until: now.now().Add(life)}
	}
	ok(t, s.Open(ctx, c, secret("code", bridge.SecretCode, 24*time.Hour), secret("a1", bridge.SecretAccess, time.Hour), secret("r1", bridge.SecretRefresh, 24*time.Hour)))
	find := func(text string, kind bridge.SecretKind) bridge.Connection {
		t.Helper()
		got, x, err := s.Find(ctx, digestOf(text))
		if err != nil || x.Kind != kind || kind != "" && (got.ID != c.ID || x.Digest != digestOf(text)) || kind == "" && got.ID != "" {
			t.Errorf("%s is %+v of %+v, %v; want a secret of the kind %q", text, x, got, err, kind)
		}
		return got
	}
	if got := find("a1", bridge.SecretAccess); got != c {
		t.Errorf("the connection is %+v, want %+v", got, c)
	}
	find("r1", bridge.SecretRefresh)
	find("code", bridge.SecretCode)
	find("x", "")
	now.advance(2 * time.Minute)
	find("a1", bridge.SecretAccess)
	if got := find("a1", bridge.SecretAccess); !got.Used.Equal(now.now()) {
		t.Errorf("it was used at %v, not at %v", got.Used, now.now())
	}
	later := now.now().Add(48 * time.Hour)
	if must(s.Renew(ctx, digestOf("a1"), later, secret("x", bridge.SecretAccess, time.Hour)))(t) ||
		must(s.Renew(ctx, digestOf("code"), later, secret("x", bridge.SecretAccess, time.Hour)))(t) {
		t.Error("what is not a refresh token renews")
	}
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			n := strconv.Itoa(i)
			renewed, err := s.Renew(ctx, digestOf("r1"), later, secret("a2"+n, bridge.SecretAccess, time.Hour), secret("r2"+n, bridge.SecretRefresh, 48*time.Hour))
			if err != nil {
				t.Error(err)
			}
			if renewed {
				won.Add(1)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d of 8 renewed with one token", won.Load())
	}
	if got := find("r1", bridge.SecretSpent); !got.Until.Equal(later) {
		t.Errorf("it ends at %v, not at %v", got.Until, later)
	}
	now.advance(time.Hour)
	find("a1", "")
	if listed := must(s.All(ctx))(t); len(listed) != 1 || listed[0].ID != c.ID {
		t.Errorf("there are %+v", listed)
	}
	if !must(s.Disconnect(ctx, c.ID))(t) || must(s.Disconnect(ctx, c.ID))(t) {
		t.Error("it is not removed once")
	}
	find("r1", "")
	find("code", "")
	if listed := must(s.All(ctx))(t); len(listed) != 0 {
		t.Errorf("there are %+v", listed)
	}
	ok(t, s.Open(ctx, bridge.Connection{ID: "short", Person: "me", Since: now.now(), Until: now.now().Add(time.Hour)}, secret("rs", bridge.SecretRefresh, 24*time.Hour)))
	now.advance(time.Hour)
	find("rs", "")
	if must(s.Renew(ctx, digestOf("rs"), later))(t) {
		t.Error("a connection that is over is renewed")
	}
}

// connectionBoundsConform: of a person's connections those that were used last stay, of one's
// tokens the newest, and one that is in use keeps its client.
func connectionBoundsConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now})
	end := now.now().Add(1000 * time.Hour)
	ok(t, s.Connections.(*sqlConnections).db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
			INSERT INTO connections (id, person, client, client_name, redirect, resource, since, used_at, until)
			SELECT i, 'me', '', '', '', '', ?2, ?2 + i, ?3 FROM n`, bridge.MaxConnections+3, toNano(now.now()), toNano(end))
		return err
	}))
	now.advance(time.Second)
	c := bridge.Connection{ID: "new", Person: "me", Since: now.now(), Until: end}
	ok(t, s.Connections.Open(ctx, c, bridge.Secret{Digest: digestOf("new"), Kind: bridge.SecretRefresh, Until: end}))
	ok(t, s.Connections.Open(ctx, bridge.Connection{ID: "other", Person: "other", Since: now.now(), Until: end}))
	if all := must(s.Connections.All(ctx))(t); len(all) != bridge.MaxConnections+1 || all[0].ID != "5" {
		t.Errorf("%d are kept, from %s on", len(all), all[0].ID)
	}
	old := "new"
	for i := range bridge.MaxAccess + 2 {
		next := fmt.Sprint("r", i)
		if !must(s.Connections.Renew(ctx, digestOf(old), end, bridge.Secret{Digest: digestOf(next), Kind: bridge.SecretRefresh, Until: end},
			bridge.Secret{Digest: digestOf("a" + next), Kind: bridge.SecretAccess, Until: end}))(t) {
			t.Fatalf("%s does not renew", old)
		}
		old = next
	}
	for i := range bridge.MaxAccess + 2 {
		if c, _, err := s.Connections.Find(ctx, digestOf(fmt.Sprint("ar", i))); err != nil || (c.ID != "") != (i >= 2) {
			t.Errorf("access token %d finds %q, %v", i, c.ID, err)
		}
	}
	fill(t, s, now.now(), bridge.MaxClients, "?2", "x:/")
	ok(t, s.Clients.(*sqlClients).db.write(ctx, relaxed, func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO connections (id, person, client, client_name, redirect, resource, since, used_at, until)
			SELECT 'of ' || id, id, id, '', '', '', ?1, ?1, ?2 FROM clients`, toNano(now.now()), toNano(end))
		return err
	}))
	one := bridge.Client{ID: "one more", Redirects: []string{"x:/"}, At: now.now()}
	if err := s.Clients.Register(ctx, one); !errors.Is(err, bridge.ErrTooManyClients) {
		t.Errorf("beside %d clients in use: %v", bridge.MaxClients, err)
	}
	must(s.Connections.Disconnect(ctx, "of 7"))(t)
	ok(t, s.Clients.Register(ctx, one))
}

func browsersConform(t *testing.T, make func(Options) *Store) {
	ctx, now := t.Context(), newClock()
	s := make(Options{Now: now.now}).Browsers
	for i := range bridge.MaxBrowsers + 1 {
		ok(t, s.Remember(ctx, "me", bridge.Secret{Digest: digestOf(strconv.Itoa(i)), Until: now.now().Add(time.Hour)}))
	}
	ok(t, s.Remember(ctx, "other", bridge.Secret{Digest: digestOf("o"), Until: now.now().Add(2 * time.Hour)}))
	persons := func() (all []string) {
		for _, text := range []string{"0", "1", "20", "o", "x"} {
			all = append(all, must(s.Person(ctx, digestOf(text)))(t))
		}
		return all
	}
	if got := persons(); !slices.Equal(got, []string{"", "me", "me", "other", ""}) {
		t.Errorf("the browsers are logged in as %q", got)
	}
	ok(t, s.Forget(ctx, digestOf("1")))
	if got := persons(); !slices.Equal(got, []string{"", "", "me", "other", ""}) {
		t.Errorf("after one was forgotten: %q", got)
	}
	ok(t, s.Remember(ctx, "more", bridge.Secret{Digest: digestOf("x"), Until: now.now().Add(time.Hour)}))
	ok(t, s.ForgetPerson(ctx, "more"))
	ok(t, s.ForgetPerson(ctx, "nobody"))
	if got := persons(); !slices.Equal(got, []string{"", "", "me", "other", ""}) {
		t.Errorf("after all of a person were forgotten: %q", got)
	}
	now.advance(time.Hour)
	if got := persons(); !slices.Equal(got, []string{"", "", "", "other", ""}) {
		t.Errorf("later the browsers are logged in as %q", got)
	}
}
