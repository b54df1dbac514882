package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pagetools/pagetools/session/cdp/chrome"
)

// outsideRows measures the binary itself: its start and its memory.
func outsideRows(ctx context.Context, bin, url string) ([]row, error) {
	start, err := startRow(ctx, bin, filepath.Dir(bin), url)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	memory, err := memoryRows(ctx, bin, url)
	if err != nil {
		return nil, fmt.Errorf("memory: %w", err)
	}
	return append([]row{start}, memory...), nil
}

// build makes the binary, in a folder of its own that remove removes.
func build(ctx context.Context) (bin string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "pagetools-bench-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	bin = filepath.Join(dir, "pagetools")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin,
		"./cmd/pagetools").CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("building: %w: %s", err, out)
	}
	return bin, remove, nil
}

// startRow compares the first tool list with the browser alone.
func startRow(ctx context.Context, bin, dir, url string) (row, error) {
	took, err := besideBrowser(ctx, dir, url, bin, "tools", url+"/")
	return latency("start to the first tool list", took.ours, took.alone, 1.3), err
}

// besides says how long a command and the browser alone take.
type besides struct{ ours, alone time.Duration }

// besideBrowser runs a command, and the browser that only opens the page, in turns.
func besideBrowser(ctx context.Context, dir, url, bin string, args ...string) (b besides, err error) {
	browser, _, err := chrome.Find(chrome.Options{Path: os.Getenv("PAGETOOLS_EXECUTABLE_PATH")})
	if err != nil {
		return b, err
	}
	var ours, bare []time.Duration
	for i := range size.warm + size.starts {
		first, err := timed(exec.CommandContext(ctx, bin, args...))
		if err != nil {
			return b, err
		}
		alone := []string{"--headless", "--disable-background-networking",
			"--disable-component-update", "--disable-sync", "--no-first-run",
			"--user-data-dir=" + filepath.Join(dir, "profile"+strconv.Itoa(i)), "--dump-dom"}
		if os.Getenv("PAGETOOLS_NO_SANDBOX") == "1" {
			alone = append(alone, "--no-sandbox")
		}
		second, err := timed(exec.CommandContext(ctx, browser, append(alone, url+"/")...))
		if err != nil {
			return b, err
		}
		if i >= size.warm { // the first one fills the page cache
			ours, bare = append(ours, first), append(bare, second)
		}
	}
	return besides{median(ours), median(bare)}, nil
}

func timed(c *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	out, err := c.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%w: %s", err, out)
	}
	return time.Since(began), nil
}

// server is the binary that serves.
type server struct {
	*exec.Cmd
	base string
}

// serve starts the binary with a data directory beside it.
func serve(ctx context.Context, bin string, args ...string) (*server, error) {
	data, err := os.MkdirTemp(filepath.Dir(bin), "data-")
	if err != nil {
		return nil, err
	}
	s := &server{Cmd: exec.CommandContext(ctx, bin, append([]string{"serve", "--listen", "127.0.0.1:0", "--format", "json", "--console-listen", "off", "--data-dir", data}, args...)...)}
	stdout, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err != nil {
		s.stop()
		return nil, err
	}
	var ready struct {
		Listening string `json:"listening"`
	}
	if err := json.Unmarshal(line, &ready); err != nil {
		s.stop()
		return nil, err
	}
	s.base = ready.Listening
	return s, nil
}

func (s *server) stop() {
	_ = s.Process.Signal(syscall.SIGTERM)
	_ = s.Wait()
}

// sessions sets how many pages the memory of one session is taken from.
const sessions = 6

// memoryRows reads the proportional set size of the bridge itself.
func memoryRows(ctx context.Context, bin, url string) ([]row, error) {
	s, err := serve(ctx, bin, "bench="+url+"/", "--warm", "0", "--max-sessions", "16")
	if err != nil {
		return nil, err
	}
	defer s.stop()
	agent, err := dial(s.base)
	if err != nil {
		return nil, err
	}
	defer agent.close()
	open := func(id int) error {
		for range 2 { // a second use keeps it
			if _, err := agent.do("POST", "/webtools/bench", fmt.Appendf(nil, `{"sessionId":"s%d","action":"noop","request":{}}`, id)); err != nil {
				return err
			}
		}
		return nil
	}
	one, err := pss(s.Process.Pid)
	if err != nil {
		return nil, err
	}
	if err := open(0); err != nil {
		return nil, err
	}
	before, err := pss(s.Process.Pid)
	if err != nil {
		return nil, err
	}
	for i := range sessions {
		if err := open(i + 1); err != nil {
			return nil, err
		}
	}
	after, err := pss(s.Process.Pid)
	if err != nil {
		return nil, err
	}
	each := (after - before) / sessions
	return []row{
		{"memory of the bridge with one site, PSS", fmt.Sprintf("%.1f MB", one), "", "",
			"under 35 MB", one < 35},
		{"memory of the bridge per session, PSS", fmt.Sprintf("%.2f MB", each), "", "",
			"under 2 MB", each < 2},
	}, nil
}

// pss returns a process's proportional set size in MB.
func pss(pid int) (float64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid)) //nolint:gosec // the path is a number in /proc
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb / 1024, err
		}
	}
	return 0, errors.New("the kernel does not say")
}
