package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

type terminalAsker struct {
	turn   chan struct{} // held while a question is asked: one at a time
	in     io.Reader
	out    *terminal.Stream
	always bool // consent may be kept, also where the question does not know it
	// reasons lets the person say why they refuse consent; then reason has that.
	reasons bool
	reason  string
	begin   sync.Once
	lines   chan typed // closed when the terminal is
}

// typed is a line that the person typed, or the end of the input (Ctrl-D).
type typed struct {
	text string
	end  bool
}

var _ bridge.Asker = (*terminalAsker)(nil)

// asker returns the person who can be asked: the person at the terminal, or nobody. When
// standard input carries the arguments, the terminal itself is opened.
func (p *program) asker(inputTaken bool) (bridge.Asker, func()) {
	none := func() {}
	if !terminal.Is(p.stderr) {
		return nil, none
	}
	if !inputTaken && terminal.Is(p.stdin) {
		return newTerminalAsker(p.stdin, p.stderr), none
	}
	tty, err := terminal.OpenInput()
	if err != nil {
		return nil, none
	}
	return newTerminalAsker(tty, p.stderr), func() { _ = tty.Close() }
}

func newTerminalAsker(in io.Reader, out *terminal.Stream) *terminalAsker {
	return &terminalAsker{turn: make(chan struct{}, 1), in: in, out: out, lines: make(chan typed)}
}

// read hands lines over. It ends with the terminal, or with the program.
func (a *terminalAsker) read() {
	defer close(a.lines)
	lines := bufio.NewReader(a.in)
	for {
		text, err := lines.ReadString('\n')
		switch {
		case err == nil:
			a.lines <- typed{text: strings.TrimSpace(text)}
		case errors.Is(err, io.EOF):
			a.lines <- typed{end: true} // a terminal goes on after it
		default:
			return
		}
	}
}

var errNoAnswer = errors.New("the terminal gave no answer")

// line waits for what the person types.
func (a *terminalAsker) line(ctx context.Context) (typed, error) {
	a.begin.Do(func() { go a.read() })
	select {
	case said, ok := <-a.lines:
		if !ok || said.end {
			fmt.Fprintln(a.out)
		}
		if !ok {
			return said, errNoAnswer
		}
		return said, nil
	case <-ctx.Done():
		fmt.Fprintln(a.out)
		return typed{}, context.Cause(ctx)
	}
}

// Ask shows the whole question and reads the answer: the text of a prompt, or yes or no,
// where everything else is no.
func (a *terminalAsker) Ask(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return bridge.Answer{}, context.Cause(ctx)
	}
	defer a.out.Hold()()
	fmt.Fprintf(a.out, "\n%s", strings.TrimPrefix(described(q), "  "))
	if q.Kind == bridge.Prompt {
		return a.askText(ctx, q)
	}
	choices, always := "[y/N]", a.always || q.MayAlways()
	if q.OnceByMode() {
		fmt.Fprintln(a.out, "  This site lets you answer once for all calls: --approval ask-once offers that.")
	}
	if a.reasons = a.reasons && q.Kind == bridge.Approve; a.reasons {
		fmt.Fprintln(a.out, "  n and a few words, such as: n too expensive, tells the caller why.")
	}
	if always {
		choices = "[y/N, always: for all further calls of this tool]"
	}
	ask := map[bridge.Kind]string{bridge.Approve: "Allow?", bridge.Confirm: "Confirm?", bridge.Interact: "Say that it is done?"}[q.Kind]
	if q.Form {
		ask = "Submit it?"
	}
	fmt.Fprintf(a.out, "%s %s ", ask, choices)
	said, err := a.line(ctx)
	switch {
	case err != nil:
		return bridge.Answer{}, err
	case said.end:
		return bridge.Answer{}, errNoAnswer
	}
	switch strings.ToLower(said.text) {
	case "y", "yes":
		return bridge.Answer{OK: true}, nil
	case "always":
		return bridge.Answer{OK: always, Always: always}, nil
	}
	if no, why, _ := strings.Cut(said.text, " "); a.reasons && (strings.EqualFold(no, "n") || strings.EqualFold(no, "no")) {
		a.reason = strings.TrimSpace(why)
	}
	return bridge.Answer{}, nil
}

// askText reads the text of a prompt. Nothing is the page's own default.
func (a *terminalAsker) askText(ctx context.Context, q bridge.Question) (bridge.Answer, error) {
	var shape struct {
		Default *string `json:"default"`
	}
	usual := "what the page proposes" // which nobody may read
	if json.Unmarshal(q.Schema, &shape) == nil && shape.Default != nil {
		usual = strconv.Quote(text.Line(*shape.Default))
	}
	fmt.Fprintf(a.out, "Your answer (Enter alone is %s, Ctrl-D cancels): ", usual)
	said, err := a.line(ctx)
	answer := bridge.Answer{OK: err == nil && !said.end}
	if !answer.OK || said.text == "" {
		return answer, err
	}
	answer.Value, err = json.Marshal(said.text)
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
