//go:build unix

package app

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestServed is a server in a process of its own, when TestStartCommand starts it.
func TestServed(t *testing.T) {
	address := os.Getenv("PAGETOOLS_TEST_SERVED")
	if address == "" {
		t.Skip("TestStartCommand starts it")
	}
	_ = http.ListenAndServe(address, http.NotFoundHandler()) // until it is killed
}

// freeAddress is one where nobody listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// TestStartCommand: a command is waited for, and ended with what it started.
func TestStartCommand(t *testing.T) {
	t.Parallel()
	address, pids := freeAddress(t), filepath.Join(t.TempDir(), "pid")
	command := "sleep 1000 & echo $! > " + pids + "; trap '' TERM; PAGETOOLS_TEST_SERVED=" + address + " " +
		os.Args[0] + " -test.run '^TestServed$'"
	end, err := StartCommand(t.Context(), command, "http://"+address+"/")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := StartCommand(t.Context(), "true", "http://"+address+"/"); err == nil || !strings.Contains(err.Error(), "answers at") {
		t.Errorf("a second command for the address: %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(pids)
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	for syscall.Kill(pid, 0) == nil && !zombie(pid) { // its parent, not we, must wait for it
		if time.Now().After(deadline) {
			t.Fatalf("the child %d of the command is there", pid)
		}
		<-time.After(10 * time.Millisecond)
	}
	if answers(t.Context(), "http://"+address+"/") {
		t.Error("the server of the command is there")
	}
}

// zombie reports whether a process has ended, and waits for its parent to hear of it.
func zombie(pid int) bool {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(text), ") Z ")
}

// TestStartCommandFails: what does not serve is said, and nothing of it is left.
func TestStartCommandFails(t *testing.T) {
	t.Parallel()
	address := "http://" + freeAddress(t) + "/"
	port := address[strings.LastIndex(address, ":")+1 : len(address)-1]
	soon, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	for _, test := range []struct {
		ctx                    context.Context
		command, address, want string
	}{
		{t.Context(), "echo out of order; exit 1", address, "ended before"},
		{t.Context(), "echo out of order >&2; exit 1", address, "it said: out of order"},
		{soon, "sleep 1000", address, "deadline exceeded"},
		{t.Context(), "sleep 1000", "https://shop.example/", "not an address of this machine"},
		{t.Context(), "sleep 1000", "http://127.0.0.1.example/", "not an address of this machine"},
		{t.Context(), "sleep 1000", "ftp://127.0.0.1/", "not an http(s) URL"},
		{t.Context(), "exit 1", "http://LOCALHOST:" + port + "/", "ended before"}, // each is of this machine
		{t.Context(), "exit 1", "http://localhost.:" + port + "/", "ended before"},
		{t.Context(), "exit 1", "http://App.Localhost:" + port + "/", "ended before"},
		{t.Context(), "exit 1", "http://[::1]:" + port + "/", "ended before"},
	} {
		if _, err := StartCommand(test.ctx, test.command, test.address); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s at %s: %v, want %s", test.command, test.address, err, test.want)
		}
	}
}

// TestAskCommand: a command gets the text and its answer is returned; what does not work is said.
func TestAskCommand(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ command, want, says string }{
		{command: "cat", want: "hello"},
		{command: "echo no >&2; exit 3", says: "exit status 3; it said: no"},
		{command: "yes | head -c 1100000", says: "wrote more than 1048576 bytes"},
		{command: "sleep 60 & echo hello", says: "left a process that keeps its output open"},
	} {
		t.Run(test.command, func(t *testing.T) {
			t.Parallel()
			got, err := AskCommand(t.Context(), test.command, []byte("hello"))
			if string(got) != test.want || err == nil != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Errorf("it returned %.20q, %v", got, err)
			}
		})
	}
}
