package suite_test

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// lastProcesses is how long processes may take to vanish after who owns them.
const lastProcesses = 3 * time.Second

// process is one line of the process table.
type process struct {
	pid, parent int
	line        string // the command line, with spaces
}

// processes lists the living processes that keep says yes of. Where there is no
// /proc the list is empty.
func processes(keep func(process) bool) []process {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var out []process
	for _, dir := range entries {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile(filepath.Join(dir, "cmdline"))
		if err != nil || len(line) == 0 { // gone, or a zombie
			continue
		}
		stat, err := os.ReadFile(filepath.Join(dir, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 2 {
			continue
		}
		p := process{pid: pid, line: strings.ReplaceAll(string(line), "\x00", " ")}
		p.parent, _ = strconv.Atoi(fields[1])
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// descendants lists the processes below pid.
func descendants(pid int) []process {
	all := processes(func(process) bool { return true })
	family := []int{pid}
	var out []process
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if slices.Contains(family, p.parent) && !slices.Contains(family, p.pid) {
				family, out, grew = append(family, p.pid), append(out, p), true
			}
		}
	}
	return out
}

// within reports whether ok became true before bound.
func within(bound time.Duration, ok func() bool) bool {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(bound)
	for !ok() {
		select {
		case <-ticker.C:
		case <-deadline:
			return ok()
		}
	}
	return true
}

// eventually fails the test when ok does not become true.
func eventually(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	if !within(bound, ok) {
		t.Fatalf("%s: not within %v", what, bound)
	}
}

// TestFramework (D3, F4): tools that a page registers some time after its load event are
// there for a command that ends after one answer, each time.
func TestFramework(t *testing.T) {
	t.Parallel()
	page := pageServer().page("framework.html")
	for range 3 {
		if out := pagetoolsRun(t, 0, "tools", page); !strings.Contains(out, "late") {
			t.Errorf("tools prints %s", out)
		}
		if out := pagetoolsRun(t, 0, "call", page, "late"); out != "true\n" {
			t.Errorf("call prints %q", out)
		}
	}
}
