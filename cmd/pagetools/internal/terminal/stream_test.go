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
