package vault_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/gatetest"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/vault"
)

func digestOf(text string) bridge.Digest { return sha256.Sum256([]byte(text)) }

// passes waits, by the clock of synctest.
func passes(d time.Duration) { <-time.After(d) }

// lasting makes a secret.
func lasting(text string, kind bridge.SecretKind, life time.Duration) bridge.Secret {
	return bridge.Secret{Digest: digestOf(text), Kind: kind, Until: time.Now().Add(life)}
}

// everyFew loses, or fails, an operation now and then.
func (w *world) everyFew(of int) {
	var n atomic.Int64
	w.fails(func(string, recordstest.Op) recordstest.Fault {
		return map[int64]recordstest.Fault{0: recordstest.Lose, 1: recordstest.Fail}[n.Add(1)%int64(of)]
	})
}

// count counts the records whose keys begin so.
func (w *world) count(t *testing.T, prefixes ...string) (n int) {
	t.Helper()
	for _, prefix := range prefixes {
		watching, stop := context.WithCancel(t.Context())
		all, err := w.memory.Watch(watching, prefix)
		no(t, "watch", err)
		for r := range all {
			if r.IsMark() {
				break
			}
			n++
		}
		stop()
	}
	return n
}

// TestConnectionsOfNodes: a secret finds its connection at every node until it is over; of all nodes one
// renews with a token, whatever answers are lost; and what one disconnects is gone for all.
func TestConnectionsOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewConnections(w.options("A")), vault.NewConnections(w.options("B"))
		c := bridge.Connection{ID: "ABCD2345", Person: "me", Client: "c", ClientName: "Claude", Redirect: "https://claude.ai/back",
			Resource: "https://tools.example/mcp", Since: time.Now().UTC().Round(0), Until: time.Now().UTC().Round(0).Add(24 * time.Hour)}
		find := func(text string, kind bridge.SecretKind) bridge.Connection {
			t.Helper()
			got, x, err := b.Find(ctx, digestOf(text))
			if err != nil || x.Kind != kind || (kind != "") != (got.ID == c.ID) || kind == "" && got.ID != "" {
				t.Errorf("%s is %+v of %+v, %v; want a secret of the kind %q", text, x, got, err, kind)
			}
			return got
		}
		w.everyFew(7)
		no(t, "open", a.Open(ctx, c, lasting("code", bridge.SecretCode, 24*time.Hour), lasting("a1", bridge.SecretAccess, time.Hour), lasting("r1", bridge.SecretRefresh, 24*time.Hour)))
		if got, want := find("a1", bridge.SecretAccess), c; got != func() bridge.Connection { want.Used = want.Since; return want }() {
			t.Errorf("the connection is %+v, want %+v", got, want)
		}
		find("code", bridge.SecretCode)
		find("x", "")
		passes(2 * time.Minute)
		find("a1", bridge.SecretAccess)
		if got := find("a1", bridge.SecretAccess); time.Since(got.Used) > time.Minute {
			t.Errorf("it was used at %v", got.Used)
		}
		later := time.Now().Add(48 * time.Hour)
		for _, other := range []string{"a1", "code", "x"} {
			if renewed, err := b.Renew(ctx, digestOf(other), later, lasting("y", bridge.SecretAccess, time.Hour)); renewed || err != nil {
				t.Errorf("%s renews: %v, %v", other, renewed, err)
			}
		}
		var won atomic.Int32
		var all sync.WaitGroup
		for i := range 8 {
			of, n := []*vault.Connections{a, b}[i%2], strconv.Itoa(i)
			all.Go(func() {
				renewed, err := of.Renew(ctx, digestOf("r1"), later, lasting("a2"+n, bridge.SecretAccess, time.Hour), lasting("r2"+n, bridge.SecretRefresh, 48*time.Hour))
				no(t, "renew", err)
				if _, x, err := b.Find(ctx, digestOf("r2"+n)); err != nil || renewed != (x.Kind == bridge.SecretRefresh) {
					t.Errorf("renewed: %v, and its next token is %q, %v", renewed, x.Kind, err)
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
		find("r1", bridge.SecretSpent)
		passes(time.Hour)
		find("a1", "")
		if gone, err := b.Disconnect(ctx, c.ID); !gone || err != nil {
			t.Errorf("disconnect: %v, %v", gone, err)
		}
		w.fails(nil)
		if gone, err := a.Disconnect(ctx, c.ID); gone || err != nil {
			t.Errorf("disconnect again: %v, %v", gone, err)
		}
		find("r1", "")
		if lives, err := a.All(ctx); len(lives) != 0 || err != nil {
			t.Errorf("there are %v, %v", lives, err)
		}
		no(t, "open", a.Open(ctx, bridge.Connection{ID: "short", Person: "me", Since: time.Now(), Until: time.Now().Add(time.Hour)}, lasting("rs", bridge.SecretRefresh, 24*time.Hour)))
		passes(time.Hour)
		find("rs", "")
		if renewed, err := b.Renew(ctx, digestOf("rs"), later); renewed || err != nil {
			t.Errorf("a connection that is over renews: %v, %v", renewed, err)
		}
	})
}

// TestConnectionsAreBounded: of a person's connections those that were used last stay, of one's tokens the
// newest, and what goes leaves nothing.
func TestConnectionsAreBounded(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		s := vault.NewConnections(w.options("A"))
		open := func(id, person string, life time.Duration) {
			t.Helper()
			passes(time.Second)
			no(t, "open", s.Open(ctx, bridge.Connection{ID: id, Person: person, Since: time.Now(), Until: time.Now().Add(life)}, lasting(id, bridge.SecretRefresh, 1000*time.Hour)))
		}
		open("over", "other", time.Minute)
		open("other", "other", 1000*time.Hour)
		const most, access = 100, 10
		for i := range most + 1 {
			open(fmt.Sprint(i), "me", 1000*time.Hour)
		}
		ids := map[string]bool{}
		all, err := s.All(ctx)
		for _, c := range all {
			ids[c.ID] = true
		}
		if err != nil || len(all) != most+1 || ids["0"] || !ids["1"] || !ids["other"] || ids["over"] {
			t.Errorf("%d are kept: %v, %v", len(all), ids, err)
		}
		before := w.count(t, "o.", "e.")
		for old, i := "5", 0; i < 3*access; i++ {
			next := fmt.Sprint("r", i)
			renewed, err := s.Renew(ctx, digestOf(old), time.Now().Add(1000*time.Hour), lasting("a"+next, bridge.SecretAccess, time.Hour), lasting(next, bridge.SecretRefresh, 1000*time.Hour))
			if !renewed || err != nil {
				t.Fatalf("%s: %v, %v", old, renewed, err)
			}
			old = next
		}
		if _, x, _ := s.Find(ctx, digestOf(fmt.Sprint("ar", 2*access-1))); x.Kind != "" {
			t.Error("an older access token than ten counts")
		}
		if _, x, _ := s.Find(ctx, digestOf(fmt.Sprint("ar", 2*access))); x.Kind != bridge.SecretAccess {
			t.Error("one of the ten newest access tokens does not count")
		}
		if n := w.count(t, "o.", "e.") - before; n != 3*access+access {
			t.Errorf("%d records more, of %d spent tokens and %d others", n, 3*access, access)
		}
		for id := range ids {
			_, err := s.Disconnect(ctx, id)
			no(t, "disconnect", err)
		}
		if n := w.count(t, "o.", "e."); n != 0 {
			t.Errorf("%d records are left", n)
		}
	})
}

