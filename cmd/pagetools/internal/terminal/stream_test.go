package terminal

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"
)

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		text   string
		width  int
		indent string
		want   []string
	}{
		{"", 20, "", []string{""}},
		{"a b c", 20, "", []string{"a b c"}},
		{"3 tools: one, two, three", 16, "  ", []string{"3 tools: one,", "  two, three"}},
		{strings.Repeat("x", 25), 10, "  ", []string{"xxxxxxxxxx", "  xxxxxxxx", "  xxxxxxx"}},
		{"äöü äöü äöü äöü", 11, "", []string{"äöü äöü äöü", "äöü"}},
	} {
		got := Wrap(test.text, test.width, test.indent)
		if !slices.Equal(got, test.want) {
			t.Errorf("%q in %d columns is %q, want %q", test.text, test.width, got, test.want)
		}
		for _, line := range got {
			if utf8.RuneCountInString(line) > test.width {
				t.Errorf("%q is wider than %d", line, test.width)
			}
		}
	}
}

// failing writes nothing.
type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// TestStreamKeepsErrors: what could not be written is known; a reader that left is no error.
func TestStreamKeepsErrors(t *testing.T) {
	t.Parallel()
	full, left := errors.New("full"), &os.PathError{Op: "write", Path: "|1", Err: syscall.EPIPE}
	for _, test := range []struct{ is, want error }{{full, full}, {left, nil}} {
		s := NewStream(failing{test.is})
		_, _ = s.Write([]byte("x"))
		if got := s.Err(); !errors.Is(got, test.want) {
			t.Errorf("%v is kept as %v", test.is, got)
		}
	}
	var out bytes.Buffer
	s := NewStream(&out)
	defer s.Wait("nothing")()
	if _, err := s.Write([]byte("x")); err != nil || s.Err() != nil || out.String() != "x" || Is(s) || Width(s) != DefaultWidth || ColorsOf(s).Alarm("a") != "a" {
		t.Errorf("a buffer is taken for a terminal: %q %v", out.String(), err)
	}
}

// TestStatusMakesRoom: text never stands in the status line, and no status while a person is
// asked.
func TestStatusMakesRoom(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := NewStream(&out)
	s.show("wait 1 s")
	_, _ = s.Write([]byte("text\n"))
	release := s.Hold()
	s.show("wait 2 s")
	release()
	s.show("wait … 3 s")
	s.show("wait … 4 s")
	s.show("")
	if want := "wait 1 s\r        \rtext\nwait … 3 s\r          \rwait … 4 s\r          \r"; out.String() != want {
		t.Errorf("it is %q, want %q", out.String(), want)
	}
}

// TestRunnerReadsNoCommands holds S5: where GitHub's runner reads the output, nothing that is
// written is a command for it, but for those of reports.
func TestRunnerReadsNoCommands(t *testing.T) {
	for _, x := range []struct{ runs, written, commands, want string }{
		{"true", "::add-mask::x\na ##[error]\n", "::error::ours\n", ":\\u003aadd-mask::x\na ##\\u005berror]\n::error::ours\n"},
		{"true", "a: ", "", "a: "},
		{"", "::add-mask::x\n##[error]\n", "", "::add-mask::x\n##[error]\n"},
	} {
		t.Setenv("GITHUB_ACTIONS", x.runs)
		var b bytes.Buffer
		s := NewStream(&b)
		for i := range x.written { // in any parts
			if n, err := s.Write([]byte(x.written[i : i+1])); n != 1 || err != nil {
				t.Errorf("%d bytes are written: %v", n, err)
			}
		}
		if _, err := s.Commands().Write([]byte(x.commands)); err != nil {
			t.Error(err)
		}
		if b.String() != x.want {
			t.Errorf("with %q it writes %q, want %q", x.runs, b.String(), x.want)
		}
	}
}
