package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/pagetools/pagetools/cmd/pagetools/internal/terminal"
)

// personLog writes the log for a person at a terminal: a line as the rest of the program
// says things, without time and keys that only machines need.
type personLog struct {
	out   io.Writer
	level slog.Level
	with  string // attributes of all lines
}

var _ slog.Handler = (*personLog)(nil)

func newPersonLog(out io.Writer, level slog.Level) *personLog {
	return &personLog{out: out, level: level}
}

// Enabled implements slog.Handler.
func (l *personLog) Enabled(_ context.Context, level slog.Level) bool { return level >= l.level }

// Handle implements slog.Handler.
func (l *personLog) Handle(_ context.Context, r slog.Record) error {
	word, colors := "", terminal.ColorsOf(l.out)
	switch {
	case r.Level >= slog.LevelError:
		word = colors.Alarm("error:") + " "
	case r.Level >= slog.LevelWarn:
		word = colors.Warn("warning:") + " "
	}
	text := r.Message + l.with
	r.Attrs(func(a slog.Attr) bool {
		text += shownAttr(a)
		return true
	})
	_, err := fmt.Fprintf(l.out, "pagetools: %s%s\n", word, terminal.Plain(text))
	return err
}

// WithAttrs implements slog.Handler.
func (l *personLog) WithAttrs(attrs []slog.Attr) slog.Handler {
	next := *l
	for _, a := range attrs {
		next.with += shownAttr(a)
	}
	return &next
}

// WithGroup implements slog.Handler. Nobody here groups.
func (l *personLog) WithGroup(string) slog.Handler { return l }

func shownAttr(a slog.Attr) string {
	value := a.Value.Resolve().String()
	if value == "" {
		return ""
	}
	return " " + a.Key + "=" + strings.TrimSpace(value)
}
