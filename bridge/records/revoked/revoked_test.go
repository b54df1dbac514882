package revoked_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
	"github.com/pagetools/pagetools/bridge/records/revoked"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

func name(parts ...string) string  { return hex.EncodeToString([]byte(strings.Join(parts, "/"))) }
func other(parts ...string) string { return "Z" + name(parts...) }

// node runs a list until the test ends.
func node(t *testing.T, r records.Records, names ...func(...string) string) *revoked.List {
	t.Helper()
	l := revoked.New(revoked.Options{Records: r, Names: names})
	if err := l.Read(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { l.Run(ctx) })
	t.Cleanup(func() { stop(); running.Wait() })
	synctest.Wait()
	return l
}

// told reports whether there was news.
func told(l *revoked.List) bool {
	synctest.Wait()
	select {
	case <-l.News():
		return true
	default:
		return false
	}
}

// TestRevoked: what one node revokes every node knows at once, also one that starts later, until it is given
// again; the engine has no digest.
func TestRevoked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		a, b := node(t, m, name), node(t, m, name)
		if told(b) || b.Has("D1") {
			t.Fatal("nothing was revoked")
		}
		a.Change([]string{"D1"}, nil)
		if !a.Has("D1") {
			t.Error("it does not count where it was revoked")
		}
		if !told(b) || !b.Has("D1") || b.Has("D2") {
			t.Error("the other node does not know")
		}
		if c := node(t, m, name); !c.Has("D1") || told(a) {
			t.Error("a node that starts does not know")
		}
		if _, err := m.Get(t.Context(), "v."+name("credential", "D1")); err != nil {
			t.Error(err)
		}
		b.Change(nil, []string{"D1", "D2"})
		synctest.Wait()
		if a.Has("D1") || b.Has("D1") || !told(a) || told(b) {
			t.Error("it was given again")
		}
		if _, err := m.Get(t.Context(), "v."+name("credential", "D1")); !errors.Is(err, records.ErrNone) {
			t.Error(err)
		}
	})
}

// TestRevokedWithoutEngine: what is revoked while the engine is away counts here, and is told when it is
// there again; a watch that missed something is begun anew.
func TestRevokedWithoutEngine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var fault atomic.Int64
		m := records.NewMemory()
		r := &recordstest.Faulty{Records: m, Fault: func(recordstest.Op) recordstest.Fault { return recordstest.Fault(fault.Load()) }}
		a, b := node(t, r, name), node(t, m, name)
		for _, f := range []recordstest.Fault{recordstest.Fail, recordstest.Hang, recordstest.Lose} {
			digest := string(rune('A' + int(f)))
			fault.Store(int64(f))
			a.Change([]string{digest}, nil)
			<-time.After(10 * time.Second)
			if !a.Has(digest) || f != recordstest.Lose && b.Has(digest) {
				t.Errorf("%v: %v, %v", f, a.Has(digest), b.Has(digest))
			}
			fault.Store(int64(recordstest.None))
			<-time.After(3 * time.Second)
			if !a.Has(digest) || !b.Has(digest) {
				t.Errorf("%v, afterwards: %v, %v", f, a.Has(digest), b.Has(digest))
			}
		}
	})
}

// TestRevokedNames: while the key of the cluster is replaced, what was revoked under either counts.
func TestRevokedNames(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		newer, older := node(t, m, name, other), node(t, m, other, name)
		newer.Change([]string{"D1"}, nil)
		older.Change([]string{"D2"}, nil)
		synctest.Wait()
		for _, l := range []*revoked.List{newer, older} {
			if !l.Has("D1") || !l.Has("D2") || l.Has("D3") {
				t.Error("one is not known")
			}
		}
		newer.Change(nil, []string{"D2"})
		synctest.Wait()
		if older.Has("D2") || newer.Has("D2") {
			t.Error("it was given again")
		}
	})
}
