package app

import (
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge/opentools/oauth"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/bridge/store/postgres/postgrestest"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestVaultKey: all nodes have one key for what they keep, whoever made it and whatever answers were lost. It
// stays the same while the key of the cluster is replaced, and opens with no other one.
func TestVaultKey(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		var mu sync.Mutex
		n := 0
		lossy := &recordstest.Faulty{Records: m, Fault: func(recordstest.Op) recordstest.Fault {
			mu.Lock()
			defer mu.Unlock()
			n++
			return []recordstest.Fault{recordstest.Lose, recordstest.None, recordstest.Fail, recordstest.None}[n%4]
		}}
		old, next := key.New(), key.New()
		var made [9]key.Keys
		of := func(keys key.Keys) key.Keys {
			k, err := vaultKey(t.Context(), lossy, keys)
			if err != nil {
				t.Error(err)
			}
			return k
		}
		var all sync.WaitGroup
		for i := range 4 {
			all.Go(func() { made[i] = of(key.Keys{Now: old}) })
		}
		all.Wait()
		if _, err := vaultKey(t.Context(), m, key.Keys{Now: next}); !errors.Is(err, ErrOtherKey) {
			t.Errorf("another key: %v", err)
		}
		made[4] = of(key.Keys{Now: old, Also: next})
		made[5] = of(key.Keys{Now: next, Also: old})
		made[6] = of(key.Keys{Now: next})
		if _, err := vaultKey(t.Context(), m, key.Keys{Now: old}); !errors.Is(err, ErrOtherKey) {
			t.Errorf("the old key, when it is replaced: %v", err)
		}
		for i, k := range made[:7] {
			if k != made[0] || k.Now == (key.Key{}) || k.Now == old || k.Now == next {
				t.Errorf("key %d is another one", i)
			}
		}
		r, err := m.Get(t.Context(), vaultKeyRecord)
		if err != nil || strings.Contains(string(r.Value), made[0].Now.Text()) {
			t.Errorf("it can be read: %v", err)
		}
	})
}

// TestOneVault: all nodes keep in one place what must not be lost with one: whoever keeps it elsewhere, or
// under another key, is refused, whatever answers were lost.
func TestOneVault(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		lossy := func(r records.Records) records.Records {
			return &recordstest.Faulty{Records: r, Fault: func(recordstest.Op) recordstest.Fault {
				n++
				return []recordstest.Fault{recordstest.Lose, recordstest.None, recordstest.Fail}[n%3]
			}}
		}
		keys := key.Keys{Now: key.New()}
		engine, memory := records.NewMemory(), records.NewMemory()
		k, err := vaultKey(t.Context(), lossy(memory), keys)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if err := pinVault(t.Context(), lossy(engine), k.Now); err != nil {
				t.Fatal(err)
			}
		}
		if err := pinVault(t.Context(), lossy(engine), key.New()); !errors.Is(err, ErrOtherVault) {
			t.Errorf("in another database: %v", err)
		}
		if _, err := vaultKey(t.Context(), lossy(engine), keys); !errors.Is(err, ErrOtherVault) {
			t.Errorf("in the engine: %v", err)
		}
		inside := records.NewMemory()
		if _, err := vaultKey(t.Context(), inside, keys); err != nil {
			t.Fatal(err)
		}
		if err := pinVault(t.Context(), lossy(inside), k.Now); !errors.Is(err, ErrOtherVault) {
			t.Errorf("in a database, where others have it in the engine: %v", err)
		}
		r, err := engine.Get(t.Context(), vaultKeyRecord)
		if err != nil || strings.Contains(string(r.Value), k.Now.Text()) {
			t.Errorf("the engine shows the key: %v", err)
		}
	})
}

// TestLoginsInPostgres: so it is in PostgreSQL, and the engine has nothing of them.
func TestLoginsInPostgres(t *testing.T) {
	t.Parallel()
	engine, database := natstest.Start(t, natstest.Newest(t), natstest.Options{}), postgrestest.Start(t, postgrestest.Quick...)
	o := ClusterOptions{Servers: engine.URLs(), Memory: database.Address(), Keys: key.Keys{Now: key.New()}}
	store, err := OpenRecords(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	if _, _, err := OpenLogins(t.Context(), &o); err == nil {
		t.Fatal("whoever logs in makes tables")
	}
	memory, err := openMemory(t.Context(), &o, "a", false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(memory.Close)
	at, err := url.Parse("https://api.example/v1")
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // kept, and found
		s, end, err := OpenLogins(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		scheme := oauth.Scheme{Name: "key", Object: []byte(`{"type":"http","scheme":"bearer"}`)}
		keeper := oauth.New(oauth.Options{Store: s})
		if all, err := keeper.Status(); err != nil || len(all) == 0 {
			err = keeper.Keep(t.Context(), oauth.Target{Principal: "agent", Resource: at}, scheme, "s3cret")
			if err != nil {
				t.Error(err)
			}
		} else if all[0].Principal != "agent" || all[0].Damaged {
			t.Errorf("%+v", all)
		}
		end()
	}
	text := database.Query(`SELECT key || ' ' || encode(value, 'escape') FROM pagetools_records`)
	if !strings.Contains(text, "l.") || !strings.Contains(text, `"box"`) {
		t.Errorf("the control: %s", text)
	}
	for _, secret := range []string{"s3cret", "agent", "api.example"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in PostgreSQL", secret)
		}
	}
	if _, err := store.Get(t.Context(), vaultKeyRecord); err != nil {
		t.Errorf("the engine does not say that the vault is elsewhere: %v", err)
	}
	o.Memory = ""
	if _, _, err := OpenLogins(t.Context(), &o); !errors.Is(err, ErrOtherVault) {
		t.Errorf("in the engine: %v", err)
	}
}

// TestLoginsOfCluster: a login that is kept from outside of a cluster counts at all nodes, and the engine
// shows nothing of it; another key opens nothing.
func TestLoginsOfCluster(t *testing.T) {
	t.Parallel()
	engine := natstest.Start(t, natstest.Newest(t), natstest.Options{})
	o := ClusterOptions{Servers: engine.URLs(), Keys: key.Keys{Now: key.New()}}
	if _, _, err := OpenLogins(t.Context(), &o); err == nil {
		t.Fatal("whoever logs in makes buckets")
	}
	store, err := OpenRecords(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(store.Close)
	open := func() *oauth.Keeper {
		s, end, err := OpenLogins(t.Context(), &o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		return oauth.New(oauth.Options{Store: s})
	}
	at, err := url.Parse("https://api.example/v1")
	if err != nil {
		t.Fatal(err)
	}
	scheme := oauth.Scheme{Name: "key", Object: []byte(`{"type":"http","scheme":"bearer"}`)}
	if err := open().Keep(t.Context(), oauth.Target{Principal: "agent", Resource: at}, scheme, "s3cret"); err != nil {
		t.Fatal(err)
	}
	all, err := open().Status()
	if err != nil || len(all) != 1 || all[0].Principal != "agent" || all[0].Damaged {
		t.Errorf("%+v, %v", all, err)
	}
	changes, err := store.Watch(t.Context(), "l.")
	if err != nil {
		t.Fatal(err)
	}
	for r := range changes {
		if r.IsMark() {
			break
		}
		for _, secret := range []string{"s3cret", "agent", "api.example"} {
			if strings.Contains(string(r.Value), secret) {
				t.Errorf("%s is in %s", secret, r.Key)
			}
		}
	}
	o.Keys.Now = key.New()
	if _, _, err := OpenLogins(t.Context(), &o); !errors.Is(err, ErrOtherKey) {
		t.Errorf("another key: %v", err)
	}
}
