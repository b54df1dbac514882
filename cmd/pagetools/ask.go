package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pagetools/pagetools/bridge"
	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/config"
	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

type terminalAsker struct {
	turn   chan struct{} // held while a question is asked: one at a time
	in     io.Reader
	out    *terminal.Stream
	always bool // consent may be kept, also where the question does not know it
	begin  sync.Once
	lines  chan typed // closed when the terminal is
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
	tty, err := os.Open("/dev/tty")
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

// The sockets of all processes that share a data directory are one inbox: each has a socket
// of its own there, through which the others, and `pagetools approve`, reach its questions.
const (
	runFolder    = "run"
	socketSuffix = ".sock"
	// maxSocketPath is the longest path of a socket that every system takes.
	maxSocketPath = 100
	// deadAfter is how old a socket is at least whose process is taken for dead when it
	// does not listen: one that has just begun may not listen yet.
	deadAfter = 10 * time.Second
)

// inbox is the folder of the sockets.
type inbox struct {
	folder string
	own    string // the name of this process's socket; "" where it has none
}

func openInbox(c *config.Config) (inbox, error) {
	dir, err := dataFolder(c)
	if err != nil {
		return inbox{}, err
	}
	return inbox{folder: filepath.Join(dir, runFolder)}, nil
}

// listen makes the socket of this process, which only its user can open from its first
// moment, and removes those of processes that are dead.
func (in *inbox) listen(ctx context.Context, id string) (net.Listener, error) {
	if err := os.MkdirAll(in.folder, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of sockets: %w", err)
	}
	in.clean(ctx)
	name := id + socketSuffix
	path := filepath.Join(in.folder, name)
	if len(path) > maxSocketPath {
		return nil, fmt.Errorf("the path %s is too long for a socket; "+
			"--data-dir gives a shorter one", path)
	}
	lc := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		// Systems that cannot do so have the folder's mode.
		return c.Control(func(fd uintptr) { _ = syscall.Fchmod(int(fd), 0o600) })
	}}
	l, err := lc.Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listening on the socket: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("closing the socket to others: %w", err), l.Close())
	}
	in.own = name
	return l, nil
}

// clean removes what killed processes left.
func (in *inbox) clean(ctx context.Context) {
	for name := range in.peers() {
		path := filepath.Join(in.folder, name)
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&os.ModeSocket == 0 || time.Since(info.ModTime()) < deadAfter {
			continue
		}
		var d net.Dialer
		switch other, err := d.DialContext(ctx, "unix", path); {
		case err == nil:
			_ = other.Close()
		case errors.Is(err, syscall.ECONNREFUSED):
			_ = os.Remove(path)
		}
	}
}

// peers are the sockets of the other processes, by name. Some may be of dead ones.
func (in *inbox) peers() map[string]http.RoundTripper {
	all := map[string]http.RoundTripper{}
	entries, err := os.ReadDir(in.folder)
	if err != nil {
		return all // no process began yet
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasSuffix(name, socketSuffix) && name != in.own {
			all[name] = throughSocket(filepath.Join(in.folder, name))
		}
	}
	return all
}

func throughSocket(path string) http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}
}
