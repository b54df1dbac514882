package session

import (
	"bufio"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
)

// freeMemory returns the bytes that are left to this process, or zero when that is not known.
func freeMemory() uint64 { return freeIn(os.DirFS("/")) }

// freeIn is the smaller one of what the kernel says is available and of what is left to the
// control groups that this process is in, such as those of a container.
func freeIn(root fs.FS) uint64 {
	kib, _ := number(root, "proc/meminfo", "MemAvailable:")
	free := kib << 10
	group, ok := field(root, "proc/self/cgroup", "0::")
	for ok && group != "/" && group != "." {
		free = lesser(free, leftIn(root, group))
		group = path.Dir(group)
	}
	return lesser(free, leftIn(root, "/"))
}

// leftIn returns what a control group (version 2) may take beyond what it has. Files that are
// cached and not in use count as free, as MemAvailable counts them.
func leftIn(root fs.FS, group string) uint64 {
	dir := path.Join("sys/fs/cgroup", group)
	most, bounded := number(root, path.Join(dir, "memory.max"), "")
	now, known := number(root, path.Join(dir, "memory.current"), "")
	if !bounded || !known {
		return 0
	}
	cached, _ := number(root, path.Join(dir, "memory.stat"), "inactive_file ")
	return max(1, most-min(most, now-min(now, cached)))
}

// lesser is the smaller one of two numbers of bytes, of which zero is not known.
func lesser(a, b uint64) uint64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}

// number is the number in the line of a file that begins with the prefix.
func number(root fs.FS, name, prefix string) (uint64, bool) {
	text, ok := field(root, name, prefix)
	n, err := strconv.ParseUint(text, 10, 64)
	return n, ok && err == nil
}

// field is the rest of the line of a file that begins with the prefix, without its unit.
func field(root fs.FS, name, prefix string) (string, bool) {
	f, err := root.Open(name)
	if err != nil {
		return "", false
	}
	defer func() { _ = f.Close() }() // it was only read
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), prefix); ok {
			return strings.TrimSpace(strings.TrimSuffix(rest, " kB")), true
		}
	}
	return "", false
}
