package postgrestest

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// EnvPrograms names the environment variable with the folder that scripts/postgres.sh prints.
const EnvPrograms = "PAGETOOLS_POSTGRES"

// patience limits how long a server may take to start.
const patience = 60 * time.Second

// Password belongs to the user pagetools of the servers. It must be seen nowhere.
const Password = "the-password-of-the-database"

// Server is one process.
type Server struct {
	t       testing.TB
	bin     string
	folder  string
	address string
	owner   *user.User // of its process; nil: as the test
	cmd     *exec.Cmd
	exited  chan struct{}
	log     *os.File
	args    []string
}

// programs returns the folder with postgres and initdb. Without one the test is skipped, but not in CI.
func programs(t testing.TB) string {
	t.Helper()
	bin := os.Getenv(EnvPrograms)
	if path, err := exec.LookPath("postgres"); bin == "" && err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			bin = filepath.Dir(path)
		}
	}
	if _, err := os.Stat(filepath.Join(bin, "initdb")); bin != "" && err == nil {
		return bin
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("there is no PostgreSQL, and CI tests with one: %s=$(scripts/postgres.sh)", EnvPrograms)
	}
	t.Skipf("there is no PostgreSQL: %s=$(scripts/postgres.sh) finds or installs it", EnvPrograms)
	return ""
}

// Quick has a server trust the system to write to the disk, as in Start(t, Quick...).
var Quick = []string{"-c", "fsync=off", "-c", "synchronous_commit=off"}

// Start starts a server with more arguments, and ends it with the test. It returns when the server answers.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{t: t, bin: programs(t), args: args}
	within := "" // the folder for temporary files, which another user may not reach
	if os.Getuid() == 0 {
		within = "/tmp"
	}
	folder, err := os.MkdirTemp(within, "pagetools-postgres-")
	if err != nil {
		t.Fatal(err)
	}
	s.folder = folder
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	s.own(t)
	secret := filepath.Join(folder, "password")
	if err := os.WriteFile(secret, []byte(Password+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	made := s.command(context.Background(), "initdb", "--no-sync", "--no-locale", "--encoding=UTF8", "--auth=scram-sha-256",
		"--username=pagetools", "--pwfile="+secret, "-D", filepath.Join(folder, "data"))
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	for range 5 { // somebody else can take a port that was free
		s.address = freePort(t)
		if s.run() {
			return s
		}
	}
	t.Fatalf("postgres does not start:\n%s", s.said())
	return nil
}

// own gives the folder to another user where this one is root: the server refuses to run as root.
func (s *Server) own(t testing.TB) {
	t.Helper()
	if os.Getuid() != 0 {
		return
	}
	for _, name := range []string{"postgres", "nobody"} {
		owner, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(owner.Uid)
		gid, _ := strconv.Atoi(owner.Gid)
		if err := os.Chown(s.folder, uid, gid); err != nil {
			t.Fatal(err)
		}
		s.owner = owner
		return
	}
	t.Skip("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func (s *Server) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, filepath.Join(s.bin, program), args...)
	cmd.Dir = s.folder
	cmd.Env = append(os.Environ(), "HOME="+s.folder, "LC_ALL=C")
	as(cmd, s.owner)
	return cmd
}

// run starts the process, and reports whether it answers before it ends.
func (s *Server) run() bool {
	s.t.Helper()
	var err error
	if s.log, err = os.Create(filepath.Join(s.folder, "log")); err != nil {
		s.t.Fatal(err)
	}
	host, port, _ := net.SplitHostPort(s.address)
	// Not the test's context: it ends before the test's cleanups, which close what uses the server.
	s.cmd = s.command(context.Background(), "postgres", append([]string{"-D", filepath.Join(s.folder, "data"), "-c", "listen_addresses=" + host, "-c", "port=" + port,
		"-c", "unix_socket_directories=", "-c", "max_connections=200"}, s.args...)...)
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	cmd, log, exited := s.cmd, s.log, make(chan struct{})
	s.exited = exited
	go func() {
		_ = cmd.Wait() // it is ended
		_ = log.Close()
		close(exited)
	}()
	s.t.Cleanup(s.Kill)
	timer, ticker := time.NewTimer(patience), time.NewTicker(20*time.Millisecond)
	defer timer.Stop()
	defer ticker.Stop()
	for !strings.Contains(s.said(), "ready to accept connections") {
		select {
		case <-ticker.C:
		case <-exited:
			return false
		case <-timer.C:
			s.t.Fatalf("postgres does not start:\n%s", s.said())
		}
	}
	return true
}

func (s *Server) said() string {
	text, _ := os.ReadFile(filepath.Join(s.folder, "log"))
	return string(text)
}

// Address returns the address of the server's database.
func (s *Server) Address() string { return addressAt(s.address) }

func addressAt(host string) string {
	u := url.URL{Scheme: "postgres", User: url.UserPassword("pagetools", Password), Host: host, Path: "/postgres", RawQuery: "sslmode=disable"}
	return u.String()
}

// Kill ends the server at once: it writes nothing any more.
func (s *Server) Kill() {
	_ = s.cmd.Process.Signal(immediately) // it can be gone
	<-s.exited
}

// Restart starts the server that was killed, with what it has on disk.
func (s *Server) Restart() {
	s.t.Helper()
	if !s.run() {
		s.t.Fatalf("postgres does not start again:\n%s", s.said())
	}
}

// Query has an operator ask something, and returns what psql prints: a line for each row. It asks the database
// of Address.
func (s *Server) Query(statement string) string { return s.QueryIn("postgres", statement) }

// QueryIn is Query, of another database.
func (s *Server) QueryIn(database, statement string) string {
	s.t.Helper()
	cmd := s.command(s.t.Context(), "psql", "--no-psqlrc", "-v", "ON_ERROR_STOP=1", "-Atc", statement, strings.Replace(s.Address(), "/postgres?", "/"+database+"?", 1))
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("%s: %v\n%s", statement, err, errs.String())
	}
	return strings.TrimSpace(string(out))
}

func freePort(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Gate is a way to a server that can go silent.
type Gate struct {
	listener net.Listener
	target   string
	silent   atomic.Pointer[chan struct{}] // nil: it passes all on
	loses    atomic.Bool

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// Gate opens a way to the server, until the test ends.
func (s *Server) Gate() *Gate {
	s.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.t.Fatal(err)
	}
	g := &Gate{listener: l, target: s.address, conns: map[net.Conn]bool{}}
	s.t.Cleanup(g.close)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go g.pass(c)
		}
	}()
	return g
}

