//go:build unix

package chrome

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// freeSpace returns how many bytes this user may write where the folder is; 0 when it is not there.
func freeSpace(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return uint64(st.Bavail) * uint64(st.Bsize) //nolint:unconvert // elsewhere the types are others
}

// givePipes gives a browser the ends of its pipes, as its files 3 and 4. The others are ours.
func givePipes(cmd *exec.Cmd, in, out *os.File, _ ...*os.File) error {
	cmd.ExtraFiles = []*os.File{in, out}
	return nil
}

// openElsewhere describes the browser of a person that has the profile open, as Chromium
// finds it: by a socket that answers, or by the name of another machine, of which nobody
// here knows whether its browser runs. It is empty when there is none.
func openElsewhere(dir string) string {
	target, err := os.Readlink(filepath.Join(dir, "SingletonLock"))
	if err != nil {
		return ""
	}
	host, pid := target, ""
	if i := strings.LastIndexByte(target, '-'); i >= 0 {
		host, pid = target[:i], target[i+1:]
	}
	if own, err := os.Hostname(); err == nil && own != host {
		return fmt.Sprintf(" on the machine %s (process %s), or one that ended there without "+
			"removing the file SingletonLock,", host, pid)
	}
	socket, err := os.Readlink(filepath.Join(dir, "SingletonSocket"))
	if err != nil {
		return ""
	}
	bounded, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(bounded, "unix", socket)
	if err != nil {
		return "" // its browser is gone
	}
	_ = conn.Close()
	return " (process " + pid + ")"
}
