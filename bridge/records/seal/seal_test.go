package seal_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/records/seal"
)

func key(b byte) (k [seal.Size]byte) {
	for i := range k {
		k[i] = b
	}
	return k
}

func box(t *testing.T, key [seal.Size]byte, old ...[seal.Size]byte) *seal.Box {
	t.Helper()
	b, err := seal.NewBox(key, old...)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBox: a value opens at its place with the key, or with the one before it, and nowhere else.
func TestBox(t *testing.T) {
	t.Parallel()
	one, two, both := box(t, key(1)), box(t, key(2)), box(t, key(2), key(1))
	value := []byte("https://bank.example/?account=7")
	sealed := one.Seal("PT_KEEP", "s.A", value)
	if bytes.Contains(sealed, value[:8]) || len(sealed) != len(value)+28 {
		t.Fatalf("%q", sealed)
	}
	if bytes.Equal(sealed, one.Seal("PT_KEEP", "s.A", value)) {
		t.Error("the same value is sealed to the same bytes")
	}
	for name, b := range map[string]*seal.Box{"itself": one, "the next key": both} {
		if got, err := b.Open("PT_KEEP", "s.A", sealed); err != nil || !bytes.Equal(got, value) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := one.Open("PT_KEEP", "s.A", one.Seal("PT_KEEP", "s.A", nil)); err != nil || len(got) != 0 {
		t.Errorf("nothing is %q, %v", got, err)
	}
	for name, refused := range map[string]func() ([]byte, error){
		"another key":      func() ([]byte, error) { return two.Open("PT_KEEP", "s.A", sealed) },
		"the key to come":  func() ([]byte, error) { return one.Open("PT_KEEP", "s.A", both.Seal("PT_KEEP", "s.A", value)) },
		"another record":   func() ([]byte, error) { return one.Open("PT_KEEP", "s.B", sealed) },
		"another bucket":   func() ([]byte, error) { return one.Open("PT_SHORT", "s.A", sealed) },
		"the border moved": func() ([]byte, error) { return one.Open("PT_KEEPs", ".A", sealed) },
		"cut":              func() ([]byte, error) { return one.Open("PT_KEEP", "s.A", sealed[:len(sealed)-1]) },
		"short":            func() ([]byte, error) { return one.Open("PT_KEEP", "s.A", sealed[:5]) },
		"none":             func() ([]byte, error) { return one.Open("PT_KEEP", "s.A", nil) },
	} {
		if got, err := refused(); !errors.Is(err, seal.ErrSealed) || got != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for i := range sealed {
		sealed[i] ^= 1
		if got, err := one.Open("PT_KEEP", "s.A", sealed); !errors.Is(err, seal.ErrSealed) {
			t.Errorf("with a bit of byte %d changed: %q, %v", i, got, err)
		}
		sealed[i] ^= 1
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	n := seal.NewNames(key(1))
	if got, want := n.Of("agent", "shop"), "JLGVVEAN35PDIHCYXKW4HLZ4UT"; got != want {
		t.Errorf("the name is %s, and records have it as %s", got, want)
	}
	if n.Of("agent", "shop") == seal.NewNames(key(2)).Of("agent", "shop") {
		t.Error("another key makes the same name")
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringN(0, 4, -1), 0, 4)
		a, b := parts.Draw(t, "a"), parts.Draw(t, "b")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i] == b[i]
		}
		if (n.Of(a...) == n.Of(b...)) != same {
			t.Fatalf("%q is %s, %q is %s", a, n.Of(a...), b, n.Of(b...))
		}
		if err := records.CheckKey("s." + n.Of(a...)); err != nil || len(n.Of(a...)) != 26 {
			t.Fatal(err)
		}
	})
}
