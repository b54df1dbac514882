package directory_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pagetools/pagetools/bridge/records/directory"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

// TestTidy: sessions that no node has had for a day are removed, and no others: not those of nodes that live
// or of which nobody knows, and not one that was taken or opened anew in the meantime.
func TestTidy(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.node()
		tidy := func(why string, want int) {
			t.Helper()
			if n, err := d.Tidy(t.Context(), 15*time.Minute, 24*time.Hour); n != want || err != nil {
				t.Errorf("%s: %d removed, want %d, %v", why, n, want, err)
			}
		}
		for key, home := range map[string]string{"lives": "A", "dead": "B", "taken": "B", "anew": "B", "unknown": "UNKNOWN"} {
			if _, err := d.Open(t.Context(), key, home, nil); err != nil {
				t.Fatal(err)
			}
		}
		e, err := d.Open(t.Context(), "expired", "A", nil)
		if err == nil {
			_, err = d.Expire(t.Context(), e)
		}
		if err != nil {
			t.Fatal(err)
		}
		w.dead["B"] = true
		tidy("at first", 0)
		<-time.After(23 * time.Hour)
		tidy("before a day is over", 0)
		taken, err := d.Find(t.Context(), "taken")
		if err == nil {
			_, err = d.Take(t.Context(), taken, "A")
		}
		if err != nil {
			t.Fatal(err)
		}
		anew, err := d.Find(t.Context(), "anew")
		if err == nil {
			_, err = d.Remove(t.Context(), anew)
		}
		if _, failed := d.Open(t.Context(), "anew", "B", nil); err != nil || failed != nil {
			t.Fatal(err, failed)
		}
		<-time.After(2 * time.Hour)
		w.fails(recordstest.Fail, "delete")
		if n, err := d.Tidy(t.Context(), 15*time.Minute, 24*time.Hour); n != 0 || err == nil {
			t.Errorf("%d removed, and %v", n, err)
		}
		w.fails(recordstest.None, "")
		tidy("after a day", 2)
		for key, there := range map[string]bool{"lives": true, "dead": false, "taken": true, "anew": true, "unknown": true, "expired": false} {
			if _, err := w.memory.Get(t.Context(), "s."+key); (err == nil) != there {
				t.Errorf("%s: %v", key, err)
			}
		}
		w.fails(recordstest.Fail, "watch")
		if _, err := d.Tidy(t.Context(), time.Hour, time.Hour); err == nil {
			t.Error("without the engine")
		}
	})
}

// TestTidyDisposes: the pages of a session that no node has had for the idle time are closed, once, when nobody can go
// on with them any more; those of sessions that a node has or took are not.
func TestTidyDisposes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		var disposed []string
		var d *directory.Directory
		d = w.nodeThat(func(ctx context.Context, box []byte) {
			if e, err := d.Find(ctx, "dead"); err != nil || !e.Expired {
				t.Errorf("it can still be taken over: %+v, %v", e, err)
			}
			disposed = append(disposed, string(box))
		})
		for key, home := range map[string]string{"lives": "A", "dead": "B", "taken": "B"} {
			if _, err := d.Open(t.Context(), key, home, []byte("page of "+key)); err != nil {
				t.Fatal(err)
			}
		}
		w.dead["B"] = true
		tidy := func() {
			t.Helper()
			if n, err := d.Tidy(t.Context(), 15*time.Minute, 24*time.Hour); n != 0 || err != nil {
				t.Errorf("%d removed, %v", n, err)
			}
		}
		tidy()
		<-time.After(14 * time.Minute)
		if tidy(); len(disposed) != 0 {
			t.Errorf("too early: %q", disposed)
		}
		e, err := d.Find(t.Context(), "taken")
		if err == nil {
			_, err = d.Take(t.Context(), e, "A")
		}
		if err != nil {
			t.Fatal(err)
		}
		<-time.After(2 * time.Minute)
		for range 2 {
			if tidy(); !slices.Equal(disposed, []string{"page of dead"}) {
				t.Errorf("disposed of %q", disposed)
			}
			<-time.After(time.Hour)
		}
	})
}
