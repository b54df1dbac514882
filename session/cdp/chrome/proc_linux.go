package chrome

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// smallSharedMemory reports whether /dev/shm is too small for renderers, as in a
// default container.
func smallSharedMemory() bool {
	return freeSpace("/dev/shm") < 256<<20
}

// killUsers kills the processes of this user whose command line names the user
// data folder. Its name is unique to one browser.
func killUsers(data string) {
	want := []byte("--user-data-dir=" + data)
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		line, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err != nil {
			continue
		}
		for arg := range bytes.SplitSeq(line, []byte{0}) {
			if bytes.Equal(arg, want) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	}
}

// isChild reports whether a process belongs to the group of a browser: the number may be somebody
// else's by now.
func isChild(browser, pid int) bool {
	group, err := syscall.Getpgid(pid)
	return err == nil && group == browser && pid != browser
}

// usage reads what a process has in memory of its own, in bytes (proc(5)).
func usage(browser, pid int) (all uint64) {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil || pid != browser && !isChild(browser, pid) {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if name != "RssAnon" && name != "RssShmem" && name != "VmSwap" {
			continue
		}
		if kB, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64); err == nil {
			all += kB << 10
		}
	}
	return all
}

func endChild(browser, pid int) {
	if isChild(browser, pid) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// dieFirst is an oom_score_adj; a browser gives its renderers 300.
const dieFirst = "900"

func firstToDie(browser, pid int) {
	if isChild(browser, pid) { // a renderer in a sandbox may keep its file from us, and has its browser's number
		_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte(dieFirst), 0o600)
	}
}

// tcpTables list the sockets of this machine, a line each (proc_net_tcp in the kernel's documentation).
var tcpTables = []string{"/proc/net/tcp", "/proc/net/tcp6"}

// othersListen reports whether a process of another user listens on a port of this machine.
func othersListen(port int) bool {
	me, want := strconv.Itoa(os.Getuid()), fmt.Sprintf(":%04X", port)
	for _, table := range tcpTables {
		lines, err := os.ReadFile(table)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(lines)) {
			// sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid …
			f := strings.Fields(line)
			if len(f) > 7 && strings.HasSuffix(f[1], want) && f[3] == "0A" && f[7] != me {
				return true
			}
		}
	}
	return false
}

// memoryOf sums the memory of the processes of a browser, which are a group.
func memoryOf(browser int) (all uint64) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return 0
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid != browser && !isChild(browser, pid) {
			continue
		}
		if n, ok := proportional(pid); ok {
			all += n
		} else {
			all += usage(browser, pid)
		}
	}
	return all
}

// proportional reads the proportional set size of a process, in bytes (proc_pid_smaps(5)). A process in a
// sandbox keeps it from others.
func proportional(pid int) (uint64, bool) {
	rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(rollup)) {
		if name, value, _ := strings.Cut(line, ":"); name == "Pss" {
			kB, err := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kB << 10, err == nil
		}
	}
	return 0, false
}
