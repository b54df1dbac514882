package report

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/pagetools/pagetools/bridge/text"
	"github.com/pagetools/pagetools/e2e/check"
)

//go:embed style.css
var style string

// How many bytes a picture in a page may have, and all of them. What is over is left out; the
// paths of pictures are always there.
const (
	largestPicture = 4 << 20
	allPictures    = 32 << 20
)

// writeHTML writes one page that needs nothing else: no script, no address, pictures inside. It is
// a tree of nodes and no template: text/template keeps every method of the program in the binary.
func writeHTML(run *Run) ([]byte, error) {
	verdict := "passed"
	if run.Failed() {
		verdict = "failed"
	}
	title := "pagetools " + text.EscapeLine(run.Command) + ": "
	sum := sha256.Sum256([]byte(style))
	policy := "default-src 'none'; img-src data:; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; base-uri 'none'; form-action 'none'"
	head := el(atom.Head,
		el(atom.Meta, attr("charset", "utf-8")),
		el(atom.Meta, attr("http-equiv", "Content-Security-Policy"), attr("content", policy)),
		el(atom.Meta, attr("name", "viewport"), attr("content", "width=device-width, initial-scale=1")),
		el(atom.Meta, attr("name", "referrer"), attr("content", "no-referrer")),
		el(atom.Title, title+verdict),
		el(atom.Style, style))
	header := el(atom.Header,
		el(atom.H1, title, span(verdict, verdict)),
		el(atom.P, text.EscapeLine(run.summary())),
		el(atom.P, attr("class", "quiet"), "pagetools "+text.EscapeLine(run.Version)+", "+
			run.Started.UTC().Format("2006-01-02 15:04:05 UTC")))
	page := &html.Node{Type: html.DocumentNode}
	page.AppendChild(&html.Node{Type: html.DoctypeNode, Data: "html"})
	page.AppendChild(el(atom.Html, attr("lang", "en"), head, el(atom.Body, header,
		el(atom.Main, run.htmlNotes(), run.htmlSites(), run.htmlFindings(), run.htmlCases()))))
	var b bytes.Buffer
	err := html.Render(&b, page)
	return b.Bytes(), err
}

func (run *Run) htmlNotes() *html.Node {
	var list []*html.Node
	for _, note := range run.Notes {
		list = append(list, el(atom.Li, text.EscapeLine(note)))
	}
	return section("Notes", ul(list))
}

func (run *Run) htmlSites() *html.Node {
	var list []*html.Node
	for _, s := range run.Sites {
		item := el(atom.Li, text.EscapeLine(s.Target))
		if s.URL != "" {
			add(item, " ", span("quiet", text.EscapeLine(s.URL)))
		}
		list = append(list, add(item, ": "+text.Count(s.Tools, "tool")))
	}
	return section("Sites", ul(list))
}

func (run *Run) htmlFindings() *html.Node {
	var parts []any
	for _, g := range run.groups() {
		parts = append(parts, el(atom.H3, text.EscapeLine(g.Page)))
		for _, t := range g.Tools {
			if t.Tool != "" {
				parts = append(parts, el(atom.H4, text.EscapeLine(t.Tool)))
			}
			var list []*html.Node
			for _, f := range t.Findings {
				list = append(list, htmlFinding(f))
			}
			parts = append(parts, ul(list))
		}
	}
	return section("Findings", parts...)
}

func htmlFinding(f check.Finding) *html.Node {
	var rule any = text.EscapeLine(f.Rule)
	if help := helpURL(f.Rule); help != "" {
		rule = el(atom.A, attr("href", help), rule)
	}
	item := el(atom.Li, span("word "+severity(f.Severity), severity(f.Severity)), " ", rule, ": "+text.EscapeLine(f.Message))
	if f.Where.Pointer != "" {
		add(item, el(atom.Br), el(atom.Code, text.EscapeLine(f.Where.Pointer)))
	}
	if at := position(f.Where.Script); at != "" {
		add(item, el(atom.Br), span("quiet", text.EscapeLine(at)))
	}
	if f.Where.Frame != "" {
		add(item, el(atom.Br), span("quiet", "in the frame "+text.EscapeLine(f.Where.Frame)))
	}
	if f.Fix != "" {
		add(item, el(atom.Pre, lines(f.Fix)))
	}
	return item
}

func (run *Run) htmlCases() *html.Node {
	var parts []any
	left := allPictures
	failed := run.failures()
	for i := range run.Cases {
		c := &run.Cases[i]
		told := slices.IndexFunc(failed, func(f failure) bool { return f.ways[0] == c })
		switch {
		case told >= 0:
			parts = append(parts, failed[told].html(run.folder, &left))
		case c.Status != Failed:
			parts = append(parts, c.html(c.label()))
		}
	}
	return section("Cases", parts...)
}

