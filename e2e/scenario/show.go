package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pagetools/pagetools/bridge/schema"
)

const (
	linesAround = 15  // of the marked line, before and after
	mostInLine  = 300 // characters
)

// show prints a value as indented JSON and marks the line of a path, or of the nearest place
// around it that is there.
func show(n *node, mark path) string {
	p := &printer{}
	p.print(n, "", "", mark)
	return p.text()
}

// line is a value on one line, for a sentence.
func (n *node) line() string {
	p := &printer{}
	p.print(n, "", "", nil)
	for i, l := range p.lines {
		p.lines[i] = strings.TrimSpace(l)
	}
	return strings.Join(p.lines, " ")
}

type printer struct {
	lines  []string
	marked int
}

func (p *printer) text() string {
	from, to := max(0, p.marked-linesAround), min(len(p.lines), p.marked+linesAround+1)
	var out []string
	if from > 0 {
		out = append(out, fmt.Sprintf("  … %d lines", from))
	}
	for i := from; i < to; i++ {
		line := p.lines[i]
		if r := []rune(line); len(r) > mostInLine {
			line = string(r[:mostInLine]) + "…"
		}
		sign := "  "
		if i == p.marked {
			sign = "> "
		}
		out = append(out, sign+schema.Escape(line))
	}
	if to < len(p.lines) {
		out = append(out, fmt.Sprintf("  … %d lines", len(p.lines)-to))
	}
	return strings.Join(out, "\n")
}

// print adds the lines of a value. before is what its first line begins with, and mark the way
// that is left to the marked place, nil when it is elsewhere.
func (p *printer) print(n *node, indent, before string, mark path) {
	switch n.kind {
	case '[':
		p.many(indent, before, "[", "]", len(n.vals), func(i int) (string, *node, path) {
			return "", n.vals[i], p.along(mark, i)
		})
	case '{':
		p.many(indent, before, "{", "}", len(n.vals), func(i int) (string, *node, path) {
			return string(schema.AppendString(nil, n.keys[i])) + ": ", n.vals[i], p.along(mark, n.keys[i])
		})
	case '$':
		p.many(indent, before, "{", "}", len(n.ops), func(i int) (string, *node, path) {
			return `"` + n.ops[i].matcher.name + `": `, n.ops[i].arg, nil
		})
	default:
		p.lines = append(p.lines, indent+before+n.scalarJSON())
	}
}

// along returns what is left of the way when it leads through this part, and marks the part,
// whose first line comes next.
func (p *printer) along(mark path, step any) path {
	if len(mark) == 0 || mark[0] != step {
		return nil
	}
	p.marked = len(p.lines)
	return slices.Clip(mark[1:])
}

func (p *printer) many(
	indent, before, opens, closes string, n int, part func(int) (string, *node, path),
) {
	if n == 0 {
		p.lines = append(p.lines, indent+before+opens+closes)
		return
	}
	p.lines = append(p.lines, indent+before+opens)
	for i := range n {
		name, child, mark := part(i)
		p.print(child, indent+"  ", name, mark)
		if i < n-1 {
			p.lines[len(p.lines)-1] += ","
		}
	}
	p.lines = append(p.lines, indent+closes)
}
