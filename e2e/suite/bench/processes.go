package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// processes are those whose environment has a text, and all below them.
func processes(text string) []int {
	var found []int
	below := map[int][]int{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
		b, err := os.ReadFile(stat)
		if err != nil {
			continue // it ended
		}
		after := string(b[bytes.LastIndexByte(b, ')')+1:]) // its name may hold anything
		if fields := strings.Fields(after); len(fields) > 1 && fields[0] != "Z" {
			parent, _ := strconv.Atoi(fields[1])
			below[parent] = append(below[parent], pid)
		}
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		if err == nil && bytes.Contains(environ, []byte(text)) {
			found = append(found, pid)
		}
	}
	for i := 0; i < len(found); i++ {
		for _, pid := range below[found[i]] {
			if !slices.Contains(found, pid) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// memory returns the proportional set size of processes in MB: of all, and of those that are no
// browser.
func memory(pids []int) (all, bridge float64) {
	for _, pid := range pids {
		mb, err := pss(pid)
		if err != nil {
			continue // it ended
		}
		all += mb
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && !strings.HasPrefix(filepath.Base(exe), "chrom") {
			bridge += mb
		}
	}
	return all, bridge
}

// end ends processes, and waits until they are gone.
func end(find func() []int) {
	for range 100 {
		pids := find()
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, syscall.WNOHANG, nil)
		}
	}
}
