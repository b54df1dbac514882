package text

import "cmp"

// Words rewords messages for readers who know options by other names, such as the flags of a
// command: a key is a Go option, or a part of a message as the code has it, and its value, with the
// same verbs, stands in its place. The zero value rewords nothing.
type Words map[string]string

// Of returns the message in the reader's words.
func (w Words) Of(message string) string { return cmp.Or(w[message], message) }
