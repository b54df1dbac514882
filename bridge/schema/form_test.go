package schema

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/bridge/gatetest"
)

// wide is a schema with many members, each of which the library makes a struct of.
func wide(t *testing.T, i int) *Schema {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, `{"type":"object","title":"%d","properties":{"a":{"type":"integer"}`, i)
	for p := range 1900 {
		fmt.Fprintf(&b, `,"p%d":{"type":"string"}`, p)
	}
	b.WriteString("}}")
	s, err := Compile([]byte(b.String()), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestForms (B2): what schemas are checked with is kept for those that were used last, and
// made again for the others.
func TestForms(t *testing.T) {
	gatetest.NoRace(t)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	all := make([]*Schema, 30) // 1.4 MB of text, 115 MB of forms
	for i := range all {
		all[i] = wide(t, i)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2*mostForms {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	if all[0].last.form.Value() != nil || all[29].last.form.Value() == nil {
		t.Error("it is not the one used last that is kept")
	}
	for range 2 {
		if err := all[0].Validate([]byte(`{"a":1}`)); err != nil {
			t.Error(err)
		}
		if err := all[0].Validate([]byte(`{"a":"x"}`)); err == nil {
			t.Error("a schema that was made again takes what it does not allow")
		}
	}
	if forms.bytes > mostForms {
		t.Errorf("%d bytes of forms are kept", forms.bytes)
	}
	clear(all)
	held := func() int64 {
		forms.mu.Lock()
		defer forms.mu.Unlock()
		return forms.bytes
	}
	for range 100 { // the cleanups run beside it
		if runtime.GC(); held() < mostForms/4 {
			return
		}
	}
	t.Errorf("%d bytes of forms are kept when their schemas are gone", held())
}
