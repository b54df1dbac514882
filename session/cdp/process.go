package cdp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"
)

// process is a browser that we started.
type process struct {
	cmd     *exec.Cmd
	profile *profile
	output  *tail
	done    chan struct{} // closed when it ended and its folder is gone
	err     error         // how it ended; valid after done
}

// launch starts a browser and gives its process and its pipe.
func launch(o LocalOptions, path string) (*process, *pipe, error) {
	prof, err := newProfile(o.ProfileDir)
	if err != nil {
		return nil, nil, err
	}
	toBrowser, toBrowserW, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making a pipe: %w", err), prof.remove())
	}
	fromBrowserR, fromBrowser, err := os.Pipe()
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("making a pipe: %w", err), toBrowser.Close(), toBrowserW.Close(), prof.remove())
	}
	data := prof.data()
	if o.UserDataDir != "" {
		data = o.UserDataDir
	}
	p := &process{profile: prof, output: &tail{}, done: make(chan struct{})}
	p.cmd = exec.Command(path, o.arguments(data)...) //nolint:noctx // it lives until Close, and its pipe ends it
	p.cmd.Env = prof.env()
	p.cmd.Dir = prof.dir
	p.cmd.ExtraFiles = []*os.File{toBrowser, fromBrowser} // 3 and 4
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = time.Second // children that outlive it hold the output open
	setProcess(p.cmd)
	started := make(chan error, 1)
	go p.run(started)
	err = <-started
	_ = toBrowser.Close()
	_ = fromBrowser.Close()
	if err != nil {
		_ = toBrowserW.Close()
		_ = fromBrowserR.Close()
		return nil, nil, fmt.Errorf("starting %s: %w", path, err)
	}
	return p, newPipe(fromBrowserR, toBrowserW, maxMessage), nil
}

// run starts the browser and waits for it. The kernel kills the browser when the
// thread that started it ends, so the thread stays with this goroutine.
func (p *process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := p.cmd.Start(); err != nil {
		_ = p.profile.remove()
		started <- err
		return
	}
	started <- nil
	p.err = p.cmd.Wait()
	killTree(p.cmd)
	if err := p.profile.remove(); err != nil && p.err == nil {
		p.err = err
	}
}

// stop waits for the process to end by itself, and kills it when ctx ends.
func (p *process) stop(ctx context.Context) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	p.kill()
	<-p.done
}

// kill ends the process and its group, unless it is over: its number may be
// somebody else's by then.
func (p *process) kill() {
	select {
	case <-p.done:
	default:
		killTree(p.cmd)
	}
}

// tail keeps the last bytes that a browser printed.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

const tailSize = 4 << 10

// Write keeps the end of what was written.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, b...)
	if extra := len(t.buf) - tailSize; extra > 0 {
		t.buf = bytes.Clone(t.buf[extra:])
	}
	return len(b), nil
}

// lines gives the last n lines.
func (t *tail) lines(n int) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := strings.Split(strings.TrimSpace(string(t.buf)), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
