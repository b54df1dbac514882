package chrome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// Process is a browser that we started. Its methods are safe for concurrent use.
type Process struct {
	// The browser writes to Out and reads from In. It exits when In is closed.
	Out io.ReadCloser
	In  io.WriteCloser

	cmd     *exec.Cmd
	tree    *proctree.Tree
	profile *profile
	kept    *kept // nil without a profile of the operator
	output  *proctree.Tail
	done    chan struct{} // closed when it ended and its folder is gone
}

// Start starts a browser. The error wraps ErrProfileInUse when another browser has the
// operator's profile.
func (l *Launcher) Start() (*Process, error) {
	if l.options.UserDataDir == "" {
		return l.start(nil)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.last != nil { // it was killed, and lets go of the profile when it is gone
		select {
		case <-l.last.done:
		case <-time.After(goneTime):
		}
	}
	held, err := l.options.keepProfile(l.kind)
	if err != nil {
		return nil, err
	}
	p, err := l.start(held)
	if err != nil {
		held.release()
		return nil, err
	}
	l.last = p
	return p, nil
}

// goneTime bounds how long a browser that was killed may take to be gone.
const goneTime = 10 * time.Second

// start starts a browser that has the operator's profile, or one of its own.
func (l *Launcher) start(held *kept) (*Process, error) {
	o := l.options
	prof, err := o.newProfile()
	if err != nil {
		return nil, err
	}
	data := prof.data()
	if o.UserDataDir != "" {
		data = o.UserDataDir
	}
	if err := o.answersLogins(l.kind, data); err != nil {
		return nil, errors.Join(err, prof.remove())
	}
	toBrowser, toBrowserW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), prof.remove())
	}
	fromBrowserR, fromBrowser, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making a pipe: %w", err), toBrowser.Close(),
			toBrowserW.Close(), prof.remove())
	}
	p := &Process{Out: fromBrowserR, In: toBrowserW, profile: prof, kept: held, output: &proctree.Tail{Most: tailSize},
		done: make(chan struct{})}
	p.cmd = exec.Command(l.path, o.arguments(l.kind, data)...) //nolint:noctx // it lives until Close, and its pipe ends it
	p.cmd.Env = prof.env(o.Headful)
	p.cmd.Dir = prof.dir
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.cmd.WaitDelay = time.Second // children that outlive it hold the output open
	p.tree = proctree.New(p.cmd, true)
	if err := givePipes(p.cmd, toBrowser, fromBrowser, toBrowserW, fromBrowserR); err != nil {
		return nil, errors.Join(err, toBrowser.Close(), toBrowserW.Close(), fromBrowser.Close(),
			fromBrowserR.Close(), prof.remove())
	}
	started := make(chan error, 1)
	go p.run(started, func() {
		if o.UserDataDir != "" { // another browser may have it next
			seen := o
			seen.Headful = true
			_ = seen.answersLogins(l.kind, data) // the next start from here does it again
		}
	})
	err = <-started
	_ = toBrowser.Close()
	_ = fromBrowser.Close()
	if err != nil {
		_ = toBrowserW.Close()
		_ = fromBrowserR.Close()
		return nil, fmt.Errorf("starting %s: %w", l.path, err)
	}
	return p, nil
}

// run starts the browser, waits for it and calls ended. The kernel kills the browser when the
// thread that started it ends, so the thread stays with this goroutine.
func (p *Process) run(started chan<- error, ended func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(p.done)
	if err := p.tree.Start(); err != nil {
		_ = p.profile.remove()
		started <- err
		return
	}
	started <- nil
	_ = p.cmd.Wait()
	p.tree.Kill()
	ended()
	p.kept.release()
	_ = p.profile.remove() // a later Clean finds what is left
}

// Done is closed when the process has ended and its folder is gone.
func (p *Process) Done() <-chan struct{} { return p.done }

// Path returns the program that was started.
func (p *Process) Path() string { return p.cmd.Path }

// Files returns the folder for what pages save. It goes with the process.
func (p *Process) Files() string { return filepath.Join(p.profile.dir, filesName) }

// PID returns the number of the process.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Output returns the last n lines that the browser printed.
func (p *Process) Output(n int) string { return lines(p.output, n) }

// Stop waits for the process to end by itself, and kills it when ctx ends.
func (p *Process) Stop(ctx context.Context) {
	select {
	case <-p.done:
		return
	case <-ctx.Done():
	}
	p.Kill()
	<-p.done
}

// Kill ends the process and its group, unless it is over: its number may be
// somebody else's by then.
func (p *Process) Kill() {
	select {
	case <-p.done:
	default:
		p.tree.Kill()
	}
}

// tailSize limits what is kept of the words of a browser.
const tailSize = 4 << 10

// lines returns the last lines of them.
func lines(t *proctree.Tail, n int) string {
	all := strings.Split(t.String(), "\n")
	return strings.Join(all[max(0, len(all)-n):], "\n")
}
