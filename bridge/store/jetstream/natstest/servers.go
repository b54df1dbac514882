package natstest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// patience limits how long servers may take to start.
const patience = 20 * time.Second

// Options say how servers are started. The zero value is one server that everybody may use.
type Options struct {
	Servers int    // in a cluster; 0 is one
	Users   string // the users of the account, in the server's format; "" is anybody
	Client  string // more lines for the whole configuration, such as tls
	Sync    string // sync_interval, of servers that are newer than 2.9; "" is theirs
}

// Cluster is a server, or several.
type Cluster struct {
	Servers []*Server
}

// Server is one process.
type Server struct {
	URL     string
	program Program
	folder  string
	t       testing.TB
	cmd     *exec.Cmd
	log     *log
	exited  chan struct{}
}

// Start starts servers, and ends them with the test. It returns when they serve JetStream, but for
// some moments after the election of a cluster's leader.
func Start(t testing.TB, p Program, o Options) *Cluster {
	t.Helper()
	for range 5 { // somebody else can take a port that was free
		if c := start(t, p, o); c != nil {
			return c
		}
	}
	t.Fatal("nats-server does not start: its ports are taken")
	return nil
}

func start(t testing.TB, p Program, o Options) *Cluster {
	t.Helper()
	n := max(o.Servers, 1)
	ports := freePorts(t, 2*n)
	var routes []string
	for _, port := range ports[n:] {
		routes = append(routes, "nats://"+port)
	}
	c := &Cluster{}
	for i := range n {
		s := &Server{URL: "nats://" + ports[i], program: p, folder: t.TempDir(), t: t}
		text := fmt.Sprintf("server_name: s%d\nlisten: %q\nping_interval: 2s\njetstream { store_dir: %q, max_mem: 64M, max_file: 1G", i, ports[i], s.folder)
		if o.Sync != "" {
			text += ", sync_interval: " + o.Sync
		}
		text += " }\n" + o.Client + "\n"
		if n > 1 {
			text += fmt.Sprintf("cluster { name: pt, listen: %q, routes: [%s] }\n", ports[n+i], strings.Join(routes, ", "))
		}
		if o.Users != "" {
			text += "accounts { PT { jetstream: enabled, users: [" + o.Users + "] }, SYS { users: [{user: sys, password: sys}] } }\nsystem_account: SYS\n"
		}
		if err := os.WriteFile(filepath.Join(s.folder, "nats.conf"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		c.Servers = append(c.Servers, s)
	}
	for _, s := range c.Servers {
		s.run()
	}
	for _, s := range c.Servers {
		if !s.log.wait("Server is ready") {
			if strings.Contains(s.log.text(), "address already in use") {
				c.Kill()
				return nil
			}
			t.Fatalf("nats-server does not start:\n%s", s.log.text())
		}
	}
	if n > 1 && !c.hasLeader() {
		t.Fatalf("the servers have no leader:\n%s", c.Servers[0].log.text())
	}
	return c
}

// URLs returns the servers' addresses.
func (c *Cluster) URLs() []string {
	var urls []string
	for _, s := range c.Servers {
		urls = append(urls, s.URL)
	}
	return urls
}

// Kill ends all servers, as a power failure does.
func (c *Cluster) Kill() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// hasLeader waits until one of the servers says that there is a leader. In 2.9 not all do.
func (c *Cluster) hasLeader() bool {
	found := make(chan bool, len(c.Servers))
	for _, s := range c.Servers {
		go func() { found <- s.log.wait("metadata leader") }()
	}
	for range c.Servers {
		if <-found {
			return true
		}
	}
	return false
}

func (s *Server) run() {
	s.t.Helper()
	s.log = newLog()
	// Not the test's context: it ends before the test's cleanups, which close what uses the server.
	s.cmd = exec.Command(s.program.Path, "-c", filepath.Join(s.folder, "nats.conf"))
	s.cmd.Stderr, s.cmd.Stdout = s.log, s.log
	orphanless(s.cmd)
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, exited := s.cmd, make(chan struct{})
	s.exited = exited
	go func() {
		_ = cmd.Wait() // it is killed, so there is always an error
		s.log.close()
		close(exited)
	}()
	s.t.Cleanup(s.Kill)
}

// Kill ends the server at once.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill() // it can be gone
	<-s.exited
}

// Restart starts the server that was killed, with what it has on disk.
func (s *Server) Restart() {
	s.t.Helper()
	s.run()
	if !s.log.wait("Server is ready") {
		s.t.Fatalf("nats-server does not start again:\n%s", s.log.text())
	}
}

// freePorts returns addresses on loopback that nobody listened on a moment ago.
func freePorts(t testing.TB, n int) []string {
	t.Helper()
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		addresses = append(addresses, l.Addr().String())
	}
	return addresses
}

// log holds what a server said.
type log struct {
	mu   sync.Mutex
	said bytes.Buffer
	more chan struct{} // closed and made anew when something was said
	over bool
}

func newLog() *log { return &log{more: make(chan struct{})} }

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.more)
	l.more = make(chan struct{})
	return l.said.Write(p)
}

func (l *log) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.over = true
	close(l.more)
	l.more = make(chan struct{})
}

func (l *log) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said.String()
}

// wait reports whether the server said it before it ended, or for as long as it may take.
func (l *log) wait(word string) bool {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	for {
		l.mu.Lock()
		said, over, more := strings.Contains(l.said.String(), word), l.over, l.more
		l.mu.Unlock()
		if said || over {
			return said
		}
		select {
		case <-more:
		case <-timer.C:
			return false
		}
	}
}
