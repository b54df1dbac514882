package records_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/pagetools/pagetools/bridge/bridgetest"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/recordstest"
)

func TestMain(m *testing.M) { os.Exit(bridgetest.Main(m, os.Stderr)) }

func TestMemory(t *testing.T) {
	t.Parallel()
	m := records.NewMemory()
	recordstest.Test(t, func(*testing.T) records.Records { return m })
}

// TestFaultyPasses: without faults it is the engine that it wraps.
func TestFaultyPasses(t *testing.T) {
	t.Parallel()
	m := &recordstest.Faulty{Records: records.NewMemory()}
	recordstest.Test(t, func(*testing.T) records.Records { return m })
}

// TestMemoryBehind: the watch of a reader that does not come is closed, and costs no more until then.
func TestMemoryBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		rev, err := m.Create(t.Context(), "n.A", nil)
		if err != nil {
			t.Fatal(err)
		}
		slow, err := m.Watch(t.Context(), "n.")
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		const changes = 20_000
		for range changes {
			if rev, err = m.Update(t.Context(), "n.A", nil, rev); err != nil {
				t.Fatal(err)
			}
		}
		told := 0
		for range slow {
			told++
		}
		if told > 10 {
			t.Errorf("%d of %d changes were told, and then no more", told, changes)
		}
	})
}

func TestMemoryExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := records.NewMemory()
		rev, err := m.Create(t.Context(), "n.A", nil)
		if err != nil {
			t.Fatal(err)
		}
		changes, err := m.Watch(t.Context(), "n.")
		if err != nil {
			t.Fatal(err)
		}
		if is := <-changes; is.Key != "n.A" || !(<-changes).IsMark() {
			t.Fatalf("%+v", is)
		}
		m.Expire("n.A")
		synctest.Wait()
		select {
		case r := <-changes:
			t.Errorf("%+v was told", r)
		default:
		}
		if _, err := m.Update(t.Context(), "n.A", nil, rev); !errors.Is(err, records.ErrChanged) {
			t.Error(err)
		}
	})
}

func TestBuckets(t *testing.T) {
	t.Parallel()
	for kinds, bucket := range map[string]string{"ntrx": "PT_SHORT", "k": "PT_DAY", "scvmgwhdl": "PT_KEEP"} {
		for _, kind := range kinds {
			key := string(kind) + ".A"
			if err := records.CheckKey(key); err != nil || records.Bucket(key) != bucket {
				t.Errorf("%s is in %s, %v", key, records.Bucket(key), err)
			}
		}
	}
}

func TestForms(t *testing.T) {
	t.Parallel()
	type form struct {
		What string `json:"what,omitempty"`
	}
	for _, row := range []struct {
		text string
		want form
		err  error
		bad  string // in an error that is no name
	}{
		{text: `{"v":1,"what":"begun"}`, want: form{"begun"}},
		{text: `{"v":1}`},
		{text: `{"v":1,"what":"begun","more":{"x":[1]}}`, want: form{"begun"}},
		{text: `{"v":2,"what":"begun"}`, err: records.ErrNewer},
		{text: `{"v":2,"what":7}`, err: records.ErrNewer},
		{text: `{"what":"begun"}`, bad: "version"},
		{text: `{"v":0}`, bad: "version"},
		{text: `{"v":-1}`, bad: "version"},
		{text: `{"v":"1"}`, bad: "reading"},
		{text: `{"v":1,"what":7}`, bad: "reading"},
		{text: `[1]`, bad: "reading"},
		{text: ``, bad: "reading"},
		{text: `{"v":1`, bad: "reading"},
	} {
		var got form
		err := records.Decode([]byte(row.text), &got)
		switch {
		case row.bad != "":
			if err == nil || !strings.Contains(err.Error(), row.bad) || errors.Is(err, records.ErrNewer) {
				t.Errorf("%s: %v", row.text, err)
			}
		case !errors.Is(err, row.err) || row.err == nil && got != row.want:
			t.Errorf("%s: %+v, %v", row.text, got, err)
		}
	}
	for want, v := range map[string]any{`{"v":1,"what":"x"}`: form{"x"}, `{"v":1}`: form{}} {
		if got, err := records.Encode(v); err != nil || string(got) != want {
			t.Errorf("%+v is %s, %v", v, got, err)
		}
	}
	for _, bad := range []any{7, "x", []int{1}, nil, func() {}} {
		if got, err := records.Encode(bad); err == nil {
			t.Errorf("%s is a value", got)
		}
	}
}

func ExampleMemory() {
	ctx, r := context.Background(), records.NewMemory()
	revision, _ := r.Create(ctx, "s.SESSION", []byte("home: a"))
	_, _ = r.Update(ctx, "s.SESSION", []byte("home: b"), revision)
	_, err := r.Update(ctx, "s.SESSION", []byte("home: c"), revision)
	fmt.Println(err)
	is, _ := r.Get(ctx, "s.SESSION")
	fmt.Println(string(is.Value))
	// Output:
	// the record has changed
	// home: b
}

// TestProbe: it leaves nothing, and says where an engine takes no changes.
func TestProbe(t *testing.T) {
	t.Parallel()
	m := records.NewMemory()
	if err := records.Probe(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	for _, op := range []string{"create", "delete"} {
		f := &recordstest.Faulty{Records: m, Fault: func(is recordstest.Op) recordstest.Fault {
			if is.Name == op {
				return recordstest.Fail
			}
			return recordstest.None
		}}
		if err := records.Probe(t.Context(), f); !errors.Is(err, recordstest.ErrFault) {
			t.Errorf("%s fails: %v", op, err)
		}
	}
}
