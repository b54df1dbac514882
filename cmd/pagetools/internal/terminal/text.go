// Package terminal makes the text of strangers safe for a person's terminal.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

// Plain makes text of strangers safe for a terminal: one line, without control,
// bidirectional or other invisible characters.
func Plain(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\r' || r == '\t':
			return ' '
		case schema.Invisible(r):
			return -1
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}

// Encode prints v as one line of JSON. Invisible characters are escaped: that
// changes no value, and a terminal does not obey them.
func Encode(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err := io.WriteString(w, schema.Escape(buf.String()))
	return err
}

// PlainLines is Plain that keeps line ends.
func PlainLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(plainKeepIndent(l), " ")
	}
	return strings.Join(lines, "\n")
}

func plainKeepIndent(l string) string {
	body := strings.TrimLeft(l, " \t")
	indent := strings.ReplaceAll(l[:len(l)-len(body)], "\t", "    ")
	return indent + Plain(body)
}
