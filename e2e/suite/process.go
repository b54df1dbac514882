package suite

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// LastProcesses bounds how long processes may take to vanish after their owner.
const LastProcesses = 20 * time.Second

// Process is one line of the process table.
type Process struct {
	PID, parent int
	Line        string // the command line, with spaces
}

// Processes returns the living processes that keep accepts, without zombies. Where there is no
// /proc the list is empty.
func Processes(keep func(Process) bool) []Process {
	entries, _ := filepath.Glob("/proc/[0-9]*")
	var out []Process
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
		p := Process{PID: pid, Line: strings.ReplaceAll(string(line), "\x00", " ")}
		p.parent, _ = strconv.Atoi(fields[1])
		if keep(p) {
			out = append(out, p)
		}
	}
	return out
}

// Descendants returns the processes below pid.
func Descendants(pid int) []Process {
	all := Processes(func(Process) bool { return true })
	family := []int{pid}
	var out []Process
	for grew := true; grew; {
		grew = false
		for _, p := range all {
			if slices.Contains(family, p.parent) && !slices.Contains(family, p.PID) {
				family, out, grew = append(family, p.PID), append(out, p), true
			}
		}
	}
	return out
}

// Within reports whether ok became true before bound. It asks every 20 ms.
func Within(bound time.Duration, ok func() bool) bool {
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

// Eventually fails the test when ok does not become true within bound.
func Eventually(t *testing.T, bound time.Duration, what string, ok func() bool) {
	t.Helper()
	if !Within(bound, ok) {
		t.Fatalf("%s: not within %v", what, bound)
	}
}
