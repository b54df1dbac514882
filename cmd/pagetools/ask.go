package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge"
)

// terminalAsker asks the person at the terminal.
type terminalAsker struct {
	mu  sync.Mutex // one question at a time
	in  io.Reader
	out io.Writer
}

var _ bridge.Asker = (*terminalAsker)(nil)

// asker gives who can be asked: the person at the terminal, or nobody. When
// standard input carries the arguments, the terminal itself is opened.
func (p *program) asker(inputTaken bool) (bridge.Asker, func()) {
	none := func() {}
	if !terminal(p.stderr) {
		return nil, none
	}
	if !inputTaken && terminal(p.stdin) {
		return &terminalAsker{in: p.stdin, out: p.stderr}, none
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return nil, none
	}
	return &terminalAsker{in: tty, out: p.stderr}, func() { _ = tty.Close() }
}

// Ask shows the whole question and reads yes or no. Everything else is no.
func (a *terminalAsker) Ask(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Fprintf(a.out, "\n%s\n  The page says: %q\n  Origin: %s\n  Arguments: %s\nAllow? [y/N] ",
		plain(q.Title), plain(q.Detail), plain(q.Origin), escapeForTerminal(indented(q.Input)))
	line := make(chan string, 1)
	failed := make(chan error, 1)
	go func() { // ends with a line, or with the program
		text, err := bufio.NewReader(a.in).ReadString('\n')
		if err != nil && text == "" {
			failed <- err
			return
		}
		line <- text
	}()
	select {
	case text := <-line:
		answer := strings.ToLower(strings.TrimSpace(text))
		return bridge.Answer{OK: answer == "y" || answer == "yes"}, nil
	case err := <-failed:
		fmt.Fprintln(a.out)
		return bridge.Answer{}, errors.Join(errors.New("the terminal gave no answer"), err)
	case <-ctx.Done():
		fmt.Fprintln(a.out)
		return bridge.Answer{}, context.Cause(ctx)
	}
}

// indented gives the arguments whole: nothing that a person consents to is left
// out.
func indented(input json.RawMessage) string {
	b, err := json.MarshalIndent(input, "  ", "  ")
	if err != nil {
		return string(input)
	}
	return string(b)
}
