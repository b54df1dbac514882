package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
	"github.com/pagetools/pagetools/e2e/check"
)

// Position is a place in a file. Lines and columns count from 1; 0 is unknown.
type Position struct{ Line, Column int }

// Problem is one thing that is wrong with a file.
type Problem struct {
	File string
	Position
	// Message says what is wrong, with the value, then what to do. It is one line, without
	// invisible characters.
	Message string
}

// String is the problem as compilers print theirs: file:line:column: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", visible(p.File), p.Line, p.Column, p.Message)
}

// Problems is the error of [Read] and [ReadEvals]: all that is wrong with a file, in the order of
// its lines.
type Problems struct {
	List []Problem // at least one, at most 50
	More int       // how many there are besides
}

// Error has a line for each problem.
func (p *Problems) Error() string {
	var lines []string
	for _, one := range p.List {
		lines = append(lines, one.String())
	}
	if p.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", p.More))
	}
	return strings.Join(lines, "\n")
}

const mostProblems = 50

// problems collects what is wrong with one file.
type problems struct {
	file string
	list []Problem
}

func (p *problems) add(at Position, format string, args ...any) {
	p.list = append(p.list, Problem{p.file, at, visible(fmt.Sprintf(format, args...))})
}

// err returns what was collected, or nil.
func (p *problems) err() error {
	if len(p.list) == 0 {
		return nil
	}
	slices.SortStableFunc(p.list, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	list := slices.Compact(p.list) // an alias is read where it is used, and is wrong in one place
	n := min(len(list), mostProblems)
	return &Problems{List: list[:n], More: len(list) - n}
}

// visible makes text of strangers one line that a terminal does not obey.
func visible(s string) string {
	return strings.ReplaceAll(schema.Escape(strings.ToValidUTF8(s, "\uFFFD")), "\n", `\n`)
}

// quoted is a value in a message.
func quoted(s string) string {
	if r := []rune(s); len(r) > 60 {
		s = string(r[:60]) + "…"
	}
	return `"` + s + `"`
}

// instead says which of the known words comes nearest to one that is not known, or lists them.
func instead(word string, known []string) string {
	if near := check.Nearest(word, known); near != "" {
		return "did you mean " + near + "?"
	}
	return "use " + oneOf(known)
}

// oneOf lists words.
func oneOf(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	if len(words) == 2 {
		return words[0] + " or " + words[1]
	}
	return strings.Join(words[:last], ", ") + ", or " + words[last]
}
