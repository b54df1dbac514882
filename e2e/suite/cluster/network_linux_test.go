package cluster_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// engine names the engine at the end of a way; nodes have their own names.
const engine = "engine"

// way leads from a node to another one, or to the engine.
type way struct{ from, to string }

// network has the connections between nodes and with their engine. A way that is cut goes silent, as
// where packets are lost: nothing arrives and nothing is refused, and what was sent arrives when it is
// mended.
type network struct {
	t    *testing.T
	from func(port int) string // names the process that has a port

	mu   sync.Mutex
	cuts map[way]chan struct{} // closed when it is mended
	open map[net.Conn]bool
	over chan struct{} // closed when the test has ended
	run  sync.WaitGroup
}

func newNetwork(t *testing.T, from func(port int) string) *network {
	n := &network{t: t, from: from, cuts: map[way]chan struct{}{}, open: map[net.Conn]bool{}, over: make(chan struct{})}
	t.Cleanup(n.close)
	return n
}

// cut makes ways silent until mend is called.
func (n *network) cut(ways ...way) (mend func()) {
	mended := make(chan struct{})
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range ways {
		n.cuts[w] = mended
	}
	return func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		for _, w := range ways {
			if n.cuts[w] == mended {
				delete(n.cuts, w)
			}
		}
		close(mended)
	}
}

// await waits until a way is whole. It is false when the test has ended.
func (n *network) await(w way) bool {
	for {
		n.mu.Lock()
		mended := n.cuts[w]
		n.mu.Unlock()
		if mended == nil {
			return true
		}
		select {
		case <-mended:
		case <-n.over:
			return false
		}
	}
}

// gate listens for connections to a target, and returns its address. Where from is empty, whose they are is
// looked up.
func (n *network) gate(from, to, target string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = l.Close() })
	n.run.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			n.run.Go(func() { n.pass(c, way{from, to}, target) })
		}
	})
	return l.Addr().String()
}

// pass connects a connection with its target.
func (n *network) pass(c net.Conn, w way, target string) {
	defer n.drop(c)
	for range 100 { // a process that has just begun is not known yet
		if w.from != "" {
			break
		}
		w.from = n.from(c.RemoteAddr().(*net.TCPAddr).Port)
	}
	n.keep(c)
	if w.from == "" || !n.await(w) { // nobody could cut it
		return
	}
	d, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer n.drop(d)
	n.keep(d)
	n.run.Go(func() {
		n.copy(d, c, w)
		n.drop(c)
		n.drop(d)
	})
	n.copy(c, d, w)
}

// copy copies what comes while the way is whole.
func (n *network) copy(to io.Writer, from io.Reader, w way) {
	buf := make([]byte, 32<<10)
	for {
		size, err := from.Read(buf)
		if size > 0 && n.await(w) {
			_, _ = to.Write(buf[:size]) // then reading ends, too
		}
		if err != nil {
			n.await(w) // its end does not arrive either
			return
		}
	}
}

// keep has a connection end with the test.
func (n *network) keep(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.open[c] = true; n.hasEnded() {
		_ = c.Close()
	}
}

func (n *network) hasEnded() bool {
	select {
	case <-n.over:
		return true
	default:
		return false
	}
}

func (n *network) drop(c net.Conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.open, c)
	_ = c.Close()
}

func (n *network) close() {
	n.mu.Lock()
	close(n.over)
	for c := range n.open {
		_ = c.Close()
	}
	n.mu.Unlock()
	n.run.Wait()
}

// holder returns which of the processes has a port of a connection on loopback; 0 is none.
func holder(port int, pids ...int) int {
	table, _ := os.ReadFile("/proc/net/tcp")
	inode := ""
	for line := range strings.Lines(string(table)) {
		f := strings.Fields(line)
		if len(f) > 9 && f[1] == fmt.Sprintf("0100007F:%04X", port) {
			inode = "socket:[" + f[9] + "]"
		}
	}
	for _, pid := range pids {
		files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
		for _, f := range files {
			if at, err := os.Readlink(f); err == nil && at == inode && inode != "" {
				return pid
			}
		}
	}
	return 0
}
