package session

import (
	"testing"
	"testing/fstest"
)

// TestFreeMemory: a control group counts where it leaves less than the machine has.
func TestFreeMemory(t *testing.T) {
	t.Parallel()
	const meminfo = "MemTotal:  8388608 kB\nMemFree: 7 kB\nMemAvailable:    4194304 kB\n"
	group := func(dir, most, now, stat string) map[string]string {
		dir = "sys/fs/cgroup/" + dir
		return map[string]string{dir + "memory.max": most + "\n", dir + "memory.current": now + "\n", dir + "memory.stat": stat}
	}
	for name, row := range map[string]struct {
		group string
		files map[string]string
		want  uint64
	}{
		"no groups":                {"9:name=systemd:/\n", nil, 4 << 30},
		"no limit":                 {"0::/\n", group("", "max", "5", ""), 4 << 30},
		"a container":              {"0::/\n", group("", "536870912", "436207616", "anon 1\ninactive_file 67108864\n"), (512 - 416 + 64) << 20},
		"a container that is full": {"0::/\n", group("", "1000", "1001", ""), 1},
		"more than there is":       {"0::/\n", group("", "68719476736", "0", ""), 4 << 30},
		"a group above":            {"1:x:/\n0::/a.slice/b\n", group("a.slice/", "1048576", "0", ""), 1 << 20},
	} {
		root := fstest.MapFS{"proc/meminfo": {Data: []byte(meminfo)}, "proc/self/cgroup": {Data: []byte(row.group)}}
		for file, text := range row.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := freeIn(root); got != row.want {
			t.Errorf("%s: %d bytes, want %d", name, got, row.want)
		}
	}
	if got := freeIn(fstest.MapFS{}); got != 0 {
		t.Errorf("a system that says nothing has %d", got)
	}
	if freeMemory() == 0 {
		t.Error("this machine says nothing")
	}
}
