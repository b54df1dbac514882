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
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// terminalAsker asks the person at the terminal.
type terminalAsker struct {
	turn  chan struct{} // held while a question is asked: one at a time
	in    io.Reader
	out   io.Writer
	begin sync.Once
	lines chan string // closed when the terminal is
}

var _ bridge.Asker = (*terminalAsker)(nil)

// asker returns who can be asked: the person at the terminal, or nobody. When
// standard input carries the arguments, the terminal itself is opened.
func (p *program) asker(inputTaken bool) (bridge.Asker, func()) {
	none := func() {}
	if !terminal.Is(p.stderr) {
		return nil, none
	}
	if !inputTaken && terminal.Is(p.stdin) {
		return newTerminalAsker(p.stdin, p.stderr), none
	}
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return nil, none
	}
	return newTerminalAsker(tty, p.stderr), func() { _ = tty.Close() }
}

func newTerminalAsker(in io.Reader, out io.Writer) *terminalAsker {
	return &terminalAsker{turn: make(chan struct{}, 1), in: in, out: out, lines: make(chan string)}
}

// read hands lines over. It ends with the terminal, or with the program.
func (a *terminalAsker) read() {
	defer close(a.lines)
	lines := bufio.NewScanner(a.in)
	for lines.Scan() {
		a.lines <- lines.Text()
	}
}

var errNoAnswer = errors.New("the terminal gave no answer")

// line waits for what the person types.
func (a *terminalAsker) line(ctx context.Context) (string, error) {
	a.begin.Do(func() { go a.read() })
	select {
	case text, ok := <-a.lines:
		if !ok {
			fmt.Fprintln(a.out)
			return "", errNoAnswer
		}
		return strings.TrimSpace(text), nil
	case <-ctx.Done():
		fmt.Fprintln(a.out)
		return "", context.Cause(ctx)
	}
}

// Ask shows the whole question and reads yes or no, and the text of a prompt.
// Everything else is no.
func (a *terminalAsker) Ask(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return bridge.Answer{}, context.Cause(ctx)
	}
	fmt.Fprintf(a.out, "\n%s%s [y/N] ", strings.TrimPrefix(described(q), "  "),
		map[bridge.Kind]string{
			bridge.Approve: "Allow?", bridge.Confirm: "Confirm?", bridge.Prompt: "Answer it?",
			bridge.Interact: "Say that it is done?"}[q.Kind])
	said, err := a.line(ctx)
	if err != nil {
		return bridge.Answer{}, err
	}
	said = strings.ToLower(said)
	answer := bridge.Answer{OK: said == "y" || said == "yes"}
	if !answer.OK || q.Kind != bridge.Prompt {
		return answer, nil
	}
	var shape struct {
		Default string `json:"default"`
	}
	_ = json.Unmarshal(q.Schema, &shape)
	fmt.Fprintf(a.out, "Text [%s]: ", terminal.Plain(shape.Default))
	text, err := a.line(ctx)
	if err != nil {
		return bridge.Answer{}, err
	}
	if text == "" {
		return answer, nil
	}
	answer.Value, err = json.Marshal(text)
	return answer, err
}

// indented returns the arguments whole: nothing that a person consents to is left
// out.
func indented(input json.RawMessage) string {
	b, err := json.MarshalIndent(input, "  ", "  ")
	if err != nil {
		return string(input)
	}
	return string(b)
}
