// Command demo runs for "make demo": it starts "pagetools demo", talks to
// it over HTTP as an agent would, and stops it again. Usage: demo BINARY.
//
// Every step has a bound. It exits 0 only when every step went well. It is a Go
// program because curl and jq are not on every machine that has Go, git and make.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Bounds. The first start of a browser on a slow machine takes many seconds.
const (
	readyWithin = 60 * time.Second
	replyWithin = 30 * time.Second
	stopWithin  = 15 * time.Second
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// ready is the line that the server prints when it serves.
type ready struct {
	Listening string `json:"listening"`
	Sites     []struct {
		Name  string   `json:"name"`
		URL   string   `json:"url"`
		Tools []string `json:"tools"`
	} `json:"sites"`
}

func run(ctx context.Context, args []string, out, logs io.Writer) (err error) {
	if len(args) != 1 {
		return errors.New("usage: demo BINARY")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	server := exec.CommandContext(ctx, args[0], "demo", "--listen", "127.0.0.1:0", "--format",
		"json")
	server.Stderr = logs
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = stopWithin
	lines, err := server.StdoutPipe()
	if err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	fmt.Fprintf(out, "$ %s\n", strings.Join(server.Args, " "))
	if err := server.Start(); err != nil {
		return fmt.Errorf("starting the server: %w", err)
	}
	defer func() { err = errors.Join(err, stopServer(server, cancel, out)) }()

	site, err := awaitReady(ctx, lines)
	if err != nil {
		return err
	}
	return converse(ctx, site, out)
}

// stopServer ends the server and reports how it ended. A server that does not
// stop in time is killed by WaitDelay, and that is a failure.
func stopServer(server *exec.Cmd, cancel context.CancelFunc, out io.Writer) error {
	cancel()
	err := server.Wait()
	// Wait returns the context's error even when the server ended well.
	if state := server.ProcessState; state == nil || !state.Exited() || state.ExitCode() != 0 {
		return fmt.Errorf("stopping the server: %w (%v)", err, state)
	}
	fmt.Fprintln(out, "stopped")
	return nil
}

// awaitReady reads the server's first line and returns the URL of the stamp
// collection.
func awaitReady(ctx context.Context, stdout io.Reader) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, readyWithin,
		fmt.Errorf("the server was not ready within %v", readyWithin))
	defer cancel()
	first := make(chan string, 1)
	go readFirstLine(stdout, first)
	select {
	case <-ctx.Done():
		return "", context.Cause(ctx)
	case line, ok := <-first:
		if !ok {
			return "", errors.New("the server ended before it was ready")
		}
		return stampSite(line)
	}
}

// readFirstLine ends when the server ends, because that closes its stdout. It
// reads on after the first line, so that the server never blocks on a full pipe.
func readFirstLine(stdout io.Reader, first chan<- string) {
	defer close(first)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return
	}
	first <- line
	_, _ = io.Copy(io.Discard, stdout) // An error here is the end of the server, which stopServer reports.
}

// stampSite finds the URL of the stamp collection in the server's first line.
func stampSite(line string) (string, error) {
	var r ready
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		return "", fmt.Errorf("reading the server's first line %q: %w", line, err)
	}
	for _, site := range r.Sites {
		if site.Name != "stampdb" {
			continue
		}
		for _, tool := range []string{"add-stamp", "find-stamps"} {
			if !slices.Contains(site.Tools, tool) {
				return "", fmt.Errorf("the site has no tool %q: %s", tool, line)
			}
		}
		return site.URL, nil
	}
	return "", fmt.Errorf("the server has no site stampdb: %s", line)
}

// converse lists the tools, changes the collection and reads it back. Both
// calls name one session, so the second sees what the first did.
func converse(ctx context.Context, site string, out io.Writer) error {
	add := `{"sessionId":"demo","action":"add-stamp","request":{"name":"Blue Mauritius",` +
		`"description":"Two pence, inscribed Post Office.","year":1847}}`
	if _, err := exchange(ctx, out, http.MethodPost, site, add,
		"now contains 7 stamps"); err != nil {
		return err
	}
	find := `{"sessionId":"demo","action":"find-stamps","request":{"from":1846,"to":1850}}`
	body, err := exchange(ctx, out, http.MethodPost, site, find, "Blue Mauritius")
	if err != nil {
		return err
	}
	var reply struct {
		Status string `json:"status"`
		Data   struct {
			Total int `json:"total"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &reply); err != nil {
		return fmt.Errorf("reading the reply to find-stamps: %w", err)
	}
	if reply.Status != "ok" || reply.Data.Total != 1 {
		return fmt.Errorf("find-stamps: status %q, total %d; it should be ok and 1", reply.Status,
			reply.Data.Total)
	}
	if _, err := exchange(ctx, io.Discard, http.MethodGet, site, "", `"add-stamp"`); err != nil {
		return err
	}
	fmt.Fprintf(out, "GET %s describes all tools.\n", site)
	return nil
}

// exchange makes one request, prints it and its reply, and checks that the
// reply is 200 and contains want.
func exchange(ctx context.Context, out io.Writer, method, url, body, want string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, replyWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	fmt.Fprintf(out, "%s %s\n%s\n", method, url, body)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	reply, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, url, err)
	}
	defer func() { _ = reply.Body.Close() }() // It has been read.
	data, err := io.ReadAll(io.LimitReader(reply.Body, 1<<20))
	if err != nil {
		return nil, fmt.Errorf("%s %s: reading the reply: %w", method, url, err)
	}
	fmt.Fprintf(out, "-> %s\n%s\n\n", reply.Status, bytes.TrimSpace(data))
	if reply.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s %s: status %s", method, url, reply.Status)
	}
	if !bytes.Contains(data, []byte(want)) {
		return nil, fmt.Errorf("%s %s: the reply does not contain %s", method, url, want)
	}
	return data, nil
}
