package serve_test

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/pagetools/pagetools/bridge/store/jetstream/natstest"
	"github.com/pagetools/pagetools/e2e/suite"
)

// enginePort returns a port that was free a moment ago, as was the next one.
func enginePort(t *testing.T) int {
	t.Helper()
	for {
		address, err := suite.ClosedPort()
		if err != nil {
			t.Fatal(err)
		}
		a, _ := net.ResolveTCPAddr("tcp", address)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", a.Port+1)); err == nil {
			_ = l.Close()
			_, _ = suite.ClosedPort() // nobody else gets that one
			return a.Port
		}
	}
}

// keepsEngine: a node that was stopped until others took it for dead joins again with the engine that it has.
func keepsEngine(t *testing.T, s *suite.Server, lives func() bool) {
	t.Helper()
	engine := func() (pid int) {
		for _, p := range suite.Descendants(s.Cmd.Process.Pid) {
			if strings.Contains(p.Line, "nats-server") {
				pid = p.PID
			}
		}
		return pid
	}
	was := engine()
	for _, signal := range []string{"-STOP", "-CONT"} {
		if err := exec.CommandContext(t.Context(), "kill", signal, strconv.Itoa(s.Cmd.Process.Pid)).Run(); err != nil {
			t.Fatal(err)
		}
		suite.Eventually(t, suite.ReplyWithin, "it lives or not, after "+signal, func() bool { return lives() == (signal == "-CONT") })
	}
	suite.Eventually(t, suite.ReplyWithin, "it serves", func() bool {
		return suite.AsksFor(t, s, suite.AgentToken, "shop", "", "inc", "{}").Status == http.StatusOK
	})
	if is := engine(); is != was || is == 0 {
		t.Errorf("its engine was %d, and is %d", was, is)
	}
}

// TestNodesWithEngines: three nodes start an engine each, which are one. One of them is killed, and
// its engine with it: the others go on, and it comes back. A node that ends takes its engine along.
func TestNodesWithEngines(t *testing.T) {
	t.Parallel()
	path := "PATH=" + filepath.Dir(natstest.Newest(t).Path) + string(os.PathListSeparator) + os.Getenv("PATH")
	folder := t.TempDir()
	secret := clusterKey(t, folder)
	shop, _ := pageOf(t, `let n = 0; document.modelContext.registerTool({name: 'inc', description: 'Counts.', execute: () => ++n});`)
	ports, names := []int{enginePort(t), enginePort(t), enginePort(t)}, []string{"a", "b", "c"}
	peers := fmt.Sprintf("a=127.0.0.1:%d,b=127.0.0.1:%d,c=127.0.0.1:%d", ports[0], ports[1], ports[2])
	file := suite.WriteFile(t, "nodes.yaml", fmt.Sprintf("%ssites: [{name: shop, target: %q}]\ncluster-embed: true\ncluster-peers: %q\ncluster-key-file: %q\n", clusterCallers, shop, peers, secret))
	start := func(name string) (*suite.Server, error) {
		return suite.Start("/usr/bin/env", "", suite.TempDir(t), path, suite.Pagetools(t), "serve", "--config", file, "--data-dir", filepath.Join(folder, name),
			"--approval", "auto", "--warm", "0", "--console-listen", "off", "--node", name, "--peer-listen", "127.0.0.1:0", "--lease", "2s")
	}
	all := make([]*suite.Server, len(names))
	failed := make([]error, len(names))
	var starting sync.WaitGroup
	for i, name := range names { // none is ready before there is a majority
		starting.Go(func() { all[i], failed[i] = start(name) })
	}
	starting.Wait()
	for i, s := range all {
		if failed[i] != nil {
			t.Fatal(failed[i])
		}
		t.Cleanup(func() { _ = s.Cmd.Process.Kill(); <-s.Ended })
	}
	for i, s := range []*suite.Server{all[0], all[1], all[2]} {
		if got := suite.AsksFor(t, s, suite.AgentToken, "shop", "s", "inc", "{}").OK(t); got != float64(i+1) {
			t.Errorf("the session at %s: %v", names[i], got)
		}
	}
	status := func(args ...string) (code int, said struct {
		Engine struct{ Quorum bool }
		Vault  struct{ Copies int }
		Nodes  []struct{ Name, State string }
	}) {
		cmd := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"cluster", "status", "--json"}, args...)...)
		out, _ := cmd.Output()
		_ = json.Unmarshal(out, &said)
		return cmd.ProcessState.ExitCode(), said
	}
	if code, is := status("--config", file); code != 0 || !is.Engine.Quorum || is.Vault.Copies != 3 || len(is.Nodes) != 3 {
		t.Errorf("from outside: exit %d, %+v", code, is)
	}
	if code, is := status("--config", file, "--cluster-key-file", suite.WriteFile(t, "other.key", strings.Repeat("A", 42)+"E")); code == 0 || is.Engine.Quorum {
		t.Errorf("with another key: exit %d, %+v", code, is)
	}
	_ = all[0].Cmd.Process.Kill()
	<-all[0].Ended
	free := func(port int) bool {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
		}
		return err == nil
	}
	if !suite.Within(suite.LastProcesses, func() bool { return free(ports[0]) }) {
		t.Error("the engine of a node that was killed runs")
	}
	var last suite.Reply
	if !suite.Within(suite.ReplyWithin, func() bool { // engines elect a leader
		last = suite.AsksFor(t, all[2], suite.AgentToken, "shop", "t", "inc", "{}")
		return last.Status == http.StatusOK
	}) {
		t.Errorf("without one of three: %d %s", last.Status, last.Body)
	}
	back, err := start("a")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = back.Cmd.Process.Kill(); <-back.Ended })
	if got := suite.AsksFor(t, back, suite.AgentToken, "shop", "t", "inc", "{}").OK(t); got != 2.0 {
		t.Errorf("the session at the node that came back: %v", got)
	}
	if !suite.Within(suite.ReplyWithin, func() bool {
		code, is := status("--data-dir", filepath.Join(folder, "b"))
		return code == 0 && len(is.Nodes) >= 3
	}) {
		t.Error("cluster status does not see it")
	}
	keepsEngine(t, all[2], func() bool {
		_, is := status("--data-dir", filepath.Join(folder, "b"))
		return slices.Contains(is.Nodes, struct{ Name, State string }{"c", "alive"})
	})
	_ = all[1].Cmd.Process.Signal(syscall.SIGTERM)
	<-all[1].Ended
	if code := all[1].Cmd.ProcessState.ExitCode(); code != 0 || !suite.Within(suite.LastProcesses, func() bool { return free(ports[1]) }) {
		t.Errorf("a node that ends: exit %d; its engine runs: %t", code, !free(ports[1]))
	}
}