func (f *failure) html(folder string, left *int) *html.Node {
	c := f.ways[0]
	list := el(atom.Dl)
	for _, p := range f.explain() {
		said := el(atom.Dd)
		if p.Block {
			add(said, marked(p.Text))
		} else {
			add(said, text.EscapeLine(p.Text))
		}
		add(list, el(atom.Dt, p.Title), said)
	}
	inner := []any{list}
	if c.Failure != nil {
		inner = append(inner, figure("The page before the step", c.Failure.Before, left),
			figure("The page after the step", c.Failure.After, left))
	}
	if way := link(folder, c.Trace); way != "" {
		inner = append(inner, el(atom.P, el(atom.A, attr("href", way), "trace.zip")))
	}
	return add(c.html(f.label(), inner...), attr("open", ""))
}

// html returns a case that can be opened, with what is inside.
func (c *Case) html(label string, inner ...any) *html.Node {
	all := el(atom.Details, el(atom.Summary, span("word "+string(c.Status), string(c.Status)),
		" "+text.EscapeLine(c.File)+": "+text.EscapeLine(label)+" ", span("quiet", took(c.Took))))
	if c.Reason != "" {
		add(all, el(atom.P, text.EscapeLine(c.Reason)))
	}
	add(all, inner...)
	var steps []*html.Node
	for _, s := range c.Steps {
		steps = append(steps, el(atom.Li, span("word "+string(s.Status), string(s.Status)), " "+text.EscapeLine(s.Name)))
	}
	return add(all, ul(steps))
}

// marked returns text in lines, of which those that begin with "> " are marked.
func marked(s string) *html.Node {
	block := el(atom.Pre)
	for line := range strings.SplitSeq(lines(s), "\n") {
		if strings.HasPrefix(line, "> ") {
			add(block, el(atom.Mark, line), "\n")
		} else {
			add(block, line+"\n")
		}
	}
	return block
}

// traceFile matches a path that is linked, because nobody can take it for another
// address.
var traceFile = regexp.MustCompile(`^[A-Za-z0-9_.-][A-Za-z0-9_./-]*/trace\.zip$`)

// link is the way from a report to a trace; "" when it cannot be linked.
func link(folder, trace string) string {
	way, err := filepath.Rel(folder, trace)
	if way = filepath.ToSlash(way); err != nil || trace == "" || !traceFile.MatchString(way) {
		return ""
	}
	return way
}

// figure returns a picture, when it is one, and takes its size from what is left.
func figure(title string, png []byte, left *int) *html.Node {
	if !bytes.HasPrefix(png, []byte("\x89PNG\r\n\x1a\n")) || len(png) > min(largestPicture, *left) {
		return nil
	}
	*left -= len(png)
	data := "data:image/png;base64," + base64.StdEncoding.EncodeToString(png)
	return el(atom.Figure, el(atom.Img, attr("src", data), attr("alt", title)), el(atom.Figcaption, title))
}

func attr(name, value string) html.Attribute { return html.Attribute{Key: name, Val: value} }

// el returns an element with attributes, texts and elements.
func el(a atom.Atom, inner ...any) *html.Node {
	return add(&html.Node{Type: html.ElementNode, DataAtom: a, Data: a.String()}, inner...)
}

// add adds attributes, texts and elements to an element, and returns it. What is nil is left out.
func add(to *html.Node, inner ...any) *html.Node {
	for _, x := range inner {
		switch x := x.(type) {
		case html.Attribute:
			to.Attr = append(to.Attr, x)
		case string:
			to.AppendChild(&html.Node{Type: html.TextNode, Data: x})
		case *html.Node:
			if x != nil {
				to.AppendChild(x)
			}
		}
	}
	return to
}

func span(class, words string) *html.Node { return el(atom.Span, attr("class", class), words) }

// ul returns a list, or nil for an empty one.
func ul(items []*html.Node) *html.Node {
	if len(items) == 0 {
		return nil
	}
	list := el(atom.Ul)
	for _, item := range items {
		add(list, "\n", item)
	}
	return list
}

// section returns a part of the page under a heading, or nil when there is nothing in it.
func section(title string, inner ...any) *html.Node {
	all := add(el(atom.Section, attr("aria-labelledby", strings.ToLower(title)), "\n",
		el(atom.H2, attr("id", strings.ToLower(title)), title), "\n"))
	before := all.LastChild
	add(all, inner...)
	if all.LastChild == before {
		return nil
	}
	return all
}
