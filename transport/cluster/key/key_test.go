package key_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// first is a key that tests know: 1, 2, … 32.
const first = "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0eHyA"

func parse(t testing.TB, text string) key.Key {
	t.Helper()
	k, err := key.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// TestKeyTexts: a key is read as it is written, with or without a line end, and nothing else is a key.
// No error repeats what was read.
func TestKeyTexts(t *testing.T) {
	if a, b := key.New(), key.New(); a == b || len(a.Text()) != 43 || parse(t, a.Text()) != a {
		t.Errorf("made %q and %q", a.Text(), b.Text())
	}
	for _, text := range []string{first, first + "\n", first + "\r\n"} {
		if k := parse(t, text); k.Text() != first {
			t.Errorf("%q is read as %q", text, k.Text())
		}
	}
	for why, text := range map[string]string{
		"nothing": "", "a line end": "\n", "too short": first[:42], "too long": first + "A", "two lines": first + "\n\n",
		"a space before it": " " + first, "two keys": first + "\n" + first, "not base64url": strings.Repeat("+", 43),
		"bits that count nowhere": first[:42] + "B", "zeros": strings.Repeat("A", 43), "hex": strings.Repeat("ab", 32),
	} {
		if k, err := key.Parse(text); err == nil || k != (key.Key{}) || len(text) > 8 && strings.Contains(err.Error(), text[:8]) {
			t.Errorf("%s: %v, %v", why, k, err)
		}
	}
}

// TestKeysAreHidden: a key that is printed or logged by mistake is not in the text.
func TestKeysAreHidden(t *testing.T) {
	k := parse(t, first)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "key", k, "keys", key.Keys{Now: k})
	shown := fmt.Sprint(k) + fmt.Sprintf("%v %+v %#v %s", k, k, k, key.Keys{Now: k}) + log.String()
	for _, secret := range []string{first, first[:12], hex.EncodeToString([]byte{1, 2, 3, 4}), "1 2 3 4", "0x1, 0x2"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is in %s", secret, shown)
		}
	}
}

// TestKeyFiles: the file of a key is read where only its user can read it. Errors name the file and
// what to do.
func TestKeyFiles(t *testing.T) {
	dir := t.TempDir()
	at := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if k, err := key.Load(at("good", first+"\n", 0o600)); err != nil || k.Text() != first {
		t.Errorf("a good file: %v, %v", k, err)
	}
	if _, err := key.Load(at("read only", first+"\n", 0o400)); err != nil {
		t.Errorf("a file of mode 0400: %v", err)
	}
	if _, err := key.Load(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("no file: %v", err)
	}
	for name, content := range map[string]string{"empty": "", "long": first + strings.Repeat("\n", 1<<20), "text": "hello"} {
		if _, err := key.Load(at(name, content, 0o600)); err == nil || !strings.Contains(err.Error(), name+" has no cluster key: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := key.Load(dir); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if runtime.GOOS == "windows" {
		return // it has other rights, which bridge/files tests
	}
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644, 0o660} {
		path := at("shared", first+"\n", mode)
		if _, err := key.Load(path); !errors.Is(err, key.ErrShared) || !strings.Contains(err.Error(), "chmod 600 ") {
			t.Errorf("mode %o: %v", mode, err)
		}
	}
}

// TestSubkeys: each purpose has a key of its own, the same on every node. The texts hold the format:
// a build that derives others cannot be in one cluster with this one.
func TestSubkeys(t *testing.T) {
	k, seen := parse(t, first), map[string]key.Purpose{}
	for _, p := range key.Purposes() {
		sub := k.Subkey(p)
		if other, twice := seen[string(sub)]; twice || len(sub) != key.Size {
			t.Errorf("%s has the key of %s", p, other)
		}
		seen[string(sub)] = p
	}
	if got := hex.EncodeToString(k.Subkey(key.Authority)); got != subkeyOfCA {
		t.Errorf("ca 1 is %s", got)
	}
	if bytes.Equal(key.New().Subkey(key.Names), k.Subkey(key.Names)) {
		t.Error("two keys have one subkey")
	}
	if got := (key.Keys{Now: k}).Namers()[0].Name("agent", "cart"); got != nameOfCart {
		t.Errorf("the name is %s", got)
	}
}

// Made with another implementation of RFC 5869 and RFC 2104 (Python's hmac).
const (
	subkeyOfCA = "a094bba9ca5f20ff3c1cde324d76f4873d3de0d021256ec8eb68f9f18939266c"
	nameOfCart = "52XQ6JSYSUBVC2F3R3R7BBT2Y6"
)

// TestNames: a name tells callers and sessions apart wherever the cut is, has 26 characters that every
// engine takes, and is another one under another key. Both keys are found while one is replaced.
func TestNames(t *testing.T) {
	k, old := parse(t, first), key.New()
	now := key.Keys{Now: k}.Namers()[0]
	form := regexp.MustCompile(`^[A-Z2-7]{26}$`)
	seen := map[string][]string{}
	for _, parts := range [][]string{{"a", "b"}, {"ab", ""}, {"", "ab"}, {"ab"}, {"a", "b", ""}, {"b", "a"}, {}, {""}, {strings.Repeat("x", 1000), "\x00"}} {
		name := now.Name(parts...)
		if before, twice := seen[name]; twice || !form.MatchString(name) || name != now.Name(parts...) {
			t.Errorf("%q is named %s, as %q is", parts, name, before)
		}
		seen[name] = parts
	}
	both := key.Keys{Now: k, Also: old}.Namers()
	if len(both) != 2 || both[0].Name("a") != now.Name("a") || both[1].Name("a") != (key.Keys{Now: old}).Namers()[0].Name("a") || both[1].Name("a") == now.Name("a") {
		t.Errorf("the names while a key is replaced: %d", len(both))
	}
	if n := len(key.Keys{Now: k, Also: k}.Namers()); n != 1 {
		t.Errorf("one key twice has %d namers", n)
	}
}
