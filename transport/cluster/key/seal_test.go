package key_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestSeals: a sealed value opens in its place and in no other, whole, and under the key that sealed
// it or the one that is accepted beside it.
func TestSeals(t *testing.T) {
	k, other := parse(t, first), key.New()
	s := key.Keys{Now: k}.Sealer(key.Records)
	value := []byte(`{"v":1,"home":"K3X7QAAB"}`)
	sealed := s.Seal("PT_KEEP", "s.ABC", value)
	if again := s.Seal("PT_KEEP", "s.ABC", value); bytes.Equal(again, sealed) || bytes.Contains(sealed, []byte("K3X7")) || len(sealed) != len(value)+key.Overhead {
		t.Errorf("it is sealed as %q, and %q", sealed, again)
	}
	opens := func(s key.Sealer, bucket, name string, sealed []byte) bool {
		got, err := s.Open(bucket, name, sealed)
		if err != nil && !errors.Is(err, key.ErrSealed) {
			t.Errorf("the error is %v", err)
		}
		return err == nil && bytes.Equal(got, value)
	}
	for why, x := range map[string]struct {
		s            key.Sealer
		bucket, name string
		sealed       []byte
		want         bool
	}{
		"in its place":                {s, "PT_KEEP", "s.ABC", sealed, true},
		"on another node":             {key.Keys{Now: parse(t, first)}.Sealer(key.Records), "PT_KEEP", "s.ABC", sealed, true},
		"after the keys changed":      {key.Keys{Now: other, Also: k}.Sealer(key.Records), "PT_KEEP", "s.ABC", sealed, true},
		"before the keys changed":     {key.Keys{Now: k, Also: other}.Sealer(key.Records), "PT_KEEP", "s.ABC", sealed, true},
		"when the key is gone":        {key.Keys{Now: other}.Sealer(key.Records), "PT_KEEP", "s.ABC", sealed, false},
		"for another purpose":         {key.Keys{Now: k}.Sealer(key.Egress), "PT_KEEP", "s.ABC", sealed, false},
		"under another key":           {s, "PT_KEEP", "s.ABD", sealed, false},
		"in another bucket":           {s, "PT_SHORT", "s.ABC", sealed, false},
		"with the cut elsewhere":      {s, "PT_KEEPs", ".ABC", sealed, false},
		"nothing":                     {s, "PT_KEEP", "s.ABC", nil, false},
		"too short":                   {s, "PT_KEEP", "s.ABC", sealed[:key.Overhead-1], false},
		"cut":                         {s, "PT_KEEP", "s.ABC", sealed[:len(sealed)-1], false},
		"longer":                      {s, "PT_KEEP", "s.ABC", append(bytes.Clone(sealed), 0), false},
		"not sealed":                  {s, "PT_KEEP", "s.ABC", []byte(strings.Repeat("x", 100)), false},
		"of a format that is to come": {s, "PT_KEEP", "s.ABC", append([]byte{2}, sealed[1:]...), false},
	} {
		if got := opens(x.s, x.bucket, x.name, x.sealed); got != x.want {
			t.Errorf("%s: it opens: %v", why, got)
		}
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if opens(s, "PT_KEEP", "s.ABC", changed) {
			t.Errorf("with byte %d changed, it opens", i)
		}
	}
	if empty, err := s.Open("B", "k", s.Seal("B", "k", nil)); err != nil || len(empty) != 0 {
		t.Errorf("nothing, sealed, is %q, %v", empty, err)
	}
}

func BenchmarkSeal(b *testing.B) {
	s := key.Keys{Now: key.New()}.Sealer(key.Records)
	value := make([]byte, 1000)
	for b.Loop() {
		if _, err := s.Open("B", "k", s.Seal("B", "k", value)); err != nil {
			b.Fatal(err)
		}
	}
}
