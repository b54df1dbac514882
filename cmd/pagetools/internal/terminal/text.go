// Package terminal is a person's terminal: what is written to it, and what it is asked.
package terminal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	"github.com/pagetools/pagetools/bridge/text"
)

// Encode prints v as one line of JSON. Invisible characters are escaped: that
// changes no value, and a terminal does not obey them.
func Encode(w io.Writer, v any) error {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return fmt.Errorf("encoding the output: %w", err)
	}
	_, err := io.WriteString(w, text.Escape(buf.String()))
	return err
}
