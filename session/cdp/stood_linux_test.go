package cdp

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/pagetools/pagetools/bridge"
)

// standing says in the environment what page a process shows that stands still for a while.
const standing = "PAGETOOLS_TEST_STANDING"

// stillness is longer than a page or a browser is waited for in a process that stands still.
const stillness = 3 * time.Second

// TestStoodStill: a process that is paused while it asks whether a page and a browser live takes neither for
// hung when it goes on. The test runs itself as that process.
func TestStoodStill(t *testing.T) {
	t.Parallel()
	if at := os.Getenv(standing); at != "" {
		standStill(t, at)
		return
	}
	base := site(t, map[string]http.HandlerFunc{"/": html(`<script>tool('echo', (x) => x)</script>`)})
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestStoodStill$", "-test.v")
	cmd.Env = append(os.Environ(), standing+"="+base+"/")
	said := &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var is syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &is, syscall.WUNTRACED, nil); err != nil || !is.Stopped() {
		t.Fatalf("it did not stop: %v, %v\n%s", is, err, said)
	}
	<-time.After(stillness)
	signal(t, sigCont, cmd.Process.Pid)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, said)
	}
}

func standStill(t *testing.T, at string) {
	e := engine(t, nil)
	e.times.silence, e.times.pulse, e.times.pingEvery, e.times.pingPatience = quick.silence, stillness, quick.pingEvery, stillness
	s := showPage(t, e, at)
	s.find("echo")
	browser := browserOf(t, e)
	signal(t, sigStop, -browser)
	replies := make(chan error)
	go func() {
		_, err := s.call("echo", `{}`)
		replies <- err
	}()
	<-time.After(2 * quick.pingEvery) // both are asked
	signal(t, sigStop, os.Getpid())
	<-time.After(quick.pingEvery) // what ran out has ended
	signal(t, sigCont, -browser)
	if err := <-replies; err != nil {
		t.Errorf("the page: %v", bridge.AsError(err))
	}
	if !current(e).alive() {
		t.Error("the browser was ended")
	}
}
