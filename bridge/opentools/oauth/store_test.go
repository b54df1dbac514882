package oauth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

var bearer = Scheme{Name: "key", Object: []byte(`{"type":"http","scheme":"bearer"}`)}

// signedAs returns what a new process puts into a request of a principal.
func signedAs(t *testing.T, dir, principal string) (string, error) {
	t.Helper()
	k := New(Options{Store: openStore(t, dir)})
	target := targetOf(t, "https://api.example", []Scheme{bearer})
	target.Principal = principal
	r, _ := http.NewRequest(http.MethodGet, "https://api.example/", nil)
	err := k.Sign(t.Context(), target, r)
	return r.Header.Get("Authorization"), err
}

// fill keeps a key for each of two principals.
func fill(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	k := New(Options{Store: openStore(t, dir)})
	for _, principal := range []string{"alice", "mallory"} {
		target := targetOf(t, "https://api.example", []Scheme{bearer})
		target.Principal = principal
		if err := k.Keep(t.Context(), target, bearer, Secret("of-"+principal)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// edit changes the file of credentials as somebody with an editor does.
func edit(t *testing.T, dir string, change func(*content)) {
	t.Helper()
	path := filepath.Join(dir, storeFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c content
	if err := json.Unmarshal(text, &c); err != nil {
		t.Fatal(err)
	}
	change(&c)
	if text, err = json.Marshal(c); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestTampered: records that were changed, exchanged between principals, or moved to another API do
// not open, and neither does anything without the key. A login or a logout mends that.
func TestTampered(t *testing.T) {
	t.Parallel()
	for what, change := range map[string]func(*content){
		"nothing":   func(*content) {},
		"exchanged": func(c *content) { a, b := &c.Records[0], &c.Records[1]; a.Data, b.Data = b.Data, a.Data },
		"renamed": func(c *content) {
			c.Records[0].Key.Principal, c.Records[1].Key.Principal = c.Records[1].Key.Principal, c.Records[0].Key.Principal
		},
		"one bit": func(c *content) { c.Records[0].Data[20] ^= 1 },
		"the tag": func(c *content) { d := c.Records[0].Data; d[len(d)-1] ^= 0x80 },
		"cut":     func(c *content) { c.Records[0].Data = c.Records[0].Data[:5] },
		"nulled":  func(c *content) { c.Records[0].Data = nil },
	} {
		dir := fill(t)
		edit(t, dir, change)
		got, err := signedAs(t, dir, "alice")
		if what == "nothing" {
			if err != nil || got != "Bearer of-alice" {
				t.Errorf("%s: %q, %v", what, got, err)
			}
			continue
		}
		if !errors.Is(err, ErrDamaged) || got != "" {
			t.Errorf("%s: %q, %v", what, got, err)
		}
		k := New(Options{Store: openStore(t, dir)})
		target := targetOf(t, "https://api.example", []Scheme{bearer})
		target.Principal = "alice"
		if err := k.Keep(t.Context(), target, bearer, "new"); err != nil {
			t.Errorf("%s: after it: %v", what, err)
		}
		if got, err := signedAs(t, dir, "alice"); err != nil || got != "Bearer new" {
			t.Errorf("%s: after a login: %q, %v", what, got, err)
		}
	}
	dir := fill(t)
	edit(t, dir, func(c *content) { c.Records[0].Key.Resource = "https://mallory.example" })
	k := New(Options{Store: openStore(t, dir)})
	target := targetOf(t, "https://mallory.example", []Scheme{bearer})
	target.Principal = "alice"
	r, _ := http.NewRequest(http.MethodGet, "https://mallory.example/", nil)
	if err := k.Sign(t.Context(), target, r); !errors.Is(err, ErrDamaged) || len(r.Header) != 0 {
		t.Errorf("moved to another API: %v", err)
	}
	for _, key := range [][]byte{nil, make([]byte, 32), []byte("short")} {
		dir := fill(t)
		path := filepath.Join(dir, keyFile)
		_ = os.Remove(path)
		if key != nil {
			if err := os.WriteFile(path, key, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := signedAs(t, dir, "alice"); err == nil || got != "" {
			t.Errorf("with the key %x: %q, %v", key, got, err)
		}
	}
}

// TestFiles: what is on disk shows no secret, and nobody else can read it; a key that others can
// read is refused; what is not a file of ours is said.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := fill(t)
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 3 {
		t.Fatalf("the folder has %v (%v)", entries, err)
	}
	for _, e := range entries {
		info, _ := e.Info()
		text, _ := os.ReadFile(filepath.Join(dir, e.Name()))
		if info.Mode().Perm() != 0o600 || strings.Contains(string(text), "of-alice") {
			t.Errorf("%s has mode %o and %d bytes", e.Name(), info.Mode().Perm(), len(text))
		}
	}
	if err := os.Chmod(filepath.Join(dir, keyFile), 0o640); err != nil {
		t.Fatal(err)
	}
	_, err = signedAs(t, dir, "alice")
	wants(t, "a key for others", err, "chmod 600")
	for _, text := range []string{"{", `{"version":2,"records":[]}`, `{"version":1,"records":{}}`, "\x00"} {
		dir := fill(t)
		if err := os.WriteFile(filepath.Join(dir, storeFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := signedAs(t, dir, "alice")
		wants(t, text, err, "remove it, and log in again")
	}
	dir = t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.Symlink(outside, filepath.Join(dir, storeFile)); err != nil {
		t.Fatal(err)
	}
	_, err = signedAs(t, dir, "alice")
	wants(t, "a link", err, "is not a file of credentials")
	if _, err := signedAs(t, t.TempDir(), "alice"); !errors.Is(err, ErrLoginNeeded) {
		t.Errorf("an empty folder: %v", err)
	}
}

// TestWriters: of many writers in several processes none loses what another one wrote.
func TestWriters(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var all sync.WaitGroup
	for process := range 4 {
		k := New(Options{Store: openStore(t, dir)})
		for i := range 8 {
			target := targetOf(t, "https://api.example", []Scheme{bearer})
			target.Principal = fmt.Sprintf("p%d-%d", process, i)
			all.Go(func() {
				if _, err := k.Status(); err != nil { // a stale copy is never written
					t.Error(err)
				}
				if err := k.Keep(t.Context(), target, bearer, "s3cret"); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	kept, err := New(Options{Store: openStore(t, dir)}).Status()
	if len(kept) != 32 || err != nil {
		t.Errorf("%d credentials are kept (%v), want 32", len(kept), err)
	}
	for _, e := range kept {
		if e.Damaged {
			t.Errorf("%+v", e)
		}
	}
}

// TestNotShown: no way of printing shows a secret.
func TestNotShown(t *testing.T) {
	t.Parallel()
	r := record{Kind: Bearer, Value: "hidden", Access: "hidden", Refresh: "hidden", Client: client{Secret: "hidden"}}
	l := Login{ClientSecret: "hidden"}
	s := openStore(t, t.TempDir())
	if err := s.put(t.Context(), Key{Principal: "p"}, &r); err != nil {
		t.Fatal(err)
	}
	if all, err := s.entries(); len(all) != 1 || string(all[0].record.Value) != "hidden" { // it holds them now
		t.Fatal(err)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		for _, v := range []any{r, &r, r.Value, r.Client, &r.Client, l, s, New(Options{Store: s}), []Secret{"hidden"}} {
			if text := fmt.Sprintf(format, v); strings.Contains(text, "hidden") || strings.Contains(text, "68696464656e") {
				t.Errorf("%s of %T is %s", format, v, text)
			}
		}
	}
	if text := fmt.Sprint(Secret("hidden").LogValue()); strings.Contains(text, "hidden") {
		t.Errorf("the log has %s", text)
	}
}

// TestLogoutKeeps: a logout forgets what one principal has at one origin, and nothing else.
func TestLogoutKeeps(t *testing.T) {
	t.Parallel()
	dir := fill(t)
	k := New(Options{Store: openStore(t, dir)})
	api, other := targetOf(t, "https://api.example/v1", []Scheme{bearer}), targetOf(t, "https://api.example.other", []Scheme{bearer})
	other.Principal = "alice"
	if err := k.Keep(t.Context(), other, bearer, "k"); err != nil {
		t.Fatal(err)
	}
	gone, problems, err := k.Logout(t.Context(), "alice", api.Resource)
	if err != nil || len(problems) > 0 || len(gone) != 1 || gone[0].Resource != "https://api.example" {
		t.Errorf("gone: %+v, %q, %v", gone, problems, err)
	}
	left, err := k.Status()
	if err != nil || len(left) != 2 || left[0].Resource != "https://api.example.other" || left[1].Principal != "mallory" {
		t.Errorf("left: %+v (%v)", left, err)
	}
}