// TestClientsOfNodes: clients that nobody let in go, by their age and where there are too many, or too long;
// the others stay.
func TestClientsOfNodes(t *testing.T) {
	gatetest.NoRace(t)
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewClients(w.options("A")), vault.NewClients(w.options("B"))
		register := func(id, to string) error {
			return a.Register(ctx, bridge.Client{ID: id, Name: "Name of " + id, Redirects: []string{to}, At: time.Now()})
		}
		known := func(id string) bool {
			t.Helper()
			c, found, err := b.Client(ctx, id)
			if err != nil || found && (c.ID != id || c.Name != "Name of "+id || len(c.Redirects) != 1) {
				t.Errorf("%s is %+v, %v", id, c, err)
			}
			return found
		}
		w.everyFew(7)
		no(t, "register", register("a", "x:/"))
		no(t, "register", register("used", "x:/"))
		no(t, "open", vault.NewConnections(w.options("B")).Open(ctx, bridge.Connection{ID: "c", Person: "me", Client: "used", Since: time.Now(), Until: time.Now().Add(1000 * time.Hour)}))
		w.fails(func(_ string, op recordstest.Op) recordstest.Fault {
			return map[string]recordstest.Fault{"watch": recordstest.Fail}[op.Name]
		})
		no(t, "register, without a look at all connections where there is room", register("b", "x:/"))
		w.fails(nil)
		if !known("a") || !known("used") {
			t.Error("the other node does not know them")
		}
		passes(24 * time.Hour)
		if known("a") || !known("used") {
			t.Errorf("after a day, the unused one is known %v, the used one %v", known("a"), known("used"))
		}
		for i := range 1000 {
			no(t, "register", register(fmt.Sprint(i), "x:/"))
		}
		if known("0") || !known("1") || !known("999") || !known("used") {
			t.Error("it is not the oldest unused one that went")
		}
		const long = 200_000
		for i := range 25 {
			no(t, "register", register(fmt.Sprint("long", i), "x:/"+strings.Repeat("y", long)))
		}
		if known("long0") || !known("long24") || !known("used") {
			t.Error("clients have more than 4 MiB")
		}
		if err := register("too long", strings.Repeat("y", 5<<20)); !errors.Is(err, bridge.ErrTooManyClients) || !known("used") {
			t.Errorf("one that has no room: %v", err)
		}
	})
}

