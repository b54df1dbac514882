package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/transport/cluster/key"
)

// TestClusterIsRefused: what a cluster cannot have is refused with exit code 2 before the engine is
// contacted, which nobody serves here, and in words for whoever reads them for the first time.
func TestClusterIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good, open, text := write("good", key.New().Text()+"\n", 0o600), write("open", key.New().Text()+"\n", 0o644), write("text", "hello", 0o600)
	site := filepath.Join(dir, "site")
	if err := os.Mkdir(site, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(site, "index.html"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	whole := []string{"serve", "https://shop.example/", "--listen", "127.0.0.1:0", "--console-listen", "off", "--data-dir", "off", "--token", "a-token-of-the-tests",
		"--cluster", "nats://127.0.0.1:1", "--cluster-key-file", good, "--node", "a", "--peer-listen", "127.0.0.1:0"}
	with := func(more ...string) []string { return append(append([]string{}, whole...), more...) }
	without := func(name string) (all []string) {
		for i := 0; i < len(whole); i++ {
			if whole[i] == name {
				i++
				continue
			}
			all = append(all, whole[i])
		}
		return all
	}
	embedded := func(more ...string) []string { return append(append(without("--cluster"), "--cluster-embed"), more...) }
	for why, x := range map[string]struct {
		args []string
		says string
	}{
		"no key":                    {without("--cluster-key-file"), "pagetools cluster key > cluster.key"},
		"a key that is not there":   {with("--cluster-key-file", filepath.Join(dir, "missing")), "there is no file"},
		"a key that others read":    {with("--cluster-key-file", open), "chmod 600 "},
		"no key in it":              {with("--cluster-key-file", text), "has no cluster key"},
		"an old key in no file":     {with("--cluster-key-old", filepath.Join(dir, "missing")), "--cluster-key-old: there is no file"},
		"no listener":               {without("--peer-listen"), "--peer-listen"},
		"a listener without a port": {with("--peer-listen", "10.0.0.11"), "host:port"},
		"every address":             {with("--peer-listen", "0.0.0.0:7302"), "--peer-address https://HOST:PORT"},
		"a peer address of HTTP":    {with("--peer-address", "http://10.0.0.11:7302"), "https://10.0.0.11:7302"},
		"a name that is none":       {with("--node", "A_b"), "small letters"},
		"another engine":            {with("--cluster", "redis://x"), "nats://10.0.0.5:4222"},
		"a lease that is too short": {with("--lease", "1s"), "2s to 60s"},
		"a folder":                  {append([]string{"serve", site}, whole[2:]...), "is a folder"},
		"a profile":                 {with("--user-data-dir", dir), "a profile belongs to one browser"},
		"no callers":                {without("--token"), "needs callers"},
		"no cluster":                {without("--cluster"), "needs --cluster"},
		"two kinds of engines":      {with("--cluster-embed"), "cannot be combined with --cluster"},
		"no peers":                  {embedded(), "needs --cluster-peers"},
		"two peers":                 {embedded("--cluster-peers", "a=10.0.0.11,b=10.0.0.12"), "odd number"},
		"peers without this node":   {embedded("--cluster-peers", "b=10.0.0.11"), "does not name the node a"},
		"an engine without a place": {embedded("--cluster-peers", "a=127.0.0.1"), "needs a data directory"},
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), x.args, strings.NewReader(""), &out, &errs)
		if said := errs.String(); code != 2 || !strings.Contains(said, x.says) || strings.Contains(said, "does not answer") || strings.Contains(said, "hello") {
			t.Errorf("%s: %d %s", why, code, said)
		}
	}
}