// Address returns the address of the database, through the gate.
func (g *Gate) Address() string { return addressAt(g.listener.Addr().String()) }

// Silence has nothing pass any more, as a network does that loses all packets, until mend.
func (g *Gate) Silence() (mend func()) {
	is := make(chan struct{})
	g.silent.Store(&is)
	return sync.OnceFunc(func() {
		g.silent.Store(nil)
		close(is)
	})
}

// LoseAnswers has the server do what it is told, and its connections end before they answer, until mend.
func (g *Gate) LoseAnswers() (mend func()) {
	g.loses.Store(true)
	return func() { g.loses.Store(false) }
}

func (g *Gate) await() {
	for is := g.silent.Load(); is != nil; is = g.silent.Load() {
		<-*is
	}
}

func (g *Gate) pass(c net.Conn) {
	defer c.Close()
	g.await()
	to, err := net.Dial("tcp", g.target)
	if err != nil {
		return
	}
	defer to.Close()
	g.mu.Lock()
	g.conns[c], g.conns[to] = true, true
	g.mu.Unlock()
	done := make(chan struct{}, 2)
	for from, into := range map[net.Conn]net.Conn{c: to, to: c} {
		go func() {
			g.copy(into, from, from == to)
			done <- struct{}{}
		}()
	}
	<-done
}

func (g *Gate) copy(to io.Writer, from io.Reader, answers bool) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		g.await()
		if n > 0 {
			if answers && g.loses.Load() {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (g *Gate) close() {
	_ = g.listener.Close()
	if is := g.silent.Swap(nil); is != nil {
		close(*is)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for c := range g.conns {
		_ = c.Close()
	}
}
