package terminal

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/pagetools/pagetools/bridge/text"
)

// Stream is standard output or standard error. It keeps the first error of writing, and, on
// a terminal, a status line below everything else. It is safe for concurrent use.
type Stream struct {
	w  io.Writer
	mu sync.Mutex

	err    error
	runner *text.Runner // where a runner of workflows reads our output; nil elsewhere
	status string       // shown now; "" is none
	held   int          // status lines wait while a person is asked
}

// NewStream returns a stream that writes to w. Where a runner of workflows reads the output,
// nothing in it is a command for that, but for those of [Stream.Commands].
func NewStream(w io.Writer) *Stream {
	s := &Stream{w: w}
	if os.Getenv("GITHUB_ACTIONS") == "true" || os.Getenv("TF_BUILD") != "" ||
		os.Getenv("TEAMCITY_VERSION") != "" {
		s.runner = new(text.Runner)
	}
	return s
}

// Commands returns a writer for reports, which escape what strangers say, and have commands for
// GitHub's runner.
func (s *Stream) Commands() io.Writer { return commands{s} }

type commands struct{ s *Stream }

func (c commands) Write(b []byte) (int, error) { return c.s.write(b, nil) }

// Unwrap returns what the stream writes to.
func (s *Stream) Unwrap() io.Writer { return s.w }

// wipe returns what clears a status line: spaces, which every terminal knows.
func wipe(line string) string {
	if line == "" {
		return ""
	}
	return "\r" + strings.Repeat(" ", utf8.RuneCountInString(line)) + "\r"
}

// Write implements io.Writer. The status line makes room, and comes back with the next step.
func (s *Stream) Write(b []byte) (int, error) { return s.write(b, s.runner) }

func (s *Stream) write(b []byte, r *text.Runner) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.status != "" {
		_, _ = io.WriteString(s.w, wipe(s.status))
		s.status = ""
	}
	var err error
	if r != nil {
		_, err = io.WriteString(s.w, r.Escape(string(b)))
	} else {
		_, err = s.w.Write(b)
	}
	if err != nil {
		if s.err == nil {
			s.err = err
		}
		return 0, err
	}
	return len(b), nil
}

// Err returns the first error of writing, or nil. A reader that went away is none: it has
// what it wanted.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.err.(*os.PathError); ok && isClosed(e.Err) { //nolint:errorlint // as os.File returns it
		return nil
	}
	return s.err
}

// show replaces the status line; "" removes it.
func (s *Stream) show(line string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held > 0 || line == s.status {
		return
	}
	_, _ = io.WriteString(s.w, wipe(s.status)+line) // it is only a courtesy
	s.status = line
}

// Hold keeps status lines away until release, while a person is asked.
func (s *Stream) Hold() (release func()) {
	s.show("")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.held--
	}
}

// Wait shows what is waited for, with the seconds, from the first second until done is
// called. It shows nothing where the stream is not a terminal.
func (s *Stream) Wait(what string) (done func()) {
	_, done = s.Follow(what)
	return done
}

// Follow is Wait, and shows at once what say is called with, in its place.
func (s *Stream) Follow(what string) (say func(string), done func()) {
	if !Is(s) || os.Getenv("CI") != "" {
		return func(string) {}, func() {}
	}
	began, over, ended, news := time.Now(), make(chan struct{}), make(chan struct{}), make(chan string)
	show := func() {
		line := fmt.Sprintf("%s … %d s", what, int(time.Since(began).Seconds()))
		s.show(text.Short(line, Width(s)-2))
	}
	go func() { // ends with done
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				show()
			case what = <-news:
				show()
			case <-over:
				s.show("")
				return
			}
		}
	}()
	say = func(line string) {
		select {
		case news <- line:
		case <-ended:
		}
	}
	return say, sync.OnceFunc(func() {
		close(over)
		<-ended
	})
}

func file(stream any) *os.File {
	if s, ok := stream.(*Stream); ok {
		stream = s.w
	}
	f, _ := stream.(*os.File)
	return f
}

// Is reports whether the stream is a terminal.
func Is(stream any) bool {
	f := file(stream)
	return f != nil && term.IsTerminal(int(f.Fd()))
}

// DefaultWidth sets how wide text is where there is no terminal.
const DefaultWidth = 100

// Width returns the columns of the stream.
func Width(stream any) int {
	if f := file(stream); f != nil {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 {
			return columns
		}
	}
	return DefaultWidth
}

// Wrap breaks text at spaces into lines of at most width columns. A word that is longer is
// broken, too. Lines after the first begin with indent.
func Wrap(text string, width int, indent string) []string {
	width = max(width, utf8.RuneCountInString(indent)+8)
	var lines []string
	line := ""
	for i, word := range strings.SplitAfter(text, " ") {
		if i > 0 && utf8.RuneCountInString(line)+utf8.RuneCountInString(strings.TrimRight(word, " ")) > width {
			lines, line = append(lines, strings.TrimRight(line, " ")), indent
		}
		line += word
		for utf8.RuneCountInString(strings.TrimRight(line, " ")) > width {
			runes := []rune(line)
			lines, line = append(lines, string(runes[:width])), indent+string(runes[width:])
		}
	}
	return append(lines, strings.TrimRight(line, " "))
}

// Colors says how a stream shows what matters. The zero value shows text as it is.
type Colors struct{ on bool }

// ColorsOf returns the colours of a stream: none where it is not a terminal, where NO_COLOR
// or CI is set, or where the terminal is dumb.
func ColorsOf(stream any) Colors {
	plain := os.Getenv("NO_COLOR") != "" || os.Getenv("CI") != "" || os.Getenv("TERM") == "dumb"
	return Colors{!plain && Is(stream) && showsColors(file(stream))}
}

// On reports whether there are any.
func (c Colors) On() bool { return c.on }

// Strong is for names.
func (c Colors) Strong(s string) string { return c.in("1", s) }

// Alarm is for what a person must not miss.
func (c Colors) Alarm(s string) string { return c.in("1;31", s) }

// Warn is for warnings.
func (c Colors) Warn(s string) string { return c.in("33", s) }

func (c Colors) in(code, s string) string {
	if !c.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
