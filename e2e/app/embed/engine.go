package embed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/records"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
	"github.com/pagetools/pagetools/transport/cluster"
	"github.com/pagetools/pagetools/transport/cluster/key"
)

const (
	// program is looked for on the PATH.
	program = "nats-server"
	// endTime limits how long an engine may take to end when it is asked to.
	endTime = 5 * time.Second
	// again is waited before an engine that ended is started anew.
	again = time.Second
	// versionTime limits how long it may take a program to say its version.
	versionTime = 10 * time.Second
)

// Options say which engine is started.
type Options struct {
	Folder string // is made; for this engine alone
	Node   string // is among Peers
	Peers  []Peer
	Keys   key.Keys
	Log    *slog.Logger
}

// Engine is a nats-server, as a child of this process. Make one with Start.
type Engine struct {
	path, folder string
	log          *slog.Logger
	tree         atomic.Pointer[proctree.Tree] // of now
	end          context.CancelFunc
	over         chan struct{} // closed when it has ended for good
}

// Start starts an engine, and starts it anew whenever it ends, until Close. Errors say why none can
// be started: no program, an old one, a port that is taken. What the engine says is in engine.log of
// the folder. Where the system can, it ends with this process.
func Start(ctx context.Context, o Options) (*Engine, error) {
	own := slices.IndexFunc(o.Peers, func(p Peer) bool { return p.Node == o.Node })
	if own < 0 {
		return nil, fmt.Errorf("the node %s is none of those that have an engine", text.Line(o.Node))
	}
	path, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("there is no %s on the PATH: install it, as with 'apt-get install nats-server' or from https://nats.io/download/", program)
	}
	v, err := versionOf(ctx, path)
	if err != nil {
		return nil, err
	}
	if len(o.Peers) > 1 && !v.atLeast(2, 10) { // its copies are not right: bridge/store/jetstream refuses them, too
		return nil, fmt.Errorf("%s is of version %d.%d, and several engines need 2.10 or newer: an older one can acknowledge two writes where one must fail", path, v.major, v.minor)
	}
	for _, port := range []int{o.Peers[own].Port, o.Peers[own].Port + 1} {
		if err := isFree(ctx, o.Peers[own].at(port)); err != nil {
			return nil, err
		}
	}
	if err := prepare(&o, own, v); err != nil {
		return nil, err
	}
	e := &Engine{path: path, folder: o.Folder, log: o.Log, over: make(chan struct{})}
	running, end := context.WithCancel(context.WithoutCancel(ctx))
	e.end = end
	started := make(chan error, 1)
	go e.run(running, started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return e, nil
}

// Close ends the engine, and returns when it has ended. A nil engine is none.
func (e *Engine) Close() {
	if e == nil {
		return
	}
	e.end()
	<-e.over
}

// run starts the engine, again and again. The kernel kills it when the thread that started it ends,
// so the thread stays with this goroutine.
func (e *Engine) run(ctx context.Context, started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(e.over)
	for first := true; ; first = false {
		err := e.once(ctx, func() {
			if first {
				started <- nil
			}
		})
		switch {
		case ctx.Err() != nil:
			return
		case first && errors.Is(err, errNotStarted):
			started <- err
			return
		}
		e.log.Warn("cluster: the engine has ended, and is started anew", slog.Any("error", err), slog.String("log", e.logFile()))
		if !records.Pause(ctx, again) {
			return
		}
	}
}

var errNotStarted = errors.New("it does not start")

// once runs the engine until it ends, or ctx does.
func (e *Engine) once(ctx context.Context, started func()) error {
	cmd := exec.Command(e.path, "-c", filepath.Join(e.folder, configFile)) //nolint:noctx // it is asked to end first
	cmd.Dir, cmd.Env = e.folder, environment()
	tree := proctree.New(cmd, true)
	if err := tree.Start(); err != nil {
		return fmt.Errorf("%w: %w", errNotStarted, err)
	}
	e.tree.Store(tree)
	started()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		tree.Terminate()
		kill := time.AfterFunc(endTime, tree.Kill)
		err = <-ended
		kill.Stop()
	}
	tree.Kill()
	return err
}

func (e *Engine) logFile() string { return filepath.Join(e.folder, logFile) }

// environment returns what the engine gets of ours: nothing that may be a secret.
func environment() (env []string) {
	for _, name := range []string{"PATH", "TZ", "SYSTEMROOT"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

type version struct{ major, minor int }

func (v version) atLeast(major, minor int) bool {
	return v.major > major || v.major == major && v.minor >= minor
}

// versionOf asks a program for its version.
func versionOf(ctx context.Context, path string) (v version, err error) {
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-v").Output()
	if err != nil {
		return v, fmt.Errorf("%s does not say its version: %w", path, err)
	}
	if _, err = fmt.Sscanf(string(out), "nats-server: v%d.%d", &v.major, &v.minor); err != nil {
		return v, fmt.Errorf("%s is no nats-server: it says %q", path, text.Line(strings.TrimSpace(string(out))))
	}
	return v, nil
}

// isFree returns why an engine cannot listen at an address.
func isFree(ctx context.Context, address string) error {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("an engine cannot listen at %s: %w", address, err)
	}
	return l.Close()
}

const (
	configFile, logFile = "nats.conf", "engine.log"
	authoritiesFile     = "authorities.pem"
	certificateFile     = "certificate.pem"
	keyFile             = "key.pem"
)

// prepare writes what the engine reads.
func prepare(o *Options, own int, v version) error {
	p, err := cluster.NewEnginePEM(o.Keys, o.Peers[own].Host)
	if err != nil {
		return err
	}
	if err := files.MakePrivate(o.Folder); err != nil {
		return fmt.Errorf("making a folder for the engine: %w", err)
	}
	for name, content := range map[string][]byte{authoritiesFile: p.Authorities, certificateFile: p.Certificate, keyFile: p.Key, configFile: config(o, own, v)} {
		if err := files.Write(filepath.Join(o.Folder, name), content, 0o600); err != nil {
			return fmt.Errorf("writing for the engine: %w", err)
		}
	}
	return nil
}

// config returns the configuration of an engine, in the format of nats-server.
func config(o *Options, own int, v version) []byte {
	at, self := func(name string) string { return filepath.Join(o.Folder, name) }, o.Peers[own]
	proof := fmt.Sprintf("tls { cert_file: %q, key_file: %q, ca_file: %q, verify: true, timeout: 5 }", at(certificateFile), at(keyFile), at(authoritiesFile))
	sync := "" // three engines have three copies
	if len(o.Peers) == 1 && v.atLeast(2, 10) {
		sync = ", sync_interval: always"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "server_name: %q\nlisten: %q\nlog_file: %q\nlogfile_size_limit: 10MB\n", self.Node, self.at(self.Port), at(logFile))
	fmt.Fprintf(&b, "jetstream { store_dir: %q, max_mem: 64MB%s }\n%s\n", at("records"), sync, proof)
	if len(o.Peers) > 1 {
		var routes []string
		for i, p := range o.Peers {
			if i != own {
				routes = append(routes, fmt.Sprintf("%q", "nats-route://"+p.at(p.Port+1)))
			}
		}
		fmt.Fprintf(&b, "cluster { name: pagetools, listen: %q, routes: [%s], %s }\n", self.at(self.Port+1), strings.Join(routes, ", "), proof)
	}
	return []byte(b.String())
}
