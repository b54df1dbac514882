package app

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
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
			return []recordstest.Fault{recordstest.Lose, recordstest.Fail, recordstest.None}[n%3]
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
