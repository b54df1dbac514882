package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// patience bounds each step: wine starts slowly.
const patience = 40 * time.Second

// rig is a browser of this machine, a data folder, and the servers that run in wine.
type rig struct {
	browser string // its address
	site    string // of the stamps: consent is for an origin, and that of a folder is another one each time
	data    string
	version string // of the tools, before a restart
	servers []*server
}

// startBrowser starts a headless shell, which may reach what this machine serves.
func (r *rig) startBrowser(ctx context.Context, profile string) (end func(), err error) {
	path := cmp.Or(os.Getenv("PAGETOOLS_HEADLESS_SHELL"), os.Getenv("PAGETOOLS_EXECUTABLE_PATH"))
	args := []string{"--headless", "--remote-debugging-port=0", "--no-first-run", "--user-data-dir=" + profile, "about:blank"}
	if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
		args = append(args, "--no-sandbox")
	}
	c := exec.CommandContext(ctx, path, args...)
	said, err := c.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", path, err)
	}
	end = func() { _, _ = c.Process.Kill(), c.Wait() }
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if _, address, ok := strings.Cut(lines.Text(), "DevTools listening on ws://"); ok {
			r.browser, _, _ = strings.Cut(address, "/")
			r.browser = "http://" + r.browser
			go func() { _, _ = io.Copy(io.Discard, said) }() // ends with the browser
			return end, nil
		}
	}
	end()
	return nil, fmt.Errorf("%s does not say where it listens", path)
}

// command is pagetools in wine, with the browser and the data folder.
func (r *rig) command(ctx context.Context, env []string, args ...string) *exec.Cmd {
	c := exec.CommandContext(ctx, script, append([]string{program}, args...)...)
	c.Env = append(os.Environ(), "PAGETOOLS_BROWSER_URL="+r.browser, "PAGETOOLS_DATA_DIR=Z:"+r.data, "PAGETOOLS_EXECUTABLE_PATH=")
	c.Env = append(c.Env, env...)
	c.WaitDelay = 2 * time.Second // wine's own processes may keep the output open
	return c
}

// run runs a command to its end, and returns what it wrote to stdout. The error has its last words.
func (r *rig) run(ctx context.Context, args ...string) (string, error) {
	return r.runAs(ctx, nil, args...)
}

func (r *rig) runAs(ctx context.Context, env []string, args ...string) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	c := r.command(bounded, env, args...)
	var said bytes.Buffer
	c.Stderr = &said
	out, err := c.Output()
	if errors.Is(err, exec.ErrWaitDelay) {
		err = nil // it ended well
	}
	if err != nil {
		err = fmt.Errorf("pagetools %s: %w: %s%s", strings.Join(args, " "), err, out, &said)
	}
	return string(out), err
}

// tests builds the tests of a package for Windows, and runs some of them.
func (r *rig) tests(ctx context.Context, pkg, which string) error {
	tests := filepath.Join(filepath.Dir(program), filepath.Base(pkg)+".test.exe")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-tags", "wine", "-o", tests, pkg)
	build.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
	}
	bounded, cancel := context.WithTimeout(ctx, 2*patience)
	defer cancel()
	run := exec.CommandContext(bounded, script, tests, "-test.run", which, "-test.v")
	run.WaitDelay = 2 * time.Second
	out, err := run.CombinedOutput()
	for line := range strings.Lines(string(out)) {
		// wine 8 removes no folder of a test, because os.RemoveAll does not work there.
		if wrong := strings.Contains(line, "_test.go:") || strings.Contains(line, "panic"); wrong {
			return fmt.Errorf("the tests of %s: %w\n%s", pkg, err, out)
		}
	}
	if !strings.Contains(string(out), "=== RUN") {
		return fmt.Errorf("the tests of %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// server is a pagetools serve in wine.
type server struct {
	cmd   *exec.Cmd
	said  *words
	url   string
	token string // of operators
}

// words collects what a program says.
type words struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (w *words) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.Write(b)
}

func (w *words) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}

// serve starts a server, and waits until it serves.
func (r *rig) serve(ctx context.Context, args ...string) (*server, error) {
	s := &server{said: &words{}}
	s.cmd = r.command(ctx, nil, append([]string{"serve", "--listen", "127.0.0.1:0", "--console-listen", "127.0.0.1:0", "--format", "json"}, args...)...)
	s.cmd.Stderr = s.said
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	r.servers = append(r.servers, s)
	lines := make(chan string, 1)
	go func() { // ends with the server
		all := bufio.NewReader(out)
		line, _ := all.ReadString('\n')
		lines <- line
		_, _ = io.Copy(io.Discard, all)
	}()
	var ready struct {
		Listening string
		Console   struct{ Token string }
	}
	select {
	case line := <-lines:
		if err := json.Unmarshal([]byte(line), &ready); err != nil {
			return nil, fmt.Errorf("it says %q: %s", line, s.said)
		}
	case <-time.After(2 * patience):
		return nil, fmt.Errorf("it does not serve: %s", s.said)
	}
	s.url, s.token = ready.Listening, ready.Console.Token
	return s, nil
}

// interrupt ends a server as Ctrl-C does, and returns its exit code.
func (s *server) interrupt() (int, error) {
	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil {
		return 0, err
	}
	over := make(chan struct{})
	go func() { // ends with the server
		_ = s.cmd.Wait()
		close(over)
	}()
	select {
	case <-over:
		return s.cmd.ProcessState.ExitCode(), nil
	case <-time.After(patience):
		return 0, fmt.Errorf("it does not end: %s", s.said)
	}
}

func (r *rig) endAll() {
	for _, s := range r.servers {
		if s.cmd.ProcessState == nil {
			_, _ = s.cmd.Process.Kill(), s.cmd.Wait()
		}
	}
}

// ask sends a request to a server, and returns the status and the body.
func (s *server) ask(ctx context.Context, method, path, body string) (int, string, error) {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	req, err := http.NewRequestWithContext(bounded, method, s.url+path, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}
