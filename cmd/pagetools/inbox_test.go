package main

import (
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/transport"
)

// doorOf serves the doors of a folder that go by ports, as on Windows, and says who comes in.
func doorOf(t *testing.T, folder string) (*inbox, *door) {
	t.Helper()
	in := &inbox{folder: folder, byPorts: true}
	d, err := in.listen(t.Context(), "one")
	if err != nil {
		t.Fatal(err)
	}
	who := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := transport.CallerOf(r.Context())
		_, _ = io.WriteString(w, c.Name)
		if !c.Can(bridge.MayAnswer) {
			t.Errorf("%s may not answer", c.Name)
		}
	})
	srv := transport.Server(d.guard(who, slog.New(slog.DiscardHandler)), slog.New(slog.DiscardHandler))
	go func() { _ = srv.Serve(d) }() // ends with the test
	t.Cleanup(func() { _ = srv.Close() })
	return in, d
}

// TestInboxByPorts: without sockets a process is reached at a port of this machine, by who can read
// its file, and by nobody else.
func TestInboxByPorts(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run")
	own, d := doorOf(t, folder)
	if got := own.peers(); len(got) != 0 {
		t.Errorf("it is a peer of its own: %v", got)
	}
	other := &inbox{folder: folder, byPorts: true}
	peer := other.peers()["one"]
	if peer == nil {
		t.Fatalf("there are %v", other.peers())
	}
	get := func(by http.RoundTripper, change func(*http.Request)) int {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+d.Addr().String()+"/api/console", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		change(r)
		resp, err := by.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = resp.Body.Close() }()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode == http.StatusOK && string(text) != "socket" {
			t.Errorf("the caller is %q", text)
		}
		return resp.StatusCode
	}
	if got := get(peer, func(r *http.Request) { r.URL.Host = "console" }); got != http.StatusOK {
		t.Errorf("who has the file gets %d", got)
	}
	key := "Bearer " + peer.(keyed).Key
	for name, change := range map[string]func(*http.Request){
		"no key":       func(*http.Request) {},
		"another key":  func(r *http.Request) { r.Header.Set("Authorization", key+"x") },
		"another host": func(r *http.Request) { r.Header.Set("Authorization", key); r.Host = "rebound.example" },
		"a page": func(r *http.Request) {
			r.Header.Set("Authorization", key)
			r.Header.Set("Origin", "https://evil.example")
		},
	} {
		if got := get(alone, change); got < 400 {
			t.Errorf("%s: %d", name, got)
		}
	}
	if got := get(alone, func(r *http.Request) { r.Header.Set("Authorization", key) }); got != http.StatusOK {
		t.Errorf("the control: the key gets %d", got)
	}
	info, err := os.Stat(filepath.Join(folder, "one.json"))
	if err != nil || info.Mode().Perm()&0o077 != 0 && os.PathSeparator == '/' {
		t.Errorf("the file: %v, %v", info, err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestInboxOfTheDead: nobody sends a key to the port of a process that is dead, which may be
// another program's by now, and its file goes; one that lives, or has just begun, stays.
func TestInboxOfTheDead(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "run")
	_, _ = doorOf(t, folder)
	past := time.Now().Add(-2 * deadAfter)
	for _, name := range []string{"dead.json", "young.json", "dead.html"} {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(`{"port":1,"key":"k"}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(name, "dead") {
			if err := os.Chtimes(path, past, past); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := os.Chtimes(filepath.Join(folder, "one.json"), past, past); err != nil {
		t.Fatal(err)
	}
	in := &inbox{folder: folder, byPorts: true}
	if got := in.peers(); len(got) != 1 || got["one"] == nil {
		t.Errorf("the peers are %v", got)
	}
	in.clean(t.Context())
	left, err := os.ReadDir(folder)
	var names []string
	for _, e := range left {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); err != nil || got != "dead.html one.json young.json" {
		t.Errorf("left are %s, %v", got, err)
	}
}
