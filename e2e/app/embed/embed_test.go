package embed_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge/store/jetstream"
	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/e2e/app/embed"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

// hang is a bound that only a defect reaches.
const hang = time.Minute

// TestPeers: a list of nodes with an engine is read, and what cannot work is refused with words.
func TestPeers(t *testing.T) {
	t.Parallel()
	got, err := embed.ParsePeers("a=10.0.0.11, b=b.example:7400,c=[fd00::3]:7500")
	want := []embed.Peer{{Node: "a", Host: "10.0.0.11", Port: 7303}, {Node: "b", Host: "b.example", Port: 7400}, {Node: "c", Host: "fd00::3", Port: 7500}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	if got, want := embed.Servers(want), []string{"tls://10.0.0.11:7303", "tls://b.example:7400", "tls://[fd00::3]:7500"}; !reflect.DeepEqual(got, want) {
		t.Errorf("servers %q, want %q", got, want)
	}
	for list, words := range map[string]string{
		"10.0.0.11":                     "name of a node",
		"A=10.0.0.11":                   "name of a node",
		"a=0.0.0.0":                     "every address",
		"a=":                            "no host",
		"a=x\"; listen 1":               "no host",
		"a=10.0.0.1:70000":              "no port",
		"a=10.0.0.1,b=10.0.0.2":         "odd number",
		"a=10.0.0.1,a=10.0.0.2,c=c":     "twice",
		"a=10.0.0.1,b=10.0.0.1,c=c":     "twice",
		"a=10.0.0.1,b=10.0.0.2,c=c:x":   "no port",
		"a=10.0.0.1,,c=10.0.0.3":        "name of a node",
		"a=10.0.0.1:65535,b=b:1,c=c:65": "no port",
	} {
		if _, err := embed.ParsePeers(list); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v; want %q", list, err, words)
		}
	}
}

// find has the program of a version found on the PATH.
func find(t *testing.T, p natstest.Program) {
	t.Helper()
	t.Setenv("PATH", filepath.Dir(p.Path)+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// peers are on loopback, at ports of which this one and the next were free a moment ago.
func peers(t *testing.T, names ...string) (all []embed.Peer) {
	t.Helper()
	for _, name := range names {
		for {
			first, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			port := first.Addr().(*net.TCPAddr).Port
			second, err := net.Listen("tcp", (&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port + 1}).String())
			if err != nil {
				_ = first.Close()
				continue
			}
			t.Cleanup(func() { _, _ = first.Close(), second.Close() })
			all = append(all, embed.Peer{Node: name, Host: "127.0.0.1", Port: port})
			defer func() { _, _ = first.Close(), second.Close() }()
			break
		}
	}
	return all
}

func start(t *testing.T, node string, all []embed.Peer, keys key.Keys) *embed.Engine {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a folder of \""+node+"\"")
	t.Cleanup(func() {
		if said, err := os.ReadFile(filepath.Join(dir, "engine.log")); t.Failed() {
			t.Logf("the engine of %s said: %s, %v", node, said, err)
		}
	})
	e, err := embed.Start(t.Context(), embed.Options{Folder: dir, Node: node, Peers: all, Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// open waits for engines, as a node does.
func open(t *testing.T, servers []string, c *tls.Config) *jetstream.Store {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), hang)
	defer cancel()
	for {
		s, err := jetstream.Open(ctx, jetstream.Options{Servers: servers, TLS: c, Name: "test"})
		if err == nil {
			t.Cleanup(s.Close)
			return s
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			t.Fatal(err)
		}
	}
}

// TestEngines: three engines keep three copies for who has the key of the cluster, and for nobody
// else. One that is killed is started anew.
func TestEngines(t *testing.T) {
	find(t, natstest.Newest(t))
	keys := key.Keys{Now: key.New()}
	all := peers(t, "a", "b", "c")
	a := start(t, "a", all, keys)
	start(t, "b", all, keys)
	start(t, "c", all, keys)
	proof, err := cluster.EngineClient(keys)
	if err != nil {
		t.Fatal(err)
	}
	s := open(t, embed.Servers(all), proof)
	if s.Copies() != 3 {
		t.Errorf("%d copies, want 3", s.Copies())
	}
	if _, err := s.Create(t.Context(), "s.X", []byte("x")); err != nil {
		t.Error(err)
	}
	other, err := cluster.EngineClient(key.Keys{Now: key.New()})
	if err != nil {
		t.Fatal(err)
	}
	unproved := proof.Clone()
	unproved.Certificates = nil
	unsure := proof.Clone()
	unsure.RootCAs = other.RootCAs
	for name, c := range map[string]*tls.Config{"another key": other, "no certificate": unproved, "trusts another key": unsure,
		"no name, and no proof": {InsecureSkipVerify: true}} {
		if s, err := jetstream.Open(t.Context(), jetstream.Options{Servers: embed.Servers(all)[:1], TLS: c, Name: "test"}); err == nil {
			s.Close()
			t.Errorf("%s: was let in", name)
		}
	}
	at := strings.TrimPrefix(embed.Servers(all)[0], "tls://")
	if s, err := jetstream.Open(t.Context(), jetstream.Options{Servers: []string{"nats://" + at}, Name: "test"}); err == nil {
		s.Close()
		t.Error("without TLS: was let in")
	}

	a.Kill()
	one := open(t, embed.Servers(all)[:1], proof)
	if r, err := one.Get(t.Context(), "s.X"); err != nil || string(r.Value) != "x" {
		t.Errorf("after it was killed: %q, %v", r.Value, err)
	}
	one.Close()
	a.Close()
	l, err := net.Listen("tcp", at)
	if err != nil {
		t.Fatalf("after its end: %v", err)
	}
	_ = l.Close()
}

// TestReplacedKey: while a key is replaced, nodes and engines of both trust each other.
func TestReplacedKey(t *testing.T) {
	find(t, natstest.Newest(t))
	before, after := key.New(), key.New()
	all := peers(t, "a")
	start(t, "a", all, key.Keys{Now: after, Also: before})
	for name, keys := range map[string]key.Keys{"before": {Now: before, Also: after}, "after": {Now: after}} {
		c, err := cluster.EngineClient(keys)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		open(t, embed.Servers(all), c)
	}
}

// TestRefusedEngines: what cannot serve is not started, and the words say what to do.
func TestRefusedEngines(t *testing.T) {
	keys := key.Keys{Now: key.New()}
	try := func(node string, all []embed.Peer) error {
		e, err := embed.Start(t.Context(), embed.Options{Folder: t.TempDir(), Node: node, Peers: all, Keys: keys, Log: slog.New(slog.DiscardHandler)})
		e.Close()
		return err
	}
	refused := func(what string, err error, words string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v; want %q", what, err, words)
		}
	}
	for _, p := range natstest.Programs(t) {
		t.Run(p.Version, func(t *testing.T) {
			find(t, p)
			if err := try("a", peers(t, "a")); err != nil {
				t.Errorf("alone: %v", err)
			}
			if err := try("a", peers(t, "a", "b", "c")); strings.HasPrefix(p.Version, "2.9.") {
				refused("an old one of three", err, "2.10 or newer")
			} else if err != nil {
				t.Errorf("one of three: %v", err)
			}
			refused("another node", try("d", peers(t, "a")), "none of those")
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			refused("a port that is taken", try("a", []embed.Peer{{Node: "a", Host: "127.0.0.1", Port: l.Addr().(*net.TCPAddr).Port}}), "cannot listen")
		})
	}
	t.Setenv("PATH", t.TempDir())
	refused("no program", try("a", peers(t, "a")), "install it")
}
