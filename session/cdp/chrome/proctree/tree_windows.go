package proctree

import (
	"fmt"
	"os/exec"
	"sync"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Tree is a process and its children. Its methods are safe for concurrent use after Start.
type Tree struct {
	cmd *exec.Cmd

	mu    sync.Mutex
	job   windows.Handle // 0: it was not made, or it is closed
	ended bool
}

// New makes a command that was not started the first process of a tree, which the kernel always
// ends with us.
func New(cmd *exec.Cmd, _ bool) *Tree { return &Tree{cmd: cmd} }

// Start starts the command. It cannot be started suspended, so that it runs for a moment before it
// is in the job.
func (t *Tree) Start() error {
	job, err := newJob()
	if err != nil {
		return fmt.Errorf("making a job: %w", err)
	}
	if err := t.cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return err
	}
	if err := assign(job, t.cmd.Process.Pid); err != nil {
		_, _ = windows.CloseHandle(job), t.cmd.Process.Kill()
		_ = t.cmd.Wait()
		return fmt.Errorf("putting the process into a job: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended {
		return windows.CloseHandle(job)
	}
	t.job = job
	return nil
}

// newJob makes a job that ends when its last handle is closed, and so with this process, which has
// the only one.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

func assign(job windows.Handle, pid int) error {
	p, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(p) }()
	return windows.AssignProcessToJobObject(job, p)
}

// Terminate is Kill: there is no other request that every program understands.
func (t *Tree) Terminate() { t.Kill() }

// Kill ends all processes, also those that the first one left behind.
func (t *Tree) Kill() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	if t.job != 0 {
		_ = windows.CloseHandle(t.job)
		t.job = 0
	}
	if t.cmd.Process != nil {
		_ = t.cmd.Process.Kill() // it may be gone
	}
}
