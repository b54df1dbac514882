package jetstream

import (
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

// old is the version of Debian's server, in whose clusters records need to have one copy.
const old = "2.9."

// TestConformance: what records.Records says holds with each server, alone and with two others.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, program := range natstest.Programs(t) {
		for _, servers := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d", program.Version, servers), func(t *testing.T) {
				t.Parallel()
				c := natstest.Start(t, program, natstest.Options{Servers: servers})
				copies := servers
				if strings.HasPrefix(program.Version, old) {
					copies = 1
				}
				with := func(o *Options) {
					if copies < servers {
						o.Replicas = copies
					}
				}
				if got := connect(t, c, with).Copies(); got != copies {
					t.Errorf("%d copies of each record", got)
				}
				recordstest.Test(t, func(t *testing.T) records.Records { return connect(t, c, with) })
			})
		}
	}
}

// TestOldServersWithCopies: servers that acknowledge two writes of one revision are refused, and do
// acknowledge them.
func TestOldServersWithCopies(t *testing.T) {
	t.Parallel()
	for _, program := range natstest.Programs(t) {
		if !strings.HasPrefix(program.Version, old) {
			continue
		}
		c := natstest.Start(t, program, natstest.Options{Servers: 3})
		trusting := patiently(t, c, func() (*Store, error) {
			return open(t.Context(), Options{Servers: c.URLs(), Replicas: 3}, true)
		})
		for _, replicas := range []int{0, 1, 3} { // there are three copies by now
			if _, err := Open(t.Context(), Options{Servers: c.URLs(), Replicas: replicas}); err == nil || !strings.Contains(err.Error(), "2.10 or newer") {
				t.Fatalf("--replicas %d: %v", replicas, err)
			}
		}
		second, err := open(t.Context(), Options{Servers: c.URLs()}, true)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(second.Close)
		for range 500 {
			if bothWin(t, trusting, second) {
				return
			}
		}
		t.Error("the old server keeps what it says: it needs not be refused")
	}
}

// bothWin reports whether two updates of one revision are acknowledged.
func bothWin(t *testing.T, a, b *Store) bool {
	t.Helper()
	key := "n." + rand.Text()
	rev, err := a.Create(t.Context(), key, nil)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	var errs [2]error
	for i, s := range []*Store{a, b} {
		all.Go(func() { _, errs[i] = s.Update(t.Context(), key, []byte("x"), rev) })
	}
	all.Wait()
	return errs[0] == nil && errs[1] == nil
}

// connect connects to servers until the test ends.
func connect(t testing.TB, c *natstest.Cluster, more ...func(*Options)) *Store {
	t.Helper()
	return patiently(t, c, func() (*Store, error) {
		o := Options{Servers: c.URLs(), Name: t.Name()}
		for _, change := range more {
			change(&o)
		}
		return Open(t.Context(), o)
	})
}

// patiently opens a store. Servers in a cluster that began just now can have no leader yet.
func patiently(t testing.TB, c *natstest.Cluster, open func() (*Store, error)) *Store {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); ; {
		s, err := open()
		if err == nil {
			t.Cleanup(s.Close)
			return s
		}
		if len(c.Servers) == 1 || time.Now().After(until) {
			t.Fatal(err)
		}
	}
}
