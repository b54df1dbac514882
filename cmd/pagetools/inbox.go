package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
)

// The sockets of all processes that share a data directory are one inbox: each has a socket
// of its own there, through which the others, and `pagetools approve`, reach its questions.
const (
	runFolder    = "run"
	socketSuffix = ".sock"
	// maxSocketPath is the longest path of a socket that every system takes.
	maxSocketPath = 100
	// deadAfter is how old a socket is at least whose process is taken for dead when it
	// does not listen: one that has just begun may not listen yet.
	deadAfter = 10 * time.Second
)

// inbox is the folder of the sockets.
type inbox struct {
	folder string
	own    string // the name of this process's socket; "" where it has none
}

func openInbox(c *config.Config) (inbox, error) {
	dir, err := dataFolder(c)
	if err != nil {
		return inbox{}, err
	}
	return inbox{folder: filepath.Join(dir, runFolder)}, nil
}

// listen makes the socket of this process, which only its user can open from its first
// moment, and removes those of processes that are dead.
func (in *inbox) listen(ctx context.Context, id string) (net.Listener, error) {
	if err := os.MkdirAll(in.folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of sockets: %w", err)
	}
	in.clean(ctx)
	name := id + socketSuffix
	path := filepath.Join(in.folder, name)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is too long for a socket; "+
			"--data-dir gives a shorter one", path)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// Systems that cannot do so have the folder's mode.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), l.Close())
	}
	in.own = name
	return l, nil
}

// clean removes what killed processes left.
func (in *inbox) clean(ctx context.Context) {
	for name := range in.peers() {
		path := filepath.Join(in.folder, name)
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSocket == 0 || time.Since(info.ModTime()) < deadAfter {
			continue
		}
		var d net.Dialer
		switch other, err := d.DialContext(ctx, "unix", path); {
		case err == nil:
			_ = other.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			_ = os.Remove(path)
		}
	}
}

// peers are the sockets of the other processes, by name. Some may be of dead ones.
func (in *inbox) peers() map[string]http.RoundTripper {
	all := map[string]http.RoundTripper{}
	entries, err := os.ReadDir(in.folder)
	if err != nil {
		return all // no process began yet
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, socketSuffix) && name != in.own {
			all[name] = throughSocket(filepath.Join(in.folder, name))
		}
	}
	return all
}

// throughSocket sends requests through a socket.
func throughSocket(path string) http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}
}
