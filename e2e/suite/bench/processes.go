package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// numbered are the processes that run, from /proc.
func numbered() (pids []int) {
	found, _ := filepath.Glob("/proc/[0-9]*")
	for _, dir := range found {
		if pid, err := strconv.Atoi(filepath.Base(dir)); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// marked are the processes whose environment has a text, and all below them.
func marked(text string) []int {
	return family(slices.DeleteFunc(numbered(), func(pid int) bool {
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
		return err != nil || !bytes.Contains(environ, []byte(text))
	}))
}

// family are processes and all below them that did not end.
func family(pids []int) []int {
	below := map[int][]int{}
	for _, pid := range numbered() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			continue // it ended
		}
		after := string(stat[bytes.LastIndexByte(stat, ')')+1:]) // its name may hold anything
		if fields := strings.Fields(after); len(fields) > 1 && fields[0] != "Z" {
			parent, _ := strconv.Atoi(fields[1])
			below[parent] = append(below[parent], pid)
		}
	}
	for i := 0; i < len(pids); i++ {
		for _, pid := range below[pids[i]] {
			if !slices.Contains(pids, pid) {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// memory returns the proportional set size of processes in MB: of all, and of those that are not a
// browser.
func memory(pids []int) (all, bridge float64) {
	for _, pid := range pids {
		mb, err := pss(pid)
		if err != nil {
			continue // it ended
		}
		all += mb
		exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
		if err == nil && !strings.HasPrefix(filepath.Base(exe), "chrom") {
			bridge += mb
		}
	}
	return all, bridge
}

// endMarked ends what marked finds.
func endMarked(text string) {
	for range 100 {
		pids := marked(text)
		if len(pids) == 0 {
			return
		}
		for _, pid := range pids {
			end(pid)
		}
	}
}

// end ends a process, and waits for it if it is a child.
func end(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill() // it may have ended
		_, _ = p.Wait()
	}
}
