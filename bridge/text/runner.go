package text

import "strings"

// Runner escapes what the runners of GitHub, Azure Pipelines and TeamCity take for their commands,
// in output that may come in parts: "::" at the beginning of a line, after any space, and "##[",
// "##vso[" and the like anywhere. It writes escapes of JSON, in whose strings they change no value.
// The zero Runner is at the beginning of a line.
type Runner struct {
	inside bool // the line has more than space
	colon  bool // it is space, and one colon
	marks  int  // how many # came last; letters may follow two
}

// ForRunner is Escape for a text that is whole.
func ForRunner(s string) string { return new(Runner).Escape(s) }

// Escape returns the next part of the output.
func (r *Runner) Escape(s string) string {
	var b strings.Builder
	done := 0
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '[' && r.marks >= 2:
			b.WriteString(s[done:i] + `\u005b`)
			done = i + 1
		case c == ':' && r.colon:
			b.WriteString(s[done:i] + `\u003a`)
			done = i + 1
		}
		switch {
		case c == '#':
			r.marks++
		case r.marks < 2 || !isLetter(c):
			r.marks = 0
		}
		r.colon = c == ':' && !r.inside
		switch {
		case c == '\n' || c == '\r':
			r.inside = false
		case c != ' ' && c != '\t' && c != '\v' && c != '\f' && c < 0x80: // of others some are space
			r.inside = true
		}
	}
	if done == 0 {
		return s
	}
	return b.String() + s[done:]
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
