package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"time"

	"github.com/pagetools/pagetools/bridge/origin"
	"github.com/pagetools/pagetools/session/cdp/chrome/proctree"
)

// Times of a command that serves a site.
const (
	startTime = 60 * time.Second       // until its address must answer
	askEvery  = 100 * time.Millisecond // whether it does
	endTime   = 5 * time.Second        // until it is ended by force
)

// StartCommand starts a command of the shell that serves a site, and waits until the address of the
// site answers, whatever it says. The address must be a loopback one, and nothing may answer there
// before. end ends the command with all that it started. An error has the last words of the
// command.
func StartCommand(ctx context.Context, command, address string) (end func() error, err error) {
	if err := isLoopback(address); err != nil {
		return nil, err
	}
	if answers(ctx, address) {
		return nil, fmt.Errorf("something answers at %s already: end it, or choose another port", address)
	}
	said := &proctree.Tail{Most: mostWords}
	c := shell(context.WithoutCancel(ctx), command) // it ends with end
	c.Stdout, c.Stderr = said, said
	c.WaitDelay = endTime
	tree := proctree.New(c, false)
	if err := tree.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w", command, err)
	}
	over := make(chan struct{})
	go func() { // ends with the command
		_ = c.Wait() // it is ended by a signal
		close(over)
	}()
	end = func() error {
		tree.Terminate()
		select {
		case <-over:
		case <-time.After(endTime):
		}
		tree.Kill() // what did not listen, and what the command left behind
		<-over
		return nil
	}
	if err := awaitAnswer(ctx, address, over); err != nil {
		return nil, errors.Join(fmt.Errorf("%q %w%s", command, err, wordsOf(said)), end())
	}
	return end, nil
}

// mostAnswer is the longest that a command may write to stdout.
const mostAnswer = 1 << 20

// AskCommand runs a command of the shell with a text on stdin, and returns what it wrote to stdout,
// at most 1 MiB. It ends with ctx, with all that it started. An error has its last words.
func AskCommand(ctx context.Context, command string, stdin []byte) ([]byte, error) {
	said, answer := &proctree.Tail{Most: mostWords}, &capped{}
	c := shell(ctx, command)
	c.Stdin, c.Stdout, c.Stderr = bytes.NewReader(stdin), answer, said
	c.WaitDelay = endTime
	tree := proctree.New(c, false)
	c.Cancel = func() error {
		tree.Kill()
		return nil
	}
	err := tree.Start()
	if err == nil {
		err = c.Wait()
	}
	tree.Kill() // what it left behind
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case answer.more:
		return nil, fmt.Errorf("%q wrote more than %d bytes", command, mostAnswer)
	case errors.Is(err, exec.ErrWaitDelay):
		return nil, fmt.Errorf("%q left a process that keeps its output open: end that, or send its "+
			"output elsewhere", command)
	case err != nil:
		return nil, fmt.Errorf("%q failed: %w%s", command, err, wordsOf(said))
	}
	return answer.text, nil
}

// capped keeps the first bytes, and notes that there were more. It embeds no buffer, which would be
// read into as a whole.
type capped struct {
	text []byte
	more bool
}

// Write takes all, so that the command does not stop.
func (c *capped) Write(p []byte) (int, error) {
	c.more = c.more || len(c.text)+len(p) > mostAnswer
	if !c.more {
		c.text = append(c.text, p...)
	}
	return len(p), nil
}

func awaitAnswer(ctx context.Context, address string, over <-chan struct{}) error {
	deadline := time.NewTimer(startTime)
	defer deadline.Stop()
	tick := time.NewTicker(askEvery)
	defer tick.Stop()
	for !answers(ctx, address) {
		select {
		case <-tick.C:
		case <-over:
			return fmt.Errorf("ended before %s answered", address)
		case <-deadline.C:
			return fmt.Errorf("does not answer at %s within %s", address, startTime)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func answers(ctx context.Context, address string) bool {
	bounded, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(bounded, http.MethodGet, address, nil)
	if err != nil {
		return false
	}
	alone := &http.Transport{DisableKeepAlives: true}
	reply, err := alone.RoundTrip(r)
	if err != nil {
		return false
	}
	_ = reply.Body.Close()
	return true
}

// isLoopback refuses an address that a command of ours does not serve.
func isLoopback(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s is not an http(s) URL, such as http://127.0.0.1:8080/", address)
	}
	if origin.Loopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("%s is not an address of this machine: a command serves a loopback one, such as "+
		"http://%s/", address, net.JoinHostPort("127.0.0.1", "8080"))
}

// mostWords limits what is kept of the output of a command.
const mostWords = 2000

// wordsOf returns the kept output, as the end of a sentence.
func wordsOf(t *proctree.Tail) string {
	if said := t.String(); said != "" {
		return "; it said: " + strings.ToValidUTF8(said, "\uFFFD")
	}
	return "; it said nothing"
}
