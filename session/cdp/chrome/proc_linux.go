package chrome

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

// maxSocketPath is how long the path of a socket may be.
const maxSocketPath = 107

// setProcess makes the browser lead a group of its own, and die with us.
func setProcess(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

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
