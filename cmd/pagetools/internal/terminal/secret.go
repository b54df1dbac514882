package terminal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/term"
)

// ErrEnd is the error of a person who typed Ctrl-C or Ctrl-D in the place of a secret.
var ErrEnd = errors.New("nothing was typed")

// maxTyped is the most bytes of a line that a terminal takes; what is longer is cut by it.
const maxTyped = 4096

// ReadSecret reads a secret of at most limit bytes, without the line end after it: what a person
// types at a terminal, after a prompt on out and without being shown, or all of another input. It
// returns when ctx ends, too.
func ReadSecret(ctx context.Context, in io.Reader, out io.Writer, prompt string, limit int,
) (string, error) {
	read := func() (string, error) {
		text, err := io.ReadAll(io.LimitReader(in, int64(limit)+2))
		return strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r"), err
	}
	if Is(in) {
		f := file(in)
		before, err := term.MakeRaw(int(f.Fd())) // before the prompt: nothing that is typed is ever shown
		if err != nil {
			return "", fmt.Errorf("reading from the terminal: %w", err)
		}
		defer func() { _ = term.Restore(int(f.Fd()), before) }()
		limit = min(limit, maxTyped-1)
		read = func() (string, error) {
			text, err := term.NewTerminal(struct {
				io.Reader
				io.Writer
			}{in, out}, "").ReadPassword(prompt)
			if errors.Is(err, io.EOF) {
				_, _ = io.WriteString(out, "\r\n")
				err = ErrEnd
			}
			return text, err
		}
	}
	type result struct {
		text string
		err  error
	}
	got := make(chan result, 1)
	go func() { // ends with the input, or with the program
		text, err := read()
		got <- result{text, err}
	}()
	select {
	case r := <-got:
		if r.err == nil && len(r.text) > limit {
			r.err = fmt.Errorf("the secret must have at most %d bytes here; a longer one can come from a "+
				"file on standard input", limit)
		}
		return r.text, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