// TestBrowsersOfNodes: a browser that logged in at one node is known at every other, until it is forgotten;
// a person has 20.
func TestBrowsersOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewBrowsers(w.options("A")), vault.NewBrowsers(w.options("B"))
		w.everyFew(7)
		for i := range 21 {
			no(t, "remember", a.Remember(ctx, "me", lasting(strconv.Itoa(i), "", time.Hour)))
		}
		no(t, "remember", b.Remember(ctx, "other", lasting("o", "", 2*time.Hour)))
		persons := func() (all []string) {
			for _, text := range []string{"0", "1", "20", "o", "x"} {
				person, err := b.Person(ctx, digestOf(text))
				no(t, "person", err)
				all = append(all, person)
			}
			return all
		}
		if got := persons(); !slices.Equal(got, []string{"", "me", "me", "other", ""}) {
			t.Errorf("the browsers are logged in as %q", got)
		}
		no(t, "forget", a.Forget(ctx, digestOf("1")))
		if got := persons(); !slices.Equal(got, []string{"", "", "me", "other", ""}) {
			t.Errorf("after one was forgotten: %q", got)
		}
		no(t, "remember", a.Remember(ctx, "more", lasting("x", "", time.Hour)))
		no(t, "forget", b.ForgetPerson(ctx, "more"))
		if got := persons(); !slices.Equal(got, []string{"", "", "me", "other", ""}) {
			t.Errorf("after all of a person were forgotten: %q", got)
		}
		passes(time.Hour)
		if got := persons(); !slices.Equal(got, []string{"", "", "", "other", ""}) {
			t.Errorf("later the browsers are logged in as %q", got)
		}
	})
}

// TestOnceOfNodes: of all nodes one puts a value, and one takes it, whatever answers are lost.
func TestOnceOfNodes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewOnce(w.options("A")), vault.NewOnce(w.options("B"))
		w.everyFew(7)
		var put, took atomic.Int32
		race := func(do func(o *vault.Once)) {
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() { do([]*vault.Once{a, b}[i%2]) })
			}
			all.Wait()
		}
		race(func(o *vault.Once) {
			first, err := o.Put(ctx, "code", []byte("me"), time.Now().Add(time.Minute))
			no(t, "put", err)
			if first {
				put.Add(1)
			}
		})
		race(func(o *vault.Once) {
			value, first, err := o.Take(ctx, "code")
			no(t, "take", err)
			if string(value) != "me" {
				t.Errorf("it is %q", value)
			}
			if first {
				took.Add(1)
			}
		})
		if put.Load() != 1 || took.Load() != 1 {
			t.Errorf("%d put it, and %d took it first", put.Load(), took.Load())
		}
		if value, first, err := a.Take(ctx, "another"); value != nil || first || err != nil {
			t.Errorf("one that nobody put: %q, %v, %v", value, first, err)
		}
		passes(time.Minute)
		if value, _, err := b.Take(ctx, "code"); value != nil || err != nil {
			t.Errorf("when its time is over: %q, %v", value, err)
		}
		if first, err := b.Put(ctx, "code", []byte("you"), time.Now().Add(time.Minute)); !first || err != nil {
			t.Errorf("put after that: %v, %v", first, err)
		}
	})
}

// TestRenewedOnce: a renewal whose answer is lost, and after which another node renews again, is one.
func TestRenewedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, w := t.Context(), newWorld()
		a, b := vault.NewConnections(w.options("A")), vault.NewConnections(w.options("B"))
		later := time.Now().Add(48 * time.Hour)
		no(t, "open", a.Open(ctx, bridge.Connection{ID: "c", Person: "me", Since: time.Now(), Until: later}, lasting("r1", bridge.SecretRefresh, time.Hour)))
		w.once(recordstest.Lose, "update", "o.", func() {
			renewed, err := b.Renew(ctx, digestOf("r2"), later, lasting("a3", bridge.SecretAccess, time.Hour), lasting("r3", bridge.SecretRefresh, time.Hour))
			if !renewed || err != nil {
				t.Errorf("the next token renews: %v, %v", renewed, err)
			}
		})
		renewed, err := a.Renew(ctx, digestOf("r1"), later, lasting("a2", bridge.SecretAccess, time.Hour), lasting("r2", bridge.SecretRefresh, time.Hour))
		if !renewed || err != nil {
			t.Errorf("renewed: %v, %v", renewed, err)
		}
		for text, kind := range map[string]bridge.SecretKind{"r1": bridge.SecretSpent, "r2": bridge.SecretSpent, "r3": bridge.SecretRefresh, "a2": bridge.SecretAccess} {
			if _, x, err := b.Find(ctx, digestOf(text)); x.Kind != kind || err != nil {
				t.Errorf("%s is of the kind %q, %v", text, x.Kind, err)
			}
		}
	})
}
