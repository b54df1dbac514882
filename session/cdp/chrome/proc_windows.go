package chrome

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/windows"
)

// freeSpace returns how many bytes this user may write where the folder is; 0 when it is not there.
func freeSpace(dir string) (free uint64) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil || windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0
	}
	return free
}

// givePipes gives a browser the ends of its pipes. It learns their handles from a flag, because it
// has no files 3 and 4 here. The others are ours, and no other program that we start gets them.
func givePipes(cmd *exec.Cmd, in, out *os.File, ours ...*os.File) error {
	for _, f := range ours {
		if err := windows.SetHandleInformation(windows.Handle(f.Fd()), windows.HANDLE_FLAG_INHERIT, 0); err != nil {
			return fmt.Errorf("keeping a pipe to ourselves: %w", err)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		AdditionalInheritedHandles: []syscall.Handle{syscall.Handle(in.Fd()), syscall.Handle(out.Fd())}}
	cmd.Args = slices.Insert(cmd.Args, 1, fmt.Sprintf("--remote-debugging-io-pipes=%d,%d", in.Fd(), out.Fd()))
	return nil
}

// openElsewhere describes the browser of a person that has the profile open: it keeps a file there
// open that nobody else may write. It is empty when there is none.
func openElsewhere(dir string) string {
	f, err := os.OpenFile(filepath.Join(dir, "lockfile"), os.O_WRONLY, 0)
	if err == nil {
		_ = f.Close()
		return ""
	}
	if errors.Is(err, windows.ERROR_SHARING_VIOLATION) {
		return " of a person"
	}
	return ""
}
