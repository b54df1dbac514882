package serve_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pagetools/pagetools/e2e/suite"
	"github.com/pagetools/pagetools/e2e/suite/docs"
)

// TestLogFollows: log --follow prints the calls of other processes as they end, and stops
// when it is interrupted.
func TestLogFollows(t *testing.T) {
	t.Parallel()
	data, stamps := "--data-dir="+filepath.Join(t.TempDir(), "data"), filepath.Join(docs.Root(t), "examples", "stampdb")
	call := func(tool string, more ...string) {
		if out, err := exec.CommandContext(t.Context(), suite.Pagetools(t), append([]string{"call", stamps, tool, data}, more...)...).CombinedOutput(); err != nil {
			t.Errorf("call %s: %v\n%s", tool, err, out)
		}
	}
	call("list-stamps")
	follow := exec.CommandContext(t.Context(), suite.Pagetools(t), "log", "--follow", data)
	out, err := follow.StdoutPipe()
	if err == nil {
		err = follow.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for _, tool := range []string{"list-stamps", "find-stamps"} { // the call before, and one that comes later
		if !lines.Scan() || !strings.Contains(lines.Text(), tool+" on stampdb for local") {
			t.Fatalf("it prints %q, want %s", lines.Text(), tool)
		}
		if tool == "list-stamps" {
			call("find-stamps", "query=blue")
		}
	}
	if err := follow.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	for lines.Scan() { // what came meanwhile
	}
	if _ = follow.Wait(); follow.ProcessState.ExitCode() != 130 {
		t.Errorf("interrupted, it ends with %v", follow.ProcessState)
	}
}
