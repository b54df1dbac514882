package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/files"
	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/transport"
)

// The doors of all processes that share a data directory are one inbox: each has one of its own
// there, through which the others, `pagetools approve` and `pagetools reload` reach it. It is a
// socket that only its user can open, or, on Windows, a port of this machine and a file that only
// its user can read, with the key that each request must have.
const (
	runFolder    = "run"
	socketSuffix = ".sock"
	portSuffix   = ".json"
	// maxSocketPath is the longest path of a socket that every system takes.
	maxSocketPath = 100
	// deadAfter sets how old a door is at least whose process is taken for dead when it
	// does not answer: one that has just begun may not listen yet.
	deadAfter = 10 * time.Second
)

// inbox is the folder of the doors.
type inbox struct {
	folder  string
	own     string // the name of this process's door; "" where it has none
	byPorts bool
}

// node names this process as the others see it; "" where it has no door.
func (in *inbox) node() string { return nodeOf(in.own) }

// nodeOf returns the name of the process with a door of that name.
func nodeOf(door string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(door, portSuffix), socketSuffix), lifeMark)
	return name
}

// lifeMark stands, in the name of the door of a node, between the name of the node and that of its life.
const lifeMark = "~"

// doorName makes the name of a door that no other process has had.
func doorName(n *node) string {
	name := strings.ToLower(rand.Text()[:8])
	if n != nil {
		name = n.name + lifeMark + name
	}
	return name
}

func openInbox(c *config.Config) (inbox, error) {
	dir, err := dataFolder(c)
	if err != nil {
		return inbox{}, err
	}
	return inbox{folder: filepath.Join(dir, runFolder), byPorts: runtime.GOOS == "windows"}, nil
}

// door says how this process is reached.
type door struct {
	net.Listener
	key   string   // of each request; "" where the file system guards the door
	file  *os.File // locked as long as the process lives; nil for a socket
	inbox *os.Root // where the file is
	once  sync.Once
}

// listen makes the door of this process, which only its user can open from its first
// moment, and removes those of processes that are dead.
func (in *inbox) listen(ctx context.Context, id string) (*door, error) {
	if err := files.MakePrivate(in.folder); err != nil {
		return nil, fmt.Errorf("making the folder of sockets: %w", err)
	}
	in.clean(ctx)
	if in.byPorts {
		in.own = id + portSuffix
		return in.listenAtPort(ctx)
	}
	name := id + socketSuffix
	path := filepath.Join(in.folder, name)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is too long for a socket; "+
			"--data-dir gives a shorter one", path)
	}
	lc := net.ListenConfig{Control: closeToOthers}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), l.Close())
	}
	in.own = name
	return &door{Listener: l}, nil
}

// keyed has the content of the file of a port.
type keyed struct {
	Port int    `json:"port"`
	Key  string `json:"key"`
}

// listenAtPort writes the file when it is locked: a file that nobody has locked is of a process
// that is dead, whose port may be another program's by now.
func (in *inbox) listenAtPort(ctx context.Context) (*door, error) {
	root, err := os.OpenRoot(in.folder)
	if err != nil {
		return nil, fmt.Errorf("opening the folder of ports: %w", err)
	}
	d := &door{key: rand.Text(), inbox: root}
	var lc net.ListenConfig
	if d.Listener, err = lc.Listen(ctx, "tcp", "127.0.0.1:0"); err != nil {
		return nil, errors.Join(fmt.Errorf("listening for the person's answers: %w", err), root.Close())
	}
	content, err := json.Marshal(keyed{d.Addr().(*net.TCPAddr).Port, d.key})
	if err == nil {
		d.file, err = root.OpenFile(in.own, os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	}
	if err == nil {
		if err = files.TryLock(d.file); err == nil {
			_, err = d.file.Write(content)
		}
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing %s: %w", filepath.Join(in.folder, in.own), err), d.Close())
	}
	return d, nil
}

// Close closes the door, and removes what led to it. Servers call it once more.
func (d *door) Close() (err error) {
	d.once.Do(func() {
		err = d.Listener.Close()
		if d.file != nil {
			err = errors.Join(err, files.RemoveIn(d.inbox, filepath.Base(d.file.Name())), d.file.Close())
		}
		if d.inbox != nil {
			err = errors.Join(err, d.inbox.Close())
		}
	})
	return err
}

// guard lets nobody through but an operator.
func (d *door) guard(next http.Handler, log *slog.Logger) http.Handler {
	operator := operatorAt("socket")
	operator.May = append(operator.May, bridge.MayCall) // for calls that the operators' page of another process passes on
	if d.key == "" {
		return transport.Trusted(next, operator, transport.Options{Log: log})
	}
	return transport.Guard(next, transport.Options{Listen: d.Addr().String(), Words: optionWords, Log: log,
		Callers: []transport.Credential{{Caller: operator, Token: d.key}}})
}

// clean removes what killed processes left.
func (in *inbox) clean(ctx context.Context) {
	root, err := os.OpenRoot(in.folder)
	if err != nil {
		return
	}
	defer func() { _ = root.Close() }()
	entries, err := fs.ReadDir(root.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < deadAfter {
			continue
		}
		name := e.Name()
		switch {
		case info.Mode().IsRegular() && strings.HasSuffix(name, portSuffix):
			if f, err := root.OpenFile(name, os.O_RDWR, 0); err == nil {
				if files.TryLock(f) == nil {
					_ = files.RemoveIn(root, name)
				}
				_ = f.Close()
			}
		case info.Mode()&os.ModeSocket != 0 && strings.HasSuffix(name, socketSuffix):
			var d net.Dialer
			switch other, err := d.DialContext(ctx, "unix", filepath.Join(in.folder, name)); {
			case err == nil:
				_ = other.Close()
			case origin.IsRefused(err):
				_ = os.Remove(filepath.Join(in.folder, name))
			}
		}
	}
}

// peers are the doors of the other processes, by name. Some sockets may be of dead ones.
func (in *inbox) peers() map[string]http.RoundTripper {
	all := map[string]http.RoundTripper{}
	entries, err := os.ReadDir(in.folder)
	if err != nil {
		return all // no process began yet
	}
	for _, e := range entries {
		name := e.Name()
		switch path := filepath.Join(in.folder, name); {
		case name == in.own:
		case strings.HasSuffix(name, socketSuffix) && !in.byPorts:
			all[nodeOf(name)] = throughSocket(path)
		case strings.HasSuffix(name, portSuffix) && in.byPorts:
			if k, ok := readPort(path); ok {
				all[nodeOf(name)] = k
			}
		}
	}
	return all
}

func throughSocket(path string) http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}
}

// readPort reads the file of a process that lives.
func readPort(path string) (k keyed, ok bool) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return k, false
	}
	defer func() { _ = f.Close() }()
	if files.TryShare(f) == nil { // nobody has it
		return k, false
	}
	err = json.NewDecoder(f).Decode(&k)
	return k, err == nil && k.Port > 0 && k.Key != ""
}

// RoundTrip sends a request to the process with the key, and follows no redirect.
func (k keyed) RoundTrip(r *http.Request) (*http.Response, error) {
	own := r.Clone(r.Context())
	own.URL.Host = net.JoinHostPort("127.0.0.1", strconv.Itoa(k.Port))
	own.Host = own.URL.Host
	own.Header.Set("Authorization", "Bearer "+k.Key)
	return alone.RoundTrip(own)
}

// alone uses no proxy, and keeps no connection.
var alone = &http.Transport{DisableKeepAlives: true}
